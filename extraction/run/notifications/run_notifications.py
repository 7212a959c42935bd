"""A run notifies webhooks and mailboxes of its events, and a collector of its traces.

A run leaves a locked folder in the outbox before it begins. At its end its events lie in the outbox before that folder
goes. If the process is killed, the kernel drops the lock, and the next process derives the events from the
tables. So none is lost.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast
from urllib.parse import quote

import orjson

from cinnabar.errors import CinnabarError, InUse, UsageError
from cinnabar.extraction.filling.progress import NoProgress, ProgressGroup, ProgressListener
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.notifications.delivery import (
    check_addresses,
    deliver_notifications,
    notifications_folder,
    write_notifications,
)
from cinnabar.extraction.run.notifications.run_events import Event, run_events
from cinnabar.extraction.run.telemetry import trace_run
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import FolderLock, failures, make_folder, write_bytes

#: What gets the events of a run beside the addresses of its plan.
Notifier = Callable[[Sequence[Event]], object]
_PENDING = "promise.json"
# Seconds of tries at the end of a run.
_AT_END = 5.0


@contextlib.contextmanager
def notify_run(plan: RunPlan, progress: ProgressListener, carry: Notifier | None = None) -> Iterator[ProgressListener]:
    """Yields the progress of a run by this plan, which also tells its events, has them carried, and traces it.

    It surrounds the whole run. What cannot be told at its end is noted, and leaves the run alone. Raises UsageError,
    before any work begins, for a wrong address, events without a folder, or a collector that cannot be used, and
    RunError if the folder cannot be written.
    """
    check_addresses(plan.tell)
    if plan.tell and plan.out is None:
        raise UsageError("notify: expected a folder `out`, where events wait for their receivers")
    with trace_run(plan.model or "default", progress) as trace:
        if plan.out is None or not (plan.tell or carry):
            yield cast(ProgressListener, ProgressGroup(progress, trace))
            return
        pending = PendingNotifications.make(plan.out, plan, progress.note, carry)
        notify_killed_runs(plan.out, progress.note)
        try:
            yield cast(ProgressListener, ProgressGroup(progress, pending, trace))
        except BaseException as error:
            pending.write(failure=_reason(error))
            raise
        finally:
            pending.drop()
            for note in deliver_notifications(plan.out, plan.tell, _AT_END):
                progress.note(note)


def _reason(error: BaseException) -> str:
    """Returns why a run failed. What others raised may hold content of documents, so only its kind is told."""
    if isinstance(error, CinnabarError) and (error.__cause__ is None or isinstance(error.__cause__, OSError)):
        return str(error)
    kind = type(error.__cause__ or error).__name__
    return f"The run failed ({kind}); its output or log says where. Committed records are kept."


class PendingNotifications(NoProgress):
    """The notifications that a living process owes of its runs; `about` is what lies on disk of them."""

    def __init__(self, out: Path, folder: Path, note: Callable[[str], None], carry: Notifier | None) -> None:
        self._out, self._folder, self._note, self._carry = out, folder, note, carry
        self._lock, self._over = FolderLock(folder), False
        self.about: dict[str, Any] = {}

    @classmethod
    def make(cls, out: Path, plan: RunPlan, note: Callable[[str], None], carry: Notifier | None) -> Self:
        """Makes them, on disk before the run begins. Raises RunError if that cannot be written."""
        # Of the form of a run's id: it stands for the run as long as this has none.
        token = f"{manifests.now():%Y%m%dT%H%M%S%f}"[:-3] + f"Z-{secrets.token_hex(4)}"
        source = f"//{quote(socket.gethostname())}{quote(str(out.absolute()))}"
        folder = notifications_folder(out) / token
        with failures(f"{folder}: could not be made"):
            make_folder(folder)
            # Locked first: what is written and not locked is broken.
            pending = cls(out, folder, note, carry)
        pending.about = {"addresses": plan.tell, "source": source, "bound": plan.max_error_rate}
        pending.on_runs_started([token])
        return pending

    def on_runs_started(self, runs: Sequence[str]) -> None:
        """Keeps the ids of the runs that they are about."""
        self.about["runs"] = [*runs]
        with failures(f"{self._folder}: could not be written"):
            write_bytes(self._folder / _PENDING, orjson.dumps(self.about))

    def on_runs_ended(
        self, _runs: Sequence[str], drift: Sequence[str] | None, _usage: Mapping[str, Any] | None
    ) -> None:
        """Writes the notifications, while the run still holds its folder."""
        self.write(drift=drift or ())

    def write(self, drift: Sequence[str] | None = None, failure: str | None = None) -> None:
        """Puts the events of the runs on disk and has them carried, once; if that fails, another process will."""
        if self._over:
            return
        self._over = True
        try:
            about = {name: value for name, value in self.about.items() if name != "addresses"}
            events = run_events(self._out, **about, drift=drift, failure=failure)
            write_notifications(self._out, events, self.about["addresses"])
            self._remove()
            if self._carry is not None:
                self._carry(events)
        except Exception as error:
            self._note(f"events could not be told ({type(error).__name__}: {error}); the next run tries again")
        finally:
            self._lock.release()

    def drop(self) -> None:
        """Removes them if they are not written, because nothing happened."""
        if not self._over:
            self._remove()
            self._lock.release()

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def notify_killed_runs(out: Path, note: Callable[[str], None]) -> None:
    """Writes the notifications of runs whose processes were killed."""
    for path in sorted(notifications_folder(out).glob(f"*/{_PENDING}")):
        with contextlib.suppress(InUse, OSError, ValueError):
            pending = PendingNotifications(out, path.parent, note, None)
            pending.about = orjson.loads(path.read_bytes())
            pending.write()
