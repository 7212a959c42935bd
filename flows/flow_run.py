"""A flow run as Prefect shows it: its log, its report, its wait for another run, its end in a sentence."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from prefect.artifacts import create_markdown_artifact

from cinnabar.errors import CinnabarError, InUse, RunError
from cinnabar.extraction.filling.progress import OutcomeTally, ProgressListener
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.cluster.connection import Cluster, join_cluster
from cinnabar.extraction.run.report.reports import embedded, report_path
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.files import is_locked
from cinnabar.flows.parameters import broken_limits
from cinnabar.wording import harmless

from prefect import get_run_logger  # isort: skip
from prefect.states import Completed, Failed  # isort: skip

# Annotations stay values here, as in extract.py.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.cost_estimate import CostEstimate
    from cinnabar.extraction.filling.time_estimate import TimeEstimate

# The key under which Prefect lists the reports of all runs.
_REPORT = "cinnabar-report"


class LoggedRun(OutcomeTally):
    """A run's `ProgressListener` in the log of a flow run."""

    def on_estimate(self, estimate: CostEstimate) -> None:
        """Logs the estimated cost of a server's answers."""
        get_run_logger().info(harmless(str(estimate)))

    def on_time(self, estimate: TimeEstimate) -> None:
        """Logs the time that the run takes."""
        get_run_logger().info(str(estimate))

    def note(self, text: str) -> None:
        """Logs a notice as a warning."""
        get_run_logger().warning(harmless(text))


T = TypeVar("T")

#: Seconds between two checks of a folder that another run is writing to.
LOOK = 2.0


def begun_alone(begin: Callable[[], T], wait: float, warn: Callable[[str], object]) -> T:
    """Returns the result of `begin` once no other run is writing to its folder; waits at most `wait` seconds.

    It calls `begin` again after the wait, so that the run sees the other run's results. It calls `warn` once with the
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
    plan: RunPlan, assignment: Assignment, wait: float, begin: Callable[[ProgressListener], BatchedRun]
) -> Iterator[tuple[BatchedRun, Cluster | None, LoggedRun]]:
    """Yields a run that has its folder to itself, the cluster of its plan, and what logs the run."""
    logged = LoggedRun()
    with (
        # First what wrong use ends, so that it leaves no folder.
        join_cluster(plan.ray, assignment) as cluster,
        begun_alone(lambda: begin(logged), wait, get_run_logger().warning) as run,
    ):
        yield run, cluster, logged


_P = ParamSpec("_P")


class _OwnErrors(logging.Filter):
    """Drops Prefect's traceback of our own errors: the state's message says what they say, and is logged, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether to log this."""
        return not (record.exc_info and isinstance(record.exc_info[1], CinnabarError))


logging.getLogger("prefect.flow_runs").addFilter(_OwnErrors())


def ends_in_words(body: Callable[_P, Summary | None]) -> Callable[_P, dict[str, Any]]:
    """Returns a flow's function that ends in a state whose message tells the counts, or why the run failed.

    A direct call returns the fields of the summary, or {} if there was nothing to do, and raises the error. Prefect
    logs the message of our own errors without a traceback, which would hide it.
    """

    @wraps(body)
    def run_to_state(**parameters: Any) -> Any:
        try:
            summary = body(**parameters)  # type: ignore[call-arg]
        except CinnabarError as error:
            return Failed(message=str(error), data=error)
        if summary is None:
            return Completed(message="nothing to fill", data={})
        return Completed(message=summary.counts, data=asdict(summary))

    # Prefect finds the parameters in `body`, and passes by name what the function itself takes by name.
    run_to_state.__dict__.pop("__signature__", None)
    return cast(Callable[_P, dict[str, Any]], run_to_state)


def show_end(summary: Summary, logged: LoggedRun, plan: RunPlan) -> None:
    """Shows a run's outcomes in its log, and its report as an artifact. Raises RunError if it broke a limit."""
    log = get_run_logger()
    log.info(summary.counts)
    for reason in logged.reasons():
        if reason.outcome == "quarantined":
            log.warning("quarantine: %s %d: %s", reason.code, reason.documents, harmless("; ".join(reason.first)))
    # Of several schemas each has a report. Prefect's page follows no links to files, so the path is told as text.
    for part in (summary.routed or [{"run_id": summary.run_id}]) if summary.report is not None else ():
        path = report_path(Path(plan.out or "").absolute(), part["run_id"])
        create_markdown_artifact(embedded(path.read_text("utf-8")), key=_REPORT, description=str(path))
    if broken := broken_limits(summary, logged.reasons(), plan):
        raise RunError(broken)
