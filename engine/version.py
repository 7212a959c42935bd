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
    "schemas": (15, "f3f3ce048570d06e"),
    "engine": (31, "9d19a8fadd3f43b9"),
    "reader": (30, "467e0295a101546f"),
    "replies": (13, "afd081a689e4e2b4"),
    "language": (25, "0f9cb70e87305278"),
    "remote": (12, "b869253dd1874122"),
    "parsing": (15, "c397c4dec3f9d4b2"),
    "merging": (21, "6fdb230833d4f096"),
    "routing": (11, "623f043ecaa7361c"),
    "plain": (13, "221c879de2ab7a4c"),
    "pdf": (15, "22735466da8f73e6"),
    "ocr": (14, "9cd7c706c60a8af0"),
    "mail": (13, "bde68ac6d2202926"),
    "office": (14, "d150173f07de9a97"),
    "web": (13, "db928927373a9e2d"),
    "archives": (12, "e5a2e5c005fa9bb0"),
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
        "engine", "kernels/bounds.py",
        "engine/models/reader/calibration.py", "engine/models/reader/list_signs.py", "engine/models/reader/signs.py",
        "engine/models/reader/inputs/cells.py", "engine/models/reader/inputs/code_choices.py",
        "engine/models/reader/inputs/letter_ngrams.py", "engine/models/reader/inputs/mentions.py",
        "engine/models/reader/inputs/named_values.py", "engine/models/reader/inputs/questions.py",
        "engine/models/reader/inputs/tensors.py", "engine/models/reader/inputs/wordpieces.py",
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
        "extraction/documents/chunking.py", "extraction/documents/invoice_copies.py", "extraction/reading/checks",
        "extraction/reading/filling.py", "extraction/reading/pipeline.py", "extraction/reading/planning.py",
        "extraction/reading/records", "extraction/reading/tiers.py", "extraction/run/work/freezing.py",
        "extraction/run/work/refilling.py",
    )),
    "routing": CodePart(("reader", "parsing"), ("extraction/reading/routing",)),
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
