"""The state of one document under one schema: its record with its corrections, and what of it a person has settled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, Self

from cinnabar.extraction.corrections.changes import EXCLUDING, Correction, in_force
from cinnabar.extraction.corrections.units import HUMAN, text_at
from cinnabar.extraction.store.records import DocumentInfo, Outcome, Record
from cinnabar.schemas.pointers import MISSING, above, escape, lies_within

#: The codes of documents whose values at the pointers nobody found.
_GUESSED = frozenset({"missing", "refused_fact"})
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The state of one document under one schema; `record` is None if there is none.

    `corrections` are those in force and those taken back, oldest first. `outcome` is `written`, `quarantined` or
    `skipped`, with its `code`, `detail` and `pointers`; `parsers` read the document. `base` is the state before anybody
    corrected the record, as the run `base.run_id` stored it; None if nobody did. `before` is the state that a change
    has led from.
    """

    document: str
    schema_name: str
    path: str = ""
    schema_fingerprint: str = ""
    engine_fingerprint: str = ""
    run_id: str = ""
    outcome: str = ""
    code: str = ""
    detail: str = ""
    pointers: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()
    record: Record | None = None
    corrections: tuple[Correction, ...] = ()
    base: Self | None = None
    before: Self | None = field(default=None, compare=False)

    @property
    def as_json(self) -> dict[str, Any]:
        """The state as a JSON value."""
        return {
            "document": self.document,
            "path": self.path,
            "schema": self.schema_name,
            "outcome": self.outcome,
            "code": self.code,
            "detail": self.detail,
            "pointers": list(self.pointers),
            "record": None if self.record is None else json.loads(self.record.text),
            "corrections": [one.as_json for one in self.corrections],
        }

    @property
    def version(self) -> str:
        """Returns the fingerprint of its schema; without an outcome, of the one that its first correction is of."""
        return self.schema_fingerprint or next((one.schema_fingerprint for one in self.corrections), "")

    @property
    def in_force(self) -> tuple[Correction, ...]:
        """Returns the corrections that nobody took back."""
        return in_force(self.corrections)

    @property
    def last_identity(self) -> str:
        """Returns the identity of the last correction, "" if there is none."""
        return max((one.identity for one in self.corrections), default="")

    @property
    def other_kind(self) -> bool:
        """Returns True if a person, or its packet, took the document out of this schema."""
        return any(one.action in EXCLUDING for one in self.in_force)

    @property
    def value(self) -> Any:
        """Returns the value of the record, MISSING if there is none."""
        return MISSING if self.record is None else self.record.value

    @property
    def uncorrected(self) -> Self:
        """Returns the base, or what stands for it before the first correction."""
        return self.base or self

    def outcome_with(self, record: Record | None) -> Outcome:
        """Returns the outcome that the folder would store of the document with this record."""
        info = DocumentInfo(self.document, "", 0, 0, 0, 0, parsers=self.parsers)
        status: Literal["written", "quarantined"] = "written" if self.outcome == "written" else "quarantined"
        said = self.code, self.detail, self.document, info, record
        return Outcome(self.path, status, *said, pointers=self.pointers, engine=self.engine_fingerprint)

    def with_outcome(self, made: Outcome) -> Self:
        """Returns the state with what has become of its record."""
        return replace(
            self,
            path=made.path,
            engine_fingerprint=made.engine or self.engine_fingerprint,
            outcome=made.status,
            code=made.code,
            detail=made.detail,
            pointers=made.pointers,
            parsers=made.parsers or self.parsers,
            record=made.record,
        )

    @property
    def guesses(self) -> frozenset[str]:
        """Returns the places whose values nobody read or said: the schema demands them, and no person settled them."""
        if self.record is None:
            return frozenset()
        if self.uncorrected.outcome != "quarantined":
            return frozenset(_missing(self.record, ""))
        # Of a record in quarantine only the reasons tell what was guessed.
        return frozenset(unsettled(self.record, self.uncorrected) if self.uncorrected.code in _GUESSED else ())

    @property
    def seen(self) -> dict[str, str]:
        """Returns the digests of all places by pointer: values outside of lists, objects, lists, and rows.

        The pointer "-" has that of a place which is left out.
        """
        places, other_kind = dict(_places(self.value, "")) | {"-": MISSING}, self.other_kind
        return {pointer: place_digest(value, other_kind) for pointer, value in places.items()}

    @property
    def moved(self) -> dict[str, tuple[str, str]]:
        """Returns the digests before and after, by pointer, of the places that the last change has changed."""
        was, now = {} if self.before is None else self.before.seen, self.seen
        pairs = {one: (was.get(one, was["-"]), now.get(one, now["-"])) for one in {**was, **now}} if was else {}
        return {pointer: pair for pointer, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def first(self) -> dict[str, tuple[str | None, float | None]]:
        """Returns the model's value of each place that a correction names, as JSON text, with its confidence.

        The value is None if the model left the place out, the confidence where it is not known.
        """
        base, pointers = self.uncorrected, {one.pointer for one in self.corrections if one.pointer}
        if base.record is None or not pointers:
            return {}
        sure = {leaf.pointer: leaf.confidence for leaf in base.record.leaves if leaf.origin != HUMAN}
        # Of a record in quarantine no confidence is stored.
        known = {} if base.outcome == "quarantined" else {**base.record.lists, **sure}
        value = base.record.value
        return {pointer: (text_at(value, pointer), known.get(pointer)) for pointer in sorted(pointers)}


def place_digest(value: Any, other_kind: bool) -> str:
    """Returns the digest of a place's value, or of MISSING if the record has none; `other_kind` as in the state."""
    text = "-" if value is MISSING else json.dumps(value, default=_number, separators=(",", ":"))
    return hashlib.sha256(f"{other_kind:d}{text}".encode()).hexdigest()[:_DIGITS]


def _number(value: Decimal) -> dict[str, str]:
    return {"": str(value)}


def _places(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    yield pointer, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _places(part, f"{pointer}/{escape(name)}")
    elif isinstance(value, list):
        yield from ((f"{pointer}/{number}", row) for number, row in enumerate(value))


def is_settled(record: Record, pointer: str) -> bool:
    """Returns True if a person corrected or accepted all values at this place, or said the rows of this list."""
    if record.lists.get(pointer) == 1.0:
        return True
    place = _judged_place(record, pointer)
    leaves = [leaf for leaf in record.leaves if lies_within(leaf.pointer, place)]
    if leaves:
        return all(leaf.origin == HUMAN for leaf in leaves)
    return record.rows.get(place) == 1.0 or record.lists.get(place) == 1.0


def _judged_place(record: Record, pointer: str) -> str:
    """Returns the outermost list around this place whose rows a person said, else the place.

    The numbers of its rows may be other ones now than those that a run told.
    """
    return next((one for one in above(pointer) if one != pointer and record.lists.get(one) == 1.0), pointer)


def _missing(record: Record, place: str) -> list[str]:
    missing = (leaf.pointer for leaf in record.leaves if leaf.missing and leaf.origin != HUMAN)
    return [pointer for pointer in missing if lies_within(pointer, place)]


def unsettled(record: Record, base: Reviewed) -> tuple[str, ...]:
    """Returns the places for which the base was held back and no person has settled, in moved rows where they are."""
    left: dict[str, None] = {}
    for pointer in base.pointers:
        if not is_settled(record, pointer):
            place = _judged_place(record, pointer)
            went = base.code in _GUESSED and place != pointer
            left |= dict.fromkeys(_missing(record, place) if went else (place,))
    return tuple(left)
