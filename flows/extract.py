"""The Prefect flow over folders and mailboxes; a batch that fails is tried again."""

# Annotations stay values here: a flow that is served goes to its process as a pickle, in which names that
# only annotations use are not defined ("Extract_FolderModel is not fully defined").
from dataclasses import asdict
from pathlib import Path
from typing import Any

# First: it sets what Prefect reads when it is imported.
from cinnabar.flows.tasks import work_on

from prefect import flow, get_run_logger  # isort: skip

from cinnabar.extraction.cluster.connection import joined
from cinnabar.extraction.inputs import located
from cinnabar.extraction.run import Extraction, Options, Summary
from cinnabar.extraction.sources import Escalation, model_source, settings_of
from cinnabar.flows.artifacts import Artifacts
from cinnabar.flows.cli.remote import check
from cinnabar.flows.parameters import Count, Device, Effort, OnMissing, Seconds, Server, Share, check_given
from cinnabar.flows.prefect_server import check_limit, secret
from cinnabar.flows.waiting import begun_alone
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import RunError


@flow(name="extract-folder", flow_run_name="{record_schema} into {out}", persist_result=False)
def extract_folder(
    paths: list[str],
    record_schema: str,
    out: str,
    model: str = "default",
    device: Device = "auto",
    effort: Effort = "medium",
    steps: Count | None = None,
    on_missing: OnMissing = "quarantine",
    min_confidence: Share = 0.0,
    limit: Count | None = None,
    context: Count | None = None,
    workers: Count = 2,
    batch: Count = 16,
    retry_quarantined: bool = False,
    max_error_rate: Share | None = None,
    remote: Server | None = None,
    escalate_to: str | None = None,
    below: Share = 0.8,
    password_block: str | None = None,
    gpu_limit: str | None = None,
    ray: str | None = None,
    wait: Seconds = 3600,
) -> dict[str, Any]:
    """Read all documents of these files, folders and mailboxes with this schema into the folder `out`.

    What was read before is skipped. A batch that fails three times fails the run; what was committed stands,
    and the next run goes on from there. Returns the fields of `extraction.run.Summary`.

    Args:
        paths: Files, folders, mbox files, Maildir folders, and imaps://USER@HOST/MAILBOX.
        record_schema: A name of the library, the path of a JSON Schema, or module:Class.
        out: The folder that the results go to. One run at a time writes to it.
        model: `default`, a folder that `cinnabar train` made, mercury-2, or openai:NAME.
        device: Where the model runs; auto takes a GPU where there is one.
        effort: At most 1, 2, 3 or 16 denoising steps.
        steps: Denoising steps, instead of those of the effort.
        on_missing: What becomes of a record without a value that its schema demands.
        min_confidence: Records with anything that is less sure than this go to quarantine.
        limit: The first so many inputs only.
        context: Tokens of a chunk at most, instead of the model's own context.
        workers: Processes that parse files.
        batch: Documents that are read, filled and committed together. A task works on several batches.
        retry_quarantined: Whether to try again what is in quarantine.
        max_error_rate: The run fails where a larger share of what was read is in quarantine.
        remote: How a model behind a server is asked.
        escalate_to: What the model is not sure of goes up to mercury-2 or openai:NAME.
        below: The confidence below which a field goes up.
        password_block: The Secret block with the mailbox's password, instead of CINNABAR_IMAP_PASSWORD.
        gpu_limit: The global concurrency limit of which a task takes one place.
        ray: A Ray cluster whose machines do the work, in one task: auto, HOST:PORT or local.
        wait: Seconds to wait for another run that is writing to `out`; 0 refuses at once.
    """
    check_given(paths=paths, record_schema=record_schema, out=out)
    options = Options(
        effort, steps, on_missing, min_confidence, limit, context, workers, batch, retry_quarantined
    )
    source = load_schema(record_schema)
    server = remote or Server()
    check(model, escalate_to, None, steps, server.model_dump(exclude_unset=True))
    settings = settings_of(server.model_dump(exclude_none=True) | {"context": context})
    escalation = None
    if escalate_to is not None:
        escalation = Escalation(model_source(escalate_to, device, settings), below)
    chosen = model_source(model, device, settings)
    locations = located(paths, *([secret(password_block)] if password_block else []))
    if gpu_limit is not None:
        check_limit(gpu_limit)
    artifacts = Artifacts(f"{source.name} into {out}")
    try:
        with (
            joined(ray, chosen, escalation, gpu_limit=gpu_limit) as cluster,
            begun_alone(
                lambda: Extraction(locations, source, Path(out), chosen, options, artifacts, escalation),
                wait,
                get_run_logger().warning,
            ) as extraction,
        ):
            work_on(extraction, cluster, gpu_limit)
            summary = extraction.finish()
    except Exception as error:
        artifacts.end(f"{type(error).__name__}: {error}")
        raise
    artifacts.end()
    get_run_logger().info(
        "%d written, %d quarantined, %d skipped", summary.written, summary.quarantined, summary.skipped
    )
    _check_rate(summary, artifacts, max_error_rate)
    return asdict(summary)


def _check_rate(summary: Summary, artifacts: Artifacts, most: float | None) -> None:
    """Raise RunError where more is in quarantine than the share that is allowed."""
    read = summary.written + summary.quarantined
    if most is None or summary.quarantined <= most * read:
        return
    why = "; ".join(
        f"{reason.code} {reason.documents} ({', '.join(reason.first)})"
        for reason in artifacts.reasons()
        if reason.outcome == "quarantined"
    )
    raise RunError(
        f"{summary.quarantined} of {read} documents are in quarantine, more than {most:g} of them: {why}"
    )
