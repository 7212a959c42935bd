"""Keeps the last used tables of corrections in memory: their files never change, and each look at a document reads all.

Opening and decoding a small file takes 3 ms of a core. A folder that twenty people correct has dozens of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Bytes of all kept tables together.
_MOST = 64 << 20


class _Kept:
    """Tables by their file, which its size and time tell from another one of the same name. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: OrderedDict[tuple[Any, ...], pa.Table] = OrderedDict()
        self._bytes = 0

    def read(self, path: Path) -> pa.Table:
        """Returns the table of a file. Raises what opening or reading it raises."""
        stat = path.stat()
        key = str(path), stat.st_ino, stat.st_mtime_ns, stat.st_size
        with self._lock:
            if (kept := self._tables.get(key)) is not None:
                self._tables.move_to_end(key)
                return kept
        table = pq.read_table(path)
        with self._lock:
            if key not in self._tables and table.nbytes <= _MOST:
                self._tables[key] = table
                self._bytes += table.nbytes
            while self._bytes > _MOST:
                self._bytes -= self._tables.popitem(last=False)[1].nbytes
        return table


_KEPT = _Kept()


def kept_table(path: Path) -> pa.Table:
    """Returns the table of a file that never changes. Raises what opening or reading it raises."""
    return _KEPT.read(path)
