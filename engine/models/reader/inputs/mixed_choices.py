"""Choices among codes are read by pointing: a document prints a currency, a country or a state in many other ways.

A choice of EUR or USD is "€" or "US dollars" in the document. The readings of a span know that, so the reader points at
the value of such a choice as at that of a field with a pattern; the automaton accepts only the options. If some options
are words ("other"), the reader also points at codes that are no option.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from cinnabar.engine.fill.choices import CodeChoice, code_choice, selectors
from cinnabar.engine.readings.codes import code_kinds
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot

_NONE = CodeChoice((), (), (), only_codes=True, sure=True)


@dataclass(frozen=True, slots=True)
class MixedSlot(Slot):
    """A choice of codes and other options as the reader points at it, without options."""

    choice: CodeChoice = _NONE

    def takes(self, text: bytes) -> bool:
        """Returns whether a reading is a value that stands in the document: the word "other" is in many of them."""
        return not self.choice.sure or text.decode() not in self.choice.words

    def is_unlisted(self, readings: Iterable[bytes]) -> bool:
        """Returns whether one of these readings (JSON) is a code of the same kind as the options."""
        names = (json.loads(text) for text in readings if text.startswith(b'"'))
        return bool(self.choice.words) and any(not code_kinds(name).isdisjoint(self.choice.kinds) for name in names)


@lru_cache(maxsize=256)
def pointed_at(form: Form) -> Form:
    """Returns the form as the reader reads it: choices of codes are texts with an automaton, without options."""
    codes = {slot.index for slot in form.slots if code_choice(slot) is not None} - selectors(form)
    if not codes:
        return form
    slots = tuple(_read(slot) if slot.index in codes else slot for slot in form.slots)
    arrays: dict[int, ArrayNode] = {}
    root = _with_slots(form.root, slots, arrays)
    return replace(form, root=root, slots=slots, arrays=tuple(arrays[array.index] for array in form.arrays))


def _read(slot: Slot) -> Slot:
    # The options become the pattern, which says that the text is no free one.
    pattern = f"^({'|'.join(json.loads(option) for option in slot.options)})$"
    read = replace(slot, options=(), option_notes=(), kind="string", pattern=pattern)
    choice = code_choice(slot)
    if choice is None or choice.only_codes:
        return read
    return MixedSlot(**{f.name: getattr(read, f.name) for f in fields(read)}, choice=choice)


def _with_slots(node: Node, slots: tuple[Slot, ...], arrays: dict[int, ArrayNode]) -> Node:
    """Returns a node with these slots in place of its own, and adds its arrays to `arrays` by index."""
    if isinstance(node, Slot):
        return slots[node.index]
    if isinstance(node, ObjectNode):
        properties = tuple(replace(p, node=_with_slots(p.node, slots, arrays)) for p in node.properties)
        rest = tuple(_array(part, slots, arrays) for part in node.rest)
        return replace(node, properties=properties, rest=rest)
    if isinstance(node, ChoiceNode):
        branches = tuple(_with_slots(part, slots, arrays) for part in node.branches)
        return replace(node, branches=branches)
    return _array(node, slots, arrays)


def _array(node: ArrayNode, slots: tuple[Slot, ...], arrays: dict[int, ArrayNode]) -> ArrayNode:
    item = None if node.item is None else _with_slots(node.item, slots, arrays)
    prefix = tuple(_with_slots(part, slots, arrays) for part in node.prefix)
    key = None if node.key is None else slots[node.key.index]
    arrays[node.index] = replace(node, item=item, prefix=prefix, key=key)
    return arrays[node.index]
