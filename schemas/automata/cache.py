"""A cache of automata, so that what takes long to build is built once on a machine.

The name of an entry is a digest of its key and of the code that builds it, so a new release never reads an entry of
an old one. Each entry holds a digest of its arrays; an entry that does not match its digest is built again.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.cache_files import CacheFiles, cache_folder, mark_used

#: An automaton that is built faster than this, in seconds, is not worth reading from a disk.
WORTH = 0.02

#: The most bytes of all entries; the fields of an ordinary schema take some kilobytes.
LIMIT = 256 << 20

#: The content of an entry.
_Arrays = dict[str, npt.NDArray[Any]]
_FIELDS = ("transitions", "byte_class", "accepting")


def load_or_build(key: object, build: Callable[[], Automaton]) -> Automaton:
    """The automaton of this key, from disk or built; `repr(key)` must name everything that the automaton depends on."""
    folder = cache_folder()
    path = None if folder is None else folder / f"{hashlib.sha256(f'{_code()}:{key!r}'.encode()).hexdigest()}.npz"
    arrays = None if path is None else _read(path)
    if arrays is None:
        begun = time.perf_counter()
        automaton = build()
        arrays = {name: getattr(automaton, name) for name in _FIELDS}
        if path is not None and time.perf_counter() - begun >= WORTH:
            _write(path, arrays)
    for array in arrays.values():
        array.setflags(write=False)
    return Automaton(*(arrays[name] for name in _FIELDS))


@cache
def _code() -> str:
    """A digest of the code that builds automata."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> _Arrays | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
            whole = str(arrays.pop("digest")) == _digest(arrays)
    except Exception:  # A broken file makes its readers raise various exceptions; the entry is built again.
        return None
    if not whole:
        return None
    mark_used(path)
    return arrays


def _digest(arrays: _Arrays) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}:{array.dtype.str}:{array.shape}:".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _write(path: Path, arrays: _Arrays) -> None:
    buffer = io.BytesIO()
    whole: dict[str, Any] = {**arrays, "digest": np.array(_digest(arrays))}
    np.savez_compressed(buffer, **whole)
    data = buffer.getvalue()
    CacheFiles(path.parent, "*.npz", LIMIT).write(path, [data], len(data))
