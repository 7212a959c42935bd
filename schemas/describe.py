"""What a schema comes to, place by place: what will be enforced, and by what."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cinnabar.schemas.compile import CompiledSchema
from cinnabar.schemas.form import ArrayNode, ChoiceNode, Node, ObjectNode, Slot, walk
from cinnabar.schemas.loading import SchemaSource


@dataclass(frozen=True, slots=True)
class Row:
    """One place of the form: its pointer (`*` for any index), its values, and how that is enforced."""

    pointer: str
    values: str
    enforced: str


def describe(compiled: CompiledSchema, source: SchemaSource) -> list[Row]:
    """One row for the schema, one for each node in document order, and one for what nobody checks."""
    form = compiled.form
    rows = [
        Row(
            "",
            source.name,
            f"fingerprint {source.fingerprint[:12]}, {_number(len(form.slots), 'slot')}, "
            f"{_number(len(form.arrays), 'array')}, {len(compiled.minimal())} characters at least",
        )
    ]
    required = {id(p.node): p.required for o in form.objects for p in o.properties}
    for node in walk(form.root):
        optional = "" if required.get(id(node), True) else ", may be left out"
        rows.append(Row(node.path or "/", _values(node) + optional, _enforced(node)))
    rows += [Row(pointer, "not enforced", what) for pointer, what in compiled.unenforced]
    return rows


def _number(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _values(node: Node) -> str:
    if isinstance(node, ObjectNode):
        what = "object"
    elif isinstance(node, ArrayNode):
        what = "array" if node.key is None else "open properties"
    elif isinstance(node, ChoiceNode):
        what = "one of " + ", ".join(json.loads(name) for name in node.selector.options)
    else:
        what = node.format or node.kind
    return f"{what} or null" if node.nullable and what != "null" else what


def _enforced(node: Node) -> str:
    if isinstance(node, ObjectNode):
        needed = sum(p.required for p in node.properties)
        return f"{_number(len(node.properties), 'property', 'properties')}, {needed} required"
    if isinstance(node, ArrayNode):
        most = "or more" if node.max_items is None else f"to {node.max_items}"
        fixed = f", the first {len(node.prefix)} by place" if node.prefix else ""
        return f"{node.min_items} {most} rows{fixed}"
    if isinstance(node, ChoiceNode):
        return _number(len(node.branches), "alternative")
    return _slot(node)


def _slot(slot: Slot) -> str:
    parts = [f"automaton of {_number(slot.automaton.states, 'state')}"]
    longest = slot.automaton.longest
    if slot.options:
        parts.append(_number(len(slot.options), "choice"))
    elif longest is not None:
        quotes = 2 if slot.kind == "string" else 0
        parts.append(_number(max(longest - quotes, 0), "position"))
    if slot.max_length is not None:
        parts.append(f"{slot.max_length} characters at most, checked on the finished text")
    if slot.option_notes:
        parts.append(f"{sum(map(bool, slot.option_notes))} of them explained")
    return ", ".join(parts)
