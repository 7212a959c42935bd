"""The form: a schema laid out as containers and slots, for all of its values to be filled at once.

Containers are nodes and scalars are slots; the text is rendered from the tree at the end, so that keys,
commas and braces are never generated. Every node that is not filled has a minimal completion, found at
compile time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, Literal

from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.judging.judge import Judge

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
    pattern, format or enum). `bounds` says in words what bounds numbers or lengths. `minimal` is `null` where
    nullable, else a shortest accepted text. `kind` is that of the values beside null; where several kinds are
    allowed it is `number` for integers and numbers, `enum` where the choices are closed, else `string`.
    `examples` are accepted texts that the schema's author gave, `default` the one for a missing value, ""
    where there is none.
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
    bounds: str = ""
    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    default: str = ""

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
    """An object with these properties, in schema order. `index` is its place in `Form.objects`.

    `rest` are its open properties, whose names are read from the document: one array of rows for each pattern
    of names whose values the schema describes.
    """

    index: int
    path: str
    properties: tuple[Property, ...]
    nullable: bool = False
    title: str = ""
    description: str = ""
    rest: tuple[ArrayNode, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """An array: `prefix`, whose items have places of their own, and rows that all have the shape `item`.

    `index` is its place in `Form.arrays`. `min_items` and `max_items` count both; there are no rows where
    `item` is None. With a `key` it is the open properties of an object: a row is a property, `key` its name.
    At least `min_contained` rows are like `contained`, which is no part of the form: nothing fills it. With
    `unique` no item is written twice.
    """

    index: int
    path: str
    item: Node | None
    min_items: int = 0
    max_items: int | None = None
    nullable: bool = False
    title: str = ""
    description: str = ""
    prefix: tuple[Node, ...] = ()
    key: Slot | None = None
    contained: Node | None = None
    min_contained: int = 0
    unique: bool = False


@dataclass(frozen=True, slots=True)
class ChoiceNode:
    """One of several kinds of value: the `branches`, all of them at this path.

    `index` is its place in `Form.choices`. `selector` is a slot that is decided like any other and never
    written: its options name the branches, in their order.
    """

    index: int
    path: str
    selector: Slot
    branches: tuple[Node, ...]
    nullable: bool = False
    title: str = ""
    description: str = ""


Node = Slot | ObjectNode | ArrayNode | ChoiceNode


@dataclass(frozen=True)
class Form:
    """The whole form: its tree, and its slots, arrays, objects and choices in document order.

    `slots` holds the selectors of choices and the keys of open properties too. `judge` decides on a whole
    record, parsed: what the automata of the slots cannot hold is cut by it. `instance` is a smallest record
    that it accepts.
    """

    root: Node
    slots: tuple[Slot, ...]
    arrays: tuple[ArrayNode, ...]
    objects: tuple[ObjectNode, ...]
    choices: tuple[ChoiceNode, ...] = ()
    title: str = ""
    description: str = ""
    judge: Judge | None = None
    instance: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """Names all that the form says, its judge left out: forms that are read alike have the same one."""
        said = _content((self.title, self.description, self.instance, self.root))
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    def __hash__(self) -> int:
        # Caches ask for it at every look-up, and a walk through the tree takes as long as some of them save.
        return hash(self.fingerprint)


def _content(value: Any) -> Any:
    """What a part of a form says, as JSON."""
    if isinstance(value, Automaton):
        return value.fingerprint
    if is_dataclass(value):
        return [type(value).__name__, *(_content(getattr(value, field.name)) for field in fields(value))]
    return [_content(part) for part in value] if isinstance(value, tuple) else value


def children(node: Node) -> Iterator[Node]:
    """The nodes right below this one, a choice's selector and an open property's key among them."""
    if isinstance(node, ObjectNode):
        yield from (p.node for p in node.properties)
        yield from node.rest
    elif isinstance(node, ArrayNode):
        yield from node.prefix
        yield from (part for part in (node.key, node.item) if part is not None)
    elif isinstance(node, ChoiceNode):
        yield node.selector
        yield from node.branches


def enclosing(form: Form) -> dict[int, int]:
    """For each array the array that its rows lie in, -1 for none; parents come before their children."""
    found: dict[int, int] = {}

    def visit(node: Node, around: int) -> None:
        if not isinstance(node, ArrayNode):
            for part in children(node):
                visit(part, around)
            return
        found[node.index] = around
        for part in node.prefix:
            visit(part, around)
        if node.item is not None:
            visit(node.item, node.index)

    visit(form.root, -1)
    return found


def walk(node: Node) -> Iterator[Node]:
    """The nodes below and with this one, parents before children."""
    yield node
    for part in children(node):
        yield from walk(part)
