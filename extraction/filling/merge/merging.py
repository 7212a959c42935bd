"""Merges the records of a document's chunks, or of two readings of it, into one record.

Of several values of chunks the one with the best odds against absence wins: a chunk that surely holds the value and
wavers between two readings knows more than one that hardly holds it and has one. An absence is as sure as the chunk
that doubts it most; a yes in one chunk is a yes. Where two chunks overlap, a row that both found is one row; a row of
one of them counts if its anchor lies on that chunk's side of the middle, which saw more of its surroundings. A list is
complete if each chunk's part of it is. A copy of exact data gives only what all other chunks lack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from cinnabar.engine.fill.layout import lay_out
from cinnabar.engine.fill.repair import repair_record
from cinnabar.engine.fill.writing import Writer, WrittenValue
from cinnabar.engine.model import Row
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.filling.merge.repeats import (
    FoundRow,
    RecordPart,
    Spans,
    drop_repeats,
    is_known,
    joined_leaves,
    part_of,
    rank,
    shared_places,
    spans_of,
)
from cinnabar.extraction.filling.merge.weighing import has_value
from cinnabar.schemas.compiling.fact_fields import fact_fields
from cinnabar.schemas.form.fitting import accept
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.form.record_walk import walk_lists
from cinnabar.schemas.pointers import MISSING, escape, lies_within

# A changed one changes values: raise the part `merging` (engine/version.py).
#: A list of a first reading that is less sure is not kept for having more items than that of a second one.
LIKELY_LIST = 0.5


def merge(form: Form, chunks: Sequence[Chunk], filled: Sequence[Filled]) -> Filled:
    """Returns the merged record of a document from the filled chunks, in order.

    The id is that of the first chunk, `steps` the highest and `reopened` the sum over chunks.
    Rows that only satisfy the schema's demands are dropped if there are real ones. Rows about the same thing become one
    (`extraction/filling/merge/repeats.py`), unless the record holds known values other than facts. Every chunk
    has all rows of a list that is a fact, and no two of these are one.
    """
    facts = _facts_of(form)
    if len(filled) == 1 and (len(filled[0].rows) < 2 or is_known(filled[0], facts.slots)):
        return filled[0]
    sources = [
        _join_chunks(form, [pair for pair in zip(chunks, filled, strict=False) if pair[0].copy is copy], facts.arrays)
        for copy in (False, True)
    ]
    first, *copies = [part for part in sources if part is not None]
    merged = _complete(first, copies[0]) if copies else first
    known = any(is_known(one, facts.slots) for one in filled)
    distinct = merged if known else drop_repeats(merged, facts.arrays)
    if len(filled) == 1 and distinct == merged:
        return filled[0]
    merged = distinct
    leaves, rows, lists, value = _write(form, merged) or _fullest(filled)
    return Filled(
        id=filled[0].id,
        value=value,
        leaves=leaves,
        rows=rows,
        steps=max(result.steps for result in filled),
        reopened=sum(result.reopened for result in filled),
        lists=lists,
    )


def _join_chunks(form: Form, filled_chunks: Sequence[tuple[Chunk, Filled]], facts: frozenset[int]) -> RecordPart | None:
    """Returns what these chunks found, None if there are none; the rows of lists of `facts` are those of the first."""
    merged: RecordPart | None = None
    before = 0
    for chunk, filled in filled_chunks:
        part = part_of(form, filled)
        if merged is None:
            merged = part
        else:
            part.rows = defaultdict(list, {array: own for array, own in part.rows.items() if array not in facts})
            merged = _join(merged, part, chunk.start, before)
        before = chunk.end
    return merged


def _complete(exact: RecordPart, copy: RecordPart) -> RecordPart:
    """Returns the exact findings, with those values and lists of the copy that they lack."""
    leaves = {slot: leaf for slot, leaf in exact.leaves.items() if rank(leaf) == 2}
    whole = RecordPart({**joined_leaves(exact, copy), **leaves}, lists={**copy.lists, **exact.lists})
    for array in sorted({*exact.rows, *copy.rows}):
        own = exact.rows.get(array)
        whole.rows[array] = own or copy.rows[array]
        if not own and array in copy.lists:
            whole.lists[array] = copy.lists[array]
    return whole


@dataclass(frozen=True, slots=True)
class _FactParts:
    """The lists of a form that are facts, and the slots of all facts."""

    arrays: frozenset[int]
    slots: frozenset[int]


def _facts_of(form: Form) -> _FactParts:
    nodes = [place.node for place in fact_fields(form)]
    arrays = [node for node in nodes if isinstance(node, ArrayNode)]
    items = [node.item for node in arrays]
    slots = (node.index for node in [*nodes, *items] if isinstance(node, Slot))
    return _FactParts(frozenset(array.index for array in arrays), frozenset(slots))


def _join(before: RecordPart, after: RecordPart, start: int, end: int) -> RecordPart:
    """Joins the parts that two chunks found; the chunks share the characters [start, end)."""
    joined = RecordPart(joined_leaves(before, after))
    for array in sorted({*before.rows, *after.rows}):
        joined.rows[array] = _join_rows(before.rows.get(array, []), after.rows.get(array, []), start, end)
    for array in sorted({*before.lists, *after.lists}):
        joined.lists[array] = round(before.lists.get(array, 1.0) * after.lists.get(array, 1.0), 4)
    return joined


def _join_rows(before: list[FoundRow], after: list[FoundRow], start: int, end: int) -> list[FoundRow]:
    same = _pairs(before, after, start, end)
    middle = (start + end + 1) // 2
    rows = []
    for at, row in enumerate(before):
        if at in same:
            other = after[same[at]]
            part = _join(row.part, other.part, start, end)
            chance = max(row.probability, other.probability)
            rows.append(FoundRow(min(row.anchor, other.anchor), chance, part))
        elif row.anchor < middle:
            rows.append(row)
    paired = set(same.values())
    rows += [row for at, row in enumerate(after) if at not in paired and row.anchor >= middle]
    return sorted(rows, key=lambda row: row.anchor)


def _pairs(before: list[FoundRow], after: list[FoundRow], start: int, end: int) -> dict[int, int]:
    """Returns the pairs of rows that two chunks share, as indices of the first chunk's rows to those of the second.

    Rows with one anchor pair first. Then rows pair if at least half of their values were read at the same places: a
    chunk that begins within a row takes the rest of it for a row with another anchor.
    """
    extents = {at: spans for at, row in enumerate(before) if _reaches(row, spans := spans_of(row.part), start)}
    others = {at: spans_of(row.part) for at, row in enumerate(after) if row.anchor < end}
    same: dict[int, int] = {}
    free = defaultdict(list)
    for other in others:
        free[after[other].anchor].append(other)
    for at in extents:
        if free[before[at].anchor]:
            same[at] = free[before[at].anchor].pop(0)
    taken = set(same.values())
    shares = [
        (-share, at, other)
        for at in extents.keys() - same.keys()
        for other in others.keys() - taken
        if (share := shared_places(extents[at], others[other])) >= 0.5
    ]
    for _, at, other in sorted(shares):
        if at not in same and other not in taken:
            same[at] = other
            taken.add(other)
    return same


def _reaches(row: FoundRow, spans: Spans, start: int) -> bool:
    """Returns True if a row has anything from this character on."""
    return row.anchor >= start or any(end > start for own in spans.values() for _, end in own)


_Written = tuple[Mapping[str, Leaf], Mapping[str, tuple[int, float]], Mapping[str, float], Any]


def _write(form: Form, whole: RecordPart) -> _Written | None:
    """Returns the leaves, rows, lists and value of a record as the engine writes them.

    Returns None if the schema does not allow it.
    """
    flat = list(_flat(whole))
    # The index in `flat` replaces the anchor, so that rows can be told after `max_items` removed some.
    rows = [Row(array, parent, at, row.probability) for at, (array, parent, row) in enumerate(flat)]
    layout = lay_out(form, rows, {})
    values = []
    for slot, row in zip(layout.slots, layout.row_of, strict=True):
        part = whole if row < 0 else flat[layout.rows[row].anchor][2].part
        values.append(_value(slot, part.leaves.get(slot.index)))
    writer: Writer | None = Writer(layout, values)
    if writer is not None and form.judge is not None:
        writer = repair_record(writer, form.judge, lambda at: _others(layout.slots[at], values[at]))
    if writer is None:
        return None
    anchors = {pointer: (flat[at][2].anchor, chance) for pointer, (at, chance) in writer.rows.items()}
    return writer.leaves, anchors, _lists(form, whole, flat, writer), writer.value


def _lists(
    form: Form, whole: RecordPart, flat: Sequence[tuple[int, int, FoundRow]], writer: Writer
) -> dict[str, float]:
    """Returns the probability that each list of the written record is complete, by its pointer."""
    lists: dict[str, float] = {}
    if not whole.lists and not any(row.part.lists for _, _, row in flat):
        return lists
    for one in walk_lists(form, writer.value):
        # Rows that only satisfy the schema's demands are not in `writer.rows`.
        place = None if one.parent is None else writer.rows.get(one.parent)
        part = whole if one.parent is None else None if place is None else flat[place[0]][2].part
        if part is not None and one.array.index in part.lists:
            lists[one.pointer] = part.lists[one.array.index]
    return lists


def _others(slot: Slot, value: WrittenValue) -> list[tuple[float, WrittenValue]]:
    """Returns the alternatives of a slot's value: absence, or its minimal text."""
    least = replace(value, text=slot.minimal.encode(), absent=False, confidence=0.0, spans=(), missing=True)
    return [(value.absent_confidence, replace(value, absent=True)), (0.0, least)]


def _fullest(filled: Sequence[Filled]) -> _Written:
    """Returns the record of the chunk that found most, for chunks whose records do not go together."""
    best = max(filled, key=lambda one: sum(x.confidence for x in one.leaves.values() if rank(x) == 2))
    return best.leaves, best.rows, best.lists, best.value


def _flat(whole: RecordPart) -> Iterator[tuple[int, int, FoundRow]]:
    """Yields all rows with their array and the index of the row around them, parents before children."""
    waiting = [(-1, whole)]
    count = 0
    while waiting:
        parent, part = waiting.pop(0)
        for array, rows in sorted(part.rows.items()):
            for row in rows:
                yield array, parent, row
                waiting.append((count, row.part))
                count += 1


def _value(slot: Slot, leaf: Leaf | None) -> WrittenValue:
    """Returns the value to write for a slot with this leaf."""
    if leaf is None:
        return WrittenValue(slot.minimal.encode(), absent=True)
    default = leaf.origin == "default"
    given = default or rank(leaf)
    return WrittenValue(
        text=(leaf.text if given and leaf.text is not None else slot.minimal).encode(),
        absent=rank(leaf) < 2 and not default,
        confidence=leaf.confidence if given else leaf.posterior,
        absent_confidence=leaf.absence if given else leaf.confidence,
        spans=leaf.spans,
        origin=leaf.origin if given else "minimal",
        missing=leaf.missing,
        allowed_mass=leaf.allowed_mass,
        rival=leaf.rival,
    )


_T = TypeVar("_T")


def prefer_confident_record(
    form: Form,
    one: Filled,
    other: Filled,
    kept: Collection[str] = (),
    settled: Mapping[str, bool] | None = None,
    partial: bool = False,
) -> Filled:
    """Returns the record of the surer values and lists of two readings of a document; those of the first if equal.

    A value counts more than a null: how likely both are is weighed afterwards (`weighing`). partial: whether the second
    one has read parts of the document alone: a list of which it has fewer rows is the first one's.

    What lies at the places that are `kept`, and what is taken as a whole with them, is the first one's. Of a list that
    is `settled` the second one's reading counts (True) or the first one's.

    Their confidences must mean the same: the share of right values. A value that the schema demands and nobody found
    counts less than any that was found. If the schema does not allow the values together, the record is that of the
    reading that is surer on the whole.
    """
    chosen = _Chosen(one, other, kept, settled or {}, partial)
    value = accept(form, chosen.place(form.root, one.value, other.value, ""))
    if value is MISSING and (kept or partial):
        return one
    if value is MISSING:
        return max(one, other, key=lambda filled: _mean(list(filled.leaves.values())))
    return replace(other, value=value, leaves=chosen.leaves, rows=chosen.rows, lists=chosen.lists)


@dataclass(slots=True)
class _Chosen:
    """The parts that were chosen so far of two readings."""

    one: Filled
    other: Filled
    kept: Collection[str] = ()
    settled: Mapping[str, bool] = field(default_factory=dict)
    partial: bool = False
    leaves: dict[str, Leaf] = field(default_factory=dict)
    rows: dict[str, tuple[int, float]] = field(default_factory=dict)
    lists: dict[str, float] = field(default_factory=dict)

    def place(self, node: Node, mine: Any, theirs: Any, pointer: str) -> Any:
        """Returns the value of a place, and takes what its reading says of it."""
        both = isinstance(mine, Mapping) and isinstance(theirs, Mapping)
        if both and isinstance(node, ObjectNode) and not node.rest:
            made: dict[str, Any] = {}
            for part in node.properties:
                below = f"{pointer}/{escape(part.name)}"
                value = self.place(part.node, mine.get(part.name, MISSING), theirs.get(part.name, MISSING), below)
                if value is not MISSING:
                    made[part.name] = value
            return made
        holds = any(lies_within(at, pointer) for at in self.kept)
        first = holds or self._first_is_surer(node, pointer, mine, theirs)
        self._take(self.one if first else self.other, pointer)
        return mine if first else theirs

    def _first_is_surer(self, node: Node, pointer: str, one: Any, other: Any) -> bool:
        if isinstance(node, Slot) and pointer in self.one.leaves and pointer in self.other.leaves:
            mine, theirs = self.one.leaves[pointer], self.other.leaves[pointer]
            return _rank(mine) >= _rank(theirs)
        if isinstance(node, ArrayNode) and pointer in self.settled:
            return not self.settled[pointer]
        items = [len(part) if isinstance(part, list) else 0 for part in (one, other)]
        if isinstance(node, ArrayNode) and self.partial and items[1] < items[0]:
            return True
        if isinstance(node, ArrayNode) and pointer in self.one.lists and pointer in self.other.lists:
            # Of a list in prose a reader of tables finds some rows; that others are missing its own shares do not tell.
            more = 0 < items[1] >= items[0] or (items[1] and self.one.lists[pointer] < LIKELY_LIST)
            return not more and self.one.lists[pointer] >= self.other.lists[pointer]
        of_mine, of_theirs = ([*_below(filled.leaves, pointer).values()] for filled in (self.one, self.other))
        return not of_theirs or (bool(of_mine) and _mean(of_mine) >= _mean(of_theirs))

    def _take(self, filled: Filled, pointer: str) -> None:
        self.leaves |= _below(filled.leaves, pointer)
        self.rows |= _below(filled.rows, pointer)
        self.lists |= _below(filled.lists, pointer)


def _rank(leaf: Leaf) -> tuple[bool, bool, float]:
    return not leaf.missing, has_value(leaf), leaf.confidence


def _below(places: Mapping[str, _T], pointer: str) -> dict[str, _T]:
    """Returns what lies at a place or below it."""
    return {at: own for at, own in places.items() if lies_within(at, pointer)}


def _mean(leaves: list[Leaf]) -> float:
    return sum(leaf.confidence for leaf in leaves) / len(leaves) if leaves else 0.0
