"""Remembers the hashes of objects in stores by their versions, so that a later run need not read them again.

A file of lines beside the tables: path, version, and the hash of the object, or of each file or mail in it. The last
line of a path counts. No table depends on it; without it objects are read once more.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import orjson

FILE = "stores.jsonl"
#: What an object stands for: the end that each path has behind the object's path, and the SHA-256 of its bytes.
Contents = Sequence[tuple[str, str]]

_DIGEST = re.compile(r"[0-9a-f]{64}")
# Entries that a crash may lose, and seconds between two writes.
_ENTRIES, _SECONDS = 200, 2.0
# So many lines that count no more are left in the file.
_STALE = 10_000


class StoreMemory:
    """The memory of an output folder, nothing for None. Threads may share it; `close` writes the rest."""

    def __init__(self, out: Path | None) -> None:
        self._file = None if out is None else out / FILE
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Contents]] = {}
        self._new: list[bytes] = []
        self._written = time.monotonic()
        if self._file is not None and self._file.is_file() and not self._file.is_symlink():
            lines = self._file.read_bytes().split(b"\n")
            self._known = dict(filter(None, map(_entry, lines)))
            if len(lines) > 2 * len(self._known) + _STALE:
                self._rewrite(self._file)

    def contents(self, path: str, version: str) -> Contents | None:
        """Returns what the object at this path stands for, None if it is unknown or has another version now."""
        known = self._known.get(path)
        return known[1] if known is not None and version and known[0] == version else None

    def remember(self, path: str, version: str, contents: Contents) -> None:
        """Takes note of the bytes that were read under this version; "" is no version."""
        with suppress(UnicodeEncodeError, orjson.JSONEncodeError), self._lock:
            if version and self._file is not None:
                self._new.append(orjson.dumps([path, version, contents]))
                self._known[path] = version, contents
                if len(self._new) >= _ENTRIES or time.monotonic() > self._written + _SECONDS:
                    self._write()

    def close(self) -> None:
        """Writes all that is new."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        # The folder of a first run is made after the listing. A full disk costs only the memory.
        if self._file is None or not self._new or not self._file.parent.is_dir():
            return
        with suppress(OSError):
            # One write at the end of the file, on a line of its own: the last write of a killed run may be torn.
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            with os.fdopen(descriptor, "ab") as file:
                file.write(b"\n" + b"\n".join(self._new) + b"\n")
        self._new, self._written = [], time.monotonic()

    def _rewrite(self, file: Path) -> None:
        whole = file.with_name(f"{FILE}.new")
        with suppress(OSError):
            whole.write_bytes(b"\n".join(orjson.dumps([path, *entry]) for path, entry in self._known.items()) + b"\n")
            whole.replace(file)


def _entry(line: bytes) -> tuple[str, tuple[str, Contents]] | None:
    """Returns the entry on a line, None for a torn or strange one."""
    try:
        path, version, contents = orjson.loads(line)
        pairs = [(str(inner), str(digest)) for inner, digest in contents]
    except (ValueError, TypeError):
        return None
    return (str(path), (str(version), pairs)) if all(_DIGEST.fullmatch(digest) for _, digest in pairs) else None
