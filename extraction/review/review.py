"""The review of an output folder: what a page asks for, and what a person's corrections do."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from cinnabar.closing import Closing
from cinnabar.engine.readings.locale import Locale
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.corrections import Action, Change, Correction, Corrector, Reviewed, corrections
from cinnabar.extraction.corrections.changes import EXCLUDING
from cinnabar.extraction.documents.content.document import Document, Span
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.filling.passages import locale_of
from cinnabar.extraction.review.contents import (
    Contents,
    UnshownDocument,
    WantedDocument,
    block_text,
    blocks_of,
)
from cinnabar.extraction.review.forms import blank_of, form_of, place_at
from cinnabar.extraction.review.listing import Listing, ReviewMarks
from cinnabar.extraction.review.picking import column_change, picked_answer, picked_values, rows_in_tables, typed_values
from cinnabar.extraction.review.shown_state import held_leaves_json, leaves_json, why_stopped
from cinnabar.extraction.store.records import Record
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.schemas.automata.strings import json_text, parse

# Seconds between two looks for new commits.
_REFRESH = 1.0
# The rest after a look, in the time that it took.
_RESTS = 5.0
# What the page asks for; a packet says itself what is no part of it, and nothing gives verdicts any more.
_ACTIONS = {str(one): one for one in Action if one not in (Action.AUDIT, Action.NO_PART)}
_NO_VALUES = (Action.ACCEPT, Action.AUDIT, *EXCLUDING)
# The most steps of a pointer.
_DEEPEST = 100


# No name has a NUL, a number counts characters of a text, and no place of a list is beyond a billion.
Name = Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]
Count = Annotated[int, Field(ge=0, le=1 << 31)]
Spans = Annotated[list[tuple[Count, Count]], Field(max_length=1000)]


class AskedChange(BaseModel):
    """A change as the page asks for it: an action and a pointer as in `Change`.

    `seen` is what the page saw there, from the `seen` of a state. `after` is a JSON text in any spelling; an insertion
    without one adds an empty row; for a column it names the field and the column. `spans` are those of the marked
    words.
    """

    action: Name
    pointer: Name
    seen: Name
    after: str | None = None
    spans: Spans = []


class Review(Closing):
    """An output folder under review. Threads may share it. A context manager.

    `who` is the name that corrections carry. With `behind` they are committed within seconds, behind the answers.
    Raises UsageError if the folder holds no results.
    """

    def __init__(self, out: Path, who: str, settings: ParserSettings = DEFAULT, behind: bool = False) -> None:
        self.out, self.who, self.listing = out, who, Listing(out)
        self._contents = Contents(out, settings)
        self._corrector = Corrector(out, behind=behind)
        self._forms: dict[str, dict[str, Any]] = {}
        self._ended = threading.Event()
        self.listing.mark(self._stored_marks())
        self._refreshing = threading.Thread(target=self._refresh, name="review-refresh", daemon=True)
        self._refreshing.start()

    def close(self) -> None:
        """Ends the processes and threads of the review."""
        self._ended.set()
        self._refreshing.join()
        try:
            self._corrector.commit()
        finally:
            self._contents.close()
            self.listing.close()

    def overview(self) -> dict[str, Any]:
        """Returns the folder's name, its schemas, codes and flags with numbers of documents, and the snapshot."""
        return {"folder": str(self.out), "snapshot": self.listing.snapshot, **self.listing.facets()}

    def state(self, document: str, schema: str) -> dict[str, Any]:
        """Returns the record of a document with its form, its evidence and its corrections.

        Raises UsageError if the folder does not have the document under this schema.
        """
        row = self.listing.row(document, schema)
        return self._state_json(row, self._known_state(row))

    def content(self, document: str, schema: str) -> dict[str, Any]:
        """Returns the blocks of a document's text, or the reason why it cannot be shown."""
        content = self._contents.document(self._file_of(self.listing.row(document, schema)))
        if isinstance(content, UnshownDocument):
            return {"missing": content.reason, "blocks": []}
        return {"missing": "", "blocks": blocks_of(content)}

    def text(self, document: str, schema: str, start: int, end: int) -> dict[str, Any]:
        """Returns an interval of a document's text with its words. Raises UsageError if it cannot be read."""
        return block_text(self._document(self.listing.row(document, schema)), start, end)

    def picture(self, document: str, schema: str, part: int) -> bytes | None:
        """Returns the picture of a page as a JPEG; None if there is none."""
        return self._contents.picture(self._file_of(self.listing.row(document, schema)), part)

    def readings(
        self, document: str, schema: str, pointer: str, asked: Sequence[tuple[int, int]], said: str = ""
    ) -> dict[str, Any]:
        """Returns the values (`picked_answer`) that these words, or what a person typed, may stand for at this place.

        Words have all their readings, the likeliest first; what is typed is read as the run read this document.
        """
        row = self.listing.row(document, schema)
        place = place_at(self._form(row), pointer)
        if not said:
            content = self._document(row)
            return picked_answer(place, picked_values(place, content, _spans_of(content, asked)))
        found = self._contents.document(self._file_of(row))
        locale = Locale() if isinstance(found, UnshownDocument) else locale_of(found)
        by_run = {"yes": True, "no": False}.get(row["day_first"])
        return picked_answer(place, typed_values(place, locale.in_order(by_run), said))

    def columns(self, document: str, schema: str, pointer: str) -> list[str]:
        """Returns the names of the columns of the tables in which the rows of a list stand."""
        row = self.listing.row(document, schema)
        rows = rows_in_tables(self._document(row), self._record(row), pointer)
        return list(dict.fromkeys(name for own in rows.values() for name in own))

    def correct(self, document: str, schema: str, asked: Sequence[AskedChange], who: str = "") -> dict[str, Any]:
        """Applies changes together and returns the new state, with `moved` (`Reviewed`).

        `who` is the name on the corrections, if not that of the review. Raises Overtaken with both values if a place
        has changed since it was seen, Refused with the places if the record would break its schema, and UsageError for
        a change that is malformed.
        """
        row = self.listing.row(document, schema)
        content = self._document(row) if any(one.spans or one.action == Action.COLUMN for one in asked) else None
        changes = [self._change(row, one, content) for one in asked]
        return self._after(row, self._corrector.correct(document, schema, changes, who or self.who, content))

    def undo(
        self, document: str, schema: str, identities: Sequence[str] | None, seen: str, who: str = ""
    ) -> dict[str, Any]:
        """Takes corrections of a document back, all without `identities`, and returns the new state."""
        row = self.listing.row(document, schema)
        return self._after(row, self._corrector.undo(document, schema, identities, who or self.who, seen))

    def _change(self, row: Mapping[str, Any], asked: AskedChange, content: Document | None) -> Change:
        if (action := _ACTIONS.get(asked.action)) is None:
            raise UsageError(f"action: expected one of {', '.join(_ACTIONS)}, got {asked.action[:40]!r}")
        if asked.pointer.count("/") > _DEEPEST:
            raise UsageError(f"pointer: expected at most {_DEEPEST} steps, got {asked.pointer[:80]!r}")
        after = None if asked.after is None else _canonical(asked.pointer, asked.after)
        if after is None and action is Action.INSERT:
            after = json_text(blank_of(place_at(self._form(row), asked.pointer)))
        spans = () if content is None else _spans_of(content, asked.spans)
        change = Change(action, asked.pointer, after, spans, asked.seen)
        if action is not Action.COLUMN:
            return change
        return column_change(self._document(row), self._record(row), place_at(self._form(row), asked.pointer), change)

    def _after(self, row: Mapping[str, Any], reviewed: Reviewed) -> dict[str, Any]:
        self.listing.mark({(row["document"], row["schema_name"]): _marks(reviewed.corrections)})
        return {**self._state_json(row, reviewed), "moved": reviewed.moved}

    def _known_state(self, row: Mapping[str, Any]) -> Reviewed | None:
        """Returns the state that the corrections know; None for a file that could not be opened."""
        return self._corrector.state(row["document"], row["schema_name"]) if row["opened"] else None

    def _record(self, row: Mapping[str, Any]) -> Record:
        """Returns the record of a document as it is now. Raises UsageError if there is none."""
        if (reviewed := self._known_state(row)) is None or reviewed.record is None:
            raise UsageError(f"{row['path']}: there is no record of this document")
        return reviewed.record

    def _state_json(self, row: Mapping[str, Any], reviewed: Reviewed | None) -> dict[str, Any]:
        if reviewed is None:
            said = {name: row[name] for name in ("document", "schema_name", "path", "outcome", "code", "detail")}
            reviewed = Reviewed(**said, pointers=tuple(row["pointers"]))
        record, made, held = reviewed.record, reviewed.corrections, reviewed.outcome == "quarantined"
        leaves: list[dict[str, Any]] = []
        if record is not None:
            leaves = held_leaves_json(record, reviewed.guesses) if held else leaves_json(record)
        state = reviewed.as_json | {
            "path": row["path"],
            "opened": row["opened"],
            "flags": sorted({*row["flags"], *row["document_flags"]}),
            "failed": list(row["failed"]),
            "record": None if record is None else record.text,
            "confidence": None if record is None or held else record.confidence,
            "leaves": leaves,
            "form": self._form(row),
            "corrections": [one.as_json | {"undone_by": one.undone_by} for one in made],
            "guesses": sorted(reviewed.guesses),
            "seen": reviewed.seen,
            "marks": asdict(_marks(made)),
            "first": reviewed.first,
        }
        return state | {"why": why_stopped(state)}

    def _form(self, row: Mapping[str, Any]) -> dict[str, Any]:
        fingerprint = row["schema_fingerprint"]
        if fingerprint not in self._forms:
            try:
                schema = source_of(self.out, row["schema_name"], fingerprint).schema
            except RunError:
                schema = True
            self._forms[fingerprint] = form_of(schema)
        return self._forms[fingerprint]

    def _file_of(self, row: Mapping[str, Any]) -> WantedDocument:
        digest = row["document"] if row["opened"] else ""
        return WantedDocument(digest, tuple(dict.fromkeys(row["paths"])), row["size"] or None, row["hidden"])

    def _document(self, row: Mapping[str, Any]) -> Document:
        """Returns a document as its run read it. Raises UsageError if it cannot be read."""
        document = self._contents.document(self._file_of(row))
        if isinstance(document, UnshownDocument):
            raise UsageError(document.reason)
        return document

    def _stored_marks(self) -> dict[tuple[str, str], ReviewMarks]:
        by_document: dict[tuple[str, str], list[Correction]] = {}
        for one in corrections(self.out):
            by_document.setdefault((one.document, one.schema_name), []).append(one)
        return {place: _marks(made) for place, made in by_document.items()}

    def _refresh(self) -> None:
        quiet_until = 0.0
        while not self._ended.wait(_REFRESH):
            # Others may have left theirs to a process that was killed, or to one that looked too early.
            self._corrector.commit()
            begun = time.monotonic()
            if begun >= quiet_until and self.listing.refresh(self._stored_marks):
                # A large folder is not read again all the time while people correct it.
                quiet_until = time.monotonic() + _RESTS * (time.monotonic() - begun)


def _spans_of(document: Document, asked: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    """Returns spans of a document's text. Raises UsageError for others."""
    whole = len(document.text)
    for start, end in asked:
        if not 0 <= start < end <= whole:
            raise UsageError(f"spans: expected a start and an end within {whole:,} characters, got {start}, {end}")
    return tuple(Span(start, end) for start, end in asked)


def _canonical(pointer: str, text: str) -> str:
    try:
        return json_text(parse(text))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{pointer}: expected a value as JSON text, got {text[:80]!r} ({error})") from error


def _marks(corrections: Sequence[Correction]) -> ReviewMarks:
    inforce = [one for one in corrections if one.undone is None]
    changed = {one.pointer for one in inforce if one.action not in _NO_VALUES}
    other = any(one.action in EXCLUDING for one in inforce)
    whole = any(one.action == Action.ACCEPT and one.pointer == "" for one in inforce)
    return ReviewMarks(reviewed=other or whole, corrected=len(changed), other_kind=other)
