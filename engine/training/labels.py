"""Finds the values of a true record in its text: spans for the leaves, anchors for the rows of arrays.

Values are found by their readings (a date in words is the same date). Rows are found in the order of the record at the
places with most of their values close together, by a dynamic programme over candidate places.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from cinnabar.engine.evidence.search import Search, Span
from cinnabar.schemas.form.form import ArrayNode, Form, Node, Slot
from cinnabar.schemas.form.record_walk import record_parts, record_rows

#: The characters after a row's anchor in which its values are searched.
ROW_REACH = 400
#: The most candidate anchors of a row in the dynamic programme.
ROW_CANDIDATES = 24
#: Choices kept after each row; the costs of a row without a place, of a character between two rows, and of one before
#: the first row.
ROW_STATES, SKIPPED, GAP, LATE = 64, 0.05, 0.0002, 0.00002

Spans = list[Span]


@dataclass(slots=True)
class LabelledLeaf:
    """The truth of one slot: its value, the spans of its printings, and the index of its row, or -1."""

    slot: Slot
    value: Any
    spans: Spans
    row: int


@dataclass(slots=True)
class LabelledRow:
    """An item of an array. `anchor` and `until` are characters of the text; anchor -1 if it was not found."""

    array: ArrayNode
    parent: int
    anchor: int
    until: int


@dataclass(slots=True)
class Labels:
    """The truth of a whole document."""

    leaves: list[LabelledLeaf] = field(default_factory=list)
    rows: list[LabelledRow] = field(default_factory=list)


def label_by_search(text: str, form: Form, truth: Any) -> Labels:
    """Returns the labels of a document with only its record known."""
    labels = Labels()
    _walk(form.root, truth, -1, (0, len(text)), labels, Search(text))
    return labels


def _walk(node: Node, value: Any, row: int, region: tuple[int, int], labels: Labels, search: Search) -> None:
    if isinstance(node, Slot):
        known = value is not None and not isinstance(value, dict | list) and not node.options
        spans = list(search.find(value, node.day_first).spans) if known else []
        labels.leaves.append(LabelledLeaf(node, value, _within(spans, region) if row >= 0 else spans, row))
        return
    if isinstance(node, ArrayNode):
        rows = [parts for _, parts in record_rows(node, value)]
        anchors = _anchors(rows, region, search)
        for i, (parts, anchor) in enumerate(zip(rows, anchors, strict=True)):
            until = next((a for a in anchors[i + 1 :] if a >= 0), region[1])
            labels.rows.append(LabelledRow(node, row, anchor, until))
            inner = (anchor, until) if anchor >= 0 else region
            at = len(labels.rows) - 1
            for part, item in parts:
                _walk(part, item, at, inner, labels, search)
    for _, part, below in record_parts(node, value):
        _walk(part, below, row, region, labels, search)


def _within(spans: Spans, region: tuple[int, int]) -> Spans:
    """Returns the spans inside of a row; else the nearest before it (a heading that the row shares)."""
    inside = [s for s in spans if region[0] <= s[0] < region[1]]
    if inside:
        return inside[:4]
    before = [s for s in spans if s[0] < region[0]]
    return before[-1:] or [s for s in spans if s[0] >= region[1]][:1]


def _leaves_of(node: Node, value: Any) -> list[tuple[Slot, Any]]:
    if isinstance(node, Slot):
        usable = value is not None and not node.options and not isinstance(value, bool | dict | list)
        return [(node, value)] if usable else []
    leaves = [leaf for _, part, below in record_parts(node, value) for leaf in _leaves_of(part, below)]
    if isinstance(node, ArrayNode):
        rows = islice(record_rows(node, value), 3)
        leaves += [leaf for _, parts in rows for part, item in parts for leaf in _leaves_of(part, item)]
    return leaves


def _anchors(
    rows: Sequence[list[tuple[Node, Any]]], region: tuple[int, int], search: Search
) -> list[int]:
    """Returns for each row the character at which it begins, ascending, -1 if it was not found."""
    possible = []
    for parts in rows:
        starts = [
            sorted({s for s, _ in search.find(v, slot.day_first).spans if region[0] <= s < region[1]})
            for part, item in parts
            for slot, v in _leaves_of(part, item)
        ]
        possible.append([s for s in starts if s])
    return _ascending_places(possible, *region)


def _worth(starts: list[list[int]], place: int, until: int) -> float:
    """Returns how well a row fits a place: the number of its values that follow; rarer and nearer ones count more.

    The next row begins at `until`. Values after it count half: they belong to the next row, or stand in a column.
    """
    total = 0.0
    for own in starts:
        i = bisect.bisect_left(own, place)
        if i < len(own) and own[i] < place + ROW_REACH:
            # Nearer values count more: otherwise an anchor could skip the first values of its row.
            worth = (1.0 - 0.5 * (own[i] - place) / ROW_REACH) / (1 + 0.1 * len(own))
            total += worth if own[i] < until else 0.5 * worth
    return total


def _candidates(starts: list[list[int]], end: int) -> list[int]:
    """Returns the places at which a row may begin, ascending."""
    places = {place for own in starts for place in own[:ROW_CANDIDATES]}
    return sorted(sorted(places, key=lambda p: (-_worth(starts, p, end), p))[:ROW_CANDIDATES])


@dataclass(frozen=True, slots=True)
class _PlacedRow:
    """The last placed row and the choice before it; `total` does not include the worth of this row."""

    row: int
    place: int
    total: float
    before: _PlacedRow | None


def _ascending_places(rows: list[list[list[int]]], start: int, end: int) -> list[int]:
    """Returns the best ascending places of the rows, by their values up to the next row; a row may have none."""
    states = [_PlacedRow(-1, -1, 0.0, None)]

    def through(state: _PlacedRow, until: int) -> float:
        return state.total + (_worth(rows[state.row], state.place, until) if state.row >= 0 else 0.0)

    for k, starts in enumerate(rows):
        best = {s.place: replace(s, total=s.total - SKIPPED) for s in states}
        for place in _candidates(starts, end):
            # A row far after the one before it has probably skipped others. A list begins at its first mention, not at
            # a repetition of its items (a signature, an index).
            reached = [
                (through(s, place) - (GAP if s.row >= 0 else LATE) * (place - max(s.place, start)), s)
                for s in states
                if s.place < place
            ]
            if not reached:
                continue
            total, before = max(reached, key=lambda r: r[0])
            fresh = _PlacedRow(k, place, total, before)
            if place not in best or through(best[place], end) < through(fresh, end):
                best[place] = fresh
        states = sorted(best.values(), key=lambda s: -through(s, end))[:ROW_STATES]
    places = [-1] * len(rows)
    state: _PlacedRow | None = max(states, key=lambda s: through(s, end))
    while state is not None and state.row >= 0:
        places[state.row] = state.place
        state = state.before
    return places
