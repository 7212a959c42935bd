"""A cache of automata on disk, so that an automaton that takes long to build is built once on a machine.

The name of an entry is a digest of its key and of the code that builds it, so a new release never reads an entry of
an old one. An entry is written under a temporary name and renamed, so readers see a whole entry or none while others
write. Each entry holds the fingerprint of its automaton; an entry that does not match its fingerprint is built again.
The folder is `$CINNABAR_CACHE`, or `cinnabar` in the user's cache folder. An empty value switches the cache off, and
a folder that cannot be written has the same effect.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from cinnabar.schemas.automata.automaton import Automaton

#: An automaton that is built faster than this, in seconds, is not worth reading from a disk.
WORTH = 0.02


def remembered(key: object, build: Callable[[], Automaton]) -> Automaton:
    """The automaton of this key, from disk or built; `repr(key)` must name everything that the automaton depends on."""
    folder = cache_folder()
    if folder is None:
        return build()
    path = folder / f"{hashlib.sha256(f'{_code()}:{key!r}'.encode()).hexdigest()}.npz"
    found = _read(path)
    if found is not None:
        return found
    begun = time.perf_counter()
    made = build()
    if time.perf_counter() - begun >= WORTH:
        _write(path, made)
    return made


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


def _read(path: Path) -> Automaton | None:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            found = Automaton(
                stored["transitions"].astype(np.int32),
                stored["byte_class"].astype(np.int32),
                stored["accepting"].astype(np.bool_),
            )
            whole = str(stored["fingerprint"]) == found.fingerprint
    except Exception:  # A broken file makes its readers raise various exceptions; the automaton is built again.
        return None
    if not whole:
        return None
    for array in (found.transitions, found.byte_class, found.accepting):
        array.setflags(write=False)
    return found


def _write(path: Path, automaton: Automaton) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        transitions=automaton.transitions,
        byte_class=automaton.byte_class,
        accepting=automaton.accepting,
        fingerprint=np.array(automaton.fingerprint),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getvalue())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
