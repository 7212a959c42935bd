"""Cuts: what no automaton holds is judged on the whole record, and a record that fails is changed a little.

A record is made of values that each fit their slot. Where they do not fit together (an item twice, a
property without the one that it depends on, values of two alternatives at once), what lies near the place
that the judge names is exchanged for the next likelier thing, the changes that cost the least first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count

from cinnabar.engine.layout import Layout, Value, Writer
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.judging.judge import Judge

#: Records that are judged before the last one that was allowed stands.
BUDGET = 200
#: What a change costs at least, and at most, in nats: a few unlikely changes come before many likely ones.
LEAST, MOST = 0.05, 12.0

#: The values that a slot might have as well, each with its posterior.
Alternatives = Callable[[int], Sequence[tuple[float, Value]]]


def repaired(
    layout: Layout, values: Sequence[Value], offset: int, judge: Judge, alternatives: Alternatives
) -> Writer | None:
    """The likeliest record near this one that the judge accepts; None where none was found in time.

    `alternatives` are asked for with the number of a slot of the layout.
    """
    order = count()
    waiting: list[tuple[float, int, dict[int, Value]]] = [(0.0, next(order), {})]
    seen: set[frozenset[tuple[int, bytes, bool]]] = set()
    for _ in range(BUDGET):
        if not waiting:
            return None
        cost, _, changes = heappop(waiting)
        writer = Writer(layout, [changes.get(at, value) for at, value in enumerate(values)], offset)
        violation = judge.violation(parse(writer.record))
        if violation is None:
            return writer
        for more, changed in _changes(layout, values, writer, violation.pointer, alternatives):
            if changed.keys() & changes.keys():
                continue
            both = {**changes, **changed}
            mark = frozenset((at, value.text, value.absent) for at, value in both.items())
            if mark not in seen:
                seen.add(mark)
                heappush(waiting, (cost + more, next(order), both))
    return None


def _changes(
    layout: Layout, values: Sequence[Value], writer: Writer, pointer: str, alternatives: Alternatives
) -> Iterator[tuple[float, dict[int, Value]]]:
    """Changes of what stands at a place, below it or right above it, each with its cost."""
    near = [
        (at, abs(place.count("/") - pointer.count("/")))
        for place, slots in writer.instances.items()
        if place == pointer or place.startswith(f"{pointer}/") or pointer.startswith(f"{place}/")
        for at in slots
        if layout.known[at] is None
    ]
    rows: dict[int, float] = {}
    for at, far in near:
        value = values[at]
        now = value.absent_confidence if value.absent else value.confidence
        for chance, other in alternatives(at):
            if (other.text, other.absent) != (value.text, value.absent):
                yield _cost(now, chance) + 0.01 * far, {at: other}
        row = layout.row_of[at]
        if row >= 0 and not value.absent:
            rows[row] = max(rows.get(row, 0.0), value.confidence)
    for row, sure in rows.items():
        slots = [at for at, own in enumerate(layout.row_of) if own == row]
        yield _cost(sure, 1.0 - sure), {at: replace(values[at], absent=True) for at in slots}


def _cost(now: float, then: float) -> float:
    return min(MOST, max(LEAST, math.log(max(now, 1e-6)) - math.log(max(then, 1e-6))))
