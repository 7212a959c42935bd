"""A disk that fails at one operation: an I/O error, no space, or death before, after or within the operation.

The product does not know of this file: it wraps the functions of Python and Arrow that reach the disk. DuckDB writes
from C++: its snapshot fails as a whole, or in the middle by a limit on the size of files.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.extraction.store import snapshot

#: The bytes of a Parquet file that are written at a time.
PIECE = 1024


@dataclass
class Faults:
    """Breaks the operation with number `point`, counted from 0, in one way; with -1 it only counts."""

    point: int = -1
    way: str = ""
    full: bool = False
    #: For each operation so far, the ways in which it can be broken.
    seen: list[tuple[str, ...]] = field(default_factory=list)

    def around(self, act: Callable[[], Any], torn: Callable[[], Any] | None = None, writes: bool = False) -> Any:
        """Does this operation, or fails at it. `torn` does half of it; `writes` says whether it takes space."""
        here = len(self.seen) == self.point
        usual = ("error", "before", "after")
        self.seen.append((*usual, *(("full",) if writes else ()), *(("torn",) if torn else ())))
        if self.full and writes:
            raise OSError(28, "No space left on device")
        if not here:
            return act()
        if self.way == "error":
            raise OSError(5, "Input/output error")
        if self.way == "full":
            self.full = True
            if writes:
                raise OSError(28, "No space left on device")
            return act()
        if self.way == "after":
            # The operation may fail because its target exists or is gone; the process dies here in any case.
            with suppress(OSError):
                act()
        if self.way == "torn" and torn is not None:
            torn()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("dead")

    def install(self) -> None:
        """Wraps the functions of this process that reach the disk."""
        # Only a power cut could tell whether fsync waited for the disk.
        os.fsync = lambda _: None
        if self.way == "torn":  # a write beyond the limit ends the process; only the main thread may say so
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        for module, name in ((os, "fsync"), (os, "replace"), (os, "mkdir"), (os, "unlink")):
            setattr(module, name, self._wrapped(getattr(module, name), writes=name == "mkdir"))
        # In some releases of Python pathlib took its own references when it was imported.
        Path.replace = lambda path, target: os.replace(path, target) or Path(target)  # noqa: PTH105
        Path.unlink = lambda path, missing_ok=False: self._unlink(path, missing_ok)
        Path.write_bytes = lambda path, data: self._write_bytes(path, data)
        self._arrow()
        self._duckdb()

    def _wrapped(self, act: Callable[..., Any], writes: bool) -> Callable[..., Any]:
        return lambda *args, **more: self.around(lambda: act(*args, **more), writes=writes)

    @staticmethod
    def _unlink(path: Path, missing_ok: bool = False) -> None:
        try:
            os.unlink(path)  # noqa: PTH108
        except FileNotFoundError:
            if not missing_ok:
                raise

    def _write_bytes(self, path: Path, data: bytes) -> int:
        with path.open("wb", buffering=0) as stream:
            self.around(lambda: stream.write(data), lambda: stream.write(data[: len(data) // 2]), writes=True)
        return len(data)

    def _arrow(self) -> None:
        faults = self
        writer = pq.ParquetWriter

        class Sink:
            """A file that counts every write."""

            def __init__(self, path: Path) -> None:
                self.stream = faults.around(lambda: path.open("wb", buffering=0), writes=True)
                self.closed = False

                self.waiting = b""
                self.length = 0

            def write(self, data: Any) -> int:
                self.waiting += bytes(data)
                self.length += len(data)
                if len(self.waiting) >= PIECE:
                    self.flush()
                return len(data)

            def flush(self) -> None:
                data, self.waiting = self.waiting, b""
                half = data[: len(data) // 2]
                if data:
                    faults.around(lambda: self.stream.write(data), lambda: self.stream.write(half), writes=True)

            def tell(self) -> int:
                return self.length

            def close(self) -> None:
                if not self.closed:
                    self.flush()
                    self.stream.close()
                self.closed = True

        def write_table(rows: pa.Table, where: Path, **more: Any) -> None:
            with pa.PythonFile(Sink(where), mode="w") as sink, writer(sink, rows.schema, **more) as file:
                file.write_table(rows)

        pq.write_table = write_table

    def _duckdb(self) -> None:
        build = snapshot.define_views

        def half(*args: Any) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
            build(*args)
            # A snapshot is one transaction; other views have none.
            with suppress(duckdb.Error):
                args[0].commit()
            args[0].execute("CHECKPOINT")

        def define(*args: Any) -> None:
            if self.full and self._is_file(args[0]):
                resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
            self.around(lambda: build(*args), lambda: half(*args))

        snapshot.define_views = define

    @staticmethod
    def _is_file(connection: Any) -> bool:
        return any(row[0] for row in connection.execute("SELECT path FROM duckdb_databases()").fetchall())
