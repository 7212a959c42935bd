"""What a batch hands to the store: one outcome for each input path, with its record where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cinnabar.engine.request import Origin
from cinnabar.extraction.documents import Document, Evidence

_Status = Literal["written", "quarantined", "skipped"]
STATUSES: tuple[_Status, ...] = ("written", "quarantined", "skipped")


@dataclass(frozen=True, slots=True)
class LeafRow:
    """One scalar of a record, with where it was read.

    `pointer` is the JSON pointer (RFC 6901) into the record. `value` is the canonical JSON text, None where
    the place was left out. `confidence` in [0, 1]. `missing` says that the schema demands a value that the
    model did not find. `evidence` has spans in characters of the whole document and boxes in points; None
    where the value was not read from the document. `page` counts from 1, 0 where there is none. `flags` say
    what a reader should know: `default` (what the schema gives for none), `generated` (spelled out),
    `guessed` (demanded, and not found), `no_evidence` (a value without words behind it).
    """

    pointer: str
    value: str | None
    confidence: float
    origin: Origin
    missing: bool = False
    evidence: Evidence | None = None
    page: int = 0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A whole record.

    `text` is the exact JSON text that was validated. `confidence` is that of its least certain leaf or row.
    `flags` name what a reader should know of it, of its leaves and of its document, sorted, each once. `rows`
    has the probability that each row of a list, by pointer, is an item of it.
    """

    text: str
    leaves: tuple[LeafRow, ...]
    confidence: float
    flags: tuple[str, ...] = ()
    rows: Mapping[str, float] = field(default_factory=dict)

    def row_confidence(self, pointer: str) -> float | None:
        """The probability of the innermost row that this leaf lies in, None where it lies in none."""
        while pointer and pointer not in self.rows:
            pointer = pointer.rpartition("/")[0]
        return self.rows.get(pointer)

    def below(self, least: float) -> list[tuple[str, float]]:
        """The leaves and rows that are less sure than this, with their confidence, the least sure first."""
        sure = [*((leaf.pointer, leaf.confidence) for leaf in self.leaves), *self.rows.items()]
        return sorted((place for place in sure if place[1] < least), key=lambda place: (place[1], place[0]))


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What the `documents` table keeps of a document: `size` in bytes, `characters` in code points."""

    digest: str
    media_type: str
    size: int
    pages: int
    parts: int
    characters: int
    flags: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Document) -> DocumentInfo:
        """The row of this document."""
        return cls(
            digest=document.digest,
            media_type=document.media_type,
            size=document.size,
            pages=sum(part.kind == "page" for part in document.parts),
            parts=len(document.parts),
            characters=len(document.text),
            flags=document.flags,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input path in one run.

    written: `digest`, `document` and `record` are there.
    quarantined: `code` is there; `digest` where the bytes could be read, `document` where they could be
        parsed, `record` where one was made and rejected; `pointers` name the places in it that are to blame.
    skipped: `code` is `done` (this work was done by an earlier run), `budget` (a server was not asked about
        it for lack of budget; another run goes on with it) or `duplicate` (the same bytes as the input
        `duplicate_of`); `digest` is there.

    Raises ValueError where the parts do not fit the status.
    """

    path: str
    status: _Status
    code: str = ""
    detail: str = ""
    digest: str = ""
    document: DocumentInfo | None = None
    record: Record | None = None
    duplicate_of: str = ""
    pointers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"{self.path}: the status is one of {', '.join(STATUSES)}, not {self.status!r}")
        if self.status == "written" and not (self.digest and self.document and self.record):
            raise ValueError(f"{self.path}: what is written has a digest, a document and a record")
        if self.status != "written" and not self.code:
            raise ValueError(f"{self.path}: what is {self.status} has a reason code")
        if self.status == "skipped" and (self.record or (self.code == "duplicate" and not self.duplicate_of)):
            raise ValueError(
                f"{self.path}: what is skipped has no record, and a duplicate names the other path"
            )
        if self.document and self.document.digest != self.digest:
            raise ValueError(
                f"{self.path}: the document's digest is {self.document.digest}, not {self.digest}"
            )
