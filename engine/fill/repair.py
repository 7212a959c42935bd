"""Repairs a record that breaks a rule of its schema which no automaton enforces.

The values of a record each fit their slot, but they may not fit together (a property without the one that it depends
on, values of two alternatives at once, too many items). The judge checks the whole record and names a place. A
best-first search exchanges values and states near that place for the next likely ones, the cheapest changes first. If
the judge then names another rule, the change has met a rule, and the search continues from it first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush, nsmallest
from itertools import count

from cinnabar.engine.fill.layout import Layout, LeafPlace, Place, State
from cinnabar.engine.fill.writing import Writer, WrittenValue
from cinnabar.schemas.form.instances import texts_of
from cinnabar.schemas.judging.judge import Judge
from cinnabar.schemas.pointers import lies_within

#: The most records that the search judges, and the most times slots; large forms get fewer records.
REPAIR_RECORDS, REPAIR_SLOTS = 200, 60_000
#: The least and the greatest cost of a change, in nats: a few unlikely changes come before many likely ones.
LEAST_COST, MOST_COST = 0.05, 12.0
#: The cost of writing a place for which nothing was found, or one item more of it.
INVENTED_COST = 6.0
#: The cost of each further value if several are left out at once.
FURTHER_COST = 0.5
#: The most changes that are tried from one record; with at most the second number of slots near a fault, unlikely texts
#: are tried too.
TRIED_CHANGES, FEW_SLOTS = 96, 100
#: The gain of meeting a rule: as much as the costliest change, so that several faults are repaired one after the other.
MET = MOST_COST

#: Gives the other values of a slot, each with its posterior.
Alternatives = Callable[[int], Sequence[tuple[float, WrittenValue]]]


@dataclass(frozen=True)
class RepairChange:
    """Changed values of slots and changed states of places."""

    values: dict[int, WrittenValue] = field(default_factory=dict)
    decided: dict[int, State | int] = field(default_factory=dict)

    def __or__(self, other: RepairChange) -> RepairChange:
        return RepairChange({**self.values, **other.values}, {**self.decided, **other.decided})

    def touches(self, other: RepairChange) -> bool:
        """Returns whether both change the same slot or place."""
        return bool(self.values.keys() & other.values.keys() or self.decided.keys() & other.decided.keys())

    @cached_property
    def mark(self) -> frozenset[object]:
        """The identity of these changes, whatever their order."""
        values = ((at, value.text, value.absent) for at, value in self.values.items())
        return frozenset((*values, *self.decided.items()))


def repair_record(first: Writer, judge: Judge, alternatives: Alternatives) -> Writer | None:
    """Returns the likeliest record near this one that the judge accepts; None if the search finds none in its budget.

    `alternatives` takes the number of a slot of the layout.
    """
    order = count()
    waiting: list[tuple[float, int, RepairChange, frozenset[str]]] = [(0.0, next(order), RepairChange(), frozenset())]
    seen: set[frozenset[object]] = set()
    search = _Search(first.layout, first.given, alternatives)
    for _ in range(max(REPAIR_RECORDS // 10, min(REPAIR_RECORDS, REPAIR_SLOTS // max(len(first.given), 1)))):
        if not waiting:
            return None
        cost, _, change, met = heappop(waiting)
        writer = first.changed(change.values, change.decided) if change.mark else first
        violation = judge.violation(writer.value)
        if violation is None:
            return writer
        rule = f"{violation.pointer} {violation.schema_pointer}"
        if met and rule not in met:
            cost -= MET
        met |= {rule}
        further_changes = (
            (c, more) for c, more in search.changes(writer, violation.pointer) if not change.touches(more)
        )
        for more, further in nsmallest(TRIED_CHANGES, further_changes, key=lambda pair: pair[0]):
            mark = change.mark | further.mark
            if mark not in seen:
                seen.add(mark)
                heappush(waiting, (cost + more, next(order), change | further, met))
    return None


class _Search:
    """The possible changes of one record."""

    def __init__(self, layout: Layout, values: Sequence[WrittenValue], alternatives: Alternatives) -> None:
        self.layout, self.values, self._ask = layout, values, alternatives
        self._known: dict[tuple[int, bool], list[tuple[float, WrittenValue]]] = {}
        self._below: dict[int, list[int]] = {}
        for at, row in enumerate(layout.row_of):
            while row >= 0:
                self._below.setdefault(row, []).append(at)
                row = layout.rows[row].parent

    def changes(self, writer: Writer, pointer: str) -> Iterator[tuple[float, RepairChange]]:
        """Yields changes at a place, below it or above it, each with its cost."""
        slots = [(at, far) for place, own in writer.instances.items() if (far := _far(place, pointer)) >= 0
                 for at in own if self.layout.known[at] is None]  # fmt: skip
        rows: dict[int, list[float]] = {}
        for at, far in slots:
            value = self.values[at]
            now = value.absent_confidence if value.absent else value.confidence
            for chance, other in self._others(at, len(slots) <= FEW_SLOTS):
                if (other.text, other.absent) != (value.text, value.absent):
                    # Leaving a value out is cheaper than inventing one.
                    cost = _cost(now, chance) + 0.01 * far + (chance <= 0.0)
                    yield cost, RepairChange({at: other})
            row = self.layout.row_of[at]
            if row >= 0 and not value.absent:
                rows.setdefault(row, []).append(value.confidence)
        for row, sure in rows.items():
            gone = {at: replace(self.values[at], absent=True) for at in self._below[row]}
            if all(self.layout.known[at] is None for at in gone):
                yield _without(sure), RepairChange(gone)
        for place, states in writer.states.items():
            if (far := _far(place, pointer)) >= 0:
                for part, state in states:
                    yield from self._states(writer, place, part, state, 0.01 * far)
        for place, choices in writer.branches.items():
            if (far := _far(place, pointer)) >= 0:
                for choice, taken in choices:
                    chances = {
                        value.text: chance for chance, value in self._others(choice.selector.instance, True)
                    }
                    options = [option.encode() for option in choice.selector.slot.options]
                    for at, option in enumerate(options):
                        if at != taken and choice.branches[at] is not None:
                            cost = _cost(chances.get(options[taken], 0.5), chances.get(option, 0.0))
                            yield cost + 0.01 * far, RepairChange(decided={id(choice.selector): at})

    def _states(
        self, writer: Writer, pointer: str, place: Place, state: State, far: float
    ) -> Iterator[tuple[float, RepairChange]]:
        """Yields the other states of an optional or nullable place."""
        below = f"{pointer}/"
        slots = [
            at for p, own in writer.instances.items() if p == pointer or p.startswith(below) for at in own
        ]
        sure = [self.values[at].confidence for at in slots if not self.values[at].absent]
        gone = _without(sure) if state == "there" else LEAST_COST
        if place.optional and state != "out":
            yield gone + far, RepairChange(decided={id(place): "out"})
        if isinstance(place, LeafPlace):
            return
        if place.node.nullable and state != "null":
            yield gone + far, RepairChange(decided={id(place): "null"})
        if state != "there":
            yield INVENTED_COST + far, RepairChange(decided={id(place): "there"})

    def _others(self, at: int, every: bool) -> list[tuple[float, WrittenValue]]:
        """Returns the alternatives of a slot; with `every` also a few texts that it allows at all."""
        if (at, every) not in self._known:
            absent = self.values[at].absent
            alternatives = [
                (chance, replace(value, missing=True) if absent and not value.absent else value)
                for chance, value in self._ask(at)
            ]
            texts = {value.text for _, value in alternatives}
            for text in texts_of(self.layout.slots[at]) if every else ():
                if text.encode() not in texts and text != "null":
                    made = replace(self.values[at], text=text.encode(), absent=False, confidence=0.0)
                    made = replace(made, spans=(), origin="minimal", missing=made.missing or absent)
                    alternatives.append((0.0, made))
            self._known[at, every] = alternatives
        return self._known[at, every]


def _far(place: str, pointer: str) -> int:
    """Returns the levels between two places if one contains the other, else -1."""
    if lies_within(place, pointer) or lies_within(pointer, place):
        return abs(place.count("/") - pointer.count("/"))
    return -1


def _without(sure: list[float]) -> float:
    """Returns the cost of leaving out values with these confidences."""
    most = max(sure, default=0.0)
    return _cost(most, 1.0 - most) + FURTHER_COST * max(0, len(sure) - 1)


def _cost(now: float, then: float) -> float:
    return min(MOST_COST, max(LEAST_COST, math.log(max(now, 1e-6)) - math.log(max(then, 1e-6))))
