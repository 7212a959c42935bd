"""Measures how often two fields of one kind take each other's values: seller and buyer, from and to.

    .venv/bin/python -m bench.party_report ../shared/data data/samples --limit 30

Two texts of a schema are a pair if their pointers differ in one step, outside of lists: `/seller/name` and
`/buyer/name`, `/from_station` and `/to_station`. A document counts if it has two different values for them. `changed`
counts documents in which each field took the other's value, `same` those in which both have one value, `taken` those in
which one took the other's and the other is empty or wrong in another way. `share` is that of these three in all
documents with an error. `into empty` counts documents with one of the values that stands in the other field too or
alone. A pair has a row if that, or one of the three, occurs. The last row is the sum over all pairs, with a row or
without. Documents that trained the weights are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from bench.labelled_sets import read_sets, report_arguments
from bench.reporting import machine, table
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.base import Model
from cinnabar.engine.models.loading import load_model
from cinnabar.engine.models.reader.inputs.questions import kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.extraction.pipeline import Job, Read
from cinnabar.extraction.quality.evaluation import EvaluationSet
from cinnabar.extraction.quality.matching import is_right, is_same
from cinnabar.extraction.quality.predicting import answers
from cinnabar.extraction.records.validation import Validator
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.pointers import unescape

#: The kinds of slots that make pairs: texts, with or without a pattern.
TEXTS = (KINDS.index("text"), KINDS.index("pattern"))
#: The outcomes of a pair in a document with two values; in the first three a field has the other's value.
EXCHANGED = ("changed", "same", "taken")
OUTCOMES = ("right", *EXCHANGED, "other")
#: The outcome of a document with one value if the other field has it.
INTO_EMPTY = "into empty"

Pair = tuple[Slot, Slot]


def pairs_of(form: Form) -> list[Pair]:
    """The pairs of texts outside of lists that have one kind and pattern, and pointers that differ in one step."""
    texts = [s for s in form.slots if kind_of(s) in TEXTS and "/*" not in s.path and s.binding is None]
    return [pair for pair in combinations(texts, 2) if _are_alike(*pair)]


def _are_alike(one: Slot, other: Slot) -> bool:
    steps, others = one.path.split("/"), other.path.split("/")
    # The branches of a choice have one pointer, and only one of them has a value.
    if len(steps) != len(others) or sum(a != b for a, b in zip(steps, others, strict=True)) != 1:
        return False
    return (kind_of(one), one.pattern, one.format) == (kind_of(other), other.pattern, other.format)


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


def cells(tally: Counter[str]) -> list[str]:
    """The figures of a tally as cells of a table."""
    documents = sum(tally[name] for name in OUTCOMES)
    wrong = documents - tally["right"]
    counts = (documents, *(tally[name] for name in OUTCOMES))
    return [*map(str, counts), f"{exchanged(tally) / wrong:.2f}" if wrong else "-", str(tally[INTO_EMPTY])]


def tallies_of(labelled: EvaluationSet, reads: Sequence[Read], model: Model) -> dict[Pair, Counter[str]]:
    """The tallies of a model on a set."""
    source = load_schema(labelled.schema)
    compiled = compile_schema(source.schema)
    predicted = answers(reads, Job(compiled, Engine(model, "medium"), Validator(source), "guess"))
    return tallies(labelled, predicted, pairs_of(compiled.form))


def has_pairs(labelled: EvaluationSet) -> bool:
    """Returns whether the schema of a set has a pair."""
    return bool(pairs_of(compile_schema(load_schema(labelled.schema).schema).form))


def main() -> None:
    """Prints the table."""
    asked = report_arguments(__doc__)
    model = load_model(asked.model, asked.device)
    rows, total = [], Counter[str]()
    for labelled, reads in read_sets(asked.sets, asked.limit, has_pairs):
        for (one, other), tally in tallies_of(labelled, reads, model).items():
            total.update(tally)
            if exchanged(tally) or tally[INTO_EMPTY]:
                rows.append([labelled.name, f"{one.path} {other.path}", *cells(tally)])
    rows.append(["all", "", *cells(total)])
    print(machine(model), end="\n\n")
    print(table(["set", "pair", "documents", *OUTCOMES, "share", INTO_EMPTY], rows))


if __name__ == "__main__":
    main()
