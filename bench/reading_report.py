"""Measures how much the model depends on the words of a schema: the same documents, with other words.

    .venv/bin/python -m bench.reading_report ../shared/data/sroie data/samples/receipt --limit 20

Each row is F1 over the same documents, held back if the shipped weights train on the set. The rows are: the schema as
it is; nonsense names of fields without titles, descriptions kept; descriptions handed on from field to field; both;
three other wordings of names and descriptions; half of the fields under nonsense names. Schemas with references or
alternatives are left out.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Model
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.training.recipe import load_recipe
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.quality.evaluation import EvaluationSet, find_sets
from cinnabar.extraction.quality.held_back import held_back_files
from cinnabar.extraction.quality.predicting import answers, read_set
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema

Schema = dict[str, Any]
#: A map from the properties of an object to renamed ones: old name to (new name, schema).
Renaming = Callable[[dict[str, Schema]], dict[str, tuple[str, Schema]]]

SYLLABLES = ("zor", "mip", "tal", "quen", "bru", "vex", "lod", "pim", "gar", "sul", "wen", "hak")


def nonsense(properties: dict[str, Schema]) -> dict[str, tuple[str, Schema]]:
    """The properties under nonsense names without titles; descriptions stay."""
    found = {}
    for number, (name, schema) in enumerate(properties.items()):
        high, low = divmod(number, len(SYLLABLES))
        new = SYLLABLES[low] + SYLLABLES[(low * 5 + high * 7 + 3) % len(SYLLABLES)] + "x" * (high // 12)
        found[name] = (new, {k: v for k, v in schema.items() if k != "title"})
    return found


def handed_on(properties: dict[str, Schema]) -> dict[str, tuple[str, Schema]]:
    """Each field with the description of the next one of its type, if there is another; no titles."""
    by_type: dict[str, list[str]] = {}
    for name, schema in properties.items():
        by_type.setdefault(json.dumps([schema.get("type"), schema.get("format")]), []).append(name)
    found = {}
    for names in by_type.values():
        for name, other in zip(names, names[1:] + names[:1], strict=True):
            schema = {k: v for k, v in properties[name].items() if k not in ("title", "description")}
            if "description" in properties[other]:
                schema["description"] = properties[other]["description"]
            found[name] = (name, schema)
    return found


def half(properties: dict[str, Schema]) -> dict[str, tuple[str, Schema]]:
    """Every second field, under nonsense names."""
    return nonsense({name: properties[name] for name in list(properties)[::2]})


def worded(name: Callable[[str], str], description: Callable[[str], str]) -> Renaming:
    """A renaming that writes names and descriptions in another way and drops titles."""

    def renaming(properties: dict[str, Schema]) -> dict[str, tuple[str, Schema]]:
        found = {}
        for own, schema in properties.items():
            new = {k: v for k, v in schema.items() if k != "title"}
            if "description" in new:
                new["description"] = description(new["description"])
            found[own] = (name(own), new)
        return found

    return renaming


def camel(name: str) -> str:
    """`due_date` as `dueDate`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


WORDINGS = {
    "camelCase names": worded(camel, str),
    "first sentences, capital names": worded(str.upper, lambda text: text.split(". ")[0]),
    "as questions": worded(lambda name: f"the_{name}", lambda text: f"What does the document say of: {text}"),
}


def reworded(labelled: EvaluationSet, *renamings: Renaming) -> EvaluationSet:
    """The same documents with schema and truth under other names."""
    schema, truths = labelled.schema, list(labelled.truths)
    for renaming in renamings:
        schema, rename = _renamed(schema, renaming)
        truths = [
            dict(line) | {key: rename(line[key]) for key in ("truth", "also_accepted") if key in line}
            for line in truths
        ]
    return replace(labelled, schema=schema, truths=tuple(truths))


def _renamed(schema: Schema, renaming: Renaming) -> tuple[Schema, Callable[[Any], Any]]:
    """The schema under other names, and the function that renames a record likewise."""
    schema = copy.deepcopy(schema)
    if "properties" in schema:
        below = {name: _renamed(own, renaming) for name, own in schema["properties"].items()}
        names = renaming({name: own for name, (own, _) in below.items()})
        schema["properties"] = dict(names.values())
        if "required" in schema:
            schema["required"] = [names[name][0] for name in schema["required"] if name in names]

        def record(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            return {names[name][0]: below[name][1](v) for name, v in value.items() if name in names}

        return schema, record
    if isinstance(schema.get("items"), dict):
        schema["items"], item = _renamed(schema["items"], renaming)
        return schema, lambda value: [item(x) for x in value] if isinstance(value, list) else value
    return schema, lambda value: value


def rows_of(labelled: EvaluationSet, model: Model, pool: ParserPool) -> Iterator[tuple[str, float]]:
    """F1 for each wording of the schema."""
    reads = list(read_set(labelled, pool))
    yield "as it is", _f1(labelled, reads, model)
    yield "nonsense names", _f1(reworded(labelled, nonsense), reads, model)
    yield "descriptions handed on", _f1(reworded(labelled, handed_on), reads, model)
    yield "both", _f1(reworded(labelled, handed_on, nonsense), reads, model)
    for name, wording in WORDINGS.items():
        yield name, _f1(reworded(labelled, wording), reads, model)
    yield "half of the fields, nonsense names", _f1(reworded(labelled, half), reads, model)


def _f1(labelled: EvaluationSet, reads: list[Read], model: Model) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.json"
        path.write_text(json.dumps(labelled.schema))
        source = load_schema(path)
        job = Job(compile_schema(source.schema), Engine(model, "medium"), Validator(source), "guess")
        return float(labelled.score(answers(reads, job))["f1"])


def main() -> None:
    """Prints the table, and the spread of the wordings over all sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path, help="labelled sets, or folders of them")
    parser.add_argument("--limit", type=int, default=20, help="documents of each set")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    model = load_model(asked.model, asked.device)
    recipe = load_recipe()
    table: dict[str, list[float]] = {}
    names: list[str] = []
    with ParserPool(1) as pool:
        for labelled in (one for path in asked.sets for one in find_sets(path)):
            if any(word in json.dumps(labelled.schema) for word in ('"$ref"', '"anyOf"', '"oneOf"')):
                continue
            chosen = labelled.select(held_back_files(labelled, recipe), asked.limit)
            names.append(chosen.name)
            for way, f1 in rows_of(chosen, model, pool):
                table.setdefault(way, []).append(f1)
    print(f"| schema | {' | '.join(names)} | mean |\n|---|{'---:|' * (len(names) + 1)}")
    for way, found in table.items():
        print(f"| {way} | {' | '.join(f'{f1:.3f}' for f1 in [*found, sum(found) / len(found)])} |")
    means = [sum(found) / len(found) for way, found in table.items() if way in (*WORDINGS, "as it is")]
    print(f"\nSpread of the wordings, of the means: {max(means) - min(means):.3f}.")


if __name__ == "__main__":
    main()
