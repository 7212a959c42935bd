"""What the pipeline says of a labelled set, as `evaluation` scores it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from cinnabar.extraction.evaluation import EvaluationSet
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.pipeline import Job, Read, run_batch
from cinnabar.extraction.storage.records import Outcome

BATCH = 16


def predict(
    labelled: EvaluationSet, job: Job, pool: ParserPool, done: Callable[[int], None] = lambda _: None
) -> dict[str, dict[str, Any]]:
    """The predictions for a set's documents, by file name; `done` is told how many more were read."""
    predictions: dict[str, dict[str, Any]] = {}
    for read in _read(labelled, pool):
        for outcome in run_batch(read, job).outcomes:
            predictions[outcome.path] = prediction_of(outcome)
        done(len(read))
    return predictions


def prediction_of(outcome: Outcome) -> dict[str, Any]:
    """A line of predictions: the record, how sure its leaves and rows are, and the text at their offsets."""
    record = outcome.record if outcome.status == "written" else None
    leaves = record.leaves if record else ()
    return {
        "file": outcome.path,
        "record": json.loads(record.text) if record else None,
        "confidence": {leaf.pointer: leaf.confidence for leaf in leaves},
        "rows": dict(record.rows) if record else {},
        "evidence": {leaf.pointer: leaf.evidence.text for leaf in leaves if leaf.evidence},
        "outcome": outcome.status,
        "code": outcome.code,
    }


def _read(labelled: EvaluationSet, pool: ParserPool) -> Iterator[list[Read]]:
    files = {labelled.folder / line["file"]: line["file"] for line in labelled.truths}
    parsed = iter(pool.parse_many(files))
    while batch := list(islice(parsed, BATCH)):
        yield [Read(files[path], getattr(found, "digest", ""), found) for path, found in batch]
