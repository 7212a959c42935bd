"""Writes files that are whole or absent after a crash, and holds a folder's lock while the process lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from cinnabar.errors import InUse, RunError

#: Prefix of a file that is being written; such files are never read.
TEMPORARY = ".part-"
# Attempts to take a lock, and seconds between two attempts.
_TRIES, _PAUSE = 5, 0.02
# Seconds that a call waits for others, where work is short.
_PATIENCE = 10.0


@contextlib.contextmanager
def failures(doing: str) -> Iterator[None]:
    """Turns an operating-system error into a RunError that names the failed action."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{doing}: {error.strerror or error}; committed batches are kept; run the same command again"
        ) from error


@contextlib.contextmanager
def explain_broken_file(path: Path) -> Iterator[None]:
    """Turns Arrow's error on a broken file into a RunError that advises what to do."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # the system's error; Arrow's own about damaged pages have none
            raise
        raise RunError(
            f"{path}: cannot be read ({error}); `cinnabar verify` finds broken files and sets their batches aside"
        ) from error


def make_folder(path: Path) -> None:
    """Creates this folder and its parents, and syncs each entry to disk before it returns."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def sync(path: Path) -> None:
    """Syncs the bytes of this file, or the entries of this folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Has `write` make the file under a temporary name beside `path`, syncs it and renames it into place.

    At every instant `path` is the old file or the new one, never a torn one.
    """
    make_folder(path.parent)
    # The name holds the thread's id: one thread must not rename a file that another has half written.
    writer = f"{os.getpid()}{threading.get_ident()}"
    temporary = path.parent / f"{TEMPORARY}{writer}-{path.name}"
    try:
        write(temporary)
        sync(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Replaces this file by these bytes in one step."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    write_whole(path, write)


def is_locked(folder: Path) -> bool:
    """Returns True if a process holds the lock of this folder now."""
    try:
        descriptor = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def waited_lock(folder: Path) -> FolderLock:
    """Returns the lock of a folder once others have released it. Raises InUse if they hold it for ten seconds."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return FolderLock(folder)
        except InUse:
            if time.monotonic() > until:
                raise


class FolderLock:
    """An exclusive lock on a folder; the kernel drops it when its process ends in any way.

    Raises InUse if another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        # Retries, because `is_locked` in another process holds the lock for an instant.
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
        """Releases the lock; a second call does nothing."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Closes the file without unlocking it for other processes that have it open."""
        os.close(self._descriptor)
        self._descriptor = -1


_held: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _release_in_child() -> None:
    # A forked child shares the open file, and with it the lock; the lock would outlive a killed parent.
    for lock in list(_held):
        if lock._descriptor >= 0:
            lock.forget()


os.register_at_fork(after_in_child=_release_in_child)


#: The folder within an output folder, and that of corrections that could not be stored.
WAITING, UNSTORED = "waiting", "aside/corrections"
_NAME = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{8}\.json", re.ASCII)


def waiting_files(out: Path) -> list[Path]:
    """Returns the files of waiting corrections, oldest first."""
    return _files(out / WAITING)


def files_aside(out: Path) -> list[Path]:
    """Returns the files of corrections that could not be stored, oldest first."""
    return _files(out / UNSTORED)


def _files(folder: Path) -> list[Path]:
    # A pipe in a folder from elsewhere is no file: who reads it waits for ever.
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in there if _NAME.fullmatch(path.name) and path.is_file())
