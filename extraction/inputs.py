"""The input paths of a run: folders expanded, each file with the hash of its bytes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cinnabar.extraction.ingest.sandbox import MAX_FILE
from cinnabar.schemas.errors import DocumentError, UsageError

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """A path that ends in one outcome: the SHA-256 of its bytes, or why it cannot be read."""

    path: str
    digest: str = ""
    problem: DocumentError | None = None


def expand(paths: Sequence[Path], out: Path | None = None) -> list[Path]:
    """The files that these paths name, in order of their paths, each once.

    Of a folder all that lies in it at any depth, without hidden files and folders and without the output
    folder; a link in it counts where it leads to a file within the folder. Raises UsageError for a path that
    does not exist and where there is no file at all.
    """
    found: set[Path] = set()
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or folder")
        if _is_folder(path):
            inside = list(_inside(path, None if out is None else out.resolve()))
            if not inside:
                raise UsageError(f"{path}: the folder holds no files (hidden ones do not count)")
            found.update(inside)
        else:
            found.add(path)
    if not found:
        raise UsageError("expected at least one file or folder to read, got none")
    return sorted(found, key=str)


def _inside(folder: Path, out: Path | None) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError as error:
            raise UsageError(f"{here}: the folder cannot be read ({error.strerror})") from error
        for entry in entries:
            path = here / entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if out is None or path.resolve() != out:
                    waiting.append(path)
            # A link that leads nowhere, or to itself, is a file that cannot be read.
            elif not (entry.is_symlink() and _is_folder(path) and _within(path, folder)):
                yield path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a link to itself, say, or into a folder that may not be entered
        return False


def _within(path: Path, folder: Path) -> bool:
    # Not Path.resolve: it raises where a link leads to itself.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def examine(path: Path, roots: Sequence[Path]) -> Input:
    """The hash of a file, or why it has none. Links are followed only where they were named, or stay inside.

    `roots` are the paths that the run was given.
    """
    try:
        digest = _digest(path, roots)
    except DocumentError as problem:
        return Input(str(path), problem=problem)
    except OSError as error:
        return Input(str(path), problem=DocumentError("unreadable", error.strerror or str(error)))
    return Input(str(path), digest)


def _digest(path: Path, roots: Sequence[Path]) -> str:
    if path.is_symlink() and path not in roots:
        folders = [root for root in roots if path.is_relative_to(root)]
        if not any(_within(path, folder) for folder in folders):
            raise DocumentError("not_a_file", "a link that leads out of the folder; it was not followed")
    # Without O_NONBLOCK opening a named pipe would wait for its writer for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("not_a_file", "expected a regular file, got a folder, a pipe or a device")
        if status.st_size > MAX_FILE:
            raise DocumentError("too_large", f"{status.st_size} bytes, at most {MAX_FILE} are read")
        digest = hashlib.sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
