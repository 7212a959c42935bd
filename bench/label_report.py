"""Measures whether a printed label finds its value, and whether a decoy of it is left alone.

    python -m bench.label_report ../shared/data --documents 200

A label begins a line, is followed by a colon and its value, and stands once in the document, outside of quoted mail. A
field with no description and the label as its title is asked for with the document
- as it is (right: the printed value),
- with the label's line moved to the end or to the beginning (right: the printed value),
- with the line taken out (right: null),
- with the label again, in a quoted mail below or as a cell of a table (right: the printed value; taken: the other one),
- and, for a label of several words, under the title of its last word alone with "not the …" as its description (right:
  null; taken: the printed value).

Of a set that trains (training/recipe.toml) the documents held back count, of any other set all; the recipe's left-out
sets, and those that are looked at once, are passed over.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.labelled import held_back_part
from training.recipe import load_recipe
from training.runs import LOOKED_AT_ONCE

from bench.labelled_sets import job_of, read_text
from bench.reporting import machine, table
from cinnabar.engine.filler import Filler
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.model_sources import sources_of
from cinnabar.extraction.reading.pipeline import run_batch
from cinnabar.extraction.reading.planning import passage_of
from cinnabar.extraction.run.work.labelled_sets import find_sets
from cinnabar.schemas.errors import DocumentError

_LABEL = re.compile(
    r"^[ \t]{0,4}(?P<label>[^\W\d_][\w./'-]*(?: [\w./'&-]+){0,3}):[ \t]+(?P<value>\S[^\n]{0,60})$"
    r"(?=\s*\Z|\n[ \t]*\n|\n[ \t]{0,4}[^\W\d_][^\n:]{0,40}:)",
    re.M,
)
_MARKS = ".,;<>()'\"\\ "
#: The most characters of a document, and the sets and documents that count at most.
LONGEST, SETS = 6000, 40


@dataclass(frozen=True, slots=True)
class Printed:
    """A label that a text prints once, with its value and the line of both as characters [start, end)."""

    text: str
    label: str
    value: str
    line: tuple[int, int]

    @property
    def without(self) -> str:
        """The text without the line."""
        return self.text[: self.line[0]] + self.text[self.line[1] + 1 :]

    @property
    def own_line(self) -> str:
        """The line itself."""
        return self.text[self.line[0] : self.line[1]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A text with one field, the right answer, and the decoy that must not be taken."""

    way: str
    text: str
    title: str
    description: str
    right: str | None
    decoy: str | None


def labels_of(text: str) -> list[Printed]:
    """Returns the labels that the text prints once, in no table and no quoted mail."""
    found = []
    for match in _LABEL.finditer(text):
        label, value = match["label"], match["value"].strip()
        line = text[match.start() : match.end()]
        if line.startswith(">") or "  " in line.strip() or "\t" in line.strip() or "|" in line or ": " in value:
            continue
        if len(re.findall(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.I)) == 1 and text.count(value) == 1:
            found.append(Printed(text, label, value, match.span()))
    return found


def printed_labels(data: Sequence[Path], documents: int, rng: random.Random) -> list[Printed]:
    """Returns one label each of so many documents, of SETS sets at most, the same number of each set."""
    recipe = load_recipe()
    by_set: dict[str, list[Printed]] = {}
    sets = [one for path in data for one in find_sets(path)]
    for one in sets:
        if one.name in recipe.left_out or one.name in LOOKED_AT_ONCE:
            continue
        truths = list(held_back_part(one, recipe).truths)
        for line in rng.sample(truths, min(len(truths), 40)):
            try:
                path = one.folder / line["file"]
                text = passage_of(parse(path.read_bytes(), str(path))).text[:LONGEST]
            except (DocumentError, OSError):
                continue
            if labels := labels_of(text):
                by_set.setdefault(one.name, []).append(rng.choice(labels))
            if len(by_set.get(one.name, ())) >= 2 * documents // SETS:
                break
    chosen: list[Printed] = []
    for at in range(2 * documents):
        chosen += [found[at] for found in list(by_set.values())[:SETS] if at < len(found)]
    print(f"{min(len(by_set), SETS)} sets with such labels")
    return chosen[:documents]


def ways_of(one: Printed, other: str, rng: random.Random) -> Iterator[Asked]:
    """Yields the fields that are asked of a label; other: a value of another document, the decoy."""
    label, value, own = one.label, one.value, one.own_line.strip()
    yield Asked("as it is", one.text, label, "", value, None)
    yield Asked("moved to the end", f"{one.without.rstrip()}\n\n{own}\n", label, "", value, None)
    yield Asked("moved to the beginning", f"{own}\n\n{one.without.lstrip()}", label, "", value, None)
    yield Asked("taken out", one.without, label, "", None, None)
    if rng.random() < 0.5:
        again = f"{one.text.rstrip()}\n\nOn Monday someone wrote:\n> Hello,\n> {label}: {other}\n> Thanks\n"
    else:
        again = f"{one.text.rstrip()}\n\nNo.   Name   {label}\n1     Miller   {other}\n2     Baker   {other}\n"
    yield Asked("repeated elsewhere", again, label, "", value, other)
    head = label.split()[-1]
    if " " in label and len(re.findall(rf"(?<!\w){re.escape(head)}(?!\w)", one.text, re.I)) == 1:
        yield Asked("not the …", one.text, head.capitalize(), f"The {head.lower()}, not the {label}.", None, value)


def answer(model: Filler, asked: Asked) -> str | None:
    """Returns the value that the model gives to the field."""
    field: dict[str, Any] = {"type": ["string", "null"], "title": asked.title}
    if asked.description:
        field["description"] = asked.description
    closed = {"required": ["field"], "additionalProperties": False}
    schema = {"type": "object", "properties": {"field": field}} | closed
    (outcome,) = run_batch([read_text(asked.text)], job_of(schema, model, "quarantine")).outcomes
    value: str | None = None if outcome.record is None else json.loads(outcome.record.text).get("field")
    return value


def alike(found: str | None, right: str | None) -> bool:
    """Returns whether two answers are the same but for spaces and marks around them."""
    if found is None or right is None:
        return found is right
    return " ".join(found.split()).strip(_MARKS) == " ".join(right.split()).strip(_MARKS)


def main() -> None:
    """Prints the share of right answers, and of decoys taken, by way of asking."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--model", default="default")
    parser.add_argument("--show", action="store_true", help="print each wrong answer")
    asked = parser.parse_args()
    rng = random.Random(0)
    source, _ = sources_of(RunPlan.of(model=asked.model), asked.model)
    model = source.filler("medium", None)
    labels = printed_labels(asked.data, asked.documents, rng)
    counts, right, taken, nulls = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for at, one in enumerate(labels):
        for way in ways_of(one, labels[(at + 1) % len(labels)].value, rng):
            found = answer(model, way)
            counts[way.way] += 1
            right[way.way] += alike(found, way.right)
            nulls[way.way] += found is None
            taken[way.way] += way.decoy is not None and alike(found, way.decoy)
            if asked.show and not alike(found, way.right):
                print(f"{way.way}: {way.title!r} {way.description!r}: {found!r}, not {way.right!r}", flush=True)
    print(machine(load_model(asked.model)))
    rows = (
        (way, str(n), f"{right[way] / n:.3f}", f"{nulls[way] / n:.3f}", f"{taken[way] / n:.3f}")
        for way, n in counts.items()
    )
    print(table(("label", "documents", "right", "null", "decoy taken"), rows))


if __name__ == "__main__":
    main()
