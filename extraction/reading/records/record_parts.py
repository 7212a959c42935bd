"""Takes a record apart into leaves and rows, by the slots and arrays of its form."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

from cinnabar.engine.models.reader.calibration import NONE
from cinnabar.engine.request import Filled, Leaf
from cinnabar.schemas.automata.canonical import parse, scalar_text
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import RecordRow, walk_lists, walk_record

Spans = dict[int, list[tuple[int, int]]]


@dataclass(slots=True)
class RecordPart:
    """The findings of a record, or of one row without its inner rows: leaves by slot, rows by array.

    `lists` has the probability that an array's list is complete, for arrays with a known one.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    rows: dict[int, list[FoundRow]] = field(default_factory=lambda: defaultdict(list))
    lists: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class FoundRow:
    """A row: its anchor in characters of the document, its probability, and its findings."""

    anchor: int
    probability: float
    part: RecordPart


def part_of(form: Form, filled: Filled) -> RecordPart:
    """Returns a record taken apart; its rows leave out fillers, which have no anchor."""
    pointers = sorted(filled.leaves)

    def within(pointer: str) -> list[Leaf]:
        # Pointers below "/item/" sort between it and "/item0", since "0" is the next character. Scanning all leaves for
        # each choice took 3.8 seconds for 5,000 rows with one each; this takes 0.2.
        inner = pointers[bisect_left(pointers, f"{pointer}/") : bisect_left(pointers, f"{pointer}0")]
        return [filled.leaves[at] for at in (pointer, *inner) if at in filled.leaves]

    whole, value = RecordPart(), parse(filled.record)
    parts: dict[int, RecordPart | None] = {-1: whole}
    part_at: dict[str | None, RecordPart | None] = {None: whole}
    selectors = {choice.selector.index for choice in form.choices}
    keys = {array.key.index for array in form.arrays if array.key is not None}
    for at in walk_record(form, value):
        if isinstance(at, RecordRow):
            around, place = parts[at.parent], filled.rows.get(at.pointer)
            row = None if around is None or place is None else FoundRow(*place, RecordPart())
            parts[at.number] = part_at[at.pointer] = None if row is None else row.part
            if around is not None and row is not None:
                around.rows[at.array.index].append(row)
            continue
        part, slot = parts[at.row], at.slot.index
        if part is None:
            continue
        if slot in keys:
            part.leaves[slot] = Leaf(scalar_text(at.value), filled.rows[at.pointer][1])
        elif slot in selectors:
            if at.value is not None:
                sure = max((x.confidence for x in within(at.pointer) if rank(x) == 2), default=0.0)
                part.leaves[slot] = Leaf(scalar_text(at.value), sure, origin="chosen")
        elif at.pointer in filled.leaves:
            part.leaves[slot] = filled.leaves[at.pointer]
    for one in walk_lists(form, value) if filled.lists else ():
        around = part_at[one.parent]
        if around is not None and one.pointer in filled.lists:
            around.lists[one.array.index] = filled.lists[one.pointer]
    return whole


def joined_leaves(one: RecordPart, other: RecordPart) -> dict[int, Leaf]:
    """Returns the leaves of two parts about the same thing: the surer leaf of each slot."""
    leaves = dict(one.leaves)
    for slot, leaf in other.leaves.items():
        leaves[slot] = prefer_confident(leaves[slot], leaf) if slot in leaves else leaf
    return leaves


def prefer_confident(one: Leaf, other: Leaf) -> Leaf:
    """Returns the leaf of two that counts for one slot; the first one if they are equal."""
    mine, theirs = rank(one), rank(other)
    if mine != theirs:
        return one if mine > theirs else other
    if mine == 2 and {one.text, other.text} <= {"true", "false"}:
        return one if _yes(one) >= _yes(other) else other
    if mine:
        return one if _odds(one) >= _odds(other) else other
    return one if one.confidence <= other.confidence else other


def _yes(leaf: Leaf) -> float:
    """Returns the confidence of a yes; a no counts negative."""
    return leaf.confidence if leaf.text == "true" else -leaf.confidence


def _odds(leaf: Leaf) -> float:
    """Returns the odds of the value against absence; probabilities have four places."""
    return leaf.confidence / (leaf.absence + 1e-4)


def rank(leaf: Leaf) -> int:
    """Returns 2 for a value, 1 for a guess of a required value, 0 for an absence or its replacement."""
    return 1 if leaf.missing else 0 if leaf.origin in NONE else 2


def spans_of(part: RecordPart) -> Spans:
    """Returns the spans of the values of a row and its inner rows, by slot."""
    by_slot: Spans = defaultdict(list)
    for slot, leaf in part.leaves.items():
        by_slot[slot] += leaf.spans if rank(leaf) == 2 else ()
    for row in (row for rows in part.rows.values() for row in rows):
        for slot, spans in spans_of(row.part).items():
            by_slot[slot] += spans
    return by_slot


def shared_places(one: Spans, other: Spans) -> float:
    """Returns the share of values read at the same places, of the row with fewer values."""
    least = min(sum(map(len, one.values())), sum(map(len, other.values())))
    hits = sum(
        any(a < d and c < b for c, d in other.get(slot, ())) for slot, own in one.items() for a, b in own
    )
    return hits / least if least else 0.0
