"""The versions of the code that decides values, and the alarm that tells when one has to be raised.

A record's key holds the versions of the parts that read it, so that "run it again" makes exactly those records anew
whose rules have changed. Nobody remembers to raise a number: beside each stands a hash of the part's code and tables,
recorded when it was raised, and a test compares it with the code (tests/engine/test_version.py). `make version` raises
the versions of the parts that have changed and records their hashes (scripts/code_hash.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: The version of each part when parts got versions of their own.
FIRST = 11
#: The version of each part, and the hash of its code when the version was raised (`make version`).
VERSIONS: dict[str, tuple[int, str]] = {
    "schemas": (15, "109ec92a228f6ac3"),
    "engine": (31, "765d3c62915970b1"),
    "reader": (30, "4a3a478111e431ac"),
    "replies": (13, "c2b1d7ca4e401af5"),
    "language": (25, "27cbcc43066ecf7b"),
    "remote": (12, "bc9d6304c983b2b4"),
    "parsing": (15, "093b4d1e8e5fa8c1"),
    "merging": (21, "39abd43d15e8b62f"),
    "routing": (11, "634299b329699829"),
    "plain": (13, "217957a05585cd80"),
    "pdf": (15, "3072d8253d2e25ee"),
    "ocr": (14, "26923a0ee58eea88"),
    "mail": (13, "9de5bebfb023f492"),
    "office": (14, "9a22c759404f2a30"),
    "web": (13, "9c1d3fea665028b5"),
    "archives": (12, "99191fc5a64b9413"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the code: its folders and files from the top of the project, and the parts that its code calls.

    Of nested places the innermost one counts.
    """

    uses: tuple[str, ...]
    places: tuple[str, ...]


#: From a file's bytes to its record: each place whose code decides values.
PARTS: dict[str, Part] = {
    "schemas": Part((), ("schemas",)),
    # What all fillers share, also the reader's questions and calibration, which other models use.
    "engine": Part(("schemas",), (
        "engine", "kernels/bounds.py",
        "engine/models/reader/calibration.py", "engine/models/reader/list_signs.py", "engine/models/reader/signs.py",
        "engine/models/reader/inputs/cells.py", "engine/models/reader/inputs/code_choices.py",
        "engine/models/reader/inputs/letter_ngrams.py", "engine/models/reader/inputs/mentions.py",
        "engine/models/reader/inputs/named_values.py", "engine/models/reader/inputs/questions.py",
        "engine/models/reader/inputs/tensors.py", "engine/models/reader/inputs/wordpieces.py",
    )),
    "reader": Part(("engine",), (
        "engine/models/reader", "engine/models/sentences", "engine/models/encodings.py",
    )),
    "replies": Part(("engine",), ("engine/replies",)),
    "language": Part(("engine", "replies"), (
        "engine/branches", "engine/diffusion", "engine/models/language", "kernels",
    )),
    "remote": Part(("engine", "replies"), ("engine/models/remote",)),
    # What all formats share: their detection, the document, and helpers of several families.
    "parsing": Part(("engine",), (
        "extraction/documents/content", "extraction/documents/ingest", "extraction/documents/processes",
        "extraction/documents/marks", "extraction/documents/office/package.py",
        "extraction/documents/office/sheet_text.py", "extraction/documents/plain/rows.py",
    )),
    "merging": Part(("engine", "parsing"), (
        "extraction/documents/chunking.py", "extraction/documents/invoice_copies.py", "extraction/reading/checks",
        "extraction/reading/filling.py", "extraction/reading/pipeline.py", "extraction/reading/planning.py",
        "extraction/reading/records", "extraction/reading/tiers.py", "extraction/run/work/freezing.py",
        "extraction/run/work/refilling.py",
    )),
    "routing": Part(("reader", "parsing"), ("extraction/reading/routing",)),
    "plain": Part(("parsing",), ("extraction/documents/plain", "extraction/documents/mail/rtf.py")),
    "pdf": Part(("parsing",), ("extraction/documents/pdf",)),
    "ocr": Part(("parsing", "pdf"), ("extraction/documents/ocr",)),
    "mail": Part(("parsing", "plain"), ("extraction/documents/mail",)),
    "office": Part(("parsing", "plain"), ("extraction/documents/office",)),
    "web": Part(("parsing", "plain"), ("extraction/documents/web",)),
    "archives": Part(("parsing",), ("extraction/documents/archives",)),
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
