"""Choices among codes are read by pointing: a document prints a currency, a country or a state in many other ways.

A choice of EUR or USD is "€" or "US dollars" in the document. The readings of a span know that, so the reader points at
the value of such a choice as at that of a field with a pattern; the automaton accepts only the options.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache

from cinnabar.engine.readings.codes import CURRENCY_CODES, names_of
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot

_CODE = re.compile(r"[A-Z]{2,3}")


def is_choice_of_codes(slot: Slot) -> bool:
    """Returns whether all options of a slot are codes that the readings know by other names."""
    return len(slot.options) > 1 and all(_is_known(json.loads(option)) for option in slot.options)


@lru_cache(maxsize=256)
def pointed_at(form: Form) -> Form:
    """Returns the form as the reader reads it: choices of codes are texts with an automaton, without options."""
    if not any(map(is_choice_of_codes, form.slots)):
        return form
    slots = tuple(_read(slot) for slot in form.slots)
    arrays: dict[int, ArrayNode] = {}
    root = _pointed(form.root, slots, arrays)
    return replace(form, root=root, slots=slots, arrays=tuple(arrays[array.index] for array in form.arrays))


def _is_known(option: object) -> bool:
    return (
        isinstance(option, str)
        and bool(_CODE.fullmatch(option))
        and (option in CURRENCY_CODES or bool(names_of(option)))
    )


def _read(slot: Slot) -> Slot:
    if not is_choice_of_codes(slot):
        return slot
    # The options become the pattern, which says that the text is no free one.
    pattern = f"^({'|'.join(json.loads(option) for option in slot.options)})$"
    return replace(slot, options=(), option_notes=(), kind="string", pattern=pattern)


def _pointed(node: Node, slots: tuple[Slot, ...], arrays: dict[int, ArrayNode]) -> Node:
    """Returns a node with these slots in place of its own, and adds its arrays to `arrays` by index."""
    if isinstance(node, Slot):
        return slots[node.index]
    if isinstance(node, ObjectNode):
        properties = tuple(replace(p, node=_pointed(p.node, slots, arrays)) for p in node.properties)
        rest = tuple(_array(part, slots, arrays) for part in node.rest)
        return replace(node, properties=properties, rest=rest)
    if isinstance(node, ChoiceNode):
        # A choice of branches is never pointed at: its options are names, and no document prints them as codes.
        branches = tuple(_pointed(part, slots, arrays) for part in node.branches)
        return replace(node, branches=branches)
    return _array(node, slots, arrays)


def _array(node: ArrayNode, slots: tuple[Slot, ...], arrays: dict[int, ArrayNode]) -> ArrayNode:
    item = None if node.item is None else _pointed(node.item, slots, arrays)
    prefix = tuple(_pointed(part, slots, arrays) for part in node.prefix)
    key = None if node.key is None else slots[node.key.index]
    arrays[node.index] = replace(node, item=item, prefix=prefix, key=key)
    return arrays[node.index]
