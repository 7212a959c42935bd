"""Measures the choices of options that documents do not print, without and with the comparison of described options.

    .venv/bin/python -m bench.class_report ../shared/data --limit 50

A field counts if it has three or more options and fewer than half of its true values are printed in their documents.
`accuracy` is the share of documents with a true value whose answer is right; of a list of options the surest item
counts. `F1` is that of these answers. `sure` is the share of right answers among those with a confidence of .8 and
more, `covered` the share of the answers that have one; `invented` counts values where there is none. Documents that
trained the weights are left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.labelled_sets import read_sets, report_arguments
from bench.reporting import machine, table
from cinnabar.engine.choices import FEWEST
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.models.reader.inputs.questions import form_questions, is_printed, plain_words
from cinnabar.engine.models.reader.model import Reader
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.quality.evaluation import EvaluationSet
from cinnabar.extraction.quality.matching import is_right
from cinnabar.extraction.quality.predicting import answers
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.form import Slot
from cinnabar.schemas.pointers import unescape

#: A confidence from which an answer is sure.
SURE = 0.8


@dataclass(slots=True)
class Tally:
    """The answers to one field: for each true value whether it was found, and (confidence, right) of each answer."""

    right: list[bool] = field(default_factory=list)
    given: list[tuple[float, bool]] = field(default_factory=list)
    invented: int = 0
    nulls: int = 0

    def cells(self) -> list[str]:
        """The figures as cells of a table."""
        sure = [right for confidence, right in self.given if confidence >= SURE]
        answers = len(self.given) + self.invented
        return [
            f"{sum(self.right) / max(1, len(self.right)):.2f}",
            f"{2 * sum(self.right) / max(1, answers + len(self.right)):.2f}",
            f"{sum(sure) / len(sure):.2f}" if sure else "none",
            f"{len(sure) / max(1, len(self.given)):.2f}",
            f"{self.invented}/{self.nulls}",
        ]


def unprinted(labelled: EvaluationSet, reads: list[Read]) -> list[Slot]:
    """The slots of a set that count."""
    form = compile_schema(load_schema(labelled.schema).schema).form
    words = {r.path: plain_words(r.found.text) for r in reads if not isinstance(r.found, Exception)}
    found = []
    for slot in form.slots:
        if len(slot.options) < FEWEST or "/*" in slot.path.removesuffix("/*"):
            continue
        named = dict(zip(slot.options, form_questions(form).options[slot.index], strict=True))
        marks = [
            is_printed(named[option], words[line["file"]])
            for line in labelled.truths
            if line["file"] in words
            for option in map(_option, _values(line["truth"], slot))
            if option in named
        ]
        if marks and sum(marks) < len(marks) / 2:
            found.append(slot)
    return found


def tallies(labelled: EvaluationSet, reads: list[Read], slots: list[Slot], model: Reader) -> dict[str, Tally]:
    """The answers of a model to these slots, by path."""
    source = load_schema(labelled.schema)
    job = Job(compile_schema(source.schema), Engine(model, "medium"), Validator(source), "guess")
    predicted = answers(reads, job)
    found: dict[str, Tally] = defaultdict(Tally)
    for line in labelled.truths:
        prediction = predicted.get(line["file"]) or {}
        for slot in slots:
            _count(found[slot.path], line, prediction, slot)
    return found


def _count(tally: Tally, line: Mapping[str, Any], prediction: Mapping[str, Any], slot: Slot) -> None:
    true = [value for value in _values(line["truth"], slot) if value is not None]
    confidence = prediction.get("confidence") or {}
    inside = slot.path.removesuffix("/*")
    given = [
        (confidence.get(pointer, 0.0), value)
        for pointer, value in _leaves(prediction.get("record"), inside)
        if value is not None
    ]
    also = (line.get("also_accepted") or {}).get(slot.path.split("/")[1]) or []
    if not true:
        tally.nulls += 1
        tally.invented += bool(given)
        return
    accepted = [*true, *(also if isinstance(also, list) else [also])]
    sure, value = max(given, key=lambda one: one[0], default=(0.0, None))
    right = value is not None and any(is_right(one, value, ()) for one in accepted)
    tally.right.append(right)
    tally.given += [(sure, right)] if value is not None else []


def _values(record: Any, slot: Slot) -> list[Any]:
    return [value for _, value in _leaves(record, slot.path.removesuffix("/*"))]


def _leaves(record: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    for step in pointer.split("/")[1:]:
        record = record.get(unescape(step)) if isinstance(record, dict) else None
    if isinstance(record, list):
        yield from ((f"{pointer}/{at}", value) for at, value in enumerate(record))
    else:
        yield pointer, record


def _option(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Prints the table."""
    asked = report_arguments(__doc__)
    model = load_model(asked.model, asked.device)
    off = load_model(asked.model, asked.device, PriorConfig(without=frozenset({"described_options"})))
    rows, before, after = [], [], []
    for labelled, reads in read_sets(asked.sets, asked.limit):
        slots = unprinted(labelled, reads)
        if not slots:
            continue
        without, with_rule = (tallies(labelled, reads, slots, one) for one in (off, model))
        for slot in slots:
            first, second = without[slot.path], with_rule[slot.path]
            share = [sum(one.right) / max(1, len(one.right)) for one in (first, second)]
            before.append(share[0])
            after.append(share[1])
            counted = [labelled.name, slot.path, str(len(slot.options)), str(len(second.right))]
            rows.append([*counted, *first.cells()[:2], first.cells()[-1], *second.cells()])
    if rows:
        means = [f"{sum(shares) / len(shares):.2f}" for shares in (before, after)]
        rows.append(["mean", "", "", "", means[0], "", "", means[1], "", "", "", ""])
    print(machine(model), end="\n\n")
    before_after = ["without", "F1", "invented", "accuracy", "F1", "sure", "covered", "invented"]
    head = ["set", "field", "options", "values", *before_after]
    print(table(head, rows))


if __name__ == "__main__":
    main()
