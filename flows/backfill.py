"""The Prefect flow of a backfill."""

# Annotations stay values here, as in extract.py.
from datetime import datetime
from pathlib import Path
from typing import Any

# First, because it sets the environment that Prefect reads on import.
from cinnabar.flows.tasks import work_on

from cinnabar.flows.flow_run import begun_run, ends_in_words, show_end  # isort: skip
from prefect import get_run_logger  # isort: skip

from cinnabar.extraction.documents.inputs import parse_locations
from cinnabar.extraction.documents.mailboxes.address import password_of_environment
from cinnabar.extraction.plan.parameters import takes
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.extraction.run.backfill.backfill import begin_backfill
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.names import check_local
from cinnabar.extraction.store.stored_records import Selection
from cinnabar.flows.parameters import Seconds, Share, check_given
from cinnabar.flows.prefect_server import secret
from cinnabar.flows.stored_parameters import stored_flow


@stored_flow("backfill-folder", "{record_schema} in {out}")
@ends_in_words
@takes(
    "model",
    "device",
    *(name for name in RunOptions.model_fields if name != "retry_quarantined"),
    "related",
    "max_error_rate",
    "ray",
)
def backfill_folder(
    record_schema: str,
    out: str,
    since: datetime | None = None,
    until: datetime | None = None,
    source: str | None = None,
    below: Share | None = None,
    where: str | None = None,
    others: list[str] | None = None,
    password_block: str | None = None,
    wait: Seconds = 3600,
    **run_options: Any,
) -> Summary | None:
    """Brings the records in the folder `out` to this version of their schema and fills new and changed fields.

    A batch that fails on all attempts fails the flow (`run/batch/retries.py`); the next run goes on from there.
    Returns the fields of `extraction.run.stored_run.Summary`, or an empty dict if there was nothing to fill.

    Args:
        record_schema: A name of the library, the path of a JSON Schema, or module:Class.
        out: The folder with the records. One run at a time writes to it.
        since: Only records that were written then or later.
        until: Only records that were written before.
        source: Only records of documents with this path, in this folder or mailbox, or matching this pattern.
        below: Records and fields with a lower confidence are filled again.
        where: Only records that meet this SQL condition on the columns of their table.
        others: Files, folders, mailboxes and stores to search for documents that have moved.
        related: Documents that are of the schema's kind with a probability below this are skipped; documents that
            earlier runs skipped as other_kind are compared again.
        max_error_rate: The run fails if a larger share of the documents read is in quarantine, or skipped as empty.
        password_block: The Secret block with the mailbox's password, instead of the environment.
        wait: Seconds to wait for another run that is writing to `out`; 0 refuses at once.
    """
    check_given(record_schema=record_schema, out=out)
    check_local(out, "out")
    chosen = Selection(since=since, until=until, source=source, below=below, where=where)
    plan = RunPlan.of([record_schema], out, **run_options)
    assignment = Assignment.of(plan)
    password = secret(password_block) if password_block else password_of_environment
    lying = parse_locations(others or [], password)
    with begun_run(
        plan, assignment, wait,
        lambda progress: begin_backfill(assignment, Path(out), chosen, progress, lying, password).run,
    ) as (run, cluster, logged):
        if run.empty:
            get_run_logger().info("nothing to fill")
            return None
        work_on(run, cluster)
        summary = run.finish()
    show_end(summary, logged, plan)
    return summary
