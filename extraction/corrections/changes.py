"""What a person asks for, and what is stored of it, also under the names of another version of the schema.

A property tells its former names by `x-cinnabar-was` (docs/production.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from json import JSONDecoder
from pathlib import Path
from typing import Any

from cinnabar.errors import RunError
from cinnabar.extraction.corrections.units import CorrectedPlace, units_from, units_text
from cinnabar.extraction.documents.content.document import Evidence, Span
from cinnabar.extraction.store.records import ListNote, Record
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.version_changes import Renames, changes
from cinnabar.schemas.pointers import above


class Action(StrEnum):
    """A person's word about a place; stored by these names, but for an insertion."""

    #: The value at the pointer is `after`.
    VALUE = "value"
    #: The document does not have it: null, or left out where the schema wants that.
    ABSENT = "absent"
    #: It is right as it is: a leaf, a list, or "" for the whole record.
    ACCEPT = "accept"
    #: `after` is the whole list.
    LIST = "list"
    #: `parts` are the values of a field in the rows of this list, read from the column `after`; stored as the list.
    COLUMN = "column"
    #: The document is not of this schema; the pointer is "".
    OTHER_KIND = "other_kind"
    #: `after` is a new row before this one; stored as the list that it makes.
    INSERT = "insert"
    #: A second reader has judged each place; `after` is their verdict, the pointer is "". Version 0.3 stored these.
    AUDIT = "audit"
    #: Its pages are no document of their packet any more; the pointer is "". The packet says so, and takes it back.
    NO_PART = "no_part"


# What fixes one place unless it stands for the whole record, and how the text of such a unit begins: the place is told
# without the list that it holds.
_OF_ONE_PLACE = frozenset({Action.VALUE, Action.ABSENT, Action.LIST})
_FIRST, _DECODER = '[{"pointer":', JSONDecoder()
#: What takes a document out of its schema.
EXCLUDING = frozenset({Action.OTHER_KIND, Action.NO_PART})


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a person asks for.

    `pointer` (RFC 6901) leads into the record. `after` is a JSON text. `spans` are the characters of the document's
    text that stand behind the value. `seen` is the digest of what the person saw there (`place_digest`), None if they
    do not tell. `parts` are changes of single values that are one.
    """

    action: Action
    pointer: str
    after: str | None = None
    spans: tuple[Span, ...] = ()
    seen: str | None = None
    parts: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Correction:
    """A stored correction; `before` and `after` are JSON texts, None for a place that the record leaves out.

    `undone` is the time at which somebody, `undone_by`, took it back; None if it is in force. `fixed` has the places
    that it fixes as JSON (`units_text`).
    """

    identity: str
    document: str
    schema_name: str
    schema_fingerprint: str
    action: Action
    pointer: str
    before: str | None
    after: str | None
    evidence: Evidence | None
    who: str
    made: datetime
    undone: datetime | None = None
    fixed: str = "[]"
    undone_by: str = ""

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The pointers of its units."""
        if self.action in _OF_ONE_PLACE and self.pointer and self.fixed.startswith(_FIRST):
            return (_DECODER.raw_decode(self.fixed, len(_FIRST))[0],)
        return tuple(unit.pointer for unit in self.units)

    @cached_property
    def units(self) -> tuple[CorrectedPlace, ...]:
        """The places that it fixes, read when somebody asks for them.

        Each correction within a list holds the whole list, so that to read those of all corrections of a document with
        18,000 values took seconds, and the last one alone counts.
        """
        return units_from(self.fixed)

    @property
    def as_json(self) -> dict[str, Any]:
        """The correction as a JSON value."""
        return {
            "identity": self.identity,
            "action": self.action.value,
            "pointer": self.pointer,
            "before": self.before,
            "after": self.after,
            "evidence": None if self.evidence is None else self.evidence.text,
            "who": self.who,
            "made": self.made.isoformat(),
            "undone": None if self.undone is None else self.undone.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Undo:
    """A correction that was taken back: the identity of this step, that of the correction, who did it, and when."""

    identity: str
    undoes: str
    who: str
    made: datetime


def taken_back(corrections: Iterable[Correction], undone: Iterable[Undo]) -> tuple[Correction, ...]:
    """Returns these corrections, oldest first, with the times at which they were taken back, and by whom."""
    gone: dict[str, dict[str, Any]] = {one.undoes: {"undone": one.made, "undone_by": one.who} for one in undone}
    dated = (replace(one, **gone[one.identity]) if one.identity in gone else one for one in corrections)
    return tuple(sorted(dated, key=lambda one: one.identity))


def in_force(corrections: Iterable[Correction]) -> tuple[Correction, ...]:
    """Returns the corrections that nobody took back."""
    return tuple(one for one in corrections if one.undone is None)


def counting_of(corrections: Sequence[Correction]) -> list[tuple[Correction, CorrectedPlace]]:
    """Returns the places that these corrections fix, oldest first, without those that a later one fixes again."""
    counting: list[tuple[Correction, CorrectedPlace]] = []
    taken: set[str] = set()
    for one in reversed(corrections):
        left = [place for place in one.places if not any(at in taken for at in above(place))]
        counting += ((one, unit) for unit in reversed(one.units) if unit.pointer in left) if left else ()
        taken.update(one.places)
    return counting[::-1]


def counting_units(corrections: Sequence[Correction]) -> list[CorrectedPlace]:
    """Returns the places of `counting_of` alone."""
    return [unit for _, unit in counting_of(corrections)]


def renamed_corrections(
    out: Path, corrections: Sequence[Correction], name: str, fingerprint: str
) -> tuple[Correction, ...]:
    """Returns corrections with their places as the version of the schema with this fingerprint names them."""
    return tuple(
        renamed_correction(one, renames_between(out, name, one.schema_fingerprint, fingerprint)) for one in corrections
    )


def renamed_record(record: Record, renames: Renames) -> Record:
    """Returns a record with the new names, in its text and in all that is known of it."""
    if not renames.pairs:
        return record
    moved = renames.pointer
    return replace(
        record,
        text=json_text(renames.value(parse(record.text))),
        leaves=tuple(replace(leaf, pointer=moved(leaf.pointer)) for leaf in record.leaves),
        rows={moved(at): sure for at, sure in record.rows.items()},
        lists={moved(at): sure for at, sure in record.lists.items()},
        lengths={moved(at): _renamed_note(at, note, renames) for at, note in record.lengths.items()},
    )


def _renamed_note(pointer: str, note: ListNote, renames: Renames) -> ListNote:
    return replace(note, other=json_text(renames.value(parse(note.other), pointer))) if note.other else note


def _renamed_unit(unit: CorrectedPlace, renames: Renames) -> CorrectedPlace:
    return CorrectedPlace(
        renames.pointer(unit.pointer),
        None if unit.text is None else json_text(renames.value(parse(unit.text), unit.pointer)),
        tuple(replace(leaf, pointer=renames.pointer(leaf.pointer)) for leaf in unit.leaves),
        {renames.pointer(at): sure for at, sure in unit.rows.items()},
        {renames.pointer(at): sure for at, sure in unit.lists.items()},
    )


def renamed_correction(one: Correction, renames: Renames) -> Correction:
    """Returns a correction with the new names."""
    if not renames.pairs:
        return one
    units = [_renamed_unit(unit, renames) for unit in one.units]
    return replace(one, pointer=renames.pointer(one.pointer), fixed=units_text(units))


def renames_between(out: Path, name: str, older: str, newer: str) -> Renames:
    """Returns the places that have other names in the newer of two stored versions, by their fingerprints."""
    return _renames(out.absolute(), name, older, newer) if newer not in ("", older) else Renames()


@lru_cache(maxsize=64)
def _renames(out: Path, name: str, older: str, newer: str) -> Renames:
    with suppress(RunError):
        return renames_since(out, name, older, compile_schema(source_of(out, name, newer).schema))
    return Renames()


def renames_since(out: Path, name: str, older: str, compiled: CompiledSchema) -> Renames:
    """Returns the places that have other names in a schema than in this stored version; none tell those of a lost one.
    """
    with suppress(RunError):
        return changes(compile_schema(source_of(out, name, older).schema), compiled).renames
    return Renames()
