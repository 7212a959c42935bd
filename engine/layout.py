"""One request's form laid out with its rows: which slots there are, and the record that their values make.

What is absent is written so: an optional property is left out, or `null` where it may be null; so is an
object of whose leaves none has a value. An array without items is `[]`; only where `min_items` forbids that
it is `null` or left out if it may be. A row all of whose leaves are absent is dropped as far as `min_items`
allows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cinnabar.engine.models.base import Row
from cinnabar.engine.request import Leaf, Origin
from cinnabar.schemas.errors import EngineFailure
from cinnabar.schemas.form import ArrayNode, Form, Node, ObjectNode, Property, Slot


@dataclass(frozen=True, slots=True)
class Value:
    """What is written for a slot: `text` if it is there, and what is known of it.

    `spans` are in characters of the passage. `missing`: a value is demanded that the model did not find.
    `absent`: there is none; `text` is then the best guess, for where the schema demands one after all.
    """

    text: bytes
    absent: bool
    confidence: float = 0.0
    absent_confidence: float = 0.0
    spans: tuple[tuple[int, int], ...] = ()
    origin: Origin = "minimal"
    missing: bool = False
    allowed_mass: float = 0.0


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """A slot's place: `instance` is its index among the request's slots."""

    slot: Slot
    instance: int
    optional: bool
    known: bool


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """An object's place."""

    node: ObjectNode
    members: tuple[tuple[Property, Place], ...]
    optional: bool
    known: bool


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """An array's place: its rows, each with its index in the request's rows.

    The first `demanded` ones stay even if they are empty: known values stand in them or after them.
    """

    node: ArrayNode
    items: tuple[tuple[int, Place], ...]
    demanded: int
    optional: bool
    known: bool


Place = LeafPlace | ObjectPlace | ArrayPlace


@dataclass(slots=True)
class Layout:
    """The laid out form of one request.

    rows: the rows that are filled; `slots`, `row_of`, `excusable` and `known` have one entry for each slot
    instance, in document order: its slot, its row (-1 outside of any), whether it may go without a value
    (being nullable, optional, or in something that can be left out), and its frozen text or None.
    """

    form: Form
    root: Place
    rows: list[Row]
    slots: list[Slot] = field(default_factory=list)
    row_of: list[int] = field(default_factory=list)
    excusable: list[bool] = field(default_factory=list)
    known: list[bytes | None] = field(default_factory=list)


def lay_out(form: Form, rows: Sequence[Row], known: Mapping[str, str]) -> Layout:
    """Lay the form out with these rows.

    Of an array that may hold fewer, the most probable rows stay. Where `known` names items of an array, it
    has at least these. Raises EngineFailure for a known value that the form has no place for or does not
    allow.
    """
    builder = _Builder(form, choose_rows(form, rows), known)
    layout = builder.layout
    layout.root = builder.place(form.root, "", -1, optional=False, excusable=False)
    unused = sorted(set(known) - builder.used)
    if unused:
        raise EngineFailure("known", f"the form has no place {unused[0]!r} for a known value")
    return layout


def choose_rows(form: Form, rows: Sequence[Row]) -> list[Row]:
    """The rows that `max_items` allows, the most probable ones, in their order; orphans are dropped."""
    kept: list[Row] = []
    number: dict[int, int] = {-1: -1}
    groups: dict[tuple[int, int], list[int]] = {}
    for index, row in enumerate(rows):
        if not 0 <= row.array < len(form.arrays) or not -1 <= row.parent < index:
            raise EngineFailure("rows", f"row {index} names array {row.array} and parent {row.parent}")
        groups.setdefault((row.array, row.parent), []).append(index)
    within: set[int] = set()
    for (array, _), members in groups.items():
        limit = form.arrays[array].max_items
        members.sort(key=lambda index: (-rows[index].probability, index))
        within.update(members[:limit])
    for index, row in enumerate(rows):
        if index in within and row.parent in number:
            number[index] = len(kept)
            kept.append(replace(row, parent=number[row.parent]))
    return kept


class _Builder:
    """Walks the form once, giving every slot its index."""

    def __init__(self, form: Form, rows: list[Row], known: Mapping[str, str]) -> None:
        self.layout = Layout(form, ObjectPlace(ObjectNode(0, "", ()), (), False, False), rows)
        self.known, self.used = known, set[str]()
        self.prefixes = {pointer[:cut] for pointer in known for cut in _cuts(pointer)}
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
                        f"{pointer}/{_escaped(member.name)}",
                        row,
                        optional=not member.required,
                        excusable=may_close,
                    ),
                )
                for member in node.properties
            )
            return ObjectPlace(node, members, optional, known)
        return self._array(node, pointer, row, optional, known)

    def _leaf(self, slot: Slot, pointer: str, row: int, optional: bool, excusable: bool) -> LeafPlace:
        layout, text = self.layout, self.known.get(pointer)
        if text is not None:
            self.used.add(pointer)
            if not slot.accepts(text.encode()):
                raise EngineFailure("known", f"{pointer}: the known value {text} is not allowed here")
        layout.slots.append(slot)
        layout.row_of.append(row)
        layout.excusable.append(excusable or optional or slot.nullable)
        layout.known.append(None if text is None else text.encode())
        return LeafPlace(slot, len(layout.slots) - 1, optional, text is not None)

    def _array(self, node: ArrayNode, pointer: str, row: int, optional: bool, known: bool) -> ArrayPlace:
        rows = self.layout.rows
        children = self.children.get((node.index, row), [])
        demanded = 0
        if known:
            below = (key for key in self.known if key.startswith(f"{pointer}/"))
            heads = (key[len(pointer) + 1 :].split("/")[0] for key in below)
            demanded = max(int(head) + 1 if head.isdecimal() else 0 for head in heads)
        if node.max_items is not None and demanded > node.max_items:
            raise EngineFailure("known", f"{pointer}: {demanded} known items, {node.max_items} are allowed")
        while len(children) < demanded:
            anchor = rows[children[-1]].anchor if children else rows[row].anchor if row >= 0 else 0
            children.append(len(rows))
            rows.append(Row(node.index, row, anchor, 1.0))
        items = tuple(
            (child, self.place(node.item, f"{pointer}/{at}", child, optional=False, excusable=at >= demanded))
            for at, child in enumerate(children)
        )
        return ArrayPlace(node, items, demanded, optional, known)


def _nothing(text: str | None, value: Value) -> Leaf:
    """The leaf of a place that has no value."""
    absence = value.absent_confidence
    return Leaf(text, absence, origin="absent", allowed_mass=value.allowed_mass, absence=absence)


def _cuts(pointer: str) -> list[int]:
    return [0, *(at for at, letter in enumerate(pointer) if letter == "/" and at)]


def _escaped(name: str) -> str:
    """The name as a reference token of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _key(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode() + b":"


def _written_empty(node: Node) -> bool:
    """Whether an optional property without a value is written all the same: as `null` or as `[]`."""
    return node.nullable or (isinstance(node, ArrayNode) and not node.min_items)


def minimal(node: Node, pointer: str = "", leaves: dict[str, Leaf] | None = None) -> bytes:
    """The record of this node when nothing was found; its scalars go to `leaves`, flagged as missing."""
    if isinstance(node, Slot):
        text = "null" if node.nullable else node.minimal
        if leaves is not None:
            leaves[pointer] = Leaf(text, 0.0, origin="minimal", missing=True)
        return text.encode()
    if isinstance(node, ObjectNode):
        if node.nullable:
            return b"null"
        members = [
            _key(member.name) + minimal(member.node, f"{pointer}/{_escaped(member.name)}", leaves)
            for member in node.properties
            if member.required or _written_empty(member.node)
        ]
        return b"{" + b",".join(members) + b"}"
    if node.nullable and node.min_items:
        return b"null"
    items = [minimal(node.item, f"{pointer}/{at}", leaves) for at in range(node.min_items)]
    return b"[" + b",".join(items) + b"]"


class Writer:
    """Writes the record that these values make, and notes its leaves and rows by their final pointers.

    `offset` is where the passage begins in its document.
    """

    def __init__(self, layout: Layout, values: Sequence[Value], offset: int = 0) -> None:
        self.layout, self.values, self.offset = layout, values, offset
        self.leaves: dict[str, Leaf] = {}
        self.rows: dict[str, tuple[int, float]] = {}
        self._vacant: dict[int, bool] = {}
        text = self._write(layout.root, "")
        assert text is not None, "the root is never left out"
        self.record = text.decode()

    def _empty(self, place: Place) -> bool:
        """Whether nothing below has a value."""
        if place.known:
            return False
        if isinstance(place, LeafPlace):
            return self.values[place.instance].absent
        key = id(place)
        if key not in self._vacant:
            parts = place.members if isinstance(place, ObjectPlace) else place.items
            self._vacant[key] = all(self._empty(part) for _, part in parts)
        return self._vacant[key]

    def _write(self, place: Place, pointer: str) -> bytes | None:
        """The text of this place, None where it is left out."""
        if isinstance(place, LeafPlace):
            return self._leaf(place, pointer)
        if isinstance(place, ArrayPlace):
            return self._array(place, pointer)
        node = place.node
        if place.members and (node.nullable or place.optional) and self._empty(place):
            self._close(place, pointer)
            return b"null" if node.nullable else None
        members = []
        for member, part in place.members:
            text = self._write(part, f"{pointer}/{_escaped(member.name)}")
            if text is not None:
                members.append(_key(member.name) + text)
        return b"{" + b",".join(members) + b"}"

    def _leaf(self, place: LeafPlace, pointer: str) -> bytes | None:
        value, slot = self.values[place.instance], place.slot
        if value.absent and not place.known and (slot.nullable or place.optional):
            text = "null" if slot.nullable else None
            self.leaves[pointer] = _nothing(text, value)
            return None if text is None else text.encode()
        self.leaves[pointer] = Leaf(
            value.text.decode(),
            value.confidence,
            tuple((begin + self.offset, end + self.offset) for begin, end in value.spans),
            value.origin,
            value.missing or (value.absent and not place.known),
            value.allowed_mass,
            value.absent_confidence,
        )
        return value.text

    def _close(self, place: Place, pointer: str) -> None:
        """Note the leaves of an object that is left out."""
        if isinstance(place, LeafPlace):
            value = self.values[place.instance]
            self.leaves[pointer] = _nothing(None, value)
        elif isinstance(place, ObjectPlace):
            for member, part in place.members:
                self._close(part, f"{pointer}/{_escaped(member.name)}")

    def _array(self, place: ArrayPlace, pointer: str) -> bytes | None:
        node = place.node
        if node.min_items and self._empty(place):
            if node.nullable:
                return b"null"
            if place.optional:
                return None
        filled = {
            row for at, (row, part) in enumerate(place.items) if at < place.demanded or not self._empty(part)
        }
        spare = node.min_items - len(filled)
        items: list[bytes] = []
        for row, part in place.items:
            if row not in filled:
                if spare <= 0:
                    continue
                spare -= 1
            at = f"{pointer}/{len(items)}"
            text = self._write(part, at)
            assert text is not None, "an item of an array is never left out"
            items.append(text)
            found = self.layout.rows[row]
            self.rows[at] = (self.offset + found.anchor, found.probability)
        while len(items) < node.min_items:
            items.append(minimal(node.item, f"{pointer}/{len(items)}", self.leaves))
        return b"[" + b",".join(items) + b"]"
