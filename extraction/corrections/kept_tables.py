"""Keeps the last used small tables in memory: their files never change, and each look at a document reads all.

Opening and decoding a small file takes 3 ms of a core. A folder that twenty people correct has dozens of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinnabar.extraction.store.names import literal
from cinnabar.extraction.store.snapshot import OFFLINE

# Bytes of all kept tables together.
_MOST = 64 << 20
# Outcome files up to this size are kept in memory; DuckDB reads larger ones by their statistics.
_SMALL = 1 << 18


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


def latest_outcomes(paths: Iterable[str], documents: Collection[str]) -> list[dict[str, Any]]:
    """Returns the latest outcome of each of these documents but skips, with the `filename` that holds it.

    Raises FileNotFoundError if a file has gone meanwhile.
    """
    small, large = list[str](), list[str]()
    for path in paths:
        (small if Path(path).stat().st_size <= _SMALL else large).append(path)
    wanted = pc.field("document").isin(pa.array(documents, pa.string())) & (pc.field("outcome") != "skipped")
    rows = [row | {"filename": path} for path in small for row in kept_table(Path(path)).filter(wanted).to_pylist()]
    if large:
        asked = (
            f"SELECT * FROM read_parquet([{', '.join(map(literal, large))}], union_by_name = true, filename = true)"
            f" WHERE document IN ({', '.join(map(literal, documents))}) AND outcome <> 'skipped'"
            " QUALIFY row_number() OVER (PARTITION BY document ORDER BY run_id DESC) = 1"
        )
        with duckdb.connect(config=OFFLINE) as connection:
            found = connection.execute(asked)
            names = [column[0] for column in found.description or ()]
            rows += [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    latest: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["run_id"] >= latest.get(row["document"], row)["run_id"]:
            latest[row["document"]] = row
    return list(latest.values())
