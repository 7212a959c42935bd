"""A flow run as Prefect shows it: its progress and outcomes, its wait for another run, its end in a sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from cinnabar.errors import CinnabarError, InUse
from cinnabar.extraction.filling.progress import OutcomeTally, ProgressListener
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.batched_run import BatchedRun
from cinnabar.extraction.run.cluster.connection import Cluster, join_cluster
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.files import is_locked
from cinnabar.extraction.store.records import Outcome
from cinnabar.wording import harmless, with_noun

from prefect import get_run_logger  # isort: skip
import logging
from dataclasses import asdict
from functools import wraps
from typing import ParamSpec

from cinnabar.errors import RunError
from cinnabar.extraction.run.batched_run import Summary
from cinnabar.flows.parameters import broken_limits

from prefect.states import Completed, Failed  # isort: skip

# Annotations stay values here, as in extract.py.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.cost_estimate import CostEstimate
    from cinnabar.extraction.run.batched_run import Summary


# The keys under which Prefect lists the artifacts of all runs.
_PROGRESS, _RESULTS, _REPORT = "cinnabar-progress", "cinnabar-results", "cinnabar-report"
# Seconds between two updates. One takes about 10 ms.
_EVERY = 2.0


class Artifacts(OutcomeTally):
    """A run's `ProgressListener` as Prefect artifacts. It works only within a flow run."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._progress: UUID | None = None
        self._shown = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shows the outcomes so far if the run failed."""
        if error is not None:
            self.end(None, str(error) if isinstance(error, CinnabarError) else f"{type(error).__name__}: {error}")

    def on_estimate(self, estimate: CostEstimate) -> None:
        """Logs the estimated cost of a server's answers."""
        # Extra: flows.
        from prefect import get_run_logger

        get_run_logger().info(harmless(str(estimate)))

    def note(self, text: str) -> None:
        """Logs a notice as a warning."""
        # Extra: flows.
        from prefect import get_run_logger

        get_run_logger().warning(harmless(text))

    def on_inputs(self, inputs: int) -> None:
        """Creates the progress artifact for so many inputs."""
        super().on_inputs(inputs)
        # In a flow that is no coroutine the call returns the artifact's id directly.
        made = create_progress_artifact(0.0, _PROGRESS, f"{with_noun(inputs, 'document')}, {self._what}")
        self._progress = cast(UUID, made)

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Counts committed outcomes."""
        super().advance(outcomes)
        if time.monotonic() - self._shown >= _EVERY:
            self._show()

    def end(self, summary: Summary | None, failure: str = "") -> None:
        """Creates the table of outcomes, with the reason if the run failed, and a link to the report with its drift."""
        if summary is not None and summary.report is not None:
            # Prefect's page does not follow links to files, so the path can be copied from its text.
            link, drift = Path(summary.report).absolute().as_uri(), "\n".join(f"- {one}" for one in summary.drift or ())
            about = f"{self._what}: {summary.report}" + (f"\n\nDrift against earlier runs:\n\n{drift}" if drift else "")
            create_link_artifact(link, Path(summary.report).name, key=_REPORT, description=about)
        if self._progress is None:
            return
        self._show()
        rows: list[dict[str, Any]] = [
            {
                "outcome": reason.outcome,
                "reason": reason.code,
                "documents": reason.documents,
                "first documents": "\n".join(reason.first),
            }
            for reason in self.reasons()
        ]
        left = self.inputs - self.done
        if failure or left:
            rows.append({"outcome": "not done", "reason": failure, "documents": left})
        create_table_artifact(rows, _RESULTS, f"Outcomes of {with_noun(self.inputs, 'document')}, {self._what}")

    def _show(self) -> None:
        if self._progress is not None:
            self._shown = time.monotonic()
            share = 100.0 * self.done / self.inputs if self.inputs else 100.0
            update_progress_artifact(self._progress, progress=share)


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
    title: str, plan: RunPlan, assignment: Assignment, wait: float, begin: Callable[[ProgressListener], BatchedRun]
) -> Iterator[tuple[BatchedRun, Cluster | None, Artifacts]]:
    """Yields a run that has its folder to itself, the cluster of its plan, and what shows its progress in Prefect."""
    artifacts = Artifacts(title)
    with (
        artifacts,
        # First what wrong use ends, so that it leaves no folder.
        join_cluster(plan.ray, assignment, gpu_limit=plan.gpu_limit) as cluster,
        begun_alone(lambda: begin(artifacts), wait, get_run_logger().warning) as run,
    ):
        yield run, cluster, artifacts


P = ParamSpec("P")


class _OwnErrors(logging.Filter):
    """Drops Prefect's traceback of our own errors: the state's message says what they say, and is logged, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether to log this."""
        return not (record.exc_info and isinstance(record.exc_info[1], CinnabarError))


logging.getLogger("prefect.flow_runs").addFilter(_OwnErrors())


def ends_in_words(body: Callable[P, Summary | None]) -> Callable[P, dict[str, Any]]:
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
        drift = f"; drift: {with_noun(len(summary.drift), 'sentence')} in its log" if summary.drift else ""
        return Completed(message=f"{summary.counts}{drift}", data=asdict(summary))

    # Prefect finds the parameters in `body`, and passes by name what the function itself takes by name.
    run_to_state.__dict__.pop("__signature__", None)
    return cast(Callable[P, dict[str, Any]], run_to_state)


def show_end(summary: Summary, artifacts: Artifacts, plan: RunPlan) -> None:
    """Shows a run's outcomes and drift in its log and artifacts. Raises RunError if it broke a limit of its owner."""
    artifacts.end(summary)
    log = get_run_logger()
    log.info(summary.counts)
    for sentences in summary.drift or ():
        log.warning("drift: %s", sentences)
    if broken := broken_limits(summary, artifacts.reasons(), plan):
        raise RunError(broken)
