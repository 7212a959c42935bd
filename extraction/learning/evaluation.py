"""Predictions for labelled sets, and their scores against the truth.

`extraction/learning/scoring.py` defines the figures; over several sets they are means over the sets.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from cinnabar.extraction.filling.checks.validation import RecordViolation, Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.learning.pairing import LeafPair, ListPair, leaf_pairs, list_pairs, says_something
from cinnabar.extraction.learning.pairing import Path as FieldPath
from cinnabar.extraction.learning.scoring import Figures, Prediction, Scoring, spell_path
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, Truth
from cinnabar.extraction.store.records import Outcome


def score(
    truths: Sequence[Truth], predictions: Mapping[str, Prediction], zero_is_null: bool = False
) -> Figures:
    """Returns the figures of these predictions, by file name; a document without a record counts as all null.

    With `zero_is_null` 0 counts as null on both sides.
    """
    scoring = Scoring()
    answered = 0
    for line in truths:
        prediction = predictions.get(line["file"]) or {}
        record = prediction.get("record")
        answered += record is not None
        scoring.add(leaves_of(line, record, zero_is_null), prediction)
        if prediction.get("lists"):
            scoring.add_lists(lists_of(line, record, zero_is_null), prediction["lists"])
    figures = scoring.figures()
    by_field = figures.pop("fields")
    return figures | {"documents": len(truths), "answered": answered, "fields": by_field}


def leaves_of(line: Truth, record: Any, zero_is_null: bool = False) -> Iterator[LeafPair]:
    """Yields the leaves of a document's truth and of its extracted record in pairs."""
    return leaf_pairs(*_prepare_pair(line, record, zero_is_null))


def lists_of(line: Truth, record: Any, zero_is_null: bool = False) -> Iterator[ListPair]:
    """Yields the lists of a document's extracted record, and whether they are complete."""
    return list_pairs(*_prepare_pair(line, record, zero_is_null))


def _prepare_pair(
    line: Truth, record: Any, zero_is_null: bool
) -> tuple[Any, Any, dict[str, Sequence[Any]]]:
    """Returns the truth and the record as they are compared, and the other right values by top-level field."""
    truth = line["truth"]
    if zero_is_null:
        truth, record = _zeros_as_null(truth), _zeros_as_null(record)
    also: dict[str, Sequence[Any]] = {
        name: list(_scalars(value)) for name, value in (line.get("also_accepted") or {}).items()
    }
    return truth, record, also


def best_constant(truths: Sequence[Truth], zero_is_null: bool = False) -> Figures:
    """Returns the figures of the best record that is the same for every document.

    Each field has its commonest value, unless the record without it has at least the same f1.
    """
    values: dict[FieldPath, Counter[str]] = defaultdict(Counter)
    for line in truths:
        for path, value in _leaves(line["truth"]):
            if says_something(value):
                values[path][json.dumps(value)] += 1

    def figures(chosen: Mapping[FieldPath, Any]) -> Figures:
        record = _record_of(chosen)
        return score(truths, {line["file"]: {"record": record} for line in truths}, zero_is_null)

    chosen = {path: json.loads(counts.most_common(1)[0][0]) for path, counts in values.items()}
    best = figures(chosen)
    by_f1 = {path: best["fields"].get(spell_path(path), {}).get("f1", 0) for path in chosen}
    for path in sorted(chosen, key=by_f1.__getitem__):
        fewer = {other: value for other, value in chosen.items() if other != path}
        trial = figures(fewer)
        if trial["f1"] >= best["f1"]:
            chosen, best = fewer, trial
    return best


def score_set(labelled: LabelledSet, predictions: Mapping[str, Prediction]) -> Figures:
    """Returns the figures of these predictions on a set."""
    return score(labelled.truths, predictions, **labelled.options)


def best_constant_of(labelled: LabelledSet) -> Figures:
    """Returns the figures of the best constant answer on a set."""
    return best_constant(labelled.truths, **labelled.options)


def summarise(results: Mapping[str, Figures]) -> Figures:
    """Returns the means over these sets, the fields if there is one set, and the figures of each set.

    Documents and values are summed. A set without a figure, or without any value in or outside of lists, does not enter
    that mean; its own figure is None.
    """
    summary: Figures = {}
    for name in dict.fromkeys(name for figures in results.values() for name in figures if name != "fields"):
        known = [figures[name] for figures in results.values() if _has(figures, name)]
        if name in ("support", "documents", "answered", "rated_lists", "rows"):
            summary[name] = sum(known)
        else:
            summary[name] = round(sum(known) / len(known), 4) if known else None
    if len(results) == 1:
        summary["fields"] = next(iter(results.values()))["fields"]
    sets = {
        set_name: {name: figures[name] if _has(figures, name) else None for name in figures}
        for set_name, figures in results.items()
    }
    return summary | {"sets": sets}


def _has(figures: Figures, name: str) -> bool:
    """Returns True if a set has a meaningful value of this figure."""
    if name in ("scalars", "lists"):
        fields = figures["fields"].items()
        return any(("/*" in path) == (name == "lists") for path, counts in fields if counts["support"])
    return figures.get(name) is not None


def broken_truths(truths: Sequence[Truth], validator: Validator) -> list[tuple[str, RecordViolation]]:
    """Returns the documents whose truth breaks its own schema, each with its first violation."""
    by_file = ((line["file"], validator.check(json.dumps(line["truth"]))) for line in truths)
    return [(file, violations[0]) for file, violations in by_file if violations]


def _scalars(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif not isinstance(value, dict):
        yield value


def _leaves(value: Any, path: FieldPath = ()) -> Iterable[tuple[FieldPath, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, (*path, "*"))
    else:
        yield path, value


def _record_of(chosen: Mapping[FieldPath, Any]) -> Any:
    """Returns the record with these values, and one item in each list."""
    if () in chosen:
        return chosen[()]
    below: dict[str, dict[FieldPath, Any]] = defaultdict(dict)
    for path, value in chosen.items():
        below[path[0]][path[1:]] = value
    if "*" in below:
        return [_record_of(below["*"])]
    return {name: _record_of(rest) for name, rest in below.items()}


def _zeros_as_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _zeros_as_null(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_zeros_as_null(item) for item in value]
    return None if not isinstance(value, bool) and value == 0 else value


BATCH = 16


def answers(
    reads: Iterable[OpenedInput], job: Job, done: Callable[[int], None] = lambda _: None
) -> dict[str, dict[str, Any]]:
    """Returns the predictions for parsed documents, by file name; calls `done` with the size of each batch."""
    left, predictions = iter(reads), dict[str, dict[str, Any]]()
    while batch := list(islice(left, BATCH)):
        predictions |= {outcome.path: prediction_of(outcome) for outcome in run_batch(batch, job).outcomes}
        done(len(batch))
    return predictions


def prediction_of(outcome: Outcome) -> dict[str, Any]:
    """Returns a line of predictions: the record, the confidences of leaves, rows and lists, and the evidence texts."""
    record = outcome.record if outcome.status == "written" else None
    leaves = record.leaves if record else ()
    return {
        "file": outcome.path,
        "record": json.loads(record.text) if record else None,
        # A constant of the schema is no answer of the model.
        "confidence": {leaf.pointer: leaf.confidence for leaf in leaves if leaf.origin != "known"},
        "rows": dict(record.rows) if record else {},
        "lists": dict(record.lists) if record else {},
        "evidence": {leaf.pointer: leaf.evidence.text for leaf in leaves if leaf.evidence},
        "outcome": outcome.status,
        "code": outcome.code,
    }


def more_than_chance(better: int, worse: int) -> bool:
    """Returns whether so many documents of two kinds are no chance, by a two-sided sign test at .1."""
    ways = [math.comb(better + worse, count) for count in range(min(better, worse) + 1)]
    return float(2 * sum(ways)) < 0.1 * 2.0 ** (better + worse)
