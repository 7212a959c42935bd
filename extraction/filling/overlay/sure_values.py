"""Gives the values of a record that its model is sure of, which another model need not be asked for.

A surely complete list of sure rows is given value by value; no other list is, nor are alternatives with anything in
doubt.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.filling.overlay.freezing import is_plain
from cinnabar.extraction.filling.overlay.given import Given
from cinnabar.schemas.form.fitting import branch_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import MISSING, above, escape


def sure_values(form: Form, filled: Filled, below: float, lists: bool = True) -> list[Given]:
    """Returns the values that are no less sure than this, absences too; values in lists only with `lists`."""
    walk = _SureWalk(form, filled, below, lists, sorted(filled.leaves))
    walk.visit(form.root, filled.value, "")
    return walk.given


def is_unsure(leaf: Leaf, below: float) -> bool:
    """Returns whether a value is missing or less sure than this."""
    return leaf.missing or leaf.confidence < below


@dataclass(slots=True)
class _SureWalk:
    """Walks a record along its form and gives sure values; `pointers` are those of its leaves, sorted."""

    form: Form
    filled: Filled
    below: float
    lists: bool
    pointers: list[str]
    given: list[Given] = field(default_factory=list)

    def visit(self, node: Node, value: Any, pointer: str) -> None:
        """Gives the sure values at this place."""
        if isinstance(node, Slot):
            leaf = self.filled.leaves.get(pointer)
            if leaf is not None and leaf.text is not None and not is_unsure(leaf, self.below):
                self._give(pointer, leaf)
        elif isinstance(node, ObjectNode):
            if not isinstance(value, Mapping):
                self._close(pointer)
                return
            for place in node.properties:
                below = f"{pointer}/{escape(place.name)}"
                if place.name in value:
                    self.visit(place.node, value[place.name], below)
                elif isinstance(place.node, (Slot, ObjectNode)):
                    self._close(below)
        elif isinstance(node, ChoiceNode):
            branch = None if value is None else branch_of(node, value)
            if branch is not None and self._all_sure(pointer) and is_plain(node.branches[branch]):
                self.visit(node.branches[branch], value, pointer)
        elif isinstance(value, list) and value and self.lists:
            self._list(node, value, pointer)

    def _give(self, pointer: str, leaf: Leaf) -> None:
        """Gives a value with what is known of the rows and lists around it."""
        around, filled = [*above(pointer)], self.filled
        rows = {at: filled.rows[at] for at in around if at in filled.rows}
        lists = {at: filled.lists[at] for at in around if at in filled.lists}
        slot = self.form.slots[leaf.slot]
        self.given.append(replace(Given.scalar(pointer, slot, "sure", leaf), rows=rows, lists=lists))

    def _list(self, node: ArrayNode, value: list[Any], pointer: str) -> None:
        """Gives the sure values of a list if it is surely complete, all its items are sure and each has a value."""
        if self.filled.lists.get(pointer, 1.0) < self.below:
            return
        rows = [self.filled.rows.get(f"{pointer}/{at}") for at in range(len(node.prefix), len(value))]
        if any(row is None or row[1] < self.below for row in rows):
            return
        inner = _SureWalk(self.form, self.filled, self.below, self.lists, self.pointers)
        for at, item in enumerate(value):
            part = node.prefix[at] if at < len(node.prefix) else node.item
            held = len(inner.given)
            if part is not None:
                inner.visit(part, item, f"{pointer}/{at}")
            if all(one.value is MISSING for one in inner.given[held:]):
                return
        self.given += inner.given

    def _close(self, pointer: str) -> None:
        """Gives an absent place if all leaves below it are sure."""
        if self._all_sure(pointer):
            for at in self._below(pointer):
                self._give(at, replace(self.filled.leaves[at], text=None))

    def _all_sure(self, pointer: str) -> bool:
        return all(not is_unsure(self.filled.leaves[at], self.below) for at in self._below(pointer))

    def _below(self, pointer: str) -> list[str]:
        below = [pointer] if pointer in self.filled.leaves else []
        begin = f"{pointer}/"
        for at in range(bisect_left(self.pointers, begin), len(self.pointers)):
            if not self.pointers[at].startswith(begin):
                break
            below.append(self.pointers[at])
        return below
