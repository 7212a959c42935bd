"""The form: a schema laid out as containers and slots, for all of its values to be filled at once.

Containers are nodes and scalars are slots; the text is rendered from the tree at the end, so that keys,
commas and braces are never generated. Every node that is not filled has a minimal completion, found at
compile time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cinnabar.schemas.automaton import Automaton

Kind = Literal["string", "number", "integer", "boolean", "enum", "null"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One scalar of the form.

    `index` is the slot's place in `Form.slots`. `path` is its pointer template, `*` for an array index
    (`/line_items/*/name`). `automaton` accepts exactly the canonical JSON texts allowed here, in UTF-8,
    quotes included; `null` only where `nullable`. `options` are all allowed texts (without null) where they
    are few and closed (enum, const, boolean), else (). `option_notes` has a description for each option, or
    (). `max_length` (code points) is set where the bound was too large to unroll into the automaton: longer
    texts are refused by `accepts`. `free` says that the automaton accepts arbitrary text (a string without
    pattern, format or enum). `minimal` is `null` where nullable, else a shortest accepted text. `kind` is
    that of the values beside null; where several kinds are allowed it is `number` for integers and numbers,
    `enum` where the choices are closed, else `string`. `examples` are accepted texts that the schema's author
    gave.
    """

    index: int
    path: str
    kind: Kind
    automaton: Automaton
    nullable: bool
    minimal: str
    options: tuple[str, ...] = ()
    option_notes: tuple[str, ...] = ()
    format: str = ""
    pattern: str = ""
    free: bool = False
    max_length: int | None = None
    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()

    def accepts(self, text: bytes) -> bool:
        """Whether this canonical JSON text is allowed here."""
        if self.max_length is not None and text[:1] == b'"' and json_length(text) > self.max_length:
            return False
        return self.automaton.accepts(text)


def json_length(text: bytes) -> int:
    """Code points of the string that this canonical JSON string text spells."""
    return len(json.loads(text))


@dataclass(frozen=True, slots=True)
class Property:
    """A named place in an object; one that is not `required` may be left out."""

    name: str
    node: Node
    required: bool


@dataclass(frozen=True, slots=True)
class ObjectNode:
    """An object with these properties, in schema order. `index` is its place in `Form.objects`."""

    index: int
    path: str
    properties: tuple[Property, ...]
    nullable: bool = False
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """An array of rows that all have the shape `item`. `index` is its place in `Form.arrays`."""

    index: int
    path: str
    item: Node
    min_items: int = 0
    max_items: int | None = None
    nullable: bool = False
    title: str = ""
    description: str = ""


Node = Slot | ObjectNode | ArrayNode


@dataclass(frozen=True, slots=True)
class Form:
    """The whole form: its tree, and its slots, arrays and objects in document order."""

    root: Node
    slots: tuple[Slot, ...]
    arrays: tuple[ArrayNode, ...]
    objects: tuple[ObjectNode, ...]
    title: str = ""
    description: str = ""


def walk(node: Node) -> Iterator[Node]:
    """The nodes below and with this one, parents before children."""
    yield node
    if isinstance(node, ObjectNode):
        for p in node.properties:
            yield from walk(p.node)
    elif isinstance(node, ArrayNode):
        yield from walk(node.item)
