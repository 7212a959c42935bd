"""Tells which older snapshots readers still hold, so that a run can remove the files that nobody needs any more.

A reader of `cinnabar.duckdb` holds DuckDB's own lock on that file, and keeps it after a newer snapshot took the
file's name. Readers of the manifests (`hold_files`) lock one byte of `manifest/readers`, at the number of their
newest commit. The kernel drops both with the reader's process. Where a file system or a system cannot tell of locks,
all snapshots count as held. One lock is lost: a process that reads `cinnabar.duckdb` and then opens the folder for a
run of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cinnabar.extraction.store import manifest as manifests

#: The file whose bytes readers of the manifests lock.
READERS = f"{manifests.FOLDER}/readers"
# Seconds that a snapshot stays under watch after a newer one took its name: a reader may have opened it and not locked.
_OPENING = 60.0
# The kernel's `struct flock`: kind, whence, start, length, process; a length of 0 is the whole file.
_LOCK = struct.Struct("hhqqi4x")
_ASK, _SET = getattr(fcntl, "F_OFD_GETLK", None), getattr(fcntl, "F_OFD_SETLK", None)


@contextlib.contextmanager
def hold_files(out: Path, number: int) -> Iterator[None]:
    """Has the files of the commits up to this number stay for the block; they go after a day at the latest."""
    try:
        descriptor = os.open(out / READERS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no run of this version has written here, so none removes files early
        yield
        return
    try:
        if _SET is not None:
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, _SET, _LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, number, 1, 0))
        yield
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, start: int = 0, length: int = 0) -> bool:
    """Returns True if another open file, of any process, has a lock on these bytes."""
    if _ASK is None:
        return True
    try:
        answer = fcntl.fcntl(descriptor, _ASK, _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0))
    except OSError:
        return True
    return bool(_LOCK.unpack(answer)[0] != fcntl.F_UNLCK)


@dataclass(slots=True)
class _Snapshot:
    """A published file: open here, and of the commits up to `number`; `since` is when a newer one took its name."""

    descriptor: int
    number: int
    since: float | None = None


class HeldSnapshots:
    """What the writer of a folder knows of the readers of the snapshots that it published, and of the one before."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._snapshots: list[_Snapshot] = []
        self._readers = os.open(out / READERS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)

    def note_published(self, database: Path, number: int) -> None:
        """Notes that this file is the snapshot of the commits up to this number now."""
        now = time.monotonic()
        for one in self._snapshots:
            one.since = now if one.since is None else one.since
        with contextlib.suppress(FileNotFoundError):
            self._snapshots.append(_Snapshot(os.open(database, os.O_RDONLY | os.O_CLOEXEC), number))

    def release(self) -> None:
        """Stops watching older snapshots that no reader holds.

        Closing the file of a held one would drop the lock of a reader in this process.
        """
        for one in list(self._snapshots):
            if one.since is not None and time.monotonic() - one.since >= _OPENING and not _is_locked(one.descriptor):
                os.close(one.descriptor)
                self._snapshots.remove(one)

    def numbers(self) -> list[int]:
        """Returns the newest commits of the snapshots that DuckDB has open somewhere."""
        return [one.number for one in self._snapshots if _is_locked(one.descriptor)]

    def holds_any(self, first: int, stop: int) -> bool:
        """Returns True if a reader of the manifests holds one of the commits from `first` to `stop`, exclusive."""
        return _is_locked(self._readers, first, stop - first)

    def close(self) -> None:
        """Closes the snapshots and the file of readers' locks."""
        for descriptor in (self._readers, *(one.descriptor for one in self._snapshots)):
            os.close(descriptor)
        self._snapshots = []
