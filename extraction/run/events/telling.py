"""What watches a run beside its own display: events for their receivers, and traces for a collector.

A run leaves a promise, a locked folder in the outbox, before it begins. At its end its events lie in the outbox before
the promise goes. If the process is killed, the kernel drops the lock, and the next process derives the events from the
tables. So none is lost.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast
from urllib.parse import quote

import orjson

from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.reading.progress import Progress, Several, Silent
from cinnabar.extraction.run.events.outbox import OUTBOX, deliver, put
from cinnabar.extraction.run.events.receivers import check_addresses
from cinnabar.extraction.run.events.run_events import Event, run_events
from cinnabar.extraction.run.telemetry import traced
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import FolderLock, make_folder, write_bytes
from cinnabar.schemas.errors import CinnabarError, InUse, UsageError

#: What gets the events of a run beside the addresses of its plan.
Carrier = Callable[[Sequence[Event]], object]
_PROMISE = "promise.json"
# Seconds of tries at the end of a run.
_AT_END = 5.0


@contextlib.contextmanager
def watched(plan: RunPlan, progress: Progress, carry: Carrier | None = None) -> Iterator[Progress]:
    """Yields the progress of a run by this plan, which also tells its events, has them carried, and traces it.

    It surrounds the whole run. What cannot be told is noted, and leaves the run alone. Raises UsageError, before any
    work begins, for a wrong address, events without a folder, or a collector that cannot be used.
    """
    check_addresses(plan.tell)
    if plan.tell and plan.out is None:
        raise UsageError("tell: expected a folder `out`, where events wait for their receivers")
    with traced(plan.model or "default", progress) as trace:
        if plan.out is None or not (plan.tell or carry):
            yield cast(Progress, Several(progress, trace))
            return
        told = _Telling(plan.out, plan, progress, carry)
        try:
            yield cast(Progress, Several(progress, told, trace))
        except BaseException as error:
            told.end(failure=_reason(error))
            raise
        finally:
            told.close()


def _reason(error: BaseException) -> str:
    """Returns why a run failed. What others raised may hold content of documents, so only its kind is told."""
    if isinstance(error, CinnabarError) and (error.__cause__ is None or isinstance(error.__cause__, OSError)):
        return str(error)
    kind = type(error.__cause__ or error).__name__
    return f"The run failed ({kind}); its output or log says where. Committed records are kept."


class _Telling(Silent):
    """Promises the events of a run, and keeps the promise."""

    def __init__(self, out: Path, plan: RunPlan, progress: Progress, carry: Carrier | None) -> None:
        self._out, self._plan, self._progress, self._carry = out, plan, progress, carry
        self._promise: Promise | None = None
        with self._noting():
            self._promise = Promise.make(out, plan.tell, plan.max_error_rate)
            keep_promises(out)

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._progress.note(f"events could not be told ({type(error).__name__}: {error}); the next run tries again")

    def begun(self, runs: Sequence[str]) -> None:
        """Keeps the ids of the runs."""
        with self._noting():
            if self._promise is not None:
                self._promise.began(runs)

    def ended(self, _runs: Sequence[str], drift: Sequence[str] | None, _usage: Mapping[str, Any] | None) -> None:
        """Puts the events of the end on disk, while the run still holds its folder."""
        self.end(drift=drift or ())

    def end(self, **how: Any) -> None:
        """Puts the events of a run on disk, and has them carried; a second call does nothing."""
        promise, self._promise = self._promise, None
        with self._noting():
            if promise is not None:
                (self._carry or list)(promise.keep(**how))

    def close(self) -> None:
        """Delivers what waits for the addresses of the plan, for a short time."""
        with self._noting():
            if self._promise is not None:  # a run that had nothing to do
                self._promise.drop()
            for note in deliver(self._out, self._plan.tell, _AT_END):
                self._progress.note(note)


@dataclass(frozen=True, slots=True)
class Promise:
    """The promise of a living process to tell the events of its runs; `about` is what lies on disk of it."""

    out: Path
    folder: Path
    lock: FolderLock
    about: dict[str, Any]

    @classmethod
    def make(cls, out: Path, addresses: Sequence[str], bound: float | None) -> Self:
        """Makes a promise, which is on disk before the run begins. Raises OSError if it cannot be written."""
        # Of the form of a run's id: it stands for the run as long as this has none.
        token = f"{manifests.now():%Y%m%dT%H%M%S%f}"[:-3] + f"Z-{secrets.token_hex(4)}"
        source = f"//{quote(socket.gethostname())}{quote(str(out.absolute()))}"
        folder = out / OUTBOX / token
        make_folder(folder)
        # Locked first: what is written and not locked is broken.
        promise = cls(out, folder, FolderLock(folder), {"addresses": [*addresses], "source": source, "bound": bound})
        promise.began([token])
        return promise

    def began(self, runs: Sequence[str]) -> None:
        """Keeps the ids of the runs that it is about."""
        self.about["runs"] = [*runs]
        write_bytes(self.folder / _PROMISE, orjson.dumps(self.about))

    def keep(self, drift: Sequence[str] | None = None, failure: str | None = None) -> list[Event]:
        """Puts the events of the runs into the outbox and drops the promise; if that fails, another process will."""
        try:
            about = {name: value for name, value in self.about.items() if name != "addresses"}
            events = run_events(self.out, **about, drift=drift, failure=failure)
            put(self.out, events, self.about["addresses"])
            self.drop()
            return events
        finally:
            self.lock.release()

    def drop(self) -> None:
        """Removes the promise, because it is kept, or there is nothing to tell."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.release()


def keep_promises(out: Path) -> None:
    """Puts the events of runs whose processes were killed into the outbox."""
    for path in sorted((out / OUTBOX).glob(f"*/{_PROMISE}")):
        with contextlib.suppress(InUse, FileNotFoundError):
            lock = FolderLock(path.parent)
            Promise(out, path.parent, lock, orjson.loads(path.read_bytes())).keep()
