"""The drivers of a run: each fills its batches in another place, and yields them as they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING

# A run imports its drivers; engines and Ray come in when a run asks for them.
if TYPE_CHECKING:
    from cinnabar.extraction.batched_run import BatchedRun
    from cinnabar.extraction.cluster.connection import Cluster
    from cinnabar.extraction.pipeline import Batch, Read

#: Fills the batches of a run, which may grow meanwhile, and yields the number and the outcomes of each.
Driver = Callable[["BatchedRun"], Generator[tuple[int, "Batch"]]]

# Batches under way for each engine: one that is filled and one that waits for it.
_AHEAD = 2


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
