"""The Prefect flow over folders; a batch that fails is tried again."""

from __future__ import annotations

import os
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

from cinnabar.extraction.run import Extraction, Options
from cinnabar.extraction.sources import Escalation, model_source, settings_of
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError


async def worth_retrying(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed batch is tried again: not where the use is wrong, which does not mend itself."""
    failure = await state.aresult(raise_on_failure=False)
    return not isinstance(failure, UsageError)


# Without a cache: what is done is known by the store, which a crash cannot contradict.
@task(
    name="batch",
    task_run_name="batch {number}",
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=worth_retrying,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def read_batch(extraction: Extraction, number: int) -> int:
    """Read, fill and commit one batch of documents; how many these were."""
    return len(extraction.work(number))


@flow(name="extract-folder", persist_result=False)
def extract_folder(
    paths: list[str],
    record_schema: str,
    out: str,
    model: str = "default",
    device: str = "auto",
    options: dict[str, Any] | None = None,
    remote: dict[str, Any] | None = None,
    escalate_to: str | None = None,
    below: float = 0.8,
) -> dict[str, Any]:
    """Read all documents of these files and folders with this schema into the folder `out`.

    `record_schema` is a name of the library, a path or `module:Class`; `options` are the fields of
    `extraction.run.Options`, `remote` those of `engine.models.remote.serving.Settings` with money as text (a
    key is no parameter). With `escalate_to` what the model is not sure of goes up to that one. A batch that
    fails three times fails the flow; what was committed stands, and the next run goes on from there. Returns
    the fields of `extraction.run.Summary`.
    """
    source = load_schema(record_schema)
    settings = settings_of(remote or {})
    escalation = None
    if escalate_to is not None:
        escalation = Escalation(model_source(escalate_to, device, settings), below)
    opened = Extraction(
        [Path(path) for path in paths],
        source,
        Path(out),
        model_source(model, device, settings),
        Options(**(options or {})),
        escalation=escalation,
    )
    with opened as extraction:
        for number in range(len(extraction.batches)):
            read_batch(extraction, number)
        summary = extraction.finish()
    get_run_logger().info(
        "%d written, %d quarantined, %d skipped", summary.written, summary.quarantined, summary.skipped
    )
    return asdict(summary)
