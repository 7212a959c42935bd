"""Tells the events of a run to the addresses of its plan, and to whoever else asks; it never changes the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.progress import Progress, Silent
from cinnabar.extraction.run.events.addresses import check_addresses
from cinnabar.extraction.run.events.delivery import Delivered, deliver
from cinnabar.extraction.run.events.event import Event
from cinnabar.extraction.run.events.outbox import Promise, keep_promises
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.errors import CinnabarError, InUse, UsageError

#: What gets the events of a run beside the addresses of its plan.
Carrier = Callable[[Sequence[Event]], object]
#: Seconds of tries at the end of a run.
_AT_END = 5.0


@contextmanager
def telling(plan: RunPlan, progress: Progress, carry: Carrier | None = None) -> Iterator[Progress]:
    """Yields what tells the events of a run, if its plan has addresses or somebody is there to `carry` them.

    `progress` gets a note of what could not be told. Raises UsageError for a wrong address, or without a folder.
    """
    if not plan.tell and carry is None:
        yield Silent()
        return
    check_addresses(plan.tell)
    if plan.out is None:
        raise UsageError("tell: expected a folder `out`, where events wait for their receivers")
    told = _Telling(plan.out, plan, progress, carry)
    try:
        yield told
    except BaseException as error:
        told.end(failure=_reason(error))
        raise
    finally:
        told.close()


def send_waiting(out: Path, seconds: float) -> Delivered:
    """Derives the events of killed runs, unless a run is writing, and delivers all that waits in this folder."""
    try:
        with Store.open(out):
            keep_promises(out)
    except InUse:
        pass
    return deliver(out, None, seconds)


class _Telling(Silent):
    """Promises the events of a run, and keeps the promise. Whatever fails here is noted and leaves the run alone."""

    def __init__(self, out: Path, plan: RunPlan, progress: Progress, carry: Carrier | None) -> None:
        self._out, self._plan, self._progress, self._carry = out, plan, progress, carry
        self._promise: Promise | None = None
        self._try(lambda: setattr(self, "_promise", Promise.make(out, plan.tell, plan.max_error_rate)))

    def begun(self, runs: Sequence[str]) -> None:
        """Keeps the ids of the runs, and derives the events of runs that were killed before."""
        if (promise := self._promise) is not None:
            self._try(lambda: promise.began(runs))
        self._try(lambda: keep_promises(self._out))

    def ended(self, _runs: Sequence[str], drift: Sequence[str] | None, _usage: Mapping[str, Any] | None) -> None:
        """Puts the events of the end on disk, while the run still holds its folder."""
        self.end(drift=drift or ())

    def end(self, **how: Any) -> None:
        """Puts the events of a run on disk, and has them carried; a second call does nothing."""
        promise, self._promise = self._promise, None
        if promise is not None:
            self._try(lambda: (self._carry or list)(promise.keep(**how)))
            promise.leave()

    def close(self) -> None:
        """Delivers what waits for the addresses of the plan, for a short time."""
        if self._promise is not None:  # a run that had nothing to do
            self._promise.drop()

        def deliver_now() -> None:
            for note in deliver(self._out, self._plan.tell, _AT_END).notes:
                self._progress.note(note)

        self._try(deliver_now)

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Exception as error:
            self._progress.note(f"events could not be told ({type(error).__name__}: {error}); the next run tries again")


def _reason(error: BaseException) -> str:
    """Returns why a run failed. What others raised may hold content of documents, so only its kind is told."""
    if isinstance(error, CinnabarError) and (error.__cause__ is None or isinstance(error.__cause__, OSError)):
        return str(error)
    kind = type(error.__cause__ or error).__name__
    return f"The run failed ({kind}); its output or log says where. Committed records are kept."
