"""Runs the pipeline on a labelled set and returns predictions for `extraction/learning/evaluation.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.reading.pipeline import Job, Read, run_batch
from cinnabar.extraction.run.work.labelled_sets import LabelledSet, read_set
from cinnabar.extraction.store.records import Outcome

BATCH = 16


def predict(
    labelled: LabelledSet, job: Job, pool: ParserPool, done: Callable[[int], None] = lambda _: None
) -> dict[str, dict[str, Any]]:
    """Returns the predictions for a set's documents, by file name; calls `done` with the size of each batch."""
    predictions: dict[str, dict[str, Any]] = {}
    reads = read_set(labelled, pool)
    while batch := list(islice(reads, BATCH)):
        predictions |= answers(batch, job)
        done(len(batch))
    return predictions


def answers(reads: Sequence[Read], job: Job) -> dict[str, dict[str, Any]]:
    """Returns the predictions for parsed documents, by file name."""
    outcomes = (
        outcome
        for start in range(0, len(reads), BATCH)
        for outcome in run_batch(reads[start : start + BATCH], job).outcomes
    )
    texts = {read.path: read.found.text for read in reads if not isinstance(read.found, Exception)}
    return {outcome.path: prediction_of(outcome) | {"text": texts.get(outcome.path)} for outcome in outcomes}


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
