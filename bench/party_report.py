"""Measures how often two fields of one kind take each other's values: seller and buyer, from and to.

    .venv/bin/python -m bench.party_report ../shared/data data/samples --limit 30

Two texts of a schema are a pair if their pointers differ in one step, outside of lists: `/seller/name` and
`/buyer/name`, `/from_station` and `/to_station`. A document counts if it has two different values for them. `changed`
counts documents in which each field took the other's value, `same` those in which both have one value, `taken` those in
which one took the other's and the other is empty or wrong in another way. `share` is that of these three in all
documents with an error. `into empty` counts documents with one of the values that stands in the other field too or
alone. `without` is the sum of the three without the rule `joint_assignment`. A pair has a row if one of these occurs.
Documents that trained the weights are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bench.labelled_sets import read_sets, report_arguments
from bench.reporting import machine, table
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Model
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.models.reader.answers.joint_assignment import is_single_text, paired_slots
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.quality.evaluation import EvaluationSet
from cinnabar.extraction.quality.matching import is_right, is_same
from cinnabar.extraction.quality.predicting import answers
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.pointers import unescape

#: The outcomes of a pair in a document with two values; in the first three a field has the other's value.
EXCHANGED = ("changed", "same", "taken")
OUTCOMES = ("right", *EXCHANGED, "other")
#: The outcome of a document with one value if the other field has it.
INTO_EMPTY = "into empty"

Pair = tuple[Slot, Slot]


def pairs_of(form: Form) -> list[Pair]:
    """The pairs of slots of one kind and pattern whose pointers differ in one step, outside of lists."""
    texts = list(filter(is_single_text, form.slots))
    return [(texts[i], texts[j]) for i, j in np.argwhere(np.triu(paired_slots(texts))).tolist()]


def outcome(
    truths: tuple[Any, Any], found: tuple[Any, Any], also: tuple[Sequence[Any], Sequence[Any]] = ((), ())
) -> str | None:
    """The outcome of a pair with these true values, answers and other right values; None if it does not count."""
    if is_same(*truths) or truths == (None, None):
        return None
    # A value that is right in its own place is nobody else's.
    right = [is_right(*one) for one in zip(truths, found, also, strict=True)]
    crossed = [not right[at] and is_right(truths[1 - at], found[at], also[1 - at]) for at in (0, 1)]
    if None in truths:
        return INTO_EMPTY if crossed[truths.index(None)] and found[truths.index(None)] is not None else None
    if all(right):
        return "right"
    if all(crossed):
        return "changed"
    if not any(crossed):
        return "other"
    return "same" if is_same(*found) else "taken"


def tallies(
    labelled: EvaluationSet, predicted: Mapping[str, Mapping[str, Any]], pairs: Sequence[Pair]
) -> dict[Pair, Counter[str]]:
    """How often each pair had each outcome in the documents of a set, if it counts in any."""
    found: dict[Pair, Counter[str]] = {}
    for line in labelled.truths:
        record = (predicted.get(line["file"]) or {}).get("record")
        accepted = line.get("also_accepted") or {}
        for pair in pairs:
            truths, values = ([_value(one, slot.path) for slot in pair] for one in (line["truth"], record))
            also = [_listed(accepted.get(unescape(slot.path.split("/")[1]))) for slot in pair]
            told = outcome((truths[0], truths[1]), (values[0], values[1]), (also[0], also[1]))
            if told is not None:
                found.setdefault(pair, Counter())[told] += 1
    return found


def _listed(also: Any) -> list[Any]:
    if isinstance(also, dict):
        return [value for part in also.values() for value in _listed(part)]
    return also if isinstance(also, list) else [] if also is None else [also]


def _value(record: Any, path: str) -> Any:
    for step in path.split("/")[1:]:
        record = record.get(unescape(step)) if isinstance(record, dict) else None
    return record


def exchanged(tally: Counter[str]) -> int:
    """The number of documents with two values in which a field has the other's."""
    return sum(tally[name] for name in EXCHANGED)


def cells(tally: Counter[str], without: Counter[str]) -> list[str]:
    """The figures of a tally, and of one without the rule, as cells of a table."""
    documents = sum(tally[name] for name in OUTCOMES)
    wrong = documents - tally["right"]
    counts = (documents, *(tally[name] for name in OUTCOMES))
    share = f"{exchanged(tally) / wrong:.2f}" if wrong else "-"
    return [*map(str, counts), share, str(tally[INTO_EMPTY]), str(exchanged(without))]


def rows_of(
    labelled: EvaluationSet, reads: Sequence[Read], model: Model, off: Model
) -> Iterator[tuple[str, Counter[str], Counter[str]]]:
    """The pairs of a set of which one field took the other's value in some document, with both models' tallies."""
    source = load_schema(labelled.schema)
    compiled = compile_schema(source.schema)
    pairs = pairs_of(compiled.form)
    jobs = [Job(compiled, Engine(one, "medium"), Validator(source), "guess") for one in (model, off)]
    found, without = (tallies(labelled, answers(reads, job), pairs) for job in jobs)
    for pair in pairs:
        tally, before = (one.get(pair, Counter()) for one in (found, without))
        if exchanged(tally) or tally[INTO_EMPTY] or exchanged(before):
            yield " ".join(slot.path for slot in pair), tally, before


def has_pairs(labelled: EvaluationSet) -> bool:
    """Returns whether the schema of a set has a pair."""
    return bool(pairs_of(compile_schema(load_schema(labelled.schema).schema).form))


def main() -> None:
    """Prints the table."""
    asked = report_arguments(__doc__)
    model = load_model(asked.model, asked.device)
    off = load_model(asked.model, asked.device, PriorConfig(without=frozenset({"joint_assignment"})))
    rows, total, total_without = [], Counter[str](), Counter[str]()
    for labelled, reads in read_sets(asked.sets, asked.limit, has_pairs):
        for name, tally, without in rows_of(labelled, reads, model, off):
            rows.append([labelled.name, name, *cells(tally, without)])
            total.update(tally)
            total_without.update(without)
    rows.append(["all", "", *cells(total, total_without)])
    print(machine(model), end="\n\n")
    print(table(["set", "pair", "documents", *OUTCOMES, "share", INTO_EMPTY, "without"], rows))


if __name__ == "__main__":
    main()
