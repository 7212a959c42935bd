"""Remembers the hashes of objects in stores by their versions, so that a later run need not read them again.

A file of lines beside the tables: path, version, and the hash of the object, or of each file or mail in it. The last
line of a path counts. No table depends on it; without it objects are read once more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter

FILE = "stores.jsonl"
#: What an object stands for: the end that each path has behind the object's path, and the SHA-256 of its bytes.
Contents = Sequence[tuple[str, str]]

_Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
_LINE = TypeAdapter(tuple[str, str, list[tuple[str, _Digest]]])
# Entries that a crash may lose, and lines that count no more which are left in the file.
_ENTRIES, _STALE = 50, 10_000


class StoreMemory:
    """The memory of an output folder, nothing for None. Threads may share it; `close` writes the rest."""

    def __init__(self, out: Path | None) -> None:
        self._file = None if out is None else out / FILE
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Contents]] = {}
        self._new: list[bytes] = []
        if self._file is not None and self._file.is_file() and not self._file.is_symlink():
            lines = self._file.read_bytes().split(b"\n")
            for line in lines:
                with suppress(ValueError):  # a torn or strange line
                    path, version, contents = _LINE.validate_json(line)
                    self._known[path] = version, contents
            if len(lines) > 2 * len(self._known) + _STALE:
                self._file.unlink()
                self._new = [_LINE.dump_json((path, version, [*all_])) for path, (version, all_) in self._known.items()]

    def contents(self, path: str, version: str) -> Contents | None:
        """Returns what the object at this path stands for, None if it is unknown or has another version now."""
        known = self._known.get(path)
        return known[1] if known is not None and version and known[0] == version else None

    def remember(self, path: str, version: str, contents: Contents) -> None:
        """Takes note of the bytes that were read under this version; "" is no version."""
        if version and self._file is not None:
            with self._lock:
                self._new.append(_LINE.dump_json((path, version, [*contents])))
                self._known[path] = version, contents
                if len(self._new) >= _ENTRIES:
                    self._write(self._file)

    def close(self) -> None:
        """Writes all that is new."""
        with self._lock:
            if self._new and self._file is not None:
                self._write(self._file)

    def _write(self, file: Path) -> None:
        # The folder of a first run is made after the listing. A full disk costs only the memory.
        if file.parent.is_dir():
            with suppress(OSError):
                # One write at the end of the file, on a line of its own: the last write of a killed run may be torn.
                descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
                with os.fdopen(descriptor, "ab") as opened:
                    opened.write(b"\n" + b"\n".join(self._new) + b"\n")
            self._new = []
