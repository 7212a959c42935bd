"""The Prefect flow over folders and mailboxes."""

# Annotations stay values here: a served flow goes to its process as a pickle, and names that only annotations use are
# not defined in it ("Extract_FolderModel is not fully defined").
from pathlib import Path
from typing import Any

# First, because it sets the environment that Prefect reads on import.
from cinnabar.flows.tasks import work_on

from cinnabar.flows.flow_run import begun_run, ends_in_words, show_end  # isort: skip
from prefect import get_run_logger  # isort: skip

from cinnabar.extraction.documents.inputs import parse_locations
from cinnabar.extraction.plan.parameters import takes
from cinnabar.extraction.plan.run_options import RunOptions, RunPlan
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.extract import begin_extraction
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.names import check_local
from cinnabar.flows.parameters import Seconds, check_given
from cinnabar.flows.prefect_server import secret
from cinnabar.flows.stored_parameters import stored_flow


@stored_flow("extract-folder", "{record_schema} into {out}")
@ends_in_words
@takes(
    "model",
    "device",
    *RunOptions.model_fields,
    "max_error_rate",
    "related",
    "escalate_to",
    "below",
    "budget",
    "ray",
)
def extract_folder(
    paths: list[str],
    record_schema: str | list[str],
    out: str,
    password_block: str | None = None,
    wait: Seconds = 3600,
    **run_options: Any,
) -> Summary:
    """Extracts records from all documents of these files, folders, mailboxes and stores into the folder `out`.

    Documents that an earlier run read are skipped. A batch that fails on all attempts fails the run
    (`run/batch/retries.py`). Committed records stay, and the next run continues from there. Returns the fields of
    `extraction.run.stored_run.Summary`.

    Args:
        paths: Files, folders, mbox files, Maildir folders, imaps://USER@HOST/MAILBOX, and stores: s3://BUCKET/PREFIX.
        record_schema: A name of the library, the path of a JSON Schema, or module:Class; of a list of these each
            document gets the one that fits, or none.
        out: The folder for the results. One run at a time writes to it.
        max_error_rate: The run fails if a larger share of the documents read is in quarantine, or skipped as empty.
        password_block: The Secret block with the mailbox's password, instead of CINNABAR_IMAP_PASSWORD.
        wait: Seconds to wait for another run that is writing to `out`; 0 refuses at once.
    """
    check_given(paths=paths, record_schema=record_schema, out=out)
    check_local(out, "out")
    schemas = [record_schema] if isinstance(record_schema, str) else record_schema
    plan = RunPlan.of(schemas, out, **run_options)
    assignment = Assignment.of(plan)
    locations = parse_locations(paths, *([secret(password_block)] if password_block else []))
    with begun_run(
        plan, assignment, wait, lambda progress: begin_extraction(assignment, locations, Path(out), progress)
    ) as (run, cluster, logged):
        work_on(run, cluster)
        summary = run.finish()
    if not summary.inputs:
        get_run_logger().info("nothing to do: there is no file to read")
    show_end(summary, logged, plan)
    return summary
