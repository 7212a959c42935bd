"""The tasks of the Prefect flows: several batches of documents each, and all of them on a cluster."""

# Annotations stay values here, as in extract.py.
import os

# Prefect reads these on import. They switch off its telemetry.
os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
os.environ.setdefault("DO_NOT_TRACK", "1")
# On a busy machine Prefect's temporary server takes longer to start than the default timeout of 20 s.
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "180")
# The server marks a run whose heartbeats stop: `flows/crashed_runs.py`.
os.environ.setdefault("PREFECT_FLOWS_HEARTBEAT_FREQUENCY", "30")

from prefect import task
from prefect.cache_policies import NO_CACHE

from cinnabar.extraction.run.batched_run import BatchedRun, Driver, driver_of
from cinnabar.extraction.run.cluster.connection import Cluster

# Documents of a task, unless one batch has more. A task costs client and server 30 ms: over 10,000 documents of fifty
# words the flow took 9% more CPU seconds with one task for every 16 documents.
_TOGETHER = 64


# No cache: the store knows the committed batches, also after a crash. No retries of Prefect's: the run makes them.
@task(name="batches", cache_policy=NO_CACHE, persist_result=False)
def work_in_turn(run: BatchedRun, numbers: range) -> int:
    """Reads, fills and commits these batches one by one and returns the number of documents."""
    return sum(len(run.work(number)) for number in numbers)


@task(cache_policy=NO_CACHE, persist_result=False)
def drive(run: BatchedRun, driver: Driver) -> None:
    """Has a driver work on all batches."""
    run.drive(driver)


def work_on(run: BatchedRun, cluster: Cluster | None) -> None:
    """Works on all batches, here, in engine processes or on a cluster; they may grow meanwhile.

    Raises the errors of `extraction/run/batch/retries.py`.
    """
    if cluster is not None or run.engines > 1:
        at_once = drive.with_options(name="engines" if cluster is None else "cluster")
        at_once(run, driver_of(run.engines, cluster))
        return
    together = max(1, _TOGETHER // max(map(len, run.batches), default=1))
    first = 0
    while first < len(run.batches):
        numbers = range(first, min(first + together, len(run.batches)))
        first += together
        work_in_turn.with_options(task_run_name=f"batches {numbers[0]} to {numbers[-1]}")(run, numbers)
