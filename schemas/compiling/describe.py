"""The fields of a schema in plain words: what is asked, and what is written if a document does not say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from cinnabar.schemas.form.form import ArrayNode, ChoiceNode, Form, Node, ObjectNode, Slot
from cinnabar.schemas.pointers import unescape
from cinnabar.wording import with_noun

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
    if slot.told is not None:
        words += f", as {slot.told.name}" if slot.told.kind == "moment" else f", {slot.told.name}"
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
