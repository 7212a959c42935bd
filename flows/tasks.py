"""The tasks of the Prefect flows: several batches of documents each, and all of them on a cluster."""

# Annotations stay values here, as in extract.py.
import os
from collections import deque
from contextlib import nullcontext
from typing import Any

# Prefect reads these on import. They switch off its telemetry.
os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
os.environ.setdefault("DO_NOT_TRACK", "1")
# On a busy machine Prefect's temporary server takes longer to start than the default timeout of 20 s.
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "180")
# The server marks a run whose heartbeats stop: `flows/notices.py`.
os.environ.setdefault("PREFECT_FLOWS_HEARTBEAT_FREQUENCY", "30")

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.sync import concurrency

from cinnabar.extraction.run.batched_run import BatchedRun, Driver, driver_of
from cinnabar.extraction.run.cluster.connection import Cluster
from cinnabar.extraction.run.work.retries import ATTEMPTS, DELAYS, FINAL_ERRORS, batch_failure

# Documents of a task, unless one batch has more. A task costs client and server 30 ms: over 10,000 documents of fifty
# words the flow took 9% more CPU seconds with one task for every 16 documents.
_TOGETHER = 64


async def worth_retrying(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Returns whether to retry a failed task: not after an error that would only repeat."""
    failure = await state.aresult(raise_on_failure=False)
    return not isinstance(failure, FINAL_ERRORS)


# No cache: the store knows the committed batches, also after a crash.
@task(
    name="batches",
    retries=ATTEMPTS - 1,
    retry_delay_seconds=list(DELAYS),
    retry_condition_fn=worth_retrying,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def work_in_turn(run: BatchedRun, left: deque[int], gpu_limit: str | None) -> int:
    """Reads, fills and commits these batches one by one and returns the number of documents.

    It removes finished batches from `left`, so that a retry begins with the batch that failed. It holds one slot of
    `gpu_limit` meanwhile if one is given.
    """
    documents = 0
    with concurrency(gpu_limit, strict=True) if gpu_limit else nullcontext():
        while left:
            documents += len(run.work(left[0]))
            left.popleft()
    return documents


@task(cache_policy=NO_CACHE, persist_result=False)
def drive(run: BatchedRun, driver: Driver, gpu_limit: str | None) -> None:
    """Has a driver work on all batches; it holds one slot of `gpu_limit` meanwhile if one is given."""
    with concurrency(gpu_limit, strict=True) if gpu_limit else nullcontext():
        run.drive(driver)


def work_on(run: BatchedRun, cluster: Cluster | None, gpu_limit: str | None = None) -> None:
    """Works on all batches, here, in engine processes or on a cluster, as `extraction/run/work/retries.py` says.

    The batches may grow meanwhile. Raises RunError with the names of a batch's documents if the batch still fails after
    all retries.
    """
    if cluster is not None or run.engines > 1:
        at_once = drive.with_options(name="engines" if cluster is None else "cluster")
        at_once(run, driver_of(run.engines, cluster), gpu_limit)
        return
    together = max(1, _TOGETHER // max(map(len, run.batches), default=1))
    first = 0
    while first < len(run.batches):
        left = deque(range(first, min(first + together, len(run.batches))))
        first += together
        named = work_in_turn.with_options(task_run_name=f"batches {left[0]} to {left[-1]}")
        try:
            named(run, left, gpu_limit)
        except FINAL_ERRORS:
            raise
        except Exception as error:
            raise batch_failure(left[0], run.batches[left[0]], error) from error
