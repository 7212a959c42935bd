"""Files of caches: what takes long to make is made once on a machine, and may be removed at any time.

A file is written under a temporary name and renamed, so readers see a whole file or none while others write. It is not
synced: whoever reads it finds out whether a crash tore it, and makes it again. If the files exceed their limit, those
that were not used for longest go. In a folder that cannot be written, and on a full disk, nothing is kept and nothing
raised.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_TEMPORARY = ".part-"
#: A full folder frees this share of its limit at once, so that not each new file removes others.
_FREED = 0.1
#: After writing this share of the limit, the process lists the folder again, because others may write to it too.
_LOOKED = 0.01


def cache_folder() -> Path | None:
    """The folder of what all runs of a user share: `$CINNABAR_CACHE`, or `cinnabar` in the user's cache folder.

    None if the variable is empty, which switches these caches off.
    """
    named = os.environ.get("CINNABAR_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "cinnabar"
    except RuntimeError:
        return None


def mark_used(path: Path) -> None:
    """Marks a file as used just now. In a read-only folder this does nothing, and the file is still of use."""
    with suppress(OSError):
        os.utime(path)


class CacheFiles:
    """The files of a folder that match a pattern, together of at most `limit` bytes; processes may share the folder."""

    def __init__(self, folder: Path, pattern: str, limit: int) -> None:
        self.folder, self.pattern, self.limit = folder, pattern, limit
        self._lock = threading.Lock()
        # The first file that is written lists the folder.
        self._size, self._written = 0, limit

    def write(self, path: Path, parts: Iterable[bytes | memoryview], size: int) -> bool:
        """Writes a file of `size` bytes in all; returns whether it is there.

        A file larger than the limit is not written.
        """
        if size > self.limit:
            return False
        with self._lock, suppress(OSError):
            if self._size + size > self.limit or self._written > self.limit * _LOOKED:
                self._make_room(size)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Another container may write the same file under the same process id, so the name is drawn. It matches the
            # pattern, so what a crash leaves goes like any other file. Others may read it as far as the user lets them.
            temporary = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}{path.suffix}")
            try:
                with temporary.open("xb") as file:
                    file.writelines(parts)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            self._size += size
            self._written += size
            return True
        return False

    def _files(self) -> list[tuple[float, int, Path]]:
        """Each file's time of last use, size and path."""
        files = []
        for path in self.folder.glob(self.pattern):
            with suppress(OSError):  # another process may have removed it
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        return files

    def _make_room(self, wanted: int) -> None:
        """Removes the files that were not used for longest if there is no room for so many bytes."""
        files = sorted(self._files())
        self._size, self._written = sum(size for _, size, _ in files), 0
        if self._size + wanted <= self.limit:
            return
        least = max(0, int(self.limit * (1 - _FREED)) - wanted)
        for _, size, path in files:
            if self._size <= least:
                break
            with suppress(OSError):
                path.unlink()
                self._size -= size
            with suppress(OSError):  # of several levels: a folder that is empty now
                if path.parent != self.folder:
                    path.parent.rmdir()
