"""Search for a smallest record that a schema allows, before any document is read.

The form defines the records that can be written, the judge those that are allowed. The search begins with the least
record of the form: null if allowed, optional properties left out, no more items than demanded, the shortest texts. If
the judge objects, the search changes the decisions near the place that the judge names, one at a time; sketches with
the fewest changes come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from cinnabar.errors import NotAccepted
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.operations import difference, intersect
from cinnabar.schemas.automata.strings import parse, scalar_text
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.judging.judge import Violation
from cinnabar.schemas.parsing.language import language
from cinnabar.schemas.parsing.shape import Number
from cinnabar.schemas.pointers import escape, lies_within

#: The number of records that are judged before the search gives up, and of values that these may hold together.
BUDGET, WRITTEN = 1_500, 300_000
#: The number of texts tried for one slot, and of items that an array may get beyond its minimum.
TEXTS, MORE_ITEMS = 12, 3


class RecordRules(Protocol):
    """Decides on whole records: a judge."""

    def violation(self, value: Any) -> Violation | None:
        """The first rule that a parsed record breaks."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of a sketch: its pointer, its kind, and the number of ways to decide it."""

    pointer: str
    kind: str
    ways: int


#: Decisions that differ from the first way, by (pointer, kind).
Decided = dict[tuple[str, str], int]


def smallest_instance(form: Form, judge: RecordRules, budget: int = BUDGET) -> str | None:
    """The canonical text of a record that the form holds and the judge accepts; None if none was found."""
    order = count()
    waiting: list[tuple[float, int, Decided]] = [(0.0, next(order), {})]
    seen: set[frozenset[tuple[tuple[str, str], int]]] = set()
    written = 0
    while waiting and budget and written < WRITTEN:
        cost, _, decided = heappop(waiting)
        budget -= 1
        sketch = Sketch(form, decided)
        written += sketch.written
        pointer = _refused_place(form, judge, sketch.text)
        if pointer is None:
            return sketch.text
        for decision, far in near(sketch.decisions, pointer):
            key = (decision.pointer, decision.kind)
            for way in range(decision.ways):
                if way == decided.get(key, 0):
                    continue
                changed = {**decided, key: way}
                mark = frozenset(changed.items())
                if mark not in seen and key not in decided:
                    seen.add(mark)
                    heappush(waiting, (cost + 1 + 0.1 * way + 0.3 * far, next(order), changed))
    return None


def _refused_place(form: Form, judge: RecordRules, text: str) -> str | None:
    """The place at which the judge or the form refuses a record; None if both take it.

    A row that `contains` demands is laid out apart from the other rows, and may have properties that these do not hold.
    """
    record = parse(text)
    violation = judge.violation(record)
    if violation is not None:
        return violation.pointer
    try:
        fit(form, record)
    except NotAccepted as refused:
        return refused.pointer
    return None


def near(decisions: list[Decision], pointer: str) -> Iterator[tuple[Decision, int]]:
    """The decisions at this place, below or above it, each with its distance: 0 at it, 1 right below it."""
    for decision in decisions:
        if lies_within(decision.pointer, pointer):
            yield decision, decision.pointer.count("/") - pointer.count("/")
        elif lies_within(pointer, decision.pointer):
            yield decision, 2 * (pointer.count("/") - decision.pointer.count("/"))


class Sketch:
    """A record of a form under some decisions, with all the decisions that it rests on."""

    def __init__(self, form: Form, decided: Decided) -> None:
        self.decided = decided
        self.decisions: list[Decision] = []
        # The index of the text for the next undecided slot with enough texts; it makes items of one array differ.
        self.skew = 0
        self.texts = TEXTS
        self.written = 0
        # Whether an item is being changed until it differs from the others.
        self.differing = False
        self.text = self._text(form.root, "")

    def _way(self, pointer: str, kind: str, ways: int) -> int:
        if ways < 2:
            return 0
        self.decisions.append(Decision(pointer, kind, ways))
        return min(self.decided.get((pointer, kind), 0), ways - 1)

    def _text(self, node: Node, pointer: str) -> str:
        self.written += 1
        if isinstance(node, Slot):
            texts = texts_of(node, self.texts)
            way = self._way(pointer, "text", len(texts))
            if self.skew < len(texts) and (pointer, "text") not in self.decided:
                way, self.skew = self.skew, 0
            return texts[way]
        if node.nullable and self._way(pointer, "null", 2) == 0:
            return "null"
        if isinstance(node, ChoiceNode):
            return self._text(node.branches[self._way(pointer, "branch", len(node.branches))], pointer)
        if isinstance(node, ArrayNode):
            return "[" + ",".join(self._items(node, pointer)) + "]"
        return self._object(node, pointer)

    def _size(self, node: ArrayNode, pointer: str) -> int:
        least = node.min_items
        most = least + MORE_ITEMS if node.max_items is None else min(node.max_items, least + MORE_ITEMS)
        if node.item is None:
            most = min(most, max(len(node.prefix), least))
        return least + self._way(pointer, f"open {node.index}" if node.key else "items", most - least + 1)

    def _items(self, node: ArrayNode, pointer: str) -> Iterator[str]:
        seen: set[str] = set()
        size = self._size(node, pointer)
        outside, self.texts = self.texts, max(self.texts, size if node.unique else 0)
        for at in range(size):
            part = node.prefix[at] if at < len(node.prefix) else node.item
            assert part is not None, "an array without rows is no longer than its prefix"
            if node.contained is not None and len(node.prefix) <= at < len(node.prefix) + node.min_contained:
                part = node.contained
            text = self._text(part, f"{pointer}/{at}")
            if node.unique and text in seen:
                text = self._other(part, f"{pointer}/{at}", seen)
            seen.add(text)
            yield text
        self.texts = outside

    def _other(self, part: Node, pointer: str, seen: set[str]) -> str:
        """The item with another text in one of its slots, unseen if one change suffices.

        An item within an item that is being changed gets a single change: with all of them the time would grow with
        the power of the depth.
        """
        other = ""
        outside, self.differing = self.differing, True
        for skew in (len(seen),) if outside else (len(seen), *range(1, self.texts)):
            self.skew = skew
            known = len(self.decisions)
            other = self._text(part, pointer)
            # The item rests on these decisions already.
            del self.decisions[known:]
            if other not in seen:
                break
        self.skew = 0
        self.differing = outside
        return other

    def _object(self, node: ObjectNode, pointer: str) -> str:
        members = []
        for place in node.properties:
            below = f"{pointer}/{escape(place.name)}"
            if place.required or self._way(below, "there", 2):
                members.append(f"{scalar_text(place.name)}:{self._text(place.node, below)}")
        taken = {place.name for place in node.properties}
        for rest in node.rest:
            members += self._open(rest, pointer, taken)
        return "{" + ",".join(members) + "}"

    def _open(self, rest: ArrayNode, pointer: str, taken: set[str]) -> Iterator[str]:
        assert rest.key is not None and rest.item is not None
        size = self._size(rest, pointer)
        texts = texts_of(rest.key, max(TEXTS, size + len(taken)))
        names = [text for text in texts if parse(text) not in taken]
        for name, _ in zip(names, range(size), strict=False):
            taken.add(parse(name))
            yield f"{name}:{self._text(rest.item, f'{pointer}/{escape(parse(name))}')}"


def texts_of(slot: Slot, count: int = TEXTS) -> list[str]:
    """About `count` texts that a slot accepts, the minimal one first."""
    texts = dict.fromkeys((slot.minimal, *slot.options[:count], *slot.examples[:2]))
    if not slot.options:
        texts.update(dict.fromkeys(t.decode() for t in slot.automaton.shortest_texts(count)))
    if slot.kind == "number":
        texts.update(dict.fromkeys(_fractions(slot.automaton)))
    return [text for text in texts if slot.accepts(text.encode())]


@lru_cache(maxsize=512)
def _fractions(automaton: Automaton) -> tuple[str, ...]:
    """Some of the numbers with a fraction, since the shortest texts are all whole numbers."""
    broken = difference(intersect(automaton, language(Number())), language(Number(integer=True)))
    return tuple(text.decode() for text in broken.shortest_texts(2))
