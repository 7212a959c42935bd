"""A description of a compiled schema, one row for each place: its values, and how they are enforced.

The fields of a schema in plain words: what is asked, and what is written if a document does not say it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cinnabar.schemas.automata.operations import intersect
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.keywords import inexact_multiples
from cinnabar.schemas.parsing.language import language
from cinnabar.schemas.parsing.shape import Boolean, Number
from cinnabar.schemas.pointers import unescape
from cinnabar.wording import with_noun

#: The names of alternatives that a row shows, at most.
MAX_NAMES = 8


@dataclass(frozen=True, slots=True)
class FormRow:
    """One place of the form: its pointer (`*` for any index or name), its values, and how they are enforced."""

    pointer: str
    values: str
    enforced: str


def describe(compiled: CompiledSchema, source: SchemaSource) -> list[FormRow]:
    """Two rows for the whole schema, then one for each place in order, each part left out, and each warning."""
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


#: The options of a choice that are named, at most.
MOST_OPTIONS = 6
WAITS = "the document is held back"
_KINDS = {
    "string": "text", "number": "a number", "integer": "a whole number", "boolean": "yes or no", "null": "nothing",
    "enum": "one of a few values",
}  # fmt: skip
_FORMATS = {
    "date": "a date", "date-time": "a date and time", "time": "a time", "duration": "a length of time",
    "email": "an e-mail address", "idn-email": "an e-mail address", "uri": "a web address", "iri": "a web address",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldInWords:
    """A field: its name, what is asked, and what is written if the document does not say it."""

    name: str
    asked: str
    otherwise: str


def fields_in_words(form: Form) -> list[FieldInWords]:
    """Returns the fields of a form in its order; those of objects and lists stand behind a `>`."""
    return list(_fields(form.root, "", True))


def _fields(node: Node, name: str, required: bool) -> Iterator[FieldInWords]:
    if isinstance(node, ObjectNode):
        for place in node.properties:
            yield from _fields(place.node, _below(name, place.name), place.required and not node.nullable)
        for rest in node.rest:
            others = _below(name, "…")
            yield FieldInWords(others, "other fields, by the names that the document gives", "none")
            if rest.item is not None and not isinstance(rest.item, Slot):
                yield from _fields(rest.item, others, True)
    elif isinstance(node, ArrayNode):
        yield FieldInWords(name or "the record", _with_description(_list(node), node), _fate(node, required))
        for number, part in enumerate(node.prefix, 1):
            yield from _fields(part, _below(name, str(number)), number <= node.min_items)
        if isinstance(node.item, (ObjectNode, ArrayNode, ChoiceNode)):
            yield from _fields(node.item, name, True)
    elif isinstance(node, ChoiceNode):
        names = [str(json.loads(one)) for one in node.selector.options]
        yield FieldInWords(
            name or "the record", _with_description(f"one of {'; '.join(names)}", node), _fate(node, required)
        )
        for one, branch in zip(names, node.branches, strict=True):
            if not isinstance(branch, Slot):
                yield from _fields(branch, f"{name} ({one})".strip(), True)
    else:
        yield FieldInWords(name or "the record", _with_description(_value(node), node), _fate(node, required))


def _below(name: str, inner: str) -> str:
    return f"{name} > {unescape(inner)}" if name else unescape(inner)


def _with_description(what: str, node: Node) -> str:
    description = " ".join((node.description or node.title).split())
    return f"{what}: {description}" if description else what


def _list(node: ArrayNode) -> str:
    least = f", at least {node.min_items}" if node.min_items else ""
    most = f", at most {node.max_items}" if node.max_items is not None else ""
    of = f" (each {_value(node.item)})" if isinstance(node.item, Slot) else ""
    return f"a list{of}{least}{most}"


def _value(slot: Slot) -> str:
    if slot.options and slot.kind != "boolean":
        names = [json.loads(one) for one in slot.options]
        shown = [one if isinstance(one, str) else json.dumps(one) for one in names[:MOST_OPTIONS]]
        if len(names) == 1:
            return f"always {shown[0]}"
        more = f" and {len(names) - MOST_OPTIONS} more" if len(names) > MOST_OPTIONS else ""
        return f"one of {', '.join(shown)}{more}"
    words = _FORMATS.get(slot.format) or (f"text ({slot.format})" if slot.format else _KINDS[slot.kind])
    if slot.pattern:
        words += " in the form that the schema gives"
    if slot.bounds:
        words += f", {slot.bounds}".replace("at least 1 characters", "not empty")
    if slot.max_length is not None:
        words += f", at most {with_noun(slot.max_length, 'character')}"
    return words


def _fate(node: Node, required: bool) -> str:
    binding = node.binding if isinstance(node, (Slot, ArrayNode)) else None
    if binding is not None:
        return f"taken from the file itself ({binding.fact}), no model is asked"
    if isinstance(node, Slot) and node.default:
        return f"becomes {node.default}"
    if isinstance(node, Slot) and len(node.options) == 1 and required and not node.nullable:
        return "is written all the same"
    if isinstance(node, ArrayNode) and not node.min_items:
        return "an empty list"
    if node.nullable:
        return "stays empty"
    return WAITS if required else "is left out"
