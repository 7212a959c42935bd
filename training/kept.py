"""Keeps what took long to make in files, so that a later run goes on from there; only files of our own are loaded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


def keep(path: Path, value: object) -> None:
    """Writes a value to a file, which is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(pickle.dumps(value, protocol=5))
    temporary.replace(path)


def kept(path: Path | None, make: Callable[[], _T]) -> _T:
    """Returns the value in a file, which is made and kept if there is none yet; without a file it is made."""
    if path is not None and path.is_file():
        found: _T = pickle.loads(path.read_bytes())
        return found
    value = make()
    if path is not None:
        keep(path, value)
    return value
