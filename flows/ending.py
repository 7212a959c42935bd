"""Ends a flow run in a state that tells in a sentence how it went."""

# Annotations stay values here, as in extract.py.
import logging
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Any, ParamSpec, cast

from cinnabar.errors import CinnabarError, RunError
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.batched_run import Summary
from cinnabar.flows.artifacts import Artifacts
from cinnabar.flows.parameters import broken_limits
from cinnabar.wording import with_noun

from prefect import get_run_logger  # isort: skip
from prefect.states import Completed, Failed  # isort: skip

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
