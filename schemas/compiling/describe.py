"""A description of a compiled schema, one row for each place: its values, and how they are enforced."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cinnabar.schemas.automata.boolean import intersect
from cinnabar.schemas.compiling.bindings import proposals
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.decimals import inexact_multiples
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Node, ObjectNode, Slot
from cinnabar.schemas.reading.language import language
from cinnabar.schemas.reading.schema_object import BINDING
from cinnabar.schemas.reading.shape import Boolean, Number
from cinnabar.schemas.wording import with_noun

#: The names of alternatives that a row shows, at most.
MAX_NAMES = 8


@dataclass(frozen=True, slots=True)
class FormRow:
    """One place of the form: its pointer (`*` for any index or name), its values, and how they are enforced."""

    pointer: str
    values: str
    enforced: str


def describe(compiled: CompiledSchema, source: SchemaSource) -> list[FormRow]:
    """Two rows for the whole schema, then one for each place in order, each part left out, and each warning.

    The last rows propose facts for fields with names like theirs.
    """
    form = compiled.form
    parts = [with_noun(len(form.slots) - len(form.choices), "slot"), with_noun(len(form.arrays), "array")]
    if form.choices:
        parts.append(with_noun(len(form.choices), "choice"))
    rows = [
        FormRow(
            "",
            source.name,
            f"fingerprint {source.fingerprint[:12]}, {', '.join(parts)}, "
            f"{with_noun(len(compiled.minimal()), 'character')} at least",
        ),
        FormRow("", "the whole record", "judged by every keyword before it is shown or written"),
        *_places(form.root, "", ""),
    ]
    for pointer, what in compiled.unenforced_demands:
        kind = "not checked" if what.endswith("not checked") else "not in the form"
        rows.append(FormRow(pointer or "/", kind, what))
    rows += [FormRow(pointer, "warning", warning) for pointer, warning in inexact_multiples(source.schema)]
    for one in proposals(form):
        what = f'"{BINDING}": "{one.fact}" would take it from the document\'s facts (docs/facts.md)'
        rows.append(FormRow(one.pointer, "may be a fact", what))
    return rows


def _places(node: Node, before: str, behind: str) -> Iterator[FormRow]:
    """The rows of a node and of all below it; the text of its values stands between `before` and `behind`."""
    yield FormRow(node.path or "/", before + _values(node) + behind, _describe_enforced(node))
    if isinstance(node, ObjectNode):
        for place in node.properties:
            yield from _places(place.node, "", "" if place.required else ", may be left out")
        for rest in node.rest:
            yield from _open(rest)
    elif isinstance(node, ArrayNode):
        for part in node.prefix:
            yield from _places(part, "", "")
        if node.item is not None:
            yield from _places(node.item, "", "")
    elif isinstance(node, ChoiceNode):
        for name, branch in zip(_names(node), node.branches, strict=True):
            # A generated name may already say the kind of the values.
            known = name.startswith(_values(branch))
            first, *below = _places(branch, "" if known else f"{name}: ", "")
            yield FormRow(first.pointer, name, first.enforced) if known else first
            yield from below


def _open(rest: ArrayNode) -> Iterator[FormRow]:
    assert rest.key is not None and rest.item is not None
    yield FormRow(f"{rest.path}/*", f"names of open properties, {_count(rest)}", _slot(rest.key))
    yield from _places(rest.item, "", "")


def _names(node: ChoiceNode) -> list[str]:
    return [json.loads(name) for name in node.selector.options]


def _values(node: Node) -> str:
    if isinstance(node, ObjectNode):
        what = "object"
    elif isinstance(node, ArrayNode):
        what = "array"
    elif isinstance(node, ChoiceNode):
        names = _names(node)
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        what = "one of " + "; ".join(names[:MAX_NAMES]) + more
    else:
        what = node.format or " or ".join(_kinds(node))
    return f"{what} or null" if node.nullable and what != "null" else what


def _kinds(slot: Slot) -> list[str]:
    """The kinds of values of a slot beside null; a slot that may hold strings may hold other kinds too."""
    others = (("number", Number()), ("boolean", Boolean())) if slot.kind == "string" else ()
    more = (name for name, shape in others if not intersect(slot.automaton, language(shape)).is_empty)
    return [slot.kind, *more]


def _count(node: ArrayNode) -> str:
    return f"{node.min_items} or more" if node.max_items is None else f"{node.min_items} to {node.max_items}"


def _describe_enforced(node: Node) -> str:
    if isinstance(node, (Slot, ArrayNode)) and node.binding is not None:
        return f"the fact {node.binding.fact}, no model is asked; {_describe_enforced(replace(node, binding=None))}"
    if isinstance(node, ObjectNode):
        if not node.properties:
            return "open properties" if node.rest else "no property is described"
        needed = sum(p.required for p in node.properties)
        properties = f"{with_noun(len(node.properties), 'property', 'properties')}, {needed} required"
        return f"{properties}, and open ones" if node.rest else properties
    if isinstance(node, ArrayNode):
        if node.item is None:
            places = with_noun(len(node.prefix), "item")
            return f"{places} by place, {node.min_items} required" if node.prefix else "empty"
        fixed = f", the first {len(node.prefix)} by place" if node.prefix else ""
        return f"{_count(node)} rows{fixed}"
    if isinstance(node, ChoiceNode):
        return f"{with_noun(len(node.branches), 'alternative')}, chosen before they are filled"
    return _slot(node)


def _slot(slot: Slot) -> str:
    parts = [f"automaton of {with_noun(slot.automaton.states, 'state')}"]
    longest = slot.automaton.longest
    if slot.options:
        parts.append(with_noun(len(slot.options), "choice"))
    elif longest is not None:
        quotes = 2 if slot.kind == "string" else 0
        parts.append(with_noun(max(longest - quotes, 0), "position"))
    if slot.max_length is not None:
        parts.append(f"{slot.max_length} characters at most, checked on the finished text")
    if slot.option_notes:
        parts.append(f"{sum(map(bool, slot.option_notes))} of them explained")
    return ", ".join(parts)
