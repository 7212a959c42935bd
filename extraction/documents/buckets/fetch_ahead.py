"""Objects of a bucket fetched ahead of their reader, and bytes kept on disk between hashing and parsing."""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from cinnabar.extraction.documents.buckets.bucket import StoredObject

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
        self._coming: dict[StoredObject, Future[Fetched]] = {}
        self._bytes = 0

    def expect(self, objects: Iterable[StoredObject]) -> None:
        """Begins to fetch these objects as there is room."""
        with self._lock:
            known = {*self._queue, *self._coming}
            self._queue.extend(one for one in objects if one not in known)
            self._fill()

    def take(self, one: StoredObject) -> Fetched:
        """Returns the bytes of an object and their version; fetches it now if nobody expected it.

        Raises the errors of `fetch`.
        """
        with self._lock:
            coming = self._coming.pop(one, None)
            if coming is None and one in self._queue:
                self._queue.remove(one)
        if coming is None:
            return self._fetch(one)
        try:
            return coming.result()
        finally:
            with self._lock:
                self._bytes -= one.size
                self._fill()

    def close(self) -> None:
        """Ends the threads; no object is fetched any more."""
        with self._lock:
            self._queue.clear()
        self._threads.shutdown(cancel_futures=True)

    def _fill(self) -> None:
        while self._queue and len(self._coming) < _OBJECTS:
            if self._bytes and self._bytes + self._queue[0].size > _WAITING:
                return
            one = self._queue.popleft()
            self._coming[one] = self._threads.submit(self._fetch, one)
            self._bytes += one.size


class KeptBytes:
    """Bytes by key on disk, up to a bound. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The database without a name has a file without a name, which goes with the process.
        self._data = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._data.execute(f"PRAGMA max_page_count = {_KEPT >> 12}")
        self._data.execute("CREATE TABLE kept (key TEXT PRIMARY KEY, data BLOB)")

    def keep(self, key: str, data: bytes) -> None:
        """Keeps these bytes if there is room."""
        with self._lock, suppress(sqlite3.OperationalError):
            self._data.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (key, data))

    def get(self, key: str) -> bytes | None:
        """Returns the bytes under this key, None if they were not kept."""
        with self._lock:
            found = self._data.execute("SELECT data FROM kept WHERE key = ?", (key,)).fetchone()
        return found and bytes(found[0])

    def close(self) -> None:
        """Lets go of all bytes."""
        self._data.close()
