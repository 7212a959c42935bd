"""Lays out one request's form with its rows: the slot instances and the place of each.

If an array allows fewer rows, the most probable ones stay. Every branch of a choice is laid out; the writer picks one
later. Open properties are rows too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cinnabar.engine.model import Row
from cinnabar.errors import EngineFailure
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Property, Slot
from cinnabar.schemas.pointers import above, escape, items_named


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """A slot's place: `instance` is its index among the request's slots."""

    slot: Slot
    instance: int
    optional: bool
    known: bool


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """An object's place; the rows of `rest` are its open properties."""

    node: ObjectNode
    members: tuple[tuple[Property, Place], ...]
    optional: bool
    known: bool
    rest: tuple[ArrayPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """An array's place: its rows, each with its index in the request's rows.

    The first `demanded` rows stay even if they are empty, because known values stand in or after them. `prefix` has
    the items before the rows. `keys` has the names of the rows if they are open properties.
    """

    node: ArrayNode
    items: tuple[tuple[int, Place], ...]
    demanded: int
    optional: bool
    known: bool
    prefix: tuple[Place, ...] = ()
    keys: tuple[LeafPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class ChoicePlace:
    """A choice's place; a branch is None if it has no place for the known values."""

    node: ChoiceNode
    selector: LeafPlace
    branches: tuple[Place | None, ...]
    optional: bool
    known: bool


Place = LeafPlace | ObjectPlace | ArrayPlace | ChoicePlace

#: How the writer writes an optional or nullable place: with its content, as `null`, or not at all.
State = Literal["there", "null", "out"]
#: By the `id` of a place its state, or for an array the least number of its items; by the `id` of a choice's selector
#: the number of the branch.
Decided = Mapping[int, State | int]


@dataclass(frozen=True, slots=True)
class BranchMark:
    """A constant in a branch of a choice, which states the choice: a value only if the document does.

    `branch` is the number of its branch, `selector` the instance that chooses it, and `own` are those of the slots that
    no other branch has.
    """

    selector: int
    branch: int
    own: tuple[int, ...]


@dataclass(slots=True)
class Layout:
    """The laid out form of one request.

    rows: the rows to fill. The other lists have one entry for each slot instance, in document order. slots: its slot.
    row_of: its row, -1 outside of any. excusable: whether it may stay without a value (it is nullable, optional, or
    in a place that can be left out). known: its frozen text, empty if it is left out, None if it is not known.
    `marks` has the constants of branches, by their instances. `told` has the options of selectors of choices whose
    values are all known.
    """

    form: Form
    root: Place
    rows: list[Row]
    slots: list[Slot] = field(default_factory=list)
    row_of: list[int] = field(default_factory=list)
    excusable: list[bool] = field(default_factory=list)
    known: list[bytes | None] = field(default_factory=list)
    marks: dict[int, BranchMark] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)


def lay_out(form: Form, rows: Sequence[Row], known: Mapping[str, str | None]) -> Layout:
    """Lays the form out with these rows.

    If an array allows fewer rows, the most probable ones stay. An array has at least the items that `known` names.
    Raises EngineFailure if the form has no place for a known value or does not allow it.
    """
    builder = _Builder(form, choose_rows(form, rows), known)
    layout = builder.layout
    layout.root = builder.place(form.root, "", -1, optional=False, excusable=False)
    unused = sorted(set(known) - builder.used)
    if unused:
        raise EngineFailure("known", f"the form has no place {unused[0]!r} for a known value")
    return layout


def choose_rows(form: Form, rows: Sequence[Row]) -> list[Row]:
    """Returns the most probable rows that `max_items` allows, in their order, without rows of a dropped parent."""
    kept: list[Row] = []
    number: dict[int, int] = {-1: -1}
    groups: dict[tuple[int, int], list[int]] = {}
    for index, row in enumerate(rows):
        if not 0 <= row.array < len(form.arrays) or not -1 <= row.parent < index:
            raise EngineFailure("rows", f"row {index} names array {row.array} and parent {row.parent}")
        groups.setdefault((row.array, row.parent), []).append(index)
    within: set[int] = set()
    for (array, _), members in groups.items():
        node = form.arrays[array]
        limit = None if node.max_items is None else max(0, node.max_items - len(node.prefix))
        members.sort(key=lambda index: (-rows[index].probability, index))
        within.update(members[:limit])
    for index, row in enumerate(rows):
        if index in within and row.parent in number:
            number[index] = len(kept)
            kept.append(replace(row, parent=number[row.parent]))
    return kept


class _Builder:
    """Walks the form once and gives every slot its index."""

    def __init__(self, form: Form, rows: list[Row], known: Mapping[str, str | None]) -> None:
        self.layout = Layout(form, ObjectPlace(ObjectNode(0, "", ()), (), False, False), rows)
        self.known, self.used = known, set[str]()
        there = [pointer for pointer, text in known.items() if text is not None]
        self.prefixes = {place for pointer in there for place in above(pointer.rpartition("/")[0])}
        # How many known values lie at or below each place.
        self.counts = Counter(place for pointer in known for place in above(pointer))
        self.children: dict[tuple[int, int], list[int]] = {}
        for index, row in enumerate(rows):
            self.children.setdefault((row.array, row.parent), []).append(index)

    def place(self, node: Node, pointer: str, row: int, *, optional: bool, excusable: bool) -> Place:
        if isinstance(node, Slot):
            return self._leaf(node, pointer, row, optional, excusable)
        known = pointer in self.prefixes
        may_close = excusable or ((optional or node.nullable) and not known)
        if isinstance(node, ObjectNode):
            members = tuple(
                (
                    member,
                    self.place(
                        member.node,
                        f"{pointer}/{escape(member.name)}",
                        row,
                        optional=not member.required,
                        excusable=may_close,
                    ),
                )
                for member in node.properties
            )
            rest = tuple(self._array(part, pointer, row, True, False) for part in node.rest)
            return ObjectPlace(node, members, optional, known, rest)
        if isinstance(node, ChoiceNode):
            return self._choice(node, pointer, row, optional, known)
        return self._array(node, pointer, row, optional, known)

    def _choice(self, node: ChoiceNode, pointer: str, row: int, optional: bool, known: bool) -> ChoicePlace:
        selector = self._leaf(node.selector, "", row, False, False)
        branches: list[Place | None] = []
        places: list[range] = []
        problem: EngineFailure | None = None
        for branch in node.branches:
            layout = self.layout
            held = len(layout.slots), len(layout.rows)
            try:
                branches.append(self.place(branch, pointer, row, optional=False, excusable=True))
            except EngineFailure as failure:
                problem = problem or failure
                branches.append(None)
                for column in (layout.slots, layout.row_of, layout.excusable, layout.known):
                    del column[held[0] :]
                del layout.rows[held[1] :]
                layout.marks = {at: mark for at, mark in layout.marks.items() if at < held[0]}
                layout.told = {at: option for at, option in layout.told.items() if at < held[0]}
            places.append(range(held[0], len(self.layout.slots)))
        if problem is not None and not any(branches):
            raise problem
        if not known:
            self._mark(node, selector.instance, places)
        if (chosen := known_branch(node, pointer, self.known, self.counts)) is not None:
            self.layout.told[selector.instance] = node.selector.options[chosen]
        return ChoicePlace(node, selector, tuple(branches), optional, known)

    def _mark(self, node: ChoiceNode, selector: int, places: Sequence[range]) -> None:
        """Notes the constants of branches; `places` are the instances of each branch."""
        slots = self.layout.slots
        steps = {i: slots[i].path[len(node.path) + 1 :].split("/") for own in places for i in own}
        names = Counter(name for own in places for name in {steps[i][0] for i in own})
        for at, own in enumerate(places):
            telling = tuple(i for i in own if names[steps[i][0]] == 1)
            for i in own:
                if steps[i][0] and len(steps[i]) == len(slots[i].options) == 1 and not slots[i].nullable:
                    self.layout.marks[i] = BranchMark(selector, at, telling)

    def _leaf(self, slot: Slot, pointer: str, row: int, optional: bool, excusable: bool) -> LeafPlace:
        # Selectors and names of open properties have no pointer, so `known` cannot name them.
        layout = self.layout
        text: str | None = None
        if pointer in self.known and (pointer or self._is_whole(slot)):
            self.used.add(pointer)
            text = self.known[pointer] or ""
            if not (slot.accepts(text.encode()) if text else optional or excusable):
                fault = f"the known value {text} is not allowed here" if text else "this place may not be left out"
                raise EngineFailure("known", f"{pointer}: {fault}")
        layout.slots.append(slot)
        layout.row_of.append(row)
        layout.excusable.append(excusable or optional or slot.nullable)
        layout.known.append(None if text is None else text.encode())
        return LeafPlace(slot, len(layout.slots) - 1, optional, bool(text))

    def _is_whole(self, slot: Slot) -> bool:
        """Returns True if the slot may hold the whole record."""
        root = self.layout.form.root
        return root is slot or (isinstance(root, ChoiceNode) and any(branch is slot for branch in root.branches))

    def _array(self, node: ArrayNode, pointer: str, row: int, optional: bool, known: bool) -> ArrayPlace:
        rows = self.layout.rows
        children = self.children.get((node.index, row), [])
        # There are none where another branch of a choice has the frozen value.
        demanded = items_named(pointer, self.known) if known else 0
        if node.max_items is not None and demanded > node.max_items:
            raise EngineFailure("known", f"{pointer}: {demanded} known items, {node.max_items} are allowed")
        # The prefix items are no rows.
        demanded = max(0, demanded - len(node.prefix))
        while len(children) < demanded:
            anchor = rows[children[-1]].anchor if children else rows[row].anchor if row >= 0 else 0
            children.append(len(rows))
            rows.append(Row(node.index, row, anchor, 1.0))
        prefix = tuple(
            self.place(part, f"{pointer}/{at}", row, optional=False, excusable=True)
            for at, part in enumerate(node.prefix)
        )
        items: list[tuple[int, Place]] = []
        keys: list[LeafPlace] = []
        for at, child in enumerate(children if node.item is not None else ()):
            assert node.item is not None
            if node.key is not None:
                keys.append(self._leaf(node.key, "", child, True, True))
            # The name of an open property is not known yet, so `known` cannot name its value.
            below = f"{pointer}/{len(prefix) + at}" if node.key is None else f"{pointer}/*"
            excusable = at >= demanded
            items.append((child, self.place(node.item, below, child, optional=False, excusable=excusable)))
        return ArrayPlace(node, tuple(items), demanded, optional, known, prefix, tuple(keys))


def known_branch(node: ChoiceNode, pointer: str, known: Collection[str], counts: Mapping[str, int]) -> int | None:
    """Returns the first branch of a choice whose values are all that is known of it; None if there is none.

    counts: how many known values lie at or below each place.
    """
    for at, branch in enumerate(node.branches if pointer in counts else ()):
        own = [*_slot_pointers(branch, pointer)]
        if len(own) == counts[pointer] and all(one in known for one in own):
            return at
    return None


def _slot_pointers(node: Node, pointer: str) -> Iterator[str]:
    """Yields the pointers of the slots of a node, outside of lists."""
    if isinstance(node, Slot):
        yield pointer
    elif isinstance(node, ObjectNode):
        for place in node.properties:
            yield from _slot_pointers(place.node, f"{pointer}/{escape(place.name)}")
