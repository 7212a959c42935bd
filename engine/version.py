"""The versions of the code that decides values, and the alarm that tells when one has to be raised.

A record's key holds the versions of the parts that read it, so that "run it again" makes exactly those records anew
whose rules have changed. Nobody remembers to raise a number: beside each stands a hash of the part's code and tables,
recorded when it was raised, and a test compares it with the code (tests/engine/test_version.py). `make version` raises
the versions of the parts that have changed and records their hashes (scripts/code_hash.py).

What a record's key says of the engine; known before anything is loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import astuple, dataclass
from typing import Any

from cinnabar.engine.settings import Effort

#: The version of each part when parts got versions of their own.
FIRST = 11
#: The version of each part, and the hash of its code when the version was raised (`make version`).
VERSIONS: dict[str, tuple[int, str]] = {
    "schemas": (15, "1f9202f5467261ab"),
    "engine": (31, "07aef08afb4742dc"),
    "reader": (30, "c6478c90936ccdc1"),
    "replies": (13, "dc505ffbf4172cde"),
    "language": (25, "07e1be1adb070861"),
    "remote": (12, "0e0bd01b6ae98338"),
    "parsing": (15, "88d69ee58d602e8b"),
    "merging": (21, "123e8edb71cb6ffe"),
    "routing": (11, "0b6b4dcebf27772f"),
    "plain": (13, "77717d67f28dc739"),
    "pdf": (15, "8bd24387ae8e1583"),
    "ocr": (14, "2b2e1aa4f9b93b38"),
    "mail": (13, "27925f1e7e83262d"),
    "office": (14, "c2b01c8c94f4c86a"),
    "web": (13, "eb5d5cb8f21fe5ca"),
    "archives": (12, "73f3cd45a9e661ad"),
}


@dataclass(frozen=True, slots=True)
class CodePart:
    """A part of the code: its folders and files from the top of the project, and the parts that its code calls.

    Of nested places the innermost one counts.
    """

    uses: tuple[str, ...]
    places: tuple[str, ...]


#: From a file's bytes to its record: each place whose code decides values.
PARTS: dict[str, CodePart] = {
    "schemas": CodePart((), ("schemas",)),
    # What all fillers share, also the reader's questions and calibration, which other models use.
    "engine": CodePart(("schemas",), (
        "engine", "kernels/score_limits.py",
        "engine/models/reader/calibration.py",
        "engine/models/reader/confidence_features.py", "engine/models/reader/thresholds.py",
        "engine/models/reader/inputs/wordpieces.py", "engine/models/reader/inputs/mentions.py",
        "engine/models/reader/inputs/letter_ngrams.py",
        "engine/models/reader/inputs/questions.py",
        "engine/models/reader/inputs/tensors.py", "engine/models/reader/inputs/thresholds.py",
    )),
    "reader": CodePart(("engine",), (
        "engine/models/reader", "engine/models/sentences", "engine/models/encodings.py",
    )),
    "replies": CodePart(("engine",), ("engine/replies",)),
    "language": CodePart(("engine", "replies"), (
        "engine/branches", "engine/diffusion", "engine/models/language", "kernels",
    )),
    "remote": CodePart(("engine", "replies"), ("engine/models/remote",)),
    # What all formats share: their detection, the document, and helpers of several families.
    "parsing": CodePart(("engine",), (
        "extraction/documents/content", "extraction/documents/ingest", "extraction/documents/processes",
        "extraction/documents/marks", "extraction/documents/office/package.py",
        "extraction/documents/office/sheet_text.py", "extraction/documents/plain/rows.py",
    )),
    "merging": CodePart(("engine", "parsing"), (
        "extraction/documents/chunking.py", "extraction/documents/invoice_copies.py", "extraction/filling/checks",
        "extraction/filling/filling.py", "extraction/filling/pipeline.py", "extraction/filling/planning.py",
        "extraction/filling/records", "extraction/filling/tiers.py", "extraction/run/work/freezing.py",
        "extraction/run/work/refilling.py",
    )),
    "routing": CodePart(("reader", "parsing"), ("extraction/filling/routing",)),
    "plain": CodePart(("parsing",), ("extraction/documents/plain", "extraction/documents/mail/rtf.py")),
    "pdf": CodePart(("parsing",), ("extraction/documents/pdf",)),
    "ocr": CodePart(("parsing", "pdf"), ("extraction/documents/ocr",)),
    "mail": CodePart(("parsing", "plain"), ("extraction/documents/mail",)),
    "office": CodePart(("parsing", "plain"), ("extraction/documents/office",)),
    "web": CodePart(("parsing", "plain"), ("extraction/documents/web",)),
    "archives": CodePart(("parsing",), ("extraction/documents/archives",)),
}  # fmt: skip
#: Within these places, what decides no stored value: conversations of the server, drawings for people, training (its
#: weights have a hash of their own), the library's schemas (part of a schema's fingerprint), and the versions.
OTHERS = (
    "engine/chat",
    "engine/training",
    "engine/version.py",
    "extraction/documents/ingest/page_drawing.py",
    "extraction/documents/ingest/page_pictures.py",
    "schemas/library",
)
#: The families of formats: of a document's key only those count that read it.
FAMILIES = ("plain", "pdf", "ocr", "mail", "office", "web", "archives")
_PART_OF = {place: name for name, part in PARTS.items() for place in part.places} | dict.fromkeys(OTHERS, "")


def values_version(*parts: str) -> int:
    """Returns the version of these parts with all that they use: how often one of them was raised, from `FIRST` on."""
    return FIRST + sum(VERSIONS[name][0] - FIRST for name in _with_used(parts))


def _with_used(names: Iterable[str]) -> set[str]:
    used: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += PARTS[name].uses
    return used


def part_of(path: str) -> str:
    """Returns the part of a file, of a path from the top of the project; "" for one that decides no value."""
    while path and path not in _PART_OF:
        path = path.rpartition("/")[0]
    return _PART_OF.get(path, "")


def part_with(function: Callable[..., Any]) -> str:
    """Returns the part whose code a function is."""
    return part_of(function.__module__.partition(".")[2].replace(".", "/"))


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
