"""Gives what need not be asked of a stored record, and joins the record with the answer.

Values and absences are given one by one, lists with their rows. The form cannot
express some known values (the names of open properties, kinds of value that are not plain). There the model is asked
for nothing, or its answer is ignored: unasked values always come from the stored record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.engine.request import Leaf
from cinnabar.extraction.filling.overlay.given import Given
from cinnabar.extraction.store.records import Record
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.compiling.version_changes import Changes
from cinnabar.schemas.form.fitting import branch_of
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import MISSING, above, escape, lies_in, unescape


@dataclass(frozen=True, slots=True)
class Frozen:
    """What is given of a stored record; a list or an alternative without leaves is one of which nothing is asked.

    `asked` holds the places to fill because of the record itself, beside those of its schema's changes.
    """

    given: tuple[Given, ...]
    asked: frozenset[str]


def freeze(form: Form, record: Record, changes: Changes, below: float = 0.0, lists: bool = True) -> Frozen:
    """Freezes a record under these changes of its schema, except leaves and rows below this confidence.

    A list with anything to ask is asked as a whole if its rows cannot be told apart: one of them has no frozen value,
    or `lists` is false because the document is read in chunks. No model is asked for properties that the form does not
    name, so they stay as they are.
    """
    walk = _FreezeWalk(record, changes, below, lists, _beginnings(record))
    for leaf in record.leaves:
        if leaf.confidence < below:
            walk.ask(leaf.pointer)
    walk.visit(form.root, record.value, "", "", False)
    return Frozen(tuple(walk.given), frozenset(at for at in walk.asked if not lies_in(at, walk.unnamed)))


@dataclass(slots=True)
class _FreezeWalk:
    """Walks a record along its form; `holders` are the places at or above those that are asked."""

    record: Record
    changes: Changes
    below: float
    lists: bool
    begins: Mapping[str, int]
    given: list[Given] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    holders: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)

    def ask(self, pointer: str) -> None:
        """Has this place filled because of the record."""
        self.asked.add(pointer)
        self.holders.update(above(pointer))

    def asks(self, pointer: str) -> bool:
        """Returns True if this place is filled because of the record."""
        return lies_in(pointer, self.asked)

    def asks_within(self, pointer: str) -> bool:
        """Returns True if this place, or one below it, is filled because of the record."""
        return pointer in self.holders or self.asks(pointer)

    def visit(self, node: Node, value: Any, pointer: str, path: str, spare: bool) -> None:
        """Freezes this place; `spare` is true if the record may omit it."""
        if self.changes.asks(path):
            return
        if isinstance(node, Slot):
            self._slot(node, value, pointer, spare)
        elif isinstance(node, ObjectNode):
            self._object(node, value, pointer, path, spare)
        elif isinstance(node, ArrayNode):
            self._array(node, value, pointer, path)
        elif self.asks_within(pointer):
            # The alternatives of a value have no confidence of their own.
            self.ask(pointer)
        else:
            branch = None if value in (None, MISSING) else branch_of(node, value)
            if branch is not None and is_plain(node.branches[branch]):
                self.visit(node.branches[branch], value, pointer, path, False)
            else:
                self._count(node, value, pointer)

    def _slot(self, node: Slot, value: Any, pointer: str, spare: bool) -> None:
        if self.asks(pointer):
            return
        if value is MISSING and spare:
            self._give(node, None, pointer)
            return
        text = None if value is MISSING or isinstance(value, (dict, list)) else scalar_text(value)
        if text is not None and node.accepts(text.encode()):
            self._give(node, text, pointer)
        else:
            self.ask(pointer)

    def _give(self, node: Slot, text: str | None, pointer: str) -> None:
        leaf = Leaf(text, 1.0, origin="known", slot=node.index)
        self.given.append(Given.scalar(pointer, node, "stored", leaf))

    def _object(self, node: ObjectNode, value: Any, pointer: str, path: str, spare: bool) -> None:
        there = isinstance(value, Mapping)
        may_close = spare or node.nullable
        for place in node.properties:
            step = escape(place.name)
            part = value.get(place.name, MISSING) if there else MISSING
            free = not place.required or (may_close and not there)
            self.visit(place.node, part, f"{pointer}/{step}", f"{path}/{step}", free)
        named = {place.name for place in node.properties}
        unnamed = (name for name in value if name not in named) if there else ()
        self.unnamed.update(f"{pointer}/{escape(name)}" for name in unnamed)
        for rest in node.rest:
            self._count(rest, MISSING, f"{pointer}/*")

    def _array(self, node: ArrayNode, value: Any, pointer: str, path: str) -> None:
        asked = self.changes.within(path) or self.asks_within(pointer)
        if not isinstance(value, list):
            self._count(node, value, pointer)
            return
        rows = [self.record.rows.get(f"{pointer}/{at}") for at in range(len(node.prefix), len(value))]
        if any(sure is not None and sure < self.below for sure in (*rows, self.record.lists.get(pointer))):
            self.ask(pointer)
            return
        whole = self._rows(node, value, pointer, path) if self.lists and value else None
        if whole is not None:
            self.given.append(whole)
        elif asked and value:
            self.ask(pointer)
        else:
            self._count(node, value, pointer)

    def _rows(self, node: ArrayNode, value: list[Any], pointer: str, path: str) -> Given | None:
        """Returns a list with its items given one by one; None if an item has no given value.

        Lists within an item have no rows: they are kept as they are, or asked with the whole list.
        """
        inner = replace(self, lists=False, given=[], asked={*self.asked}, holders={*self.holders})
        begins, rows = 0, dict[str, tuple[int, float]]()
        for at, item in enumerate(value):
            first = at < len(node.prefix)
            part = node.prefix[at] if first else node.item
            count = len(inner.given)
            if part is not None:
                inner.visit(part, item, f"{pointer}/{at}", f"{path}/{at if first else '*'}", False)
            leaves = (leaf for one in inner.given[count:] for leaf in one.leaves.values())
            if all(leaf.text in (None, "null") for leaf in leaves):
                return None
            if not first:
                begins = self.begins.get(f"{pointer}/{at}", begins)
                rows[f"{pointer}/{at}"] = begins, 1.0
        cells = {at: leaf for one in inner.given for at, leaf in one.leaves.items()}
        whole = Given(pointer, node, "stored", value, cells, rows)
        return whole if inner.asked == self.asked else None

    def _count(self, node: Node, value: Any, pointer: str) -> None:
        """Tells the model to look for no rows here."""
        self.given.append(Given(pointer, node, "stored", value, {}))


def is_plain(node: Node) -> bool:
    """Returns True if all values of this alternative can be frozen."""
    if isinstance(node, ObjectNode):
        return not node.rest and all(is_plain(place.node) for place in node.properties)
    return isinstance(node, Slot)


def _beginnings(record: Record) -> dict[str, int]:
    """Returns the character at which each place of a record with evidence begins."""
    beginnings: dict[str, int] = {}
    for leaf in record.leaves:
        for start in [span.start for span in leaf.evidence.spans] if leaf.evidence else ():
            for at in above(leaf.pointer):
                beginnings[at] = min(start, beginnings.get(at, start))
    return beginnings


def left_of(value: Any, changes: Changes, pointer: str = "") -> Any:
    """Returns a value of a record without the places that are gone."""
    if isinstance(value, list):
        return [left_of(part, changes, f"{pointer}/{at}") for at, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    parts = {name: (part, f"{pointer}/{escape(name)}") for name, part in value.items()}
    return {name: left_of(part, changes, at) for name, (part, at) in parts.items() if not changes.drops(at)}


def join(old: Any, new: Any, asked: Collection[str]) -> tuple[Any, set[str]]:
    """Returns the value of an old record with the asked parts of a new one, and the pointers of these.

    `asked` are pointers and templates. A list of another length and an object that only the new one has are taken
    whole; a list without an item stays.
    """
    below = defaultdict[str, dict[str, None]](dict)
    for around, _, step in (at.rpartition("/") for place in asked for at in above(place) if at):
        below[around][unescape(step)] = None
    taken = set[str]()

    def visit(old: Any, new: Any, pointer: str, path: str) -> Any:
        inside = {**below.get(pointer, {}), **below.get(path, {})}
        lists, objects = (isinstance(old, kind) and isinstance(new, kind) for kind in (list, dict))
        whole = (lists and 0 < len(old) != len(new)) or (isinstance(new, dict) and not isinstance(old, list | dict))
        if pointer in asked or path in asked or (inside and whole):
            taken.add(pointer)
            return new
        if inside and lists:
            pairs = enumerate(zip(old, new, strict=False))
            return [visit(*pair, f"{pointer}/{at}", f"{path}/*") for at, pair in pairs]
        if not (inside and objects):
            return old
        parts = dict[str, Any]()
        for name in {**old, **inside}:
            step = f"/{escape(name)}"
            parts[name] = visit(old.get(name, MISSING), new.get(name, MISSING), f"{pointer}{step}", f"{path}{step}")
        return {name: part for name, part in parts.items() if part is not MISSING}

    return visit(old, new, "", ""), taken
