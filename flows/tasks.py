"""The tasks of the Prefect flows: several batches of documents each, and all of them on a cluster."""

# Annotations stay values here, as in extract.py.
import os
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Protocol

# Prefect reads these when it is imported: it reports nothing to anybody.
os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
os.environ.setdefault("DO_NOT_TRACK", "1")
# On a busy machine its temporary server takes longer to start than the 20 s that it waits for it.
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "180")

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.sync import concurrency

from cinnabar.extraction.batch_failure import batch_failure
from cinnabar.extraction.cluster.connection import Cluster
from cinnabar.extraction.storage.records import Outcome
from cinnabar.schemas.errors import UsageError

# Documents of a task, where they are not those of one batch. A task costs client and server 30 ms: over
# 10,000 documents of fifty words the flow took 9% more of the processors' seconds with a task for each 16.
_TOGETHER = 64


class Begun(Protocol):
    """A run whose batches are known: an `Extraction` or a `Backfill`."""

    @property
    def batches(self) -> Sequence[Sequence[Any]]: ...

    def work(self, number: int) -> list[Outcome]: ...

    def spread(self, cluster: Cluster) -> None: ...


async def worth_retrying(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task is tried again: not where the use is wrong, which does not mend itself."""
    failure = await state.aresult(raise_on_failure=False)
    return not isinstance(failure, UsageError)


# No cache: what is done is known by the store, which a crash cannot contradict.
@task(
    name="batches",
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=worth_retrying,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def work_in_turn(begun: Begun, left: deque[int], gpu_limit: str | None) -> int:
    """Read, fill and commit these batches one by one; how many documents these were.

    What is done is taken from `left`, so that another try begins with the batch that failed. Where a limit is
    named, one of its places is taken meanwhile.
    """
    documents = 0
    with concurrency(gpu_limit, strict=True) if gpu_limit else nullcontext():
        while left:
            documents += len(begun.work(left[0]))
            left.popleft()
    return documents


@task(name="cluster", cache_policy=NO_CACHE, persist_result=False)
def spread_batches(begun: Begun, cluster: Cluster) -> None:
    """Have the machines of a cluster work on all batches; one that fails is tried again there."""
    begun.spread(cluster)


def work_on(begun: Begun, cluster: Cluster | None, gpu_limit: str | None = None) -> None:
    """Have all batches worked on, here or by a cluster.

    Raises RunError with the names of the documents of a batch that fails as often as it may.
    """
    if cluster is not None:
        spread_batches(begun, cluster)
        return
    count = len(begun.batches)
    together = max(1, _TOGETHER // max(map(len, begun.batches), default=1))
    for first in range(0, count, together):
        left = deque(range(first, min(first + together, count)))
        named = work_in_turn.with_options(task_run_name=f"batches {left[0]} to {left[-1]}")
        try:
            named(begun, left, gpu_limit)
        except UsageError:
            raise
        except Exception as error:
            raise batch_failure(left[0], begun.batches[left[0]], error) from error
