"""Counts the answers that end in repair: a record that only the judge could refuse, replaced by an earlier state.

    python -m bench.engine.repairs [--times 32]

Random weights answer under hard schemas, each many times. What the record's language knows holds at every step; what it
leaves to the judge may be refused at the end, and then the longest beginning that the judge accepts is completed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from bench.engine.__main__ import MODEL
from bench.engine.figures import Figure, Settings
from bench.engine.validity import Counts, try_case
from bench.engine.workload import small_model
from bench.reporting import machine_line, table
from bench.schema_suites import Case

#: The share of answers that may end in repair.
WANTED = 0.03
_TEXT, _DIGIT = {"type": "string", "maxLength": 8}, {"type": "integer", "minimum": 0, "maximum": 9}
_FEW = {"enum": ["red", "green", "blue"]}


def _object(more: dict[str, Any], *required: str, of: dict[str, Any] | None = None) -> dict[str, Any]:
    names = of or dict.fromkeys(("a", "b", "c", "d", "e"), _DIGIT)
    made = {"type": "object", "properties": names, "required": [*required], "additionalProperties": False}
    return {**made, **more}


def _list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"list": {"type": "array", "items": items, **more}}, "required": ["list"]}


_ROW = _object({}, "kind", of={"kind": _FEW, "number": _DIGIT})
#: Schemas by what they demand.
HARD: dict[str, list[Any]] = {
    "dependentRequired": [
        _object({"dependentRequired": {"a": ["b"]}}),
        _object({"dependentRequired": {"a": ["b", "c"], "d": ["a"]}}),
        _object({"dependentRequired": {"e": ["a", "b", "c", "d"]}}),
        _object({"dependentRequired": {"a": ["e"], "e": ["a"]}}, "b"),
    ],
    "minProperties, maxProperties": [
        _object({"minProperties": 2}),
        _object({"maxProperties": 2}),
        _object({"minProperties": 2, "maxProperties": 3}),
        _object({"minProperties": 4, "dependentRequired": {"a": ["e"]}}),
    ],
    "uniqueItems, few options": [
        _list(_FEW, uniqueItems=True),
        _list(_FEW, uniqueItems=True, minItems=2),
        _list({"type": "boolean"}, uniqueItems=True, minItems=2),
        _list({"enum": [1, 2, 3, 4, 5]}, uniqueItems=True, maxItems=4),
    ],
    "uniqueItems, others": [
        _list(_DIGIT, uniqueItems=True, minItems=3),
        _list(_TEXT, uniqueItems=True, minItems=2),
        _list(_ROW, uniqueItems=True, maxItems=4),
        _list({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, uniqueItems=True),
    ],
    "contains": [
        _list(_DIGIT, contains={"const": 7}),
        _list(_DIGIT, contains={"minimum": 8}, minContains=2),
        _list(_ROW, contains={"properties": {"kind": {"const": "red"}}, "required": ["kind"]}),
        _list(_DIGIT, contains={"const": 7}, maxContains=1),
    ],
    "not": [
        _object({"not": {"required": ["a", "b"]}}),
        _object({"not": {"properties": {"a": {"const": 1}}, "required": ["a"]}}, "a"),
        _list({"type": "integer", "minimum": 0, "maximum": 9, "not": {"multipleOf": 2}}, minItems=2),
    ],
    "oneOf": [
        _object({}, "a", of={"a": {"oneOf": [{"type": "integer", "minimum": 3}, {"type": "integer", "maximum": 5}]}}),
        _object({}, "a", of={"a": {"oneOf": [{"multipleOf": 3, **_DIGIT}, {"multipleOf": 2, **_DIGIT}]}}),
        _object({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        {"oneOf": [_object({}, "a"), _object({}, "b")]},
    ],
    "if, then": [
        _object({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        _object({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}, "a"),
        _object({"dependentSchemas": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}}}),
    ],
    "open names": [
        {"type": "object", "patternProperties": {"^x_": _DIGIT}, "additionalProperties": False, "minProperties": 2},
        {"type": "object", "additionalProperties": _DIGIT, "propertyNames": {"enum": ["a", "b", "c"]}},
        {"type": "object", "properties": {"a": _DIGIT}, "additionalProperties": _TEXT, "maxProperties": 2},
    ],
    "counts of items": [_list(_ROW, minItems=2, maxItems=3), _list(_TEXT, minItems=1, maxItems=40)],
}  # fmt: skip


def figures(times: int) -> Iterator[Figure]:
    """Yields the share of each demand, and that of all."""
    model, whole, ended = small_model(Settings(MODEL, Path(), 1.0)), 0, 0
    for name, schemas in HARD.items():
        counts = Counts()
        for at, schema in enumerate(schemas):
            case = Case(name, schema, [])
            for time in range(times):
                effort = ("low", "medium", "high", "instant")[time % 4]
                try_case(case, effort, model.traits, model.tokenizer, 1000 * at + time, counts)
        whole, ended = whole + counts.decoded, ended + counts.fallen_back
        refused = f", {counts.refused + counts.empty} refused" if counts.refused + counts.empty else ""
        faults = f", **{counts.faulty} not valid**" if counts.faulty else ""
        yield Figure(name, "-", f"{counts.fallen_back} of {counts.decoded}{refused}{faults}")
    share = ended / max(whole, 1)
    name = f"answers that end in repair, {sum(map(len, HARD.values()))} hard schemas"
    yield Figure(name, f"{WANTED:.0%}", f"{ended} of {whole} ({share:.1%})", share < WANTED)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=32, help="answers under each schema")
    asked = parser.parse_args()
    print(f"{machine_line(torch.device('cpu'), 'random weights')}\n")
    print(table(("what", "wanted", "got", ""), []), flush=True)
    for figure in figures(asked.times):
        print("| " + " | ".join(figure.row()) + " |", flush=True)


if __name__ == "__main__":
    main()
