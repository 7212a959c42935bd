"""The events of a folder that wait for their receivers, and the promises of runs to tell theirs.

A run leaves a promise, a locked folder, before it begins. At its end its events lie here, one file for each address,
before the promise goes; a file goes after its receiver took the event. If the process is killed, the kernel drops the
lock, and who opens the folder next derives the events from the tables. So none is lost, and one that goes twice has
the same id.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from cinnabar.extraction.run.events.addresses import wants
from cinnabar.extraction.run.events.event import Event
from cinnabar.extraction.run.events.run_events import run_events
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import TEMPORARY, FolderLock, is_locked, make_folder, sync_folder, write_bytes
from cinnabar.extraction.store.own_names import is_own
from cinnabar.schemas.errors import InUse

#: The folder within the results, and the one in it for events that their receivers refused.
OUTBOX, REFUSED = "outbox", "refused"
_EVENT = re.compile(r"(\d{10})-[0-9a-f]{8}\.json")
_PROMISE = "promise.json"


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that waits for one receiver; `why` says why the receiver refused it."""

    path: Path
    address: str
    event: Event
    why: str = ""

    def taken(self) -> None:
        """Removes the event, whose receiver has it."""
        self.path.unlink(missing_ok=True)
        sync_folder(self.path.parent)

    def refused(self, why: str) -> None:
        """Sets the event aside with the reason of its receiver."""
        _write(self.path.parent / REFUSED / self.path.name, replace(self, why=why))
        self.taken()


def _write(path: Path, entry: Waiting) -> None:
    content = {"address": entry.address, "event": orjson.Fragment(entry.event.json()), "why": entry.why}
    write_bytes(path, orjson.dumps(content) + b"\n")


def waiting(out: Path, *, refused: bool = False) -> list[Waiting]:
    """Returns the events that wait in this folder of results, the oldest first, or those that were refused."""
    folder = out / OUTBOX / REFUSED if refused else out / OUTBOX
    entries = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        # What is gone was delivered meanwhile; what is no event of ours is left alone.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if _EVENT.fullmatch(path.name) and not path.is_symlink():
                content = orjson.loads(path.read_bytes())
                entries.append(Waiting(path, content["address"], Event.of(content["event"]), content["why"]))
    return entries


def put(out: Path, events: Sequence[Event], addresses: Sequence[str]) -> None:
    """Has these events wait for the addresses that want them, on disk before it returns; one that waits stays."""
    before = waiting(out)
    there = {(one.address, one.event.id) for one in before}
    number = max((int(one.path.name.partition("-")[0]) for one in before), default=0)
    for event in events:
        for address in dict.fromkeys(addresses):
            if wants(address, event.kind) and (address, event.id) not in there:
                number += 1
                path = out / OUTBOX / f"{number:010d}-{secrets.token_hex(4)}.json"
                _write(path, Waiting(path, address, event))


def put_back(out: Path) -> None:
    """Has refused events wait again, before all others."""
    for one in waiting(out, refused=True):
        _write(out / OUTBOX / one.path.name, replace(one, why=""))
        one.taken()


@dataclass(slots=True)
class Promise:
    """The promise of a living process to tell the events of its runs to these addresses."""

    out: Path
    folder: Path
    source: str
    addresses: list[str]
    bound: float | None
    runs: list[str] = field(default_factory=list)
    _lock: FolderLock | None = None

    @classmethod
    def make(cls, out: Path, addresses: Sequence[str], bound: float | None) -> Promise:
        """Makes a promise, which is on disk before the run begins. Raises OSError if it cannot be written."""
        # Of the form of a run's id: it stands for the run as long as this has none.
        token = f"{manifests.now():%Y%m%dT%H%M%S%f}"[:-3] + f"Z-{secrets.token_hex(4)}"
        source = f"//{quote(socket.gethostname())}{quote(str(out.absolute()))}"
        made = out / OUTBOX / f"{TEMPORARY}{token}"
        make_folder(made)
        promise = cls(out, made, source, [*addresses], bound, _lock=FolderLock(made))
        promise._write()
        # Under its name it is whole and locked.
        promise.folder = made.rename(made.with_name(token))
        sync_folder(promise.folder.parent)
        return promise

    def began(self, runs: Sequence[str]) -> None:
        """Keeps the ids of the runs that it is about."""
        self.runs = [*runs]
        self._write()

    def keep(self, drift: Sequence[str] | None = None, failure: str | None = None) -> list[Event]:
        """Puts the events of the runs into the outbox; then the promise is kept, and goes. Returns them."""
        runs = self.runs or [self.folder.name]
        events = run_events(self.out, runs, self.source, self.bound, drift, failure)
        put(self.out, events, self.addresses)
        self.drop()
        return events

    def drop(self) -> None:
        """Removes the promise, because it is kept, or there is nothing to tell."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.leave()

    def leave(self) -> None:
        """Lets go of the promise; if it is not kept, the next process over the folder keeps it."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _write(self) -> None:
        content: dict[str, Any] = {name: getattr(self, name) for name in ("source", "addresses", "bound", "runs")}
        write_bytes(self.folder / _PROMISE, orjson.dumps(content))


def keep_promises(out: Path) -> None:
    """Puts the events of runs whose processes were killed into the outbox. The caller holds the folder's lock."""
    for promise in _broken(out):
        try:
            promise.keep()
        finally:
            promise.leave()


def unkept(out: Path) -> int:
    """Returns the number of runs whose events are not derived yet, because their process was killed."""
    return sum(not is_locked(folder) for folder in _promises(out))


def _promises(out: Path) -> list[Path]:
    folder = out / OUTBOX
    return [one for one in sorted(folder.iterdir()) if is_own("run", one.name)] if folder.is_dir() else []


def _broken(out: Path) -> Iterator[Promise]:
    for folder in _promises(out):
        with contextlib.suppress(InUse, OSError):
            lock = FolderLock(folder)
            try:
                promise = Promise(out, folder, **orjson.loads((folder / _PROMISE).read_bytes()), _lock=lock)
            except (OSError, ValueError, TypeError):  # a power cut left no promise in it
                shutil.rmtree(folder)
                lock.release()
                continue
            yield promise
