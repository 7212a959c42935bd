"""Runs over documents whose records a function makes, for tests of corrections, and programs that correct them.

`corrected_folder OUT DIGEST POINTER JSON` corrects one value.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.documents.content.document import Evidence, Span
from cinnabar.extraction.run.stored_run import Run, Summary
from cinnabar.extraction.store.records import DocumentInfo, LeafRow, Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import CompiledSchema, compile_schema, load_schema

SCHEMA: dict[str, Any] = {
    "title": "bill",
    "type": "object",
    "additionalProperties": False,
    "required": ["number", "total", "lines"],
    "properties": {
        "number": {"type": "string"},
        "total": {"type": ["number", "null"], "multipleOf": 0.01},
        "note": {"type": "string"},
        "seller": {
            "type": ["object", "null"],
            "additionalProperties": False,
            "required": ["name"],
            "properties": {"name": {"type": ["string", "null"]}, "city": {"type": ["string", "null"]}},
        },
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["item"],
                "properties": {"item": {"type": "string"}, "price": {"type": ["integer", "null"]}},
            },
        },
    },
}
#: A later version: without the seller's city, with a due date, and `note` as a number.
LATER = copy.deepcopy(SCHEMA)
del LATER["properties"]["seller"]["properties"]["city"]
LATER["properties"]["due"] = {"type": ["string", "null"]}
DOCUMENTS = ("a.txt", "b.txt", "c.txt")


def commit_waiting_of(out: Path) -> None:
    """Opens a folder as a run does, which commits the corrections that wait there."""
    with Store.open(out) as store:
        commit_waiting(store)


def digest_of(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()


def value_of(path: str, engine: str) -> dict[str, Any]:
    """The record that an engine makes of a document."""
    return {
        "number": f"{path[0]}-{engine}",
        "total": 1.5 * len(engine),
        "seller": {"name": f"S {engine}", "city": None},
        "lines": [{"item": f"{engine} {number}", "price": number} for number in range(len(engine) % 3)],
    }


def leaves_of(value: Any, at: str = "") -> list[LeafRow]:
    if isinstance(value, dict):
        return [leaf for name, part in value.items() for leaf in leaves_of(part, f"{at}/{name}")]
    if isinstance(value, list):
        return [leaf for number, part in enumerate(value) for leaf in leaves_of(part, f"{at}/{number}")]
    return [LeafRow(at, json.dumps(value), 0.6, "copied", evidence=Evidence((Span(0, 3),), "abc"), page=1)]


def outcome_of(path: str, engine: str, value: dict[str, Any] | None = None, **more: Any) -> Outcome:
    """The outcome of a run of an engine."""
    value = value_of(path, engine) if value is None else value
    lines = value.get("lines", [])
    rows = {f"/lines/{number}": 0.7 for number in range(len(lines))}
    compiled = _compiled(more.pop("schema", SCHEMA))
    text = compiled.canonical(value) if more.get("code") != "invalid" else json.dumps(value)
    record = Record.of(text, leaves_of(value), (), rows, {"/lines": 0.8})
    digest = digest_of(path)
    document = DocumentInfo(digest, "text/plain", 12, 0, 1, 12)
    status: Literal["written", "quarantined"] = "quarantined" if more.get("code") else "written"
    return Outcome(path, status, digest=digest, document=document, record=record, **more)


#: The first runs of folders that were done before, by what they were given: a folder, and what the run returned.
_FIRST_RUNS: dict[str, tuple[TemporaryDirectory[str], Summary]] = {}
_COMPILED: dict[str, CompiledSchema] = {}


def _compiled(schema: dict[str, Any]) -> CompiledSchema:
    text = json.dumps(schema)
    if text not in _COMPILED:
        _COMPILED[text] = compile_schema(schema)
    return _COMPILED[text]


def run(
    out: Path,
    engine: str = "e1",
    schema: dict[str, Any] = SCHEMA,
    outcomes: Sequence[Outcome] | None = None,
    paths: Sequence[str] = DOCUMENTS,
    between: Callable[[], None] | None = None,
    **arguments: Any,
) -> Summary:
    """Does a run of an engine, like an extraction; the first of a folder is a copy of an equal one done before."""
    if between is not None or Path(out).exists():
        return _run(out, engine, schema, outcomes, paths, between, arguments)
    key = repr((engine, schema, outcomes, paths, arguments))
    if key not in _FIRST_RUNS:
        kept = TemporaryDirectory()
        done = _run(Path(kept.name) / "out", engine, schema, outcomes, paths, None, arguments)
        _FIRST_RUNS[key] = kept, done
    kept, summary = _FIRST_RUNS[key]
    shutil.copytree(Path(kept.name) / "out", out)
    return summary


def _run(
    out: Path,
    engine: str,
    schema: dict[str, Any],
    outcomes: Sequence[Outcome] | None,
    paths: Sequence[str],
    between: Callable[[], None] | None,
    arguments: dict[str, Any],
) -> Summary:
    source = load_schema(schema)
    with Store.open(out) as store:
        begun = Run(store, source, _compiled(source.schema), engine, {"effort": "low"} | arguments, inputs=paths)
        if between is not None:
            between()
        if outcomes is None:
            values = {p: value_of(p, engine) for p in paths}
            if schema is not SCHEMA:
                for value in values.values():
                    del value["seller"]["city"]
                    value["due"] = None
            outcomes = [outcome_of(path, engine, values[path], schema=schema) for path in paths]
        done = [
            Outcome(one.path, "skipped", "other_kind", digest=one.digest) if begun.is_refused(one.digest)
            else Outcome(one.path, "skipped", "done", digest=one.digest) if begun.done(one.digest) else one
            for one in outcomes
        ]  # fmt: skip
        for one in done:
            begun.commit_batch([one])
        return begun.finish()


if __name__ == "__main__":
    folder, document, pointer, text = sys.argv[1:]
    Corrector(Path(folder)).correct(document, "bill", [Change(Action.VALUE, pointer, text)], "a program")
