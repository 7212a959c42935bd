"""Fetches objects before they are asked for, in threads, with a bound on the bytes that wait."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from cinnabar.extraction.documents.stores.backend import StoredObject

# Bytes of objects that are being fetched or wait for their reader; one larger object may wait alone.
_WAITING = 64 << 20
# Objects that may wait: a run with a limit fetches few that it does not read.
_OBJECTS = 64
# Bytes that are kept on disk between hashing and parsing; objects beyond are fetched twice.
_KEPT = 1 << 30

Fetched = tuple[bytes, str]


class FetchAhead:
    """Gives the bytes and versions of objects; the expected ones are fetched in their order."""

    def __init__(self, fetch: Callable[[StoredObject], Fetched], threads: int) -> None:
        self._fetch, self._threads = fetch, ThreadPoolExecutor(threads, thread_name_prefix="store")
        self._lock = threading.Lock()
        self._queue: deque[StoredObject] = deque()
        self._coming: dict[str, tuple[Future[Fetched], int]] = {}
        self._bytes = 0

    def expect(self, objects: Iterable[StoredObject]) -> None:
        """Begins to fetch these objects as there is room."""
        with self._lock:
            self._queue += objects
            self._fill()

    def take(self, one: StoredObject) -> Fetched:
        """Returns the bytes of an object and their version; fetches it now if nobody expected it.

        Raises the errors of `fetch`.
        """
        with self._lock:
            coming = self._coming.pop(one.key, None)
            if coming is None and one in self._queue:
                self._queue.remove(one)
        if coming is None:
            return self._fetch(one)
        try:
            return coming[0].result()
        finally:
            with self._lock:
                self._bytes -= coming[1]
                self._fill()

    def close(self) -> None:
        """Ends the threads; no object is fetched any more."""
        with self._lock:
            self._queue.clear()
        self._threads.shutdown(cancel_futures=True)

    def _fill(self) -> None:
        while self._queue and len(self._coming) < _OBJECTS:
            size = self._queue[0].size
            if self._bytes and self._bytes + size > _WAITING:
                return
            one = self._queue.popleft()
            if one.key not in self._coming:
                self._coming[one.key] = self._threads.submit(self._fetch, one), size
                self._bytes += size


class Kept:
    """Bytes by key in a file without a name, which goes with the process, up to a bound. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file = tempfile.TemporaryFile(prefix="cinnabar-", buffering=0)  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def keep(self, key: str, data: bytes) -> None:
        """Keeps these bytes if there is room."""
        with self._lock:
            if key in self._places or self._end + len(data) > _KEPT:
                return
            try:
                written = os.pwrite(self._file.fileno(), data, self._end)
            except OSError:  # a full disk: the object is fetched twice
                return
            if written == len(data):
                self._places[key] = self._end, written
                self._end += written

    def get(self, key: str) -> bytes | None:
        """Returns the bytes under this key, None if they were not kept."""
        place = self._places.get(key)
        return None if place is None else os.pread(self._file.fileno(), place[1], place[0])

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def close(self) -> None:
        """Lets go of all bytes."""
        self._file.close()
