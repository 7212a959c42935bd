"""The Prefect flow over folders and mailboxes; a batch that fails is tried again."""

# Annotations stay values here: a flow that is served goes to its process as a pickle, in which names that
# only annotations use are not defined ("Extract_FolderModel is not fully defined").
from dataclasses import asdict
from pathlib import Path
from typing import Any

# First: it sets what Prefect reads when it is imported.
from cinnabar.flows.tasks import work_on

from prefect import flow, get_run_logger  # isort: skip

from cinnabar.extraction.batched_run import Summary
from cinnabar.extraction.cluster.connection import joined
from cinnabar.extraction.inputs import located
from cinnabar.extraction.run import Extraction
from cinnabar.extraction.run_options import Device, RunOptions
from cinnabar.extraction.sources import DEFAULT_BELOW, check_models, escalation_of, model_source, settings_of
from cinnabar.flows.artifacts import Artifacts
from cinnabar.flows.parameters import Seconds, Server, Share, check_given, takes_run_options
from cinnabar.flows.prefect_server import check_limit, secret
from cinnabar.flows.waiting import begun_alone
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import RunError


@flow(name="extract-folder", flow_run_name="{record_schema} into {out}", persist_result=False)
@takes_run_options(*RunOptions.model_fields)
def extract_folder(
    paths: list[str],
    record_schema: str,
    out: str,
    model: str = "default",
    device: Device = "auto",
    max_error_rate: Share | None = None,
    remote: Server | None = None,
    escalate_to: str | None = None,
    below: Share = DEFAULT_BELOW,
    password_block: str | None = None,
    gpu_limit: str | None = None,
    ray: str | None = None,
    wait: Seconds = 3600,
    **said: Any,
) -> dict[str, Any]:
    """Read all documents of these files, folders and mailboxes with this schema into the folder `out`.

    What was read before is skipped. A batch that fails three times fails the run; what was committed stands,
    and the next run goes on from there. Returns the fields of `extraction.batched_run.Summary`.

    Args:
        paths: Files, folders, mbox files, Maildir folders, and imaps://USER@HOST/MAILBOX.
        record_schema: A name of the library, the path of a JSON Schema, or module:Class.
        out: The folder that the results go to. One run at a time writes to it.
        model: `default`, a folder that `cinnabar train` made, mercury-2, or openai:NAME.
        device: Where the model runs; auto takes a GPU where there is one.
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
    options = RunOptions(**said)
    source = load_schema(record_schema)
    server = remote or Server()
    check_models(model, escalate_to, None, options.steps, server.model_dump(exclude_unset=True))
    settings = settings_of(server.model_dump(exclude_none=True) | {"context": options.context})
    escalation = escalation_of(escalate_to, below, settings)
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
