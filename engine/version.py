"""The versions of the parts of the code that decide values, and the fingerprints made of them, known before anything is
loaded.

A record's key holds the versions of the parts that read it, so that "run it again" makes exactly those records anew
whose rules have changed. Whoever changes what a part reads raises its number by hand; a test fails if the predictions
of the samples change and no number did (tests/data/test_predictions.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import astuple
from typing import Any

from cinnabar.engine.settings import Effort

#: The version of each part when parts got versions of their own.
FIRST = 11
#: The version of each part.
VERSIONS: dict[str, int] = {
    "schemas": 15,
    "engine": 32,
    "reader": 33,
    "replies": 13,
    "language": 27,
    "remote": 13,
    "parsing": 18,
    "merging": 27,
    "routing": 11,
    "plain": 14,
    "pdf": 16,
    "ocr": 14,
    "mail": 14,
    "office": 16,
    "web": 14,
    "archives": 12,
}
#: The parts that the code of a part calls: with theirs, its version counts.
USES: dict[str, tuple[str, ...]] = {
    "schemas": (),
    # What all fillers share, also the reader's questions and calibration, which other models use.
    "engine": ("schemas",),
    "reader": ("engine",),
    "replies": ("engine",),
    "language": ("engine", "replies"),
    "remote": ("engine", "replies"),
    # What all formats share: their detection, the document, and helpers of several families.
    "parsing": ("engine",),
    "merging": ("engine", "parsing"),
    "routing": ("reader", "parsing"),
    "plain": ("parsing",),
    "pdf": ("parsing",),
    "ocr": ("parsing", "pdf"),
    "mail": ("parsing", "plain"),
    "office": ("parsing", "plain"),
    "web": ("parsing", "plain"),
    "archives": ("parsing",),
}
#: The families of formats, folders of `extraction/documents`: of a document's key only those count that read it.
FAMILIES = ("plain", "pdf", "ocr", "mail", "office", "web", "archives")
# RTF is a text, whose reader stands with the mails that hold it.
_PLAIN = "cinnabar.extraction.documents.mail.rtf"


def values_version(*parts: str) -> int:
    """Returns the version of these parts with all that they use: how often one of them was raised, from `FIRST` on."""
    return FIRST + sum(VERSIONS[name] - FIRST for name in _with_used(parts))


def _with_used(names: Iterable[str]) -> set[str]:
    used: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += USES[name]
    return used


def family_of(function: Callable[..., Any]) -> str:
    """Returns the family of formats whose code a function is; "" for code that families share."""
    if function.__module__ == _PLAIN:
        return "plain"
    return next((one for one in function.__module__.split(".") if one in FAMILIES), "")


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
