"""Files that are whole or absent after a crash, and the lock that only a living process holds."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from cinnabar.schemas.errors import InUse, RunError

#: Begins the name of a file that is being written; such files are never read.
TEMPORARY = ".part-"
# How often a lock is tried, and seconds between two tries.
_TRIES, _PAUSE = 5, 0.02


@contextlib.contextmanager
def failures(doing: str) -> Iterator[None]:
    """Turn an operating-system error into a RunError that says what was being done."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{doing}: {error.strerror or error}; what was committed stands, run the same command again"
        ) from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what Arrow says of a broken file into a RunError that says what to do."""
    try:
        yield
    except pa.ArrowException as error:
        raise RunError(
            f"{path}: cannot be read ({error}); `cinnabar verify` finds what is broken and sets it aside"
        ) from error


def make_folder(path: Path) -> None:
    """Create this folder and those above it, each entry on disk before this returns."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Have the entries of this folder on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Have the bytes of this file on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make the file under a temporary name beside `path`, then rename it into place, synced.

    `path` names the old file or the new one at every instant, never a torn one.
    """
    make_folder(path.parent)
    # Threads of one process write apart, too: what one has half written, another would rename into place.
    writer = f"{os.getpid()}{threading.get_ident()}"
    temporary = path.parent / f"{TEMPORARY}{writer}-{path.name}"
    try:
        write(temporary)
        sync_file(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace this file by these bytes in one step."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    write_whole(path, write)


def is_locked(folder: Path) -> bool:
    """Whether a process holds the lock of this folder now."""
    try:
        descriptor = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class FolderLock:
    """An exclusive lock on a folder; the kernel drops it when the process that holds it ends, however it
    ends.

    Raises InUse where another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        # Who only asks whether a run is going (`is_locked`) holds it for an instant.
        for _ in range(_TRIES - 1):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_PAUSE)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._descriptor)
            raise InUse(folder, holder) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        _held.add(self)

    def release(self) -> None:
        """Let others in; a second call does nothing."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close the file without unlocking it for other processes that have it open."""
        os.close(self._descriptor)
        self._descriptor = -1


_held: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _release_in_child() -> None:
    # A forked child shares the open file, and with it the lock: it would outlive a killed parent.
    for lock in list(_held):
        if lock._descriptor >= 0:
            lock.forget()


os.register_at_fork(after_in_child=_release_in_child)
