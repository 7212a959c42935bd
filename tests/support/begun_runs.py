"""Runs with a schema, a model and options, which tests begin without a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cinnabar.extraction.documents.inputs import Location
from cinnabar.extraction.filling.model_sources import Source
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.filling.routing.routing import Routing
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS, RunOptions
from cinnabar.extraction.run.backfill.backfill import Backfill, begin_backfill
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.cluster.connection import Cluster
from cinnabar.extraction.run.extract import begin_extraction
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.stored_records import Selection
from cinnabar.schemas import SchemaSource


def begun_extraction(
    paths: Sequence[Location],
    source: SchemaSource,
    out: Path,
    model: Source,
    options: RunOptions = DEFAULT_OPTIONS,
    progress: ProgressListener | None = None,
    escalation: Escalation | None = None,
    routing: Routing | None = None,
) -> BatchedRun:
    """Returns an extraction that has begun."""
    assignment = Assignment(source, model, options, escalation, routing).read_examples()
    return begin_extraction(assignment, paths, out, progress)


def begun_backfill(
    source: SchemaSource,
    out: Path,
    model: Source,
    chosen: Selection | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
    progress: ProgressListener | None = None,
    others: Sequence[Location] = (),
    routing: Routing | None = None,
) -> Backfill:
    """Returns a backfill that has begun."""
    assignment = Assignment(source, model, options, routing=routing).read_examples()
    return begin_backfill(assignment, out, chosen, progress, others)


def backfill(
    source: SchemaSource,
    out: Path,
    model: Source,
    chosen: Selection | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
    progress: ProgressListener | None = None,
    others: Sequence[Location] = (),
    cluster: Cluster | None = None,
    routing: Routing | None = None,
) -> Summary | None:
    """Fills the values that a new version of a schema adds to the stored records; None if there is nothing to do."""
    with begun_backfill(source, out, model, chosen, options, progress, others, routing).run as begun:
        return None if begun.empty else begun.work_through(cluster)
