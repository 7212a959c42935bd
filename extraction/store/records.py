"""The outcomes that a batch hands to the store: one for each input path, with its record if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cinnabar.schemas.automata.strings import shared_value
from cinnabar.schemas.pointers import innermost

if TYPE_CHECKING:
    from cinnabar.engine.request import Origin
    from cinnabar.extraction.documents.content.document import Document, Evidence
    from cinnabar.schemas.facts import FactValue

    #: Where a stored value comes from: a model, a fact, or a person who corrected or accepted it.
    LeafOrigin = Origin | Literal["human"]

_Status = Literal["written", "quarantined", "skipped"]
STATUSES: tuple[_Status, ...] = ("written", "quarantined", "skipped")
#: The flag of a record whose every value is null, and the code of its document if it is held back or skipped.
EMPTY, EMPTY_RECORD = "empty", "empty_record"
#: The flag of a record one of whose lists has another length than its document tells, and the code if it is held back.
LIST_INCOMPLETE = "list_incomplete"
#: The flag of a record with a list of which two readings have other numbers of rows, and the document tells not whose
#: is right.
OTHER_ROWS = "other_rows"
#: The flag of a date whose order of day and month no sign tells (`filling/evidence/ambiguity.py`).
AMBIGUOUS_DATE = "ambiguous_date"


@dataclass(frozen=True, slots=True)
class LeafRow:
    """One scalar of a record, with its evidence.

    `pointer` is the JSON pointer (RFC 6901) into the record. `value` is the canonical JSON text, None if the record
    omits the place. `confidence` is in [0, 1]. `missing` is true if the schema requires a value that the model did not
    find. `evidence` has spans in characters of the whole document and boxes in points; None if the value was not read
    from the document. `page` counts from 1, 0 for none. `flags` are warnings: `default` (the schema's default),
    `generated` (spelled out), `guessed` (required, but not found), `no_evidence` (no words behind the value).
    """

    pointer: str
    value: str | None
    confidence: float
    origin: LeafOrigin
    missing: bool = False
    evidence: Evidence | None = None
    page: int = 0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListNote:
    """What a document says of the length of a list, as a sentence, and whether it disagrees with the rows found.

    The sentence is empty if the document says nothing. `other` has the rows of another reading, as JSON; "" for none.
    """

    sentence: str
    disagrees: bool
    other: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A whole record.

    `text` is the exact JSON text that was validated. `confidence` is the least of its leaves and rows. `flags`
    are the warnings of its leaves, its document and the checks that fail, sorted, each once. `rows` has, by pointer,
    the probability that each row of a list is an item of it. `lists` has, by pointer, the probability that each list is
    complete; lists of a model that cannot tell are left out. `checks` has the results of its schema's checks by name;
    None if a check does not apply. `lengths` has, by pointer, what the document and another reading say of the length
    of each list, if they say something.
    """

    text: str
    leaves: tuple[LeafRow, ...]
    confidence: float
    flags: tuple[str, ...] = ()
    rows: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, bool | None] = field(default_factory=dict)
    lists: Mapping[str, float] = field(default_factory=dict)
    lengths: Mapping[str, ListNote] = field(default_factory=dict)

    @property
    def value(self) -> Any:
        """The record's value, parsed once; it is not to be changed."""
        return shared_value(self.text)

    @classmethod
    def of(
        cls,
        text: str,
        leaves: Sequence[LeafRow],
        flags: Iterable[str],
        rows: Mapping[str, float],
        lists: Mapping[str, float],
        lengths: Mapping[str, ListNote] | None = None,
    ) -> Record:
        """Returns the record of these parts, as sure as its least sure leaf or row.

        Whether a list is whole stands apart, in `lists`. One whose length the document tells otherwise gives the record
        the flag `list_incomplete`, one of which another reading has other rows `other_rows`.
        """
        lengths = lengths or {}
        told = {LIST_INCOMPLETE: any(note.disagrees for note in lengths.values())}
        told[OTHER_ROWS] = any(note.other for note in lengths.values())
        flags = {*flags} - told.keys() | {flag for flag, holds in told.items() if holds}
        sure = min((*(leaf.confidence for leaf in leaves), *rows.values()), default=1.0)
        return cls(text, tuple(leaves), sure, tuple(sorted(flags)), rows, {}, lists, lengths)

    def row_confidence(self, pointer: str) -> float | None:
        """Returns the probability of the innermost row around this leaf, None if there is no row."""
        return self.rows.get(innermost(pointer, self.rows))

    def below(self, least: float) -> list[tuple[str, float]]:
        """Returns the leaves, rows and lists below this confidence, with their confidence, the lowest first."""
        leaves = ((leaf.pointer, leaf.confidence) for leaf in self.leaves)
        sure = [*leaves, *self.rows.items(), *self.lists.items()]
        return sorted((place for place in sure if place[1] < least), key=lambda place: (place[1], place[0]))


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document's row in the `documents` table: `size` in bytes, `characters` in code points, `facts` by name.

    `parsers` are the families of formats that read it, none if that is not known.
    """

    digest: str
    media_type: str
    size: int
    pages: int
    parts: int
    characters: int
    flags: tuple[str, ...] = ()
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    parsers: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Document) -> DocumentInfo:
        """Returns the row of a parsed document in the table of documents."""
        return cls(
            digest=document.digest,
            media_type=document.media_type,
            size=document.size,
            pages=sum(part.kind == "page" for part in document.parts),
            parts=len(document.parts),
            characters=len(document.text),
            flags=document.flags,
            facts={name: fact.value for name, fact in document.facts.items()},
            parsers=document.parsers,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one input path in one run.

    written: `digest`, `document` and `record` are set.
    quarantined: `code` is set; `digest` if the bytes could be read, `document` if they could be parsed, `record` if one
        was made and rejected; `pointers` name the places in it that are the reason.
    skipped: `code` is `done` (an earlier run did this work), `budget` (no server was asked for lack of budget; another
        run may ask), `duplicate` (the same bytes as the input `duplicate_of`), `other_kind` (it fits no schema of the
        run), `empty_record` (every value is null, and such records are not wanted) or `system_file` (a file that a
        system leaves beside documents); `digest` is set, except for a `system_file` that cannot be read.

    `schema` names the schema of a run with several; it is empty in a run with one. `engine` is the engine part of its
    key, empty if it is that of its run.

    Raises ValueError if the parts do not fit the status.
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
    schema: str = ""
    engine: str = ""

    @property
    def parsers(self) -> tuple[str, ...]:
        """Returns the families of formats that read the document, none if that is not known."""
        return () if self.document is None else self.document.parsers

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"{self.path}: expected a status of {', '.join(STATUSES)}, got {self.status!r}")
        if self.status == "written" and not (self.digest and self.document and self.record):
            raise ValueError(f"{self.path}: expected a digest, a document and a record of a written outcome")
        if self.status != "written" and not self.code:
            raise ValueError(f"{self.path}: expected the code of an outcome that is {self.status}, got none")
        if self.status == "skipped" and (self.record or (self.code == "duplicate" and not self.duplicate_of)):
            raise ValueError(
                f"{self.path}: expected no record of a skipped outcome, and the other path of a duplicate"
            )
        if self.document and self.document.digest != self.digest:
            raise ValueError(
                f"{self.path}: got a document with the digest {self.document.digest}, expected {self.digest}"
            )
