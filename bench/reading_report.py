"""Measures how much the model depends on the words of a schema: the same documents, with other words.

    .venv/bin/python -m bench.reading_report ../shared/data/sroie data/samples/receipt --limit 20

Each row is F1 over the same documents, held back if the shipped weights train on the set. The rows are: the schema as
it is; nonsense names of fields without titles, descriptions kept; descriptions handed on from field to field; both;
three other wordings of names and descriptions; half of the fields under nonsense names. Schemas with references or
alternatives are left out.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from bench.labelled_sets import figures_of, read_sets, report_arguments
from cinnabar.engine.models.base import Model
from cinnabar.engine.models.loading import load_model
from cinnabar.extraction.pipeline import Read
from cinnabar.extraction.quality.evaluation import EvaluationSet

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


def rows_of(labelled: EvaluationSet, reads: Sequence[Read], model: Model) -> Iterator[tuple[str, float]]:
    """F1 for each wording of the schema."""
    ways: dict[str, tuple[Renaming, ...]] = {
        "as it is": (),
        "nonsense names": (nonsense,),
        "descriptions handed on": (handed_on,),
        "both": (handed_on, nonsense),
        **{name: (wording,) for name, wording in WORDINGS.items()},
        "half of the fields, nonsense names": (half,),
    }
    for way, renamings in ways.items():
        yield way, float(figures_of(reworded(labelled, *renamings), reads, model)["f1"])


def is_plain(labelled: EvaluationSet) -> bool:
    """Returns whether the schema has no references and no alternatives, which are not reworded."""
    return not any(word in json.dumps(labelled.schema) for word in ('"$ref"', '"anyOf"', '"oneOf"'))


def main() -> None:
    """Prints the table, and the spread of the wordings over all sets."""
    asked = report_arguments(__doc__)
    model = load_model(asked.model, asked.device)
    table: dict[str, list[float]] = {}
    names: list[str] = []
    for labelled, reads in read_sets(asked.sets, asked.limit, is_plain):
        names.append(labelled.name)
        for way, f1 in rows_of(labelled, reads, model):
            table.setdefault(way, []).append(f1)
    print(f"| schema | {' | '.join(names)} | mean |\n|---|{'---:|' * (len(names) + 1)}")
    for way, found in table.items():
        print(f"| {way} | {' | '.join(f'{f1:.3f}' for f1 in [*found, sum(found) / len(found)])} |")
    means = [sum(found) / len(found) for way, found in table.items() if way in (*WORDINGS, "as it is")]
    print(f"\nSpread of the wordings, of the means: {max(means) - min(means):.3f}.")


if __name__ == "__main__":
    main()
