"""The drivers of a run: each fills its batches in another place, and yields them as they are done.

All of them fill a batch by `fill_batch`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from cinnabar.extraction.inputs import Input
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas.errors import RunError
from cinnabar.schemas.wording import counted

# The pipeline imports torch, which takes a second; engines and Ray come in when a run asks for them.
if TYPE_CHECKING:
    from cinnabar.extraction.backfill.refilling import Known
    from cinnabar.extraction.batched_run import BatchedRun
    from cinnabar.extraction.cluster.connection import Cluster
    from cinnabar.extraction.pipeline import Batch, Job, Read

#: Fills the batches of a run, which may grow meanwhile, and yields the number and the outcomes of each.
Driver = Callable[["BatchedRun"], Generator[tuple[int, "Batch"]]]

# Batches under way for each engine: one that is filled and one that waits for it.
_AHEAD = 2
# How many documents of a failed batch its message names.
_NAMED = 5


def driver_of(engines: int, cluster: Cluster | None) -> Driver:
    """Returns the driver of a run with so many engines on this machine, or on a cluster."""
    if cluster is not None:
        return lambda run: on_cluster(run, cluster)
    return here if engines == 1 else lambda run: in_engines(run, engines)


def here(run: BatchedRun) -> Generator[tuple[int, Batch]]:
    """Fills batches in this process."""
    number = 0
    while number < len(run.batches):
        yield number, run.fill(number)
        number += 1


def in_engines(run: BatchedRun, engines: int) -> Generator[tuple[int, Batch]]:
    """Fills batches in so many engine processes, and yields them in their order."""
    from cinnabar.extraction.engines.pool import EnginePool

    under_way: deque[tuple[int, list[Read | None], Future[Batch]]] = deque()
    number = 0
    with EnginePool(engines, run.assignment, run.place) as pool:
        while number < len(run.batches) or under_way:
            while number < len(run.batches) and len(under_way) < _AHEAD * engines:
                read, known = run.read(number)
                under_way.append((number, read, pool.submit([one for one in read if one is not None], known)))
                number += 1
            first, read, filled = under_way.popleft()
            yield first, run.sorted_out(read, filled.result())


def on_cluster(run: BatchedRun, cluster: Cluster) -> Generator[tuple[int, Batch]]:
    """Reads and fills batches on the machines of a cluster, and yields them as they come back.

    Raises RunError if a batch fails on every attempt, UsageError if the machines do not fit.
    """
    from cinnabar.extraction.cluster.supervisor import Supervisor

    with Supervisor(cluster, run.assignment, run.place) as supervisor:
        yield from supervisor.fill(run.batches, lambda number: run.known(run.batches[number], number))


def fill_batch(read: Sequence[Read], known: Known | None, job: Job, set_aside: bool = True) -> Batch:
    """Returns the outcomes of a batch, in whatever process it is filled.

    `known` holds the stored records in a backfill. With `set_aside` long documents get none if the batch has other
    documents; each has to come again, alone.
    """
    from cinnabar.extraction.backfill.refilling import refill_batch
    from cinnabar.extraction.pipeline import run_batch

    if known is None:
        return run_batch(read, job, set_aside=set_aside)
    return refill_batch(read, known, job, set_aside=set_aside)


def batch_failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """Returns the error of a batch that failed on each of its attempts; it names the batch's first documents."""
    named = ", ".join(printable(item.path) for item in batch[:_NAMED])
    more = " …" if len(batch) > _NAMED else ""
    return RunError(
        f"batch {number} of {counted(len(batch), 'document')} ({named}{more}) failed three times:"
        f" {type(cause).__name__}: {cause}; committed batches are kept; run the same command again"
    )
