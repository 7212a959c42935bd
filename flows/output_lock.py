"""Makes a run wait while another run writes to the same folder of results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.progress import Progress
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.cluster.connection import Cluster, join_cluster
from cinnabar.extraction.run.events.telling import notify_run
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.files import is_locked
from cinnabar.flows.artifacts import Artifacts
from cinnabar.schemas.errors import InUse

from prefect import get_run_logger  # isort: skip

T = TypeVar("T")

#: Seconds between two checks of a folder that another run is writing to.
LOOK = 2.0


def begun_alone(begin: Callable[[], T], wait: float, warn: Callable[[str], object]) -> T:
    """Returns the result of `begin` once no other run is writing to its folder; waits at most `wait` seconds.

    It calls `begin` again after the wait, so that the run sees the other run's results. It calls `say` once with the
    process that it waits for. Raises InUse if the wait was too short.
    """
    deadline, waiting = time.monotonic() + wait, False
    while True:
        try:
            return begin()
        except InUse as error:
            if time.monotonic() >= deadline:
                raise
            folder = error.folder
            if not waiting:
                warn(f"{error.what}; waiting for it to end, {wait:g} s at most")
                waiting = True
        # It checks the lock instead of calling `begin` again and again, which would list a whole mailbox each time.
        while is_locked(folder) and time.monotonic() < deadline:
            time.sleep(LOOK)


@contextmanager
def begun_run(
    title: str, plan: RunPlan, assignment: Assignment, wait: float, begin: Callable[[Progress], BatchedRun]
) -> Iterator[tuple[BatchedRun, Cluster | None, Artifacts]]:
    """Yields a run that has its folder to itself, the cluster of its plan, and what shows its progress in Prefect."""
    artifacts = Artifacts(title)
    with (
        artifacts,
        # First what wrong use ends, so that it leaves no folder.
        join_cluster(plan.ray, assignment, gpu_limit=plan.gpu_limit) as cluster,
        notify_run(plan, artifacts, artifacts.emit) as progress,
        begun_alone(lambda: begin(progress), wait, get_run_logger().warning) as run,
    ):
        yield run, cluster, artifacts
