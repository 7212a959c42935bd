"""The Prefect flow of a backfill; a batch that fails is tried again."""

# Annotations stay values here, as in extract.py.
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

# First: it sets what Prefect reads when it is imported.
from cinnabar.flows.tasks import work_on

from prefect import flow, get_run_logger  # isort: skip

from cinnabar.extraction.backfill.backfill import Backfill
from cinnabar.extraction.cluster.connection import joined
from cinnabar.extraction.inputs import located
from cinnabar.extraction.mailboxes.address import password_of_environment
from cinnabar.extraction.run_options import Device, RunOptions
from cinnabar.extraction.sources import model_source
from cinnabar.extraction.storage.stored import Selection
from cinnabar.flows.parameters import Seconds, Share, check_given, takes_run_options
from cinnabar.flows.prefect_server import secret
from cinnabar.flows.waiting import begun_alone
from cinnabar.schemas import load_schema


@flow(name="backfill-folder", flow_run_name="{record_schema} in {out}", persist_result=False)
@takes_run_options(*(name for name in RunOptions.model_fields if name != "retry_quarantined"))
def backfill_folder(
    record_schema: str,
    out: str,
    since: datetime | None = None,
    until: datetime | None = None,
    source: str | None = None,
    below: Share | None = None,
    where: str | None = None,
    model: str = "default",
    device: Device = "auto",
    ray: str | None = None,
    others: list[str] | None = None,
    password_block: str | None = None,
    wait: Seconds = 3600,
    **said: Any,
) -> dict[str, Any]:
    """Make the records in the folder `out` records of this version of their schema, filling what is new.

    A batch that fails three times fails the flow; what was committed stands, and the next run goes on from
    there. Returns the fields of `extraction.batched_run.Summary`, none where there was nothing to fill.

    Args:
        record_schema: A name of the library, the path of a JSON Schema, or module:Class.
        out: The folder with the records. One run at a time writes to it.
        since: Only records that were written then or later.
        until: Only records that were written before.
        source: Only records of documents whose path is this, or in this folder or mailbox, or matches this
            pattern.
        below: Records and fields that are less sure than this are filled again.
        where: Only records for which this SQL predicate over the columns of their table holds.
        model: What fills: `default`, or a folder that `cinnabar train` made.
        device: Where the model runs; auto takes a GPU where there is one.
        ray: A Ray cluster whose machines do the work, in one task: auto, HOST:PORT or local.
        others: Files, folders and mailboxes to look in for documents that are not where they were.
        password_block: The Secret block with the mailbox's password, instead of the environment.
        wait: Seconds to wait for another run that is writing to `out`; 0 refuses at once.
    """
    check_given(record_schema=record_schema, out=out)
    chosen = Selection(since=since, until=until, source=source, below=below, where=where)
    options = RunOptions(**said)
    version, filler = load_schema(record_schema), model_source(model, device)
    password = secret(password_block) if password_block else password_of_environment
    lying = located(others or [], password)
    with (
        joined(ray, filler) as cluster,
        begun_alone(
            lambda: Backfill(
                version, Path(out), filler, chosen, options, others=lying, password=password
            ),
            wait,
            get_run_logger().warning,
        ) as begun,
    ):
        if begun.empty:
            get_run_logger().info("nothing to fill")
            return {}
        work_on(begun, cluster)
        summary = begun.finish()
    get_run_logger().info(
        "%d written, %d quarantined, %d skipped", summary.written, summary.quarantined, summary.skipped
    )
    return asdict(summary)
