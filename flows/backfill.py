"""The Prefect flow of a backfill; a batch that fails is tried again."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

# First: it sets what Prefect reads when it is imported.
from cinnabar.flows.extract import A_BATCH

from prefect import flow, get_run_logger, task  # isort: skip

from cinnabar.extraction.backfilling import Backfill
from cinnabar.extraction.run import Options
from cinnabar.extraction.sources import model_source
from cinnabar.extraction.storage.stored import Selection
from cinnabar.schemas import load_schema


@task(name="backfill-batch", **A_BATCH)
def fill_batch(begun: Backfill, number: int) -> int:
    """Fill and commit one batch of records; how many these were."""
    return len(begun.work(number))


@flow(name="backfill-folder", persist_result=False)
def backfill_folder(
    record_schema: str,
    out: str,
    since: datetime | None = None,
    until: datetime | None = None,
    source: str | None = None,
    below: float | None = None,
    where: str | None = None,
    model: str = "default",
    device: str = "auto",
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Make the records in the folder `out` records of this version of their schema.

    `record_schema` is a name of the library, a path or `module:Class`; `since`, `until` (exclusive),
    `source`, `below` and `where` choose records as those of `cinnabar backfill` do; `options` are the fields
    of `extraction.run.Options`. A batch that fails three times fails the flow; what was committed stands, and
    the next run goes on from there. Returns the fields of `extraction.run.Summary`, none where there was
    nothing to fill.
    """
    chosen = Selection(since=since, until=until, source=source, below=below, where=where)
    version, filler = load_schema(record_schema), model_source(model, device)
    with Backfill(version, Path(out), filler, chosen, Options(**(options or {}))) as begun:
        if begun.empty:
            get_run_logger().info("nothing to fill")
            return {}
        for number in range(len(begun.batches)):
            fill_batch(begun, number)
        summary = begun.finish()
    get_run_logger().info(
        "%d written, %d quarantined, %d skipped", summary.written, summary.quarantined, summary.skipped
    )
    return asdict(summary)
