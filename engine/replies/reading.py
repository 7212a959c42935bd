"""Walks a model's answer along its form and collects the values, the rows and the problems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cinnabar.engine.asking.provider_schema import Wire, expected_values
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import escape

#: Characters of the wrong value that a problem shows.
_SHOWN = 60


@dataclass(slots=True)
class Taken:
    """An answer's content: rows as (array, parent), texts by (slot, row) with None for absence, problems."""

    rows: list[tuple[int, int]] = field(default_factory=list)
    texts: dict[tuple[int, int], tuple[Slot, str | None]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class AnswerReader:
    """Reads one answer along the form into `taken`."""

    def __init__(self, wire: Wire, taken: Taken) -> None:
        self.wire, self.taken = wire, taken

    def read(self, node: Node, answer: Any, pointer: str, row: int) -> None:
        """Reads the answer for this node; `pointer` is its JSON pointer in the record."""
        if isinstance(node, Slot):
            self._slot(node, answer, pointer, row)
        elif isinstance(node, ChoiceNode):
            self._choice(node, answer, pointer, row)
        elif isinstance(node, ArrayNode) and self.wire.is_list(node, pointer):
            self._items(node, answer, pointer, row)
        else:
            self._places(node, answer, pointer, row)

    def _problem(self, pointer: str, wanted: str, answer: Any) -> None:
        self.taken.problems.append(f"{pointer or '/'}: expected {wanted}, got {shorten_answer(answer)}")

    def _slot(self, slot: Slot, answer: Any, pointer: str, row: int) -> None:
        if answer is None or (answer == "" and '""' not in slot.options):
            self.taken.texts[slot.index, row] = slot, None
            return
        try:
            text = None if isinstance(answer, (dict, list)) else scalar_text(answer)
        except ValueError:
            text = None
        if text is None or not slot.accepts(text.encode()):
            self._problem(pointer, f"{expected_values(slot)}, or null", answer)
        else:
            self.taken.texts[slot.index, row] = slot, text

    def _places(self, node: ObjectNode | ArrayNode, answer: Any, pointer: str, row: int) -> None:
        members = [name for name, _, _ in self.wire.members(node, pointer)]
        lists = self.wire.lists(node, pointer)
        if not self._has(answer, [*members, *(name for name, _ in lists)], pointer):
            return
        answered = answer or {}
        for name, part, below in self.wire.places(node, pointer):
            own = self._item_row(node, name, row)
            if name in members:
                self.read(part, answered.get(name), below, own)
        for name, rest in lists:
            if rest is node:
                self._items(rest, answered.get(name), pointer, row)
            else:
                self._open(rest, answered.get(name, []), pointer, row)

    def _has(self, answer: Any, names: list[str], pointer: str) -> bool:
        """Returns whether the answer is null or an object; notes missing and undeclared properties."""
        if answer is None:
            return True
        if not isinstance(answer, dict):
            self._problem(pointer, f"an object with {', '.join(names)}", answer)
            return False
        for name in names:
            if name not in answer:
                self._problem(f"{pointer}/{escape(name)}", "a value or null", "no such property")
        for name in answer.keys() - set(names):
            self._problem(f"{pointer}/{escape(name)}", "no such property", answer[name])
        return True

    def _open(self, rest: ArrayNode, answer: Any, pointer: str, row: int) -> None:
        if not isinstance(answer, list):
            self._problem(f"{pointer}/*", "a list of names and values", answer)
            return
        assert rest.key is not None and rest.item is not None
        for pair in answer:
            if not isinstance(pair, dict) or pair.keys() != {"name", "value"}:
                self._problem(f"{pointer}/*", "a name and a value", pair)
                continue
            below = self._row(rest, row)
            name = pair["name"] if isinstance(pair["name"], str) else ""
            self._slot(rest.key, pair["name"], f"{pointer}/*", below)
            self.read(rest.item, pair["value"], f"{pointer}/{escape(name)}", below)

    def _choice(self, node: ChoiceNode, answer: Any, pointer: str, row: int) -> None:
        if answer is None:
            return
        tries = []
        for option, branch in zip(node.selector.options, node.branches, strict=True):
            taken = Taken(list(self.taken.rows), dict(self.taken.texts))
            taken.texts[node.selector.index, row] = node.selector, option
            AnswerReader(self.wire, taken).read(branch, answer, pointer, row)
            tries.append(taken)
        best = min(tries, key=lambda taken: len(taken.problems))
        self.taken.rows, self.taken.texts = best.rows, best.texts
        self.taken.problems += best.problems

    def _items(self, node: ArrayNode, more: Any, pointer: str, row: int) -> None:
        if more is None:
            return
        if not isinstance(more, list):
            self._problem(pointer, "a list", more)
            return
        begin = len(node.prefix)
        if node.max_items is not None and begin + len(more) > node.max_items:
            self._problem(pointer, f"at most {node.max_items} items", f"{begin + len(more)} items")
            return
        if node.item is not None:
            for at, item in enumerate(more, begin):
                self.read(node.item, item, f"{pointer}/{at}", self._row(node, row))

    def _item_row(self, node: ObjectNode | ArrayNode, name: str, row: int) -> int:
        """Returns the row of a place: that of its node, but for an item of a list without a place of its own."""
        return row if isinstance(node, ObjectNode) or int(name) < len(node.prefix) else self._row(node, row)

    def _row(self, array: ArrayNode, parent: int) -> int:
        self.taken.rows.append((array.index, parent))
        return len(self.taken.rows) - 1


def shorten_answer(answer: Any) -> str:
    """Returns a part of an answer as text for a person, cut to `_SHOWN` characters."""
    text = scalar_text(answer) if isinstance(answer, str) else str(answer)
    text = "null" if answer is None else text
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
