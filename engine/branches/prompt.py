"""The messages and heads of branches: what is asked once of a document, and how each field begins its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from cinnabar.schemas.form.form import ArrayNode, Form, Slot

#: The most options of a field that the prompt names; the constraint knows them all.
NAMED_OPTIONS = 20
SYSTEM = (
    "You extract data from documents. For each field copy the words of the document exactly as they are printed there. "
    "Write null if the document does not state it."
)
ASK = "Answer with a JSON object. Each value is copied exactly as printed in the document, or null."
#: The words that begin an item of a list in the heads of its fields, and the characters that they are looked for in.
FIRST_WORDS, FIRST_CHARACTERS = 4, 80


def dotted_name(path: str) -> str:
    """Returns the name of a place in the prompt: `/seller/name` is `seller.name`, `/items/*/price` `items.price`."""
    return path.strip("/").replace("/*", "").replace("/", ".") or "value"


def field_lines(form: Form, names: Mapping[str, str], described: bool = True) -> Iterator[str]:
    """Yields a line for each field of the form, with its name in the prompt and what the schema says of it."""
    told = set[str]()
    for slot in form.slots:
        if slot.path not in told and slot.binding is None:
            told.add(slot.path)
            yield _line(slot, names[slot.path], described)


def _line(slot: Slot, name: str, described: bool) -> str:
    told = [part for part in (slot.title, slot.description) if part and described]
    if slot.options:
        rest = ", …" if len(slot.options) > NAMED_OPTIONS else ""
        told.append("One of: " + ", ".join(slot.options[:NAMED_OPTIONS]) + rest)
    return f"- {name}" + (f": {' '.join(told)}" if told else "") + (" (list)" if "*" in slot.path else "")


def messages(title: str, fields: str, text: str) -> list[dict[str, str]]:
    """Returns the messages that ask for these fields of a document's text.

    The fields stand first, so that they are read once for all documents of a form. (With the document first F1 of 14
    sets was .47 in place of .49.)
    """
    asked = f"Fields of the {title or 'record'}:\n{fields}\n\nDocument:\n{text}\n\n{ASK}"
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]


def head(name: str, told: bool = False) -> str:
    """Returns the beginning of the answer for a field, or for a list; told: behind a record that is begun."""
    return f" {_quote(name)}:" if told else f"{{{_quote(name)}:"


def begun_record(values: Mapping[str, str]) -> str:
    """Returns the beginning of an answer that has these values by the names of their fields."""
    return "{" + ", ".join(f"{_quote(name)}: {_quote(value)}" for name, value in values.items()) + ","


def item_head(array: ArrayNode, begins: str, name: str) -> str:
    """Returns the beginning of the answer for a field of an item, which `begins` with these words."""
    return f'{{{_quote(dotted_name(array.path))}: [{{"begins": {_quote(begins)}, {_quote(name)}:'


def first_words(text: str, anchor: int) -> str:
    """Returns the words that begin an item at this character."""
    line = text[anchor : anchor + FIRST_CHARACTERS].lstrip().split("\n")[0]
    return " ".join(line.split()[:FIRST_WORDS])


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
