"""A cache of automata, and of arrays made from them, so that what takes long to build is built once on a machine.

The name of an entry is a digest of its key and of the code that builds it, so a new release never reads an entry of
an old one. An entry is written under a temporary name and renamed, so readers see a whole entry or none while others
write. Each entry holds a digest of its arrays; an entry that does not match its digest is built again. The folder is
`$CINNABAR_CACHE`, or `cinnabar` in the user's cache folder. An empty value switches the cache off, and a folder that
cannot be written has the same effect. If the entries exceed the limit, those that were not used for longest go.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cinnabar.schemas.automata.automaton import Automaton

#: An automaton that is built faster than this, in seconds, is not worth reading from a disk.
WORTH = 0.02

#: The most bytes of all entries; the fields of an ordinary schema take some kilobytes.
LIMIT = 256 << 20
#: Share of the limit that a full folder frees at once, so that not each new entry removes others.
_FREED = 0.1

#: The content of an entry.
Arrays = dict[str, npt.NDArray[Any]]


def remembered(key: object, build: Callable[[], Automaton]) -> Automaton:
    """The automaton of this key, from disk or built; `repr(key)` must name everything that the automaton depends on."""
    return automaton_of(remembered_arrays(key, lambda: arrays_of(build())))


def remembered_arrays(key: object, build: Callable[[], Arrays]) -> Arrays:
    """The arrays of this key, from disk or built, read-only."""
    folder = cache_folder()
    path = None if folder is None else folder / f"{hashlib.sha256(f'{_code()}:{key!r}'.encode()).hexdigest()}.npz"
    arrays = None if path is None else _read(path)
    if arrays is None:
        begun = time.perf_counter()
        arrays = build()
        if path is not None and time.perf_counter() - begun >= WORTH:
            _write(path, arrays)
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


def arrays_of(automaton: Automaton) -> Arrays:
    """An automaton as an entry holds it."""
    return {name: getattr(automaton, name) for name in _FIELDS}


def automaton_of(arrays: Arrays) -> Automaton:
    """The automaton of these arrays of an entry."""
    return Automaton(*(arrays[name] for name in _FIELDS))


_FIELDS = ("transitions", "byte_class", "accepting")


def cache_folder() -> Path | None:
    """The folder that holds the cached automata; None if the cache is off."""
    named = os.environ.get("CINNABAR_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "cinnabar"
    except RuntimeError:
        return None


@cache
def _code() -> str:
    """A digest of the code that builds automata."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> Arrays | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
            whole = str(arrays.pop("digest")) == _digest(arrays)
    except Exception:  # A broken file makes its readers raise various exceptions; the entry is built again.
        return None
    if not whole:
        return None
    with suppress(OSError):
        os.utime(path)  # marks the entry as used
    return arrays


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}:{array.dtype.str}:{array.shape}:".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _write(path: Path, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    whole: dict[str, Any] = {**arrays, "digest": np.array(_digest(arrays))}
    np.savez_compressed(buffer, **whole)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getvalue())
        Path(name).replace(path)
        _make_room(path.parent)
    except OSError:
        Path(name).unlink(missing_ok=True)


def _make_room(folder: Path) -> None:
    """Removes the entries that were not used for longest, if all together exceed the limit."""
    entries = []
    for path in folder.glob("*.npz"):
        with suppress(OSError):  # another process may have removed it
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    size = sum(one[1] for one in entries)
    if size <= LIMIT:
        return
    for _, freed, path in sorted(entries):
        if size <= LIMIT * (1 - _FREED):
            break
        with suppress(OSError):
            path.unlink()
        size -= freed
