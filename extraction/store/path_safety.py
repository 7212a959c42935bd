"""Decides which names that are read back from an output folder are followed: those that Cinnabar itself gives.

A folder may come from a stranger, or be damaged. A name in it that leads elsewhere would have a command read, copy or
remove files of others, so each kind of name has one strict pattern here, and no link in a folder may lead out of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from cinnabar.errors import RunError
from cinnabar.extraction.store.left_over import LEFT_OVER

#: The kinds of names.
NameKind = Literal["digest", "run", "correction", "step of a correction"]

_RUN = r"\d{8}T\d{9}Z-[0-9a-f]{8}"
_CORRECTION = r"\d{8}T\d{12}Z-[0-9a-f]{8}"
_PATTERNS: dict[str, re.Pattern[str]] = {
    "digest": re.compile(r"[0-9a-f]{64}"),
    "run": re.compile(_RUN, re.ASCII),
    "correction": re.compile(_CORRECTION, re.ASCII),
    "step of a correction": re.compile(rf"{_CORRECTION}-\d+", re.ASCII),
}
_EXPECTED = {
    "digest": "a digest of 64 hexadecimal digits",
    "run": "the id of a run",
    "correction": "the id of a correction",
    "step of a correction": "the id of a step of a correction",
}
# The folders for one schema and one version of it, between a table's folder and a batch (names.identifier).
_FOLDERS = re.compile(r"(?:/[A-Za-z0-9_]{1,61}){0,2}")
#: The folders that readers of the tables follow names into, and what else lies in an output folder.
_TABLES = (
    "manifest", "data", "fields", "documents", "outcomes", "runs", "checks", "corrections", "uncorrected", "schemas",
    "waiting", "snapshot.json",
)  # fmt: skip
_OTHERS = (
    "packets", "reports", "aside", "models", "pages", "folders.json",
    "stores.jsonl", "cinnabar.duckdb", ".lock",
)  # fmt: skip


class UnsafeName(RunError, ValueError):
    """A name in an output folder that Cinnabar does not give, or a link that leads out of the folder."""


def is_own(kind: NameKind, name: object) -> bool:
    """Returns True if this is a name of this kind as Cinnabar gives it."""
    return isinstance(name, str) and _PATTERNS[kind].fullmatch(name) is not None


def own_name(kind: NameKind, name: object) -> str:
    """Returns a name of this kind. Raises StrangeName if Cinnabar does not give such names."""
    if isinstance(name, str) and is_own(kind, name):
        return name
    raise UnsafeName(f"expected {_EXPECTED[kind]}, got {str(name)[:80]!r}, which Cinnabar gives no {kind}")


def check_batch_path(path: object, table: str, batch: str) -> str:
    """Returns the path of a batch's Parquet file within its output folder. Raises StrangeName if it is another one."""
    # One compiled pattern for all: those of each batch would be compiled anew at each look at the folder.
    tail = f"/{batch}.parquet"
    if isinstance(path, str) and path.startswith(table) and path.endswith(tail):
        end = len(path) - len(tail)
        if end >= len(table) and _FOLDERS.fullmatch(path, len(table), end):
            return path
    raise UnsafeName(f"expected {table}/…/{batch}.parquet, got {str(path)[:200]!r}, which Cinnabar names no file")


def check_links(out: Path, *, everything: bool = False) -> None:
    """Raises StrangeName if something among the tables of this folder, or in all that Cinnabar keeps, is a link out of
    it, or neither a file nor a folder: who opens a pipe waits for ever.
    """
    if not out.is_dir():
        return
    real = Path(os.path.realpath(out))
    for name in (*_TABLES, *((*_OTHERS, *LEFT_OVER) if everything else ())):
        for path in _others(out / name):
            if path.is_symlink():
                if not Path(os.path.realpath(path)).is_relative_to(real):
                    raise UnsafeName(
                        f"{path}: expected a file or folder, got a link to {path.readlink()}, which lies outside of"
                        " the results; Cinnabar makes no such link; remove it, or put there what it leads to"
                    )
            elif path.exists() and not path.is_file() and not path.is_dir():  # else it has gone meanwhile
                raise UnsafeName(
                    f"{path}: expected a file or folder, got a pipe or its like; Cinnabar makes none; remove it"
                )


def _others(path: Path) -> Iterator[Path]:
    """Yields what is neither a file nor a folder at and below a path: links, which it does not follow, and devices."""
    if path.is_symlink() or not path.is_dir():
        yield path
    else:
        waiting = [str(path)]
        while waiting:
            # The writer may remove a folder meanwhile.
            with suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        yield Path(entry.path)
