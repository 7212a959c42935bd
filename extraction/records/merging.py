"""The records of a document's chunks as the one record of the document.

A value that a chunk found counts for more than its absence elsewhere: that a chunk does not hold it says
nothing of the others, and each chunk has weighed its own finding against absence already. Of the values found
the one stands whose odds against absence are best, as the default model joins the windows of one passage: a
chunk that surely holds the value, and wavers between two readings, knows more than one that hardly does and
has only one reading to offer. What is absent is as sure as the chunk that doubts it most. A yes in one chunk
is a yes, as the model decides such a question where a document says most of it; a no is like an absence.

The rows of an array are those of the chunks, in the order of their anchors. Where two chunks overlap, a row
that both found is one row, its values merged like any others; a row that only one of them found counts where
its anchor lies on that one's side of the middle, as the other one saw more of what surrounds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cinnabar.engine.layout import lay_out
from cinnabar.engine.models.base import Row
from cinnabar.engine.repair import repaired
from cinnabar.engine.request import Filled, Leaf
from cinnabar.engine.writing import Value, Writer
from cinnabar.extraction.chunking import Chunk
from cinnabar.extraction.records.parts import (
    FoundRow,
    RecordPart,
    Spans,
    joined_leaves,
    part_of,
    rank,
    shared,
    spans_of,
)
from cinnabar.extraction.records.repeats import is_known, without_repeats
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.form.form import Form, Slot


def merge(form: Form, chunks: Sequence[Chunk], filled: Sequence[Filled]) -> Filled:
    """The record of the document whose chunks, in order, were filled so.

    Its id is that of the first one, its steps the most and its re-openings all that a chunk took. Rows that
    only fill up what the schema demands are dropped where there are real ones. Rows that say the same are one
    (`repeats.py`), but for those of a record in which anything was known before.
    """
    if len(filled) == 1 and (len(filled[0].rows) < 2 or is_known(filled[0])):
        return filled[0]
    merged = part_of(form, filled[0])
    for before, chunk, other in zip(chunks, chunks[1:], filled[1:], strict=False):
        merged = _join(merged, part_of(form, other), chunk.start, before.end)
    found = merged if any(map(is_known, filled)) else without_repeats(merged)
    if len(filled) == 1 and found == merged:
        return filled[0]
    merged = found
    leaves, rows, record = _write(form, merged) or _fullest(filled)
    return Filled(
        id=filled[0].id,
        record=record,
        leaves=leaves,
        rows=rows,
        steps=max(result.steps for result in filled),
        reopened=sum(result.reopened for result in filled),
    )


def _join(before: RecordPart, after: RecordPart, start: int, end: int) -> RecordPart:
    """What two chunks found that share the characters [start, end)."""
    joined = RecordPart(joined_leaves(before, after))
    for array in sorted({*before.rows, *after.rows}):
        joined.rows[array] = _join_rows(before.rows.get(array, []), after.rows.get(array, []), start, end)
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
    """Which rows of the first chunk are which ones of the second.

    Those with one anchor, first; then those of which half of the values, or more, were read at the same
    places: a chunk that begins within a row takes its rest for a row, with another anchor.
    """
    extents = {
        at: spans for at, row in enumerate(before) if _reaches(row, spans := spans_of(row.part), start)
    }
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
        if (share := shared(extents[at], others[other])) >= 0.5
    ]
    for _, at, other in sorted(shares):
        if at not in same and other not in taken:
            same[at] = other
            taken.add(other)
    return same


def _reaches(row: FoundRow, spans: Spans, start: int) -> bool:
    """Whether a row has anything from this character on."""
    return row.anchor >= start or any(end > start for own in spans.values() for _, end in own)


_Written = tuple[Mapping[str, Leaf], Mapping[str, tuple[int, float]], str]


def _write(form: Form, whole: RecordPart) -> _Written | None:
    """The leaves, the rows and the text of a record, as the engine writes them; None if it is not allowed."""
    found = list(_flat(whole))
    # The place in `found` stands in for the anchor, so that rows are known again after `max_items` took some.
    rows = [Row(array, parent, at, row.probability) for at, (array, parent, row) in enumerate(found)]
    layout = lay_out(form, rows, {})
    values = []
    for slot, row in zip(layout.slots, layout.row_of, strict=True):
        part = whole if row < 0 else found[layout.rows[row].anchor][2].part
        values.append(_value(slot, part.leaves.get(slot.index)))
    writer: Writer | None = Writer(layout, values)
    if writer is not None and form.judge is not None and not form.judge.accepts(parse(writer.record)):
        writer = repaired(layout, values, 0, form.judge, lambda at: _others(layout.slots[at], values[at]))
    if writer is None:
        return None
    anchors = {pointer: (found[at][2].anchor, chance) for pointer, (at, chance) in writer.rows.items()}
    return writer.leaves, anchors, writer.record


def _others(slot: Slot, value: Value) -> list[tuple[float, Value]]:
    """What a slot may be instead of what was found: nothing, or its least text."""
    least = replace(value, text=slot.minimal.encode(), absent=False, confidence=0.0, spans=(), missing=True)
    return [(value.absent_confidence, replace(value, absent=True)), (0.0, least)]


def _fullest(filled: Sequence[Filled]) -> _Written:
    """The record of the chunk that found most, where the chunks' records do not go together."""
    best = max(filled, key=lambda one: sum(x.confidence for x in one.leaves.values() if rank(x) == 2))
    return best.leaves, best.rows, best.record


def _flat(whole: RecordPart) -> Iterator[tuple[int, int, FoundRow]]:
    """All rows with their array and the place of the row around them, parents before their children."""
    waiting = [(-1, whole)]
    count = 0
    while waiting:
        parent, part = waiting.pop(0)
        for array, rows in sorted(part.rows.items()):
            for row in rows:
                yield array, parent, row
                waiting.append((count, row.part))
                count += 1


def _value(slot: Slot, leaf: Leaf | None) -> Value:
    """What is written for a slot of which this is known."""
    if leaf is None:
        return Value(slot.minimal.encode(), absent=True)
    default = leaf.origin == "default"
    found = default or rank(leaf)
    return Value(
        text=(leaf.text if found and leaf.text is not None else slot.minimal).encode(),
        absent=rank(leaf) < 2 and not default,
        confidence=leaf.confidence if found else leaf.posterior,
        absent_confidence=leaf.absence if found else leaf.confidence,
        spans=leaf.spans,
        origin=leaf.origin if found else "minimal",
        missing=leaf.missing,
        allowed_mass=leaf.allowed_mass,
        rival=leaf.rival,
    )
