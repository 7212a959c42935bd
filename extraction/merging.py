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
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.engine.layout import lay_out
from cinnabar.engine.models.base import Row
from cinnabar.engine.repair import repaired
from cinnabar.engine.request import Filled, Leaf
from cinnabar.engine.writing import Value, Writer
from cinnabar.extraction.chunking import Chunk
from cinnabar.schemas.canonical import parse, scalar_text
from cinnabar.schemas.fitting import branch_of, group_of
from cinnabar.schemas.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape

_Spans = dict[int, list[tuple[int, int]]]


@dataclass(slots=True)
class _Part:
    """What was found in the record, or in one row but for rows within it: leaves by slot, rows by array."""

    leaves: dict[int, Leaf] = field(default_factory=dict)
    rows: dict[int, list[_Found]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Found:
    """A row: its anchor in characters of the document, and what was found in it."""

    anchor: int
    probability: float
    part: _Part


def merge(form: Form, chunks: Sequence[Chunk], filled: Sequence[Filled]) -> Filled:
    """The record of the document whose chunks, in order, were filled so.

    Its id is that of the first one, its steps the most and its re-openings all that a chunk took. Rows that
    only fill up what the schema demands are dropped where there are real ones.
    """
    if len(filled) == 1:
        return filled[0]
    merged = _part_of(form, filled[0])
    for before, chunk, other in zip(chunks, chunks[1:], filled[1:], strict=False):
        merged = _join(merged, _part_of(form, other), chunk.start, before.end)
    leaves, rows, record = _write(form, merged) or _fullest(filled)
    return Filled(
        id=filled[0].id,
        record=record,
        leaves=leaves,
        rows=rows,
        steps=max(result.steps for result in filled),
        reopened=sum(result.reopened for result in filled),
    )


def _part_of(form: Form, filled: Filled) -> _Part:
    """A record taken apart; fillers, which have no anchor, are not among its rows."""

    def visit(node: Node, value: Any, pointer: str, part: _Part) -> None:
        if isinstance(node, Slot):
            if pointer in filled.leaves:
                part.leaves[node.index] = filled.leaves[pointer]
        elif isinstance(node, ObjectNode):
            known = value if isinstance(value, Mapping) else {}
            for member in node.properties:
                visit(member.node, known.get(member.name), f"{pointer}/{escape(member.name)}", part)
            declared = {member.name for member in node.properties}
            for name in known.keys() - declared:
                rest = group_of(node, name, known[name])
                if rest is not None:
                    row(rest, known[name], f"{pointer}/{escape(name)}", part, name)
        elif isinstance(node, ChoiceNode):
            branch = None if value is None else branch_of(node, value)
            if branch is not None:
                below = (leaf for at, leaf in filled.leaves.items() if at.startswith(pointer))
                sure = max((leaf.confidence for leaf in below if _rank(leaf) == 2), default=0.0)
                part.leaves[node.selector.index] = Leaf(node.selector.options[branch], sure, origin="chosen")
                visit(node.branches[branch], value, pointer, part)
        else:
            items = value if isinstance(value, list) else []
            for at, (place, item) in enumerate(zip(node.prefix, items, strict=False)):
                visit(place, item, f"{pointer}/{at}", part)
            for at, item in enumerate(items[len(node.prefix) :], len(node.prefix)):
                row(node, item, f"{pointer}/{at}", part, None)

    def row(node: ArrayNode, value: Any, pointer: str, part: _Part, name: str | None) -> None:
        place = filled.rows.get(pointer)
        if place is None or node.item is None:
            return
        found = _Found(*place, _Part())
        part.rows[node.index].append(found)
        if node.key is not None and name is not None:
            found.part.leaves[node.key.index] = Leaf(scalar_text(name), place[1])
        visit(node.item, value, pointer, found.part)

    whole = _Part()
    visit(form.root, parse(filled.record), "", whole)
    return whole


def _join(before: _Part, after: _Part, start: int, end: int) -> _Part:
    """What two chunks found that share the characters [start, end)."""
    leaves = dict(before.leaves)
    for slot, leaf in after.leaves.items():
        leaves[slot] = _surer(leaves[slot], leaf) if slot in leaves else leaf
    joined = _Part(leaves)
    for array in sorted({*before.rows, *after.rows}):
        joined.rows[array] = _join_rows(before.rows.get(array, []), after.rows.get(array, []), start, end)
    return joined


def _surer(one: Leaf, other: Leaf) -> Leaf:
    """Of two leaves of one place the one that counts; the earlier one where they are equal."""
    rank, other_rank = _rank(one), _rank(other)
    if rank != other_rank:
        return one if rank > other_rank else other
    if rank == 2 and {one.text, other.text} <= {"true", "false"}:
        return one if _yes(one) >= _yes(other) else other
    if rank:
        return one if _odds(one) >= _odds(other) else other
    return one if one.confidence <= other.confidence else other


def _yes(leaf: Leaf) -> float:
    """How sure an answer is of a yes: a no counts against it."""
    return leaf.confidence if leaf.text == "true" else -leaf.confidence


def _odds(leaf: Leaf) -> float:
    """How much likelier the value is than there being none; probabilities are known to four places."""
    return leaf.confidence / (leaf.absence + 1e-4)


def _rank(leaf: Leaf) -> int:
    """2 for a value, 1 for a guess where one is demanded, 0 for none."""
    return 1 if leaf.missing else 0 if leaf.origin == "absent" else 2


def _join_rows(before: list[_Found], after: list[_Found], start: int, end: int) -> list[_Found]:
    same = _pairs(before, after, start, end)
    middle = (start + end + 1) // 2
    rows = []
    for at, row in enumerate(before):
        if at in same:
            other = after[same[at]]
            part = _join(row.part, other.part, start, end)
            chance = max(row.probability, other.probability)
            rows.append(_Found(min(row.anchor, other.anchor), chance, part))
        elif row.anchor < middle:
            rows.append(row)
    paired = set(same.values())
    rows += [row for at, row in enumerate(after) if at not in paired and row.anchor >= middle]
    return sorted(rows, key=lambda row: row.anchor)


def _pairs(before: list[_Found], after: list[_Found], start: int, end: int) -> dict[int, int]:
    """Which rows of the first chunk are which ones of the second.

    Those with one anchor, first; then those of which half of the values, or more, were read at the same
    places: a chunk that begins within a row takes its rest for a row, with another anchor.
    """
    extents = {at: spans for at, row in enumerate(before) if _reaches(row, spans := _spans(row.part), start)}
    others = {at: _spans(row.part) for at, row in enumerate(after) if row.anchor < end}
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
        if (share := _shared(extents[at], others[other])) >= 0.5
    ]
    for _, at, other in sorted(shares):
        if at not in same and other not in taken:
            same[at] = other
            taken.add(other)
    return same


def _reaches(row: _Found, spans: _Spans, start: int) -> bool:
    """Whether a row has anything from this character on."""
    return row.anchor >= start or any(end > start for own in spans.values() for _, end in own)


def _spans(part: _Part) -> _Spans:
    """Where the values of a row, and of rows within it, were read, by slot."""
    found: _Spans = defaultdict(list)
    for slot, leaf in part.leaves.items():
        found[slot] += leaf.spans if _rank(leaf) == 2 else ()
    for row in (row for rows in part.rows.values() for row in rows):
        for slot, spans in _spans(row.part).items():
            found[slot] += spans
    return found


def _shared(one: _Spans, other: _Spans) -> float:
    """The share of values read at the same places, of the row that has fewer."""
    least = min(sum(map(len, one.values())), sum(map(len, other.values())))
    hits = sum(
        any(a < d and c < b for c, d in other.get(slot, ())) for slot, own in one.items() for a, b in own
    )
    return hits / least if least else 0.0


_Written = tuple[Mapping[str, Leaf], Mapping[str, tuple[int, float]], str]


def _write(form: Form, whole: _Part) -> _Written | None:
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
    best = max(filled, key=lambda one: sum(x.confidence for x in one.leaves.values() if _rank(x) == 2))
    return best.leaves, best.rows, best.record


def _flat(whole: _Part) -> Iterator[tuple[int, int, _Found]]:
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
    rank = _rank(leaf)
    return Value(
        text=(leaf.text if rank and leaf.text is not None else slot.minimal).encode(),
        absent=rank < 2,
        confidence=leaf.confidence if rank else 0.0,
        absent_confidence=leaf.absence if rank else leaf.confidence,
        spans=leaf.spans,
        origin=leaf.origin if rank else "minimal",
        missing=leaf.missing,
        allowed_mass=leaf.allowed_mass,
        rival=leaf.rival,
    )
