"""The Prefect flow over folders and mailboxes; a batch that fails is tried again."""

# Annotations stay values here: a flow that is served goes to its process as a pickle, in which names that
# only annotations use are not defined ("Extract_FolderModel is not fully defined").
import os
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Prefect reads these when it is imported: it reports nothing to anybody.
os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
os.environ.setdefault("DO_NOT_TRACK", "1")
# On a busy machine its temporary server takes longer to start than the 20 s that it waits for it.
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "180")

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.sync import concurrency

from cinnabar.extraction.cluster.connection import Cluster, joined
from cinnabar.extraction.inputs import located
from cinnabar.extraction.run import Extraction, Options, Summary, failure
from cinnabar.extraction.sources import Escalation, model_source, settings_of
from cinnabar.flows.artifacts import Artifacts
from cinnabar.flows.parameters import Count, Device, Effort, OnMissing, Server, Share
from cinnabar.flows.prefect_server import check_limit, secret
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import RunError, UsageError


async def worth_retrying(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed batch is tried again: not where the use is wrong, which does not mend itself."""
    failure = await state.aresult(raise_on_failure=False)
    return not isinstance(failure, UsageError)


#: How Prefect runs a batch. No cache: what is done is known by the store, which a crash cannot contradict.
A_BATCH: dict[str, Any] = {
    "task_run_name": "batch {number}",
    "retries": 2,
    "retry_delay_seconds": [1, 10],
    "retry_condition_fn": worth_retrying,
    "cache_policy": NO_CACHE,
    "persist_result": False,
}


@task(name="batch", **A_BATCH)
def read_batch(extraction: Extraction, number: int, gpu_limit: str | None = None) -> int:
    """Read, fill and commit one batch of documents; how many these were.

    Where a limit is named, one of its places is taken meanwhile.
    """
    with concurrency(gpu_limit, strict=True) if gpu_limit else nullcontext():
        return len(extraction.work(number))


#: How Prefect runs all batches on a cluster, where what fails is tried again by the crew.
ON_A_CLUSTER: dict[str, Any] = {"name": "cluster", "cache_policy": NO_CACHE, "persist_result": False}


@task(**ON_A_CLUSTER)
def spread_batches(extraction: Extraction, cluster: Cluster) -> None:
    """Have the machines of a cluster work on all batches; one that fails is tried again there."""
    extraction.spread(cluster)


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
        batch: Documents that are read, filled and committed together, by one task.
        retry_quarantined: Whether to try again what is in quarantine.
        max_error_rate: The run fails where a larger share of what was read is in quarantine.
        remote: How a model behind a server is asked.
        escalate_to: What the model is not sure of goes up to mercury-2 or openai:NAME.
        below: The confidence below which a field goes up.
        password_block: The Secret block with the mailbox's password, instead of CINNABAR_IMAP_PASSWORD.
        gpu_limit: The global concurrency limit of which a batch takes one place while it is worked on.
        ray: A Ray cluster whose machines do the work, in one task: auto, HOST:PORT or local.
    """
    options = Options(
        effort, steps, on_missing, min_confidence, limit, context, workers, batch, retry_quarantined
    )
    source = load_schema(record_schema)
    settings = settings_of((remote or Server()).model_dump(exclude_none=True) | {"context": context})
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
            Extraction(locations, source, Path(out), chosen, options, artifacts, escalation) as extraction,
        ):
            if cluster is not None:
                spread_batches(extraction, cluster)
            else:
                for number in range(len(extraction.batches)):
                    _work(extraction, number, gpu_limit)
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


def _work(extraction: Extraction, number: int, gpu_limit: str | None) -> None:
    """Have a batch worked on. Raises RunError with the names of its documents where that fails."""
    try:
        read_batch(extraction, number, gpu_limit)
    except UsageError:
        raise
    except Exception as error:
        raise failure(number, extraction.batches[number], error) from error


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
