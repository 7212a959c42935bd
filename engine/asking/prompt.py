"""The messages that ask a language model for a record: task, form in words, examples, known values, document.

All that is the same for a whole run comes first, so that the model reads it once. An example is a question and its
answer before the question that is asked. A chat template puts the messages into the model's own form; that of a small
model may leave the system message out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from cinnabar.engine.asking.instructions import Message, known_values, record_task
from cinnabar.schemas.form.form import ChoiceNode, Form, Node, ObjectNode, Slot

#: The most options of a field that are named: the constraint knows them all.
NAMED_OPTIONS = 20
#: Names that need no quotation marks here.
_PLAIN = re.compile(r"[\w$@#.*/+-]+(?: [\w$@#.*/+-]+)*")
#: The words of the formats that are written in one way only.
_FORMATS = {
    "date": "date YYYY-MM-DD",
    "time": "time HH:MM:SS with offset",
    "date-time": "date-time YYYY-MM-DDTHH:MM:SS with offset",
    "duration": "ISO 8601 duration",
}


def messages(
    form: Form, known: Mapping[str, str | None], document: str, examples: Sequence[tuple[str, str]] = ()
) -> list[Message]:
    """Returns the messages that ask for the record of this document's text; `known` as in `Request`.

    examples: texts of documents, each with the line of its record.
    """
    turns = [{"role": "system", "content": record_task(form)}]
    parts = [f"Fields:\n{outline(form)}"]
    for text, record in examples:
        asked = "\n\n".join([*parts, f"Document:\n{text}"])
        turns += [{"role": "user", "content": asked}, {"role": "assistant", "content": record}]
        parts = []
    if known:
        parts.append(f"Known:\n{known_values(known)}")
    parts.append(f"Document:\n{document}")
    return [*turns, {"role": "user", "content": "\n\n".join(parts)}]


@lru_cache(maxsize=64)
def outline(form: Form) -> str:
    """Returns the form in words: one line for each field in its order, two blanks deeper for each level."""
    root = form.root
    if isinstance(root, ObjectNode) and not root.nullable:
        return "\n".join(_members(root, "")) or "none"
    return "\n".join(_lines("record", root, "", required=True, described=False))


def _members(node: ObjectNode, margin: str) -> Iterator[str]:
    for place in node.properties:
        name = place.name if _PLAIN.fullmatch(place.name) else _text(place.name)
        yield from _lines(name, place.node, margin, place.required)
    for rest in node.rest:
        if rest.item is not None and rest.key is not None:
            names = f" ({_kind(rest.key)})" if rest.key.pattern or rest.key.options else ""
            yield from _lines(f"any other name{names}", rest.item, margin, required=False)


def _lines(name: str, node: Node, margin: str, required: bool, described: bool = True) -> Iterator[str]:
    """Yields the lines of a field: its name, its kind and what the schema says of it, then the parts within."""
    marks = [] if required else ["optional"]
    descriptions = _title_and_description(name, node) if described else []
    inner = f"{margin}  "
    head, null = f"{margin}{name}: ", _or_null(node)
    if isinstance(node, Slot):
        yield ", ".join([head + _kind(node) + null, *marks, *_about(node), *descriptions])
    elif isinstance(node, ObjectNode):
        yield ", ".join([f"{head}object{null}", *marks, *descriptions])
        yield from _members(node, inner)
    elif isinstance(node, ChoiceNode):
        yield ", ".join([f"{head}one of{null}", *marks, *descriptions])
        for at, branch in enumerate(node.branches, 1):
            yield from _lines(str(at), branch, inner, required=True)
    elif isinstance(node.item, Slot) and not node.prefix:
        of = node.item
        items = f"{_kind(of)}{_or_null(of)}"
        of_item = _title_and_description(name, of)
        yield ", ".join([f"{head}list{null} of {items}", *marks, *_about(of), *descriptions, *of_item])
    else:
        yield ", ".join([f"{head}list{null} of", *marks, *descriptions])
        for at, part in enumerate(node.prefix):
            yield from _lines(f"item {at + 1}", part, inner, required=True)
        if isinstance(node.item, ObjectNode) and not node.prefix and not node.item.nullable:
            yield from _members(node.item, inner)
        elif node.item is not None:
            yield from _lines("each further" if node.prefix else "each", node.item, inner, required=True)


def _or_null(node: Node) -> str:
    alone = isinstance(node, Slot) and node.kind == "null"
    return " or null" if node.nullable and not alone else ""


def _kind(slot: Slot) -> str:
    """Returns the kind of a slot's values: its options, its format, or its JSON type."""
    if slot.options and slot.kind != "boolean":
        shown = [_option(slot, at) for at in range(min(len(slot.options), NAMED_OPTIONS))]
        return " | ".join([*shown, *(["…"] if len(slot.options) > NAMED_OPTIONS else [])])
    return _FORMATS.get(slot.format) or slot.format or ("text" if slot.kind == "enum" else slot.kind)


def _option(slot: Slot, at: int) -> str:
    note = " ".join("; ".join((*slot.option_notes[at : at + 1], *slot.words_of(at))).split())
    return f"{slot.options[at]} ({note})" if note and note not in slot.description else slot.options[at]


def _about(slot: Slot) -> list[str]:
    """Returns what the schema says of a slot's values beyond their kind."""
    parts = []
    if not slot.options:
        parts += [f"pattern {slot.pattern}"] if slot.pattern else []
        parts += [slot.bounds] if slot.bounds else []
        parts += [f"such as {', '.join(slot.examples[:2])}"] if slot.examples else []
    return [*parts, f"{slot.default} if there is none"] if slot.default else parts


def _title_and_description(name: str, node: Node) -> list[str]:
    """Returns title and description of a field as far as they say more than its name, each on one line."""
    heard, kept = {_plain(name)}, []
    for text in (node.title, node.description):
        words = " ".join(text.split()).rstrip(".")
        if words and _plain(words) not in heard:
            heard.add(_plain(words))
            kept.append(words)
    return kept


def _plain(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
