"""What a person saw when they asked for a change: a short digest of each place, which is compared under the lock.

A value that somebody has changed since is never replaced unseen. The place that counts is the smallest one that a
change may not miss: the value itself, the whole row of a value in a list, and the whole list for a new row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from cinnabar.extraction.corrections.changes import EXCLUDING, Action, Change, Correction
from cinnabar.extraction.corrections.stored import CorrectedState
from cinnabar.extraction.corrections.units import MISSING, at, place_of, text_at
from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.errors import Overtaken, OvertakenPlace
from cinnabar.schemas.pointers import escape, lies_within

_DIGITS = 16


def place_digest(value: Any, other_kind: bool = False) -> str:
    """Returns the digest of a place's parsed value, OUT if the record leaves it out; `other_kind` as in the state."""
    text = "-" if value is MISSING else json.dumps(value, default=_number, separators=(",", ":"))
    return hashlib.sha256(f"{other_kind:d}{text}".encode()).hexdigest()[:_DIGITS]


def _number(value: Decimal) -> dict[str, str]:
    return {"": str(value)}


def place_digests(state: CorrectedState) -> dict[str, str]:
    """Returns the digests of all places of a record by pointer: values outside of lists, objects, lists, and rows.

    The pointer "-" has that of a place which is left out.
    """
    return {pointer: place_digest(value, state.other_kind) for pointer, value in _places(_value(state), "")} | {
        "-": place_digest(MISSING, state.other_kind)
    }


def _value(state: CorrectedState) -> Any:
    return MISSING if state.record is None else parse(state.record.text)


def _places(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    yield pointer, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _places(part, f"{pointer}/{escape(name)}")
    elif isinstance(value, list):
        yield from ((f"{pointer}/{number}", row) for number, row in enumerate(value))


def check_seen(state: CorrectedState, changes: Sequence[Change]) -> None:
    """Raises Overtaken, with both values, for changes of places that are not as the person saw them.

    A change whose value is there already, and one that does not tell what was seen, pass.
    """
    value = _value(state)
    late = [
        OvertakenPlace(change.pointer, change.after, text_at(value, change.pointer), *_last(state, place))
        for change in changes
        if change.seen is not None and not _is_so(state, value, change)
        for place in [_seen_place(value, change)]
        if change.seen not in {place_digest(at(value, one), state.other_kind) for one in (place, change.pointer)}
    ]
    if late:
        raise Overtaken(state.path, late)


def _seen_place(value: Any, change: Change) -> str:
    if change.action is Action.INSERT:
        return change.pointer.rpartition("/")[0]
    outer = place_of(value, change.pointer)
    if outer == change.pointer:
        return outer
    return f"{outer}/{change.pointer[len(outer) + 1 :].partition('/')[0]}"


def _is_so(state: CorrectedState, value: Any, change: Change) -> bool:
    """Returns whether the record is already as this change wants it."""
    if change.action in EXCLUDING:
        return state.other_kind
    if state.other_kind:
        return False
    if change.action in (Action.VALUE, Action.LIST) and change.after is not None:
        return text_at(value, change.pointer) == change.after
    gone = change.action is Action.ABSENT and change.pointer == place_of(value, change.pointer)
    return gone and text_at(value, change.pointer) in (None, "null")


def _last(state: CorrectedState, place: str) -> tuple[str, bool]:
    """Returns who corrected this place last, "" if it was no person, and whether it was taken back."""
    own = [one for one in state.corrections if _concerns(one, place)]
    if not own:
        return "", False
    last = max(own, key=lambda one: (one.undone or one.made, one.identity))
    return last.who, last.undone is not None


def _concerns(one: Correction, place: str) -> bool:
    if one.action in EXCLUDING or not place:
        return True
    return any(lies_within(unit.pointer, place) or lies_within(place, unit.pointer) for unit in one.units)
