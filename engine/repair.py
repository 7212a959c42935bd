"""Cuts: what no automaton holds is judged on the whole record, and a record that fails is changed a little.

A record is made of values that each fit their slot. Where they do not fit together (a property without the
one that it depends on, values of two alternatives at once, too many of something), what lies near the place
that the judge names is exchanged for the next likelier thing, the changes that cost the least first. A change
after which the judge names something new has met a rule, so that what follows it is looked at first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush, nsmallest
from itertools import count

from cinnabar.engine.layout import Layout, LeafPlace, Place, State
from cinnabar.engine.writing import Value, Writer
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.form.instances import texts_of
from cinnabar.schemas.judging.judge import Judge

#: Records that are judged before the last one that was allowed stands; fewer of large forms.
BUDGET, WORK = 200, 60_000
#: What a change costs at least, and at most, in nats: a few unlikely changes come before many likely ones.
LEAST, MOST = 0.05, 12.0
#: What it costs to write something of which nothing was found, or one item more of it.
INVENTED = 6.0
#: What meeting a rule is worth: as much as any one change, so that many faults are met one after the other.
MET = MOST
#: What every value costs that goes with the first, where several are left out at once.
EACH = 0.5
#: Changes of one record that are tried, and slots near a fault of which more texts than likely ones are.
WIDTH, FEW = 96, 100

#: The values that a slot might have as well, each with its posterior.
Alternatives = Callable[[int], Sequence[tuple[float, Value]]]


@dataclass(frozen=True)
class Change:
    """Values of slots, and what is decided of places, that are not as they came."""

    values: dict[int, Value] = field(default_factory=dict)
    decided: dict[int, State | int] = field(default_factory=dict)

    def __or__(self, other: Change) -> Change:
        return Change({**self.values, **other.values}, {**self.decided, **other.decided})

    def touches(self, other: Change) -> bool:
        """Whether both say something of the same."""
        return bool(self.values.keys() & other.values.keys() or self.decided.keys() & other.decided.keys())

    @cached_property
    def mark(self) -> frozenset[object]:
        """The same for the same changes, in whatever order they were made."""
        values = ((at, value.text, value.absent) for at, value in self.values.items())
        return frozenset((*values, *self.decided.items()))


def repaired(
    layout: Layout, values: Sequence[Value], offset: int, judge: Judge, alternatives: Alternatives
) -> Writer | None:
    """The likeliest record near this one that the judge accepts; None where none was found in time.

    `alternatives` are asked for with the number of a slot of the layout.
    """
    order = count()
    waiting: list[tuple[float, int, Change, frozenset[str]]] = [(0.0, next(order), Change(), frozenset())]
    seen: set[frozenset[object]] = set()
    search = _Search(layout, values, alternatives)
    for _ in range(max(BUDGET // 10, min(BUDGET, WORK // max(len(values), 1)))):
        if not waiting:
            return None
        cost, _, change, met = heappop(waiting)
        now = [change.values.get(at, value) for at, value in enumerate(values)]
        writer = Writer(layout, now, offset, change.decided)
        violation = judge.violation(parse(writer.record))
        if violation is None:
            return writer
        rule = f"{violation.pointer} {violation.schema_pointer}"
        if met and rule not in met:
            cost -= MET
        met |= {rule}
        found = (
            (c, more) for c, more in search.changes(writer, violation.pointer) if not change.touches(more)
        )
        for more, further in nsmallest(WIDTH, found, key=lambda pair: pair[0]):
            mark = change.mark | further.mark
            if mark not in seen:
                seen.add(mark)
                heappush(waiting, (cost + more, next(order), change | further, met))
    return None


class _Search:
    """What may be changed of one record."""

    def __init__(self, layout: Layout, values: Sequence[Value], alternatives: Alternatives) -> None:
        self.layout, self.values, self._ask = layout, values, alternatives
        self._known: dict[tuple[int, bool], list[tuple[float, Value]]] = {}
        self._below: dict[int, list[int]] = {}
        for at, row in enumerate(layout.row_of):
            while row >= 0:
                self._below.setdefault(row, []).append(at)
                row = layout.rows[row].parent

    def changes(self, writer: Writer, pointer: str) -> Iterator[tuple[float, Change]]:
        """Changes of what stands at a place, below it or right above it, each with its cost."""
        slots = [(at, far) for place, own in writer.instances.items() if (far := _far(place, pointer)) >= 0
                 for at in own if self.layout.known[at] is None]  # fmt: skip
        rows: dict[int, list[float]] = {}
        for at, far in slots:
            value = self.values[at]
            now = value.absent_confidence if value.absent else value.confidence
            for chance, other in self._others(at, len(slots) <= FEW):
                if (other.text, other.absent) != (value.text, value.absent):
                    # Rather something less than something made up.
                    cost = _cost(now, chance) + 0.01 * far + (chance <= 0.0)
                    yield cost, Change({at: other})
            row = self.layout.row_of[at]
            if row >= 0 and not value.absent:
                rows.setdefault(row, []).append(value.confidence)
        for row, sure in rows.items():
            gone = {at: replace(self.values[at], absent=True) for at in self._below[row]}
            if all(self.layout.known[at] is None for at in gone):
                yield _without(sure), Change(gone)
        for place, states in writer.states.items():
            if (far := _far(place, pointer)) >= 0:
                for part, state in states:
                    yield from self._states(writer, place, part, state, 0.01 * far)
        for place, choices in writer.branches.items():
            if (far := _far(place, pointer)) >= 0:
                for choice, taken in choices:
                    told = {
                        value.text: chance for chance, value in self._others(choice.selector.instance, True)
                    }
                    options = [option.encode() for option in choice.selector.slot.options]
                    for at, option in enumerate(options):
                        if at != taken and choice.branches[at] is not None:
                            cost = _cost(told.get(options[taken], 0.5), told.get(option, 0.0))
                            yield cost + 0.01 * far, Change(decided={id(choice.selector): at})

    def _states(
        self, writer: Writer, pointer: str, place: Place, state: State, far: float
    ) -> Iterator[tuple[float, Change]]:
        """The other ways to write a place that need not be there."""
        below = f"{pointer}/"
        slots = [
            at for p, own in writer.instances.items() if p == pointer or p.startswith(below) for at in own
        ]
        sure = [self.values[at].confidence for at in slots if not self.values[at].absent]
        gone = _without(sure) if state == "there" else LEAST
        if place.optional and state != "out":
            yield gone + far, Change(decided={id(place): "out"})
        if isinstance(place, LeafPlace):
            return
        if place.node.nullable and state != "null":
            yield gone + far, Change(decided={id(place): "null"})
        if state != "there":
            yield INVENTED + far, Change(decided={id(place): "there"})

    def _others(self, at: int, every: bool) -> list[tuple[float, Value]]:
        """What a slot might be, and, where `every` is asked for, a few texts that it may hold at all."""
        if (at, every) not in self._known:
            absent = self.values[at].absent
            found = [
                (chance, replace(value, missing=True) if absent and not value.absent else value)
                for chance, value in self._ask(at)
            ]
            texts = {value.text for _, value in found}
            for text in texts_of(self.layout.slots[at]) if every else ():
                if text.encode() not in texts and text != "null":
                    made = replace(self.values[at], text=text.encode(), absent=False, confidence=0.0)
                    made = replace(made, spans=(), origin="minimal", missing=made.missing or absent)
                    found.append((0.0, made))
            self._known[at, every] = found
        return self._known[at, every]


def _far(place: str, pointer: str) -> int:
    """How many levels lie between two places of which one is in the other, -1 where none is."""
    if place == pointer or place.startswith(f"{pointer}/") or pointer.startswith(f"{place}/"):
        return abs(place.count("/") - pointer.count("/"))
    return -1


def _without(sure: list[float]) -> float:
    """What it costs to leave out values that are sure to this degree."""
    most = max(sure, default=0.0)
    return _cost(most, 1.0 - most) + EACH * max(0, len(sure) - 1)


def _cost(now: float, then: float) -> float:
    return min(MOST, max(LEAST, math.log(max(now, 1e-6)) - math.log(max(then, 1e-6))))
