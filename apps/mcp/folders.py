"""The folders whose files an agent may name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import harmless

#: The files that an error names, and those that are looked at for it.
_NAMED, _LOOKED_AT = 20, 1000


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of documents. most: bytes of a file.

    Raises UsageError for what is no folder.
    """

    roots: Sequence[Path]
    most: int

    def __post_init__(self) -> None:
        for root in self.roots:
            if not root.is_dir():
                raise UsageError(f"{root}: expected a folder of documents, found none")

    def read(self, name: str) -> bytes:
        """Returns the bytes of a file. Raises UsageError if none of the folders holds it, or if it is too large."""
        path = self._place(name)
        # A pipe or a device may never end, and one of them may have come to this place meanwhile.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(f"{harmless(name)}: expected a file, got something else")
            if found.st_size > self.most:
                raise UsageError(f"{harmless(name)}: expected at most {self.most} bytes, got {found.st_size}")
            return file.read(self.most)

    def _place(self, name: str) -> Path:
        for root in self.roots:
            own = root.resolve()
            try:
                path = (own / name).resolve(strict=True)
            except (OSError, ValueError, RuntimeError):
                continue
            # Where links lead out of the folder the file is not the owner's to show.
            if path.is_relative_to(own) and path.is_file():
                return path
        there = ", ".join(islice(self.names(), _NAMED)) or "none"
        raise UsageError(f"{harmless(name[:200])}: no such file in the folders of this server; files there: {there}")

    def names(self) -> Iterator[str]:
        """Yields names of files, those of the first folders first."""
        for root in self.roots:
            for folder, below, files in islice(os.walk(root), _LOOKED_AT):
                below.sort()
                paths = (Path(folder, one) for one in sorted(files))
                own = (path for path in paths if path.is_file() and not path.is_symlink())
                yield from (harmless(str(path.relative_to(root))) for path in own)
