"""Puts the record together from the values of a laid out form.

An absent nullable property is `null`, an absent optional one is left out; the same holds for an object without any
value. An array without items is `[]`; only if `min_items` forbids that, it is `null` or left out if it may be. A row
with only absent leaves is dropped as far as `min_items` allows, and so is a repeated row if items are unique. Of a
choice the writer takes the branch that its selector names, or, if that branch has no value, one that has. Open
properties are rows too: one without a name, or with a name that is taken, is not written. `repair.py` overrides
these decisions if a rule of the schema demands it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cinnabar.engine.fill.layout import (
    ArrayPlace,
    ChoicePlace,
    Decided,
    Layout,
    LeafPlace,
    ObjectPlace,
    Place,
    State,
)
from cinnabar.engine.request import Leaf, Origin
from cinnabar.schemas.automata.strings import json_text, scalar_value
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Node, ObjectNode, Slot
from cinnabar.schemas.form.instances import texts_of
from cinnabar.schemas.pointers import MISSING, escape, lies_within

#: The least probability of a branch that its selector alone tells.
LEAST_BRANCH = 0.5


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """The value of a slot and its evidence.

    `spans` are in characters of the passage. `demanded`: the schema demands a value. `missing`: it does,
    and the model did not find one.
    `absent`: there is no value; `text` is then the best guess, in case the schema demands one after all.
    `confidence` is the posterior of `text`, `rival` that of the next likely one.
    """

    text: bytes
    absent: bool
    confidence: float = 0.0
    absent_confidence: float = 0.0
    spans: tuple[tuple[int, int], ...] = ()
    origin: Origin = "minimal"
    missing: bool = False
    demanded: bool = False
    allowed_mass: float = 0.0
    rival: float = 0.0


def known_value(slot: Slot, text: bytes) -> WrittenValue:
    """Returns the value of a slot with this known text; an empty text means absent."""
    if not text:
        return WrittenValue(slot.minimal.encode(), absent=True, absent_confidence=1.0)
    return WrittenValue(text, absent=False, confidence=1.0, origin="known")


def _empty_leaf(text: str | None, value: WrittenValue, slot: Slot) -> Leaf:
    """Returns the leaf of a place without a value."""
    return Leaf(
        text, value.absent_confidence, (), "absent", False, value.allowed_mass, value.absent_confidence,
        value.confidence, value.rival, slot.index,
    )  # fmt: skip


def _written_empty(node: Node) -> bool:
    """Returns whether an optional property without a value is written all the same, as `null` or `[]`."""
    return node.nullable or (isinstance(node, ArrayNode) and not node.min_items)


def minimal(node: Node, pointer: str = "", leaves: dict[str, Leaf] | None = None) -> Any:
    """Returns the minimal record of this node; its scalars go to `leaves`, flagged as missing."""
    if isinstance(node, Slot):
        text = "null" if node.nullable else node.minimal
        if leaves is not None:
            leaves[pointer] = Leaf(text, 0.0, origin="minimal", missing=True, slot=node.index)
        return scalar_value(text)
    if isinstance(node, ObjectNode):
        if node.nullable:
            return None
        return {
            member.name: minimal(member.node, f"{pointer}/{escape(member.name)}", leaves)
            for member in node.properties
            if member.required or _written_empty(member.node)
        }
    if isinstance(node, ChoiceNode):
        return None if node.nullable else minimal(node.branches[0], pointer, leaves)
    if node.nullable and node.min_items:
        return None
    return _fill_up(node, [], node.min_items, pointer, leaves)


def _fill_up(
    node: ArrayNode, items: list[Any], size: int, pointer: str, leaves: dict[str, Leaf] | None
) -> list[Any]:
    """Returns the items, filled up with minimal ones to `size`, without repeats if items must be unique."""
    items = list(items)
    taken = {*map(json_text, items)} if node.unique and len(items) < size else set[str]()
    while len(items) < size:
        at = len(items)
        part, below = _item(node, at), f"{pointer}/{at}"
        item = minimal(part, below, leaves)
        if node.unique:
            text = json_text(item)
            if text in taken and isinstance(part, Slot):
                text = next((other for other in texts_of(part) if other not in taken), text)
                item = scalar_value(text)
                if leaves is not None:
                    leaves[below] = Leaf(text, 0.0, origin="minimal", missing=True)
            taken.add(text)
        items.append(item)
    return items


def _item(node: ArrayNode, at: int) -> Node:
    part = node.prefix[at] if at < len(node.prefix) else node.item
    if at >= len(node.prefix) and node.contained is not None and node.min_contained:
        part = node.contained
    assert part is not None, "an array demands no more items than it may have"
    return part


def _with_marks(layout: Layout, values: Sequence[WrittenValue]) -> Sequence[WrittenValue]:
    """Returns the values, constants of branches as sure as their choice; absent if nothing tells their branch.

    That is the selector, or a value with evidence that no other branch has a place for.
    """
    if not layout.marks:
        return values
    marked = list(values)
    for at, mark in layout.marks.items():
        selector, slot = values[mark.selector], layout.slots[mark.selector]
        named = selector.text == slot.options[mark.branch].encode() and selector.confidence >= LEAST_BRANCH
        named &= not selector.missing
        found = [values[i].confidence for i in mark.own if values[i].spans and not values[i].absent]
        sure = max([selector.confidence] * named + found, default=0.0)
        absent = values[at].absent or not (named or found)
        marked[at] = replace(values[at], confidence=sure, absent=absent, rival=selector.rival)
    return marked


class Writer:
    """Writes the record of these `given` values, and notes its leaves and rows by their final pointers.

    `offset` is the character of the document at which the passage begins. `decided` overrides the states of places.
    By pointer, `instances` has the slots of the value there, `states` the optional and nullable places with their
    state, and `branches` the choices with the branch taken.
    """

    def __init__(
        self, layout: Layout, values: Sequence[WrittenValue], offset: int = 0, decided: Decided | None = None
    ) -> None:
        self.layout, self.given, self.offset, self.decided = layout, values, offset, decided or {}
        self.values = _with_marks(layout, values)
        self.leaves: dict[str, Leaf] = {}
        self.rows: dict[str, tuple[int, float]] = {}
        self.instances: dict[str, list[int]] = {}
        self.states: dict[str, list[tuple[Place, State]]] = {}
        self.branches: dict[str, list[tuple[ChoicePlace, int]]] = {}
        self._vacant: dict[int, bool] = {}
        self.value = self._write(layout.root, "")
        assert self.value is not MISSING, "the root is never left out"

    def changed(self, values: Mapping[int, WrittenValue], decided: Decided) -> Writer:
        """Returns the record with other values of these slots, and with these states of places alone decided."""
        now = [values.get(at, value) for at, value in enumerate(self.given)]
        return Writer(self.layout, now, self.offset, decided)

    def _empty(self, place: Place) -> bool:
        """Returns whether no leaf of this place has a value."""
        if isinstance(place, LeafPlace):
            return not place.known and self.values[place.instance].absent
        if place.known:
            return False
        key = id(place)
        if key not in self._vacant:
            if isinstance(place, ChoicePlace):
                parts: list[Place] = [self._branch(place)[1]]
            elif isinstance(place, ArrayPlace):
                parts = [*place.prefix, *(part for _, part in place.items)]
            else:
                parts = [part for _, part in place.members]
                parts += [part for _, _, part in self._named_properties(place)]
            self._vacant[key] = all(self._empty(part) for part in parts)
        return self._vacant[key]

    def _named_properties(self, place: ObjectPlace) -> list[tuple[int, LeafPlace, Place]]:
        """Returns the open properties of an object with a value and an unused name, each with its row."""
        taken = {member.name for member, _ in place.members}
        named: list[tuple[int, LeafPlace, Place]] = []
        for rest in place.rest:
            for (row, part), key in zip(rest.items, rest.keys, strict=True):
                if not self.values[key.instance].absent and not self._empty(part):
                    name = self._name(key)
                    if name not in taken:
                        taken.add(name)
                        named.append((row, key, part))
        return named

    def _name(self, key: LeafPlace) -> str:
        """Returns the name of an open property."""
        return str(scalar_value(self.values[key.instance].text.decode()))

    def _branch(self, place: ChoicePlace) -> tuple[int, Place]:
        """Returns the branch that the selector names, or one with a value if that one has none."""
        branches = [(at, branch) for at, branch in enumerate(place.branches) if branch is not None]
        decided = self.decided.get(id(place.selector))
        options = place.selector.slot.options
        named = options.index(self.values[place.selector.instance].text.decode())
        # The wanted branch comes first.
        branches.sort(key=lambda pair: pair[0] != (named if decided is None else decided))
        if decided is not None:
            return branches[0]
        return next((pair for pair in branches if not self._empty(pair[1])), branches[0])

    def _write(self, place: Place, pointer: str) -> Any:
        """Returns the value of this place, MISSING if it is left out."""
        nullable = not isinstance(place, LeafPlace) and place.node.nullable
        if place.known or not (place.optional or nullable):
            return self._value(place, pointer)
        states: list[tuple[Place, State]] = self.states.setdefault(pointer, [])
        how = self.decided.get(id(place))
        if how in ("null", "out"):
            self._close(place, pointer)
            value = None if how == "null" else MISSING
        else:
            value = self._value(place, pointer)
        states.append((place, "out" if value is MISSING else "null" if nullable and value is None else "there"))
        return value

    def _value(self, place: Place, pointer: str) -> Any:
        if isinstance(place, LeafPlace):
            return self._leaf(place, pointer)
        if isinstance(place, ArrayPlace):
            return self._array(place, pointer)
        node, may_close = place.node, place.node.nullable or place.optional
        if may_close and id(place) not in self.decided and self._empty(place):
            self._close(place, pointer)
            return None if node.nullable else MISSING
        if isinstance(place, ChoicePlace):
            at, branch = self._branch(place)
            self.branches.setdefault(pointer, []).append((place, at))
            return self._write(branch, pointer)
        members: dict[str, Any] = {}
        for member, part in place.members:
            value = self._write(part, f"{pointer}/{escape(member.name)}")
            if value is not MISSING:
                members[member.name] = value
        self._open(place, pointer, members)
        return members

    def _open(self, place: ObjectPlace, pointer: str, members: dict[str, Any]) -> None:
        """Adds the open properties to `members`."""
        for row, key, part in self._named_properties(place):
            name = self._name(key)
            at = f"{pointer}/{escape(name)}"
            members[name] = self._write(part, at)
            assert members[name] is not MISSING, "a property's value is never left out by itself"
            self.instances.setdefault(at, []).append(key.instance)
            read = self.layout.rows[row]
            self.rows[at] = (self.offset + max(read.anchor, 0), read.probability)

    def _leaf(self, place: LeafPlace, pointer: str) -> Any:
        value, slot = self.values[place.instance], place.slot
        self.instances.setdefault(pointer, []).append(place.instance)
        if value.absent and not place.known and (slot.nullable or place.optional):
            text = "null" if slot.nullable else None
            self.leaves[pointer] = _empty_leaf(text, value, slot)
            return MISSING if text is None else None
        text = value.text.decode()
        self.leaves[pointer] = Leaf(
            text,
            value.confidence,
            tuple((begin + self.offset, end + self.offset) for begin, end in value.spans),
            value.origin,
            value.missing or (value.absent and not place.known),
            value.allowed_mass,
            value.absent_confidence,
            value.confidence,
            value.rival,
            slot.index,
            value.demanded,
        )
        return scalar_value(text)

    def _close(self, place: Place, pointer: str) -> None:
        """Notes the leaves of a place that is left out."""
        if isinstance(place, LeafPlace):
            self.instances.setdefault(pointer, []).append(place.instance)
            self.leaves[pointer] = _empty_leaf(None, self.values[place.instance], place.slot)
        elif isinstance(place, ChoicePlace):
            self._close(self._branch(place)[1], pointer)
        elif isinstance(place, ObjectPlace):
            for member, part in place.members:
                self._close(part, f"{pointer}/{escape(member.name)}")

    def _array(self, place: ArrayPlace, pointer: str) -> Any:
        node, decided = place.node, self.decided.get(id(place))
        size = max(node.min_items, decided) if isinstance(decided, int) else node.min_items
        if node.min_items and decided is None and self._empty(place):
            if node.nullable:
                return None
            if place.optional:
                return MISSING
        filled = {
            row for at, (row, part) in enumerate(place.items) if at < place.demanded or not self._empty(part)
        }
        items = self._prefix(place, pointer, bool(filled))
        taken = {*map(json_text, items)} if node.unique else set[str]()
        spare = node.min_items - len(items) - len(filled)
        for row, part in place.items:
            if row not in filled:
                if spare <= 0:
                    continue
                spare -= 1
            at = f"{pointer}/{len(items)}"
            item = self._write(part, at)
            assert item is not MISSING, "an item of an array is never left out"
            if node.unique:
                text = json_text(item)
                if text in taken and not part.known:
                    self._forget(at)
                    continue
                taken.add(text)
            items.append(item)
            read = self.layout.rows[row]
            self.rows[at] = (self.offset + max(read.anchor, 0), read.probability)
        return _fill_up(node, items, size, pointer, self.leaves)

    def _forget(self, pointer: str) -> None:
        """Removes the notes on an item that is not written after all."""
        for notes in (self.leaves, self.rows, self.states, self.branches):
            for place in [p for p in notes if lies_within(p, pointer)]:
                del notes[place]

    def _prefix(self, place: ArrayPlace, pointer: str, rows: bool) -> list[Any]:
        """Returns the items before the rows: all if there are rows, else those up to the last one with a value."""
        wanted = [at for at, part in enumerate(place.prefix, 1) if not self._empty(part)]
        least = len(place.prefix) if rows else max([0, *wanted])
        least = max(least, min(place.node.min_items, len(place.prefix)))
        if place.node.max_items is not None:
            least = min(least, place.node.max_items)
        items = (self._write(part, f"{pointer}/{at}") for at, part in enumerate(place.prefix[:least]))
        return [item for item in items if item is not MISSING]
