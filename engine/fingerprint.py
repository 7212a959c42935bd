"""What a record's key says of the engine; known before anything is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import astuple

from cinnabar.engine.effort import Effort
from cinnabar.engine.version import FAMILIES, values_version


def engine_fingerprint(model: str, effort: Effort, *fillers: str) -> str:
    """Names the model (by its own fingerprint) and everything of the engine that a record depends on.

    `fillers` are the parts of the code that fill records with it (engine/version.py): `reader`, `language`, `remote`.
    """
    return _hash((values_version("merging", *fillers), model, astuple(effort)[1:]))


def read_by(engine: str, parsers: Collection[str]) -> str:
    """Returns what the key of a document says that these families of formats read.

    Without any it may be all of them.
    """
    known = sorted(parsers) if parsers and set(parsers) <= set(FAMILIES) else sorted(FAMILIES)
    return _hash((engine, known, values_version(*known)))


def _hash(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
