"""The language of a form: the automaton of the whole texts of its records.

A text is one line as `json.dumps(record, ensure_ascii=False)` writes it: properties in the order of the form, `, `
and `: ` between them. Numbers and free strings have all their JSON spellings, since a model may write `190.00` for 190;
whoever reads the text writes it canonically. Parts are put one behind another: a scalar ends where a literal begins, so
most bytes decide by themselves what comes next. Only optional properties, open names and the branches of a choice
share first bytes.

The judge of the form decides on what is not regular: repeated items and names, exclusive alternatives, how many
members there are and which beside others, rules across fields. Bounds that would take too many states are left to it
too: first the counts of items, then the lengths of texts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

import numpy as np

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton
from cinnabar.schemas.automata.minimise import MAX_RAW_STATES, Ints, join_classes
from cinnabar.schemas.automata.operations import determinise, difference, literals, union
from cinnabar.schemas.automata.strings import any_string, canonical_string, spellings, string
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Property, Slot
from cinnabar.schemas.formats.formats import format_content
from cinnabar.schemas.kept_by_weight import kept_by_weight
from cinnabar.schemas.regex.patterns import written

#: A group of a container, and the number of a member in it.
_Place = tuple[int, int]
#: States that a record may take before bounds are left to the judge: a language model's tokens are lifted in seconds.
COMFORTABLE = 4_000
#: The bytes of the tables of automata of records that are kept.
_KEPT_BYTES = 128 << 20
#: More than any part has.
_UNLIMITED = MAX_RAW_STATES


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds that become states.

    `copies` is the most states that the copies of one array's item may take, `text` the most states of a text with
    bounds on its length. Larger ones are left to the judge. Without `spelled` each scalar has its canonical spelling
    alone.
    """

    copies: int = _UNLIMITED
    text: int = _UNLIMITED
    spelled: bool = True


#: The limits that are tried in turn, until the record is comfortable.
STEPS = (Limits(), Limits(1_000), Limits(250), Limits(0), Limits(0, 250), Limits(0, 40))


def record_language(form: Form) -> Automaton:
    """The automaton that accepts the whole texts of the records that the form can write.

    Raises TooLarge if it needs too many states even without the bounds that the judge can take over.
    """
    return _compose(form)[0]


def one_line(canonical: str) -> str:
    """The canonical text of a record as the record's language spells it, with a space behind each comma and colon."""
    return _MARK.sub(lambda found: found[0] if found[1] else f"{found[0]} ", canonical)


#: A string, or a comma or colon between values.
_MARK = re.compile(r'("(?:[^"\\]|\\.)*")|[,:]')


def _bytes_of(composed: tuple[Automaton, Limits]) -> int:
    return composed[0].transitions.nbytes


@kept_by_weight(_KEPT_BYTES, _bytes_of)
def _compose(form: Form) -> tuple[Automaton, Limits]:
    for limits in STEPS:
        plan = _StatePlan(limits)
        size = plan.size(form.root)
        if size <= COMFORTABLE:
            break
    if size > MAX_RAW_STATES:
        raise _too_large(form, plan, size)
    for tried in (plan, _StatePlan(replace(limits, spelled=False))):
        try:
            return _Composer(tried).compose(form.root), tried.limits
        except TooLarge as too_large:
            size = too_large.states
    raise _too_large(form, tried, size)


def _too_large(form: Form, plan: _StatePlan, states: int) -> TooLarge:
    slots = sorted(form.slots, key=lambda slot: -plan.text(slot).states)[:3]
    largest = ", ".join(f"{slot.path or '/'} ({plan.text(slot).states} states)" for slot in slots)
    advice = f"the record has {len(form.slots)} fields, the largest are {largest}; drop fields or loosen patterns"
    return TooLarge(states, MAX_STATES, advice)


@dataclass(frozen=True, slots=True)
class Group:
    """Members of a container that follow one another: `parts` in their order, the last one any number of times if
    `loops`.

    At least `least` members are there. Otherwise the group may end behind any of them.
    """

    parts: int
    least: int
    loops: bool


class _StatePlan:
    """What becomes states under some limits, and how many it takes."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._sizes: dict[int, int] = {}
        self._groups: dict[int, Group] = {}

    def text(self, slot: Slot) -> Automaton:
        """The texts of a slot in all their spellings, without a bound on length that takes too many states."""
        return spellings(self.canonical(slot), slot.free) if self.limits.spelled else self.canonical(slot)

    def canonical(self, slot: Slot) -> Automaton:
        """The canonical texts of a slot, without a bound on length that takes too many states."""
        return _relax(slot) if slot.automaton.states > self.limits.text else slot.automaton

    def group(self, node: ArrayNode) -> Group:
        """The items of an array, or the open properties of one group."""
        if id(node) not in self._groups:
            self._groups[id(node)] = self._group_of(node)
        return self._groups[id(node)]

    def _group_of(self, node: ArrayNode) -> Group:
        fixed, least, most = len(node.prefix), node.min_items, node.max_items
        if node.item is None:
            parts = fixed if most is None else min(fixed, most)
            return Group(parts, least, loops=False)
        if most is not None and most <= fixed:
            return Group(most, least, loops=False)
        copies = max(1, least - fixed) if most is None else most - fixed
        if copies == 1 or copies * self._row(node) <= self.limits.copies:
            return Group(fixed + copies, least, loops=most is None)
        return Group(fixed + 1, min(least, fixed + 1), loops=True)

    def _row(self, node: ArrayNode) -> int:
        assert node.item is not None, "only an array with rows has copies of a row"
        return self.size(node.item) + 3 + (0 if node.key is None else self.canonical(node.key).states + 2)

    def size(self, node: Node) -> int:
        """About the states of a part, before equal ones are merged."""
        if id(node) not in self._sizes:
            self._sizes[id(node)] = self._size(node)
        return self._sizes[id(node)]

    def _size(self, node: Node) -> int:
        if isinstance(node, Slot):
            return self.text(node).states
        if isinstance(node, ChoiceNode):
            return 4 + sum(self.size(branch) for branch in node.branches)
        if isinstance(node, ArrayNode):
            rows = self.group(node).parts - len(node.prefix)
            fixed = sum(self.size(part) + 3 for part in node.prefix)
            return 8 + fixed + (rows * self._row(node) if rows > 0 else 0)
        named = sum(len(canonical_string(place.name)) + 6 + self.size(place.node) for place in node.properties)
        return 8 + named + sum(map(self.size, node.rest))


def _relax(slot: Slot) -> Automaton:
    """The texts of a slot without bounds on their length, if that takes fewer states."""
    if slot.options or slot.kind not in ("string", "enum"):
        return slot.automaton
    return _without_bounds(slot.automaton, slot.pattern, slot.format, slot.free)


@lru_cache(maxsize=1024)
def _without_bounds(texts: Automaton, pattern: str, format_name: str, free: bool) -> Automaton:
    """These texts and all strings that the pattern, or else the format, allows, if that takes fewer states."""
    if pattern:
        wide = string(written(pattern).content)
    elif format_name and (content := format_content(format_name)) is not None:
        wide = string(content)
    elif free:
        wide = any_string()
    else:
        return texts
    wide = union(wide, texts)
    return wide if wide.states < texts.states else texts


class _ContainerPlaces:
    """The places of a container, each a group and a number in it, with their states, and those that wait to go on."""

    def __init__(self, new: Callable[[], int]) -> None:
        self._new, self._states, self._waiting = new, dict[_Place, int](), list[_Place]()

    def at(self, place: _Place) -> int:
        """The state of a place."""
        if place not in self._states:
            self._states[place] = self._new()
            self._waiting.append(place)
        return self._states[place]

    def __iter__(self) -> Iterator[tuple[_Place, int]]:
        """Each place once with its state, those too that are found meanwhile."""
        while self._waiting:
            place = self._waiting.pop()
            yield place, self._states[place]


class _Composer:
    """Puts the parts of a record one behind another, as a table with silent edges."""

    def __init__(self, plan: _StatePlan) -> None:
        self._plan = plan
        self._count = 0
        #: The single edges of literals: states, the bytes that they read, and the states behind.
        self._edges: list[tuple[int, int, int]] = []
        self._blocks: list[tuple[int, Automaton]] = []
        self._silent: dict[int, list[int]] = defaultdict(list)

    def compose(self, root: Node) -> Automaton:
        """The automaton of this node's texts."""
        start = self._new()
        end = self._node(root, start)
        classes = self._classes()
        table = np.full((self._count, int(classes.max()) + 1), -1, np.int32)
        # The first byte of each class stands for it.
        _, first = np.unique(classes, return_index=True)
        for at, automaton in self._blocks:
            moves = automaton.transitions[:, automaton.byte_class[first]]
            table[at : at + automaton.states] = np.where(moves < 0, -1, moves + at)
        source, byte, target = np.array(self._edges, np.int64).reshape(-1, 3).T
        table[source, classes[byte]] = target
        accepting = np.zeros(self._count, np.bool_)
        accepting[end] = True
        return determinise(table, classes, accepting, self._silent, start)

    def _classes(self) -> Ints:
        """The coarsest byte classes that refine those of all parts."""
        literal_bytes = sorted({byte for _, byte, _ in self._edges})
        classes = np.zeros(256, np.int32)
        classes[literal_bytes] = np.arange(1, len(literal_bytes) + 1)
        parts = {id(automaton): automaton.byte_class for _, automaton in self._blocks}
        return reduce(lambda a, b: join_classes(a, b)[0], parts.values(), classes)

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def _link(self, state: int, other: int) -> None:
        self._silent[state].append(other)

    def _literal(self, at: int, text: bytes) -> int:
        """The state behind this text."""
        here = self._new()
        self._link(at, here)
        for byte in text:
            onward = self._new()
            self._edges.append((here, byte, onward))
            here = onward
        return here

    def _text(self, at: int, automaton: Automaton) -> int:
        """The state behind a text of this language."""
        begin, end = self._count, self._count + automaton.states
        self._count = end + 1
        self._blocks.append((begin, automaton))
        self._link(at, begin)
        for state in np.flatnonzero(automaton.accepting).tolist():
            self._link(begin + state, end)
        return end

    def _node(self, node: Node, at: int) -> int:
        """The state behind the value of this node."""
        if isinstance(node, Slot):
            return self._text(at, self._plan.text(node))
        if isinstance(node, ChoiceNode):
            ends = [self._node(branch, at) for branch in node.branches]
        elif isinstance(node, ArrayNode):
            ends = [self._members(at, b"[]", [(self._plan.group(node), self._items(node))])]
        else:
            ends = [self._members(at, b"{}", list(self._properties(node)))]
        if node.nullable:
            ends.append(self._literal(at, b"null"))
        end = self._new()
        for other in ends:
            self._link(other, end)
        return end

    def _items(self, node: ArrayNode) -> Member:
        def item(at: int, number: int) -> int:
            part = node.prefix[number] if number < len(node.prefix) else node.item
            assert part is not None, "an array without rows is no longer than its prefix"
            return self._node(part, at)

        return item

    def _properties(self, node: ObjectNode) -> Iterator[tuple[Group, Member]]:
        for place in node.properties:
            yield Group(1, int(place.required), loops=False), self._property(place)
        declared = literals(canonical_string(place.name) for place in node.properties)
        for rest in node.rest:
            assert rest.key is not None, "open properties have names"
            names = self._plan.canonical(rest.key)
            yield self._plan.group(rest), self._row(rest, difference(names, declared))

    def _property(self, place: Property) -> Member:
        def member(at: int, _: int) -> int:
            return self._node(place.node, self._literal(at, canonical_string(place.name) + b": "))

        return member

    def _row(self, rest: ArrayNode, names: Automaton) -> Member:
        def member(at: int, _: int) -> int:
            assert rest.item is not None, "open properties have values"
            return self._node(rest.item, self._literal(self._text(at, names), b": "))

        return member

    def _members(self, at: int, brackets: bytes, groups: Sequence[tuple[Group, Member]]) -> int:
        """The state behind a container with these groups of members in their order, commas between them.

        A place is where a member of this number of its group may stand, or one of a later group if there are enough
        of this one.
        """
        inside, closing = self._literal(at, brackets[:1]), self._new()
        last_demanded = max((at for at, (group, _) in enumerate(groups) if group.least), default=-1)
        places = _ContainerPlaces(self._new)
        self._link(inside, places.at((0, 0)))
        if last_demanded < 0:
            self._link(inside, closing)
        for (number, part), here in places:
            if number == len(groups):
                continue
            group, member = groups[number]
            if part >= group.least:
                self._link(here, places.at((number + 1, 0)))
            if part == group.parts:
                continue
            after = member(here, part)
            if part + 1 >= group.least and last_demanded <= number:
                self._link(after, closing)
            onward = self._literal(after, b", ")
            last = part + 1 == group.parts
            self._link(onward, places.at((number, part if last and group.loops else part + 1)))
            if last and group.loops and part + 1 >= group.least:
                self._link(onward, places.at((number + 1, 0)))
        return self._literal(closing, brackets[1:])


#: Adds a member behind a state; its number in the group decides what it is.
Member = Callable[[int, int], int]
