"""The form of a schema: containers and slots, so that all values can be filled at once.

Containers are nodes and scalars are slots. The text is rendered from the tree at the end, so keys, commas and braces
are never generated. Every node that is not filled has a minimal completion, found at compile time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, Literal

from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.form.told_forms import ToldForm
from cinnabar.schemas.judging.judge import Judge
from cinnabar.schemas.keywords import PageRanges
from cinnabar.schemas.parsing.shape import Binding
from cinnabar.schemas.pointers import lies_within

Kind = Literal["string", "number", "integer", "boolean", "enum", "null"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One scalar of the form.

    `index` is the slot's place in `Form.slots`. `path` is its pointer template, `*` for an array index
    (`/line_items/*/name`). `automaton` accepts exactly the canonical JSON texts allowed here, in UTF-8, quotes
    included; `null` only if `nullable`. `options` are all allowed texts (without null) if they are few and closed
    (enum, const, boolean), else (). `option_notes` has a description for each option, or (); `option_words` other words
    for each, in any language, or (). `max_length` (code points) is set if the bound is too large to unroll into the
    automaton; `accepts` then refuses longer texts. `free` says that the automaton accepts arbitrary text (a string
    without pattern, format or enum). `bounds` describes the bounds of numbers or lengths in words. `minimal` is `null`
    if nullable, else a shortest accepted text. `kind` is the kind of the values beside null; if several kinds are
    allowed it is `number` for integers and numbers, `enum` if the choices are closed, else `string`. `examples` are
    accepted texts given by the schema's author. `default` is the text for a missing value, "" if there is none. With a
    `binding` the value is a fact, and no model reads it. `day_first` is the order of day and month, None if the schema
    says none. `written` says that a person would word the value anew, so that a language model may. `told` is the form
    of a text that the description asks for.
    """

    index: int
    path: str
    kind: Kind
    automaton: Automaton
    nullable: bool
    minimal: str
    options: tuple[str, ...] = ()
    option_notes: tuple[str, ...] = ()
    option_words: tuple[tuple[str, ...], ...] = ()
    format: str = ""
    pattern: str = ""
    free: bool = False
    max_length: int | None = None
    bounds: str = ""
    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    default: str = ""
    binding: Binding | None = None
    day_first: bool | None = None
    written: bool = False
    told: ToldForm | None = None

    def words_of(self, option: int) -> tuple[str, ...]:
        """The other words for the option of this number."""
        return self.option_words[option] if self.option_words else ()

    def accepts(self, text: bytes) -> bool:
        """Whether this canonical JSON text is allowed here."""
        if self.max_length is not None and text[:1] == b'"' and json_length(text) > self.max_length:
            return False
        return self.automaton.accepts(text)


def json_length(text: bytes) -> int:
    """The number of code points of the string that this canonical JSON text spells."""
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

    `rest` are its open properties, with names that are read from the document: one array of rows for each pattern of
    names if the schema describes the values. It has at least `least` and at most `most` properties, open ones among
    them. `demands` are names with those that must be there beside them.
    """

    index: int
    path: str
    properties: tuple[Property, ...]
    nullable: bool = False
    title: str = ""
    description: str = ""
    rest: tuple[ArrayNode, ...] = ()
    least: int = 0
    most: int | None = None
    demands: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """An array: `prefix`, the items with places of their own, and rows that all have the shape `item`.

    `index` is its place in `Form.arrays`. `min_items` and `max_items` count both parts; if `item` is None there are no
    rows. With a `key` the array is the open properties of an object: a row is a property, `key` its name. At least
    `min_contained` rows match `contained`, which is no part of the form and is never filled. With `unique` no item is
    written twice. With a `binding` the items are a fact's, and no model reads them.
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
    binding: Binding | None = None


@dataclass(frozen=True, slots=True)
class ChoiceNode:
    """One of several kinds of value: the `branches`, all of them at this path.

    `index` is its place in `Form.choices`. `selector` is a slot that is decided like any other and never written; its
    options name the branches, in their order.
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

    `slots` also holds the selectors of choices and the keys of open properties. `judge` decides on a whole parsed
    record; it enforces the demands that the automata of the slots cannot express. `instance` is a smallest record
    that the judge accepts. `pages` are those that are read of a document, None for all.
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
    pages: PageRanges | None = None

    @cached_property
    def constants(self) -> frozenset[int]:
        """The slots whose one text the schema itself states: required, or with that text as the default.

        In a branch of a choice a constant stands for the choice, which a model makes.
        """
        chosen = [choice.path for choice in self.choices]
        return frozenset(
            part.node.index
            for one in self.objects
            if not any(lies_within(one.path, path) for path in chosen)
            for part in one.properties
            if isinstance(part.node, Slot) and len(part.node.options) == 1 and not part.node.nullable
            if part.required or part.node.default == part.node.options[0]
        )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the content of the form without its judge: equal forms have equal fingerprints."""
        content = _content((self.title, self.description, self.instance, self.root))
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    def __hash__(self) -> int:
        # Caches hash a form at every look-up, and a walk through the tree takes as long as some of them save.
        return hash(self.fingerprint)


def _content(value: Any) -> list[Any]:
    """The content of a part of a form, as JSON: its scalars in order, and a list where a part begins or ends.

    A walk without recursion, for a form may be as deep as the stack allows.
    """
    content, ahead = list[Any](), [value]
    while ahead:
        part = ahead.pop()
        if isinstance(part, Automaton):
            content.append(part.fingerprint)
        elif is_dataclass(part):
            content.append([type(part).__name__])
            values = [(field.name, getattr(part, field.name)) for field in reversed(fields(part))]
            ahead += [_END, *(value for name, value in values if value or name not in _LATER)]
        elif isinstance(part, tuple):
            content.append([len(part)])
            ahead += reversed(part)
        else:
            content.append([] if part is _END else part)
    return content


#: Ends a part of a form.
_END = object()
#: Fields that came later and count only where they say something, so that older forms keep their fingerprints.
_LATER = frozenset({"written", "told"})


def children(node: Node) -> Iterator[Node]:
    """The nodes right below this one, including a choice's selector and an open property's key."""
    if isinstance(node, ObjectNode):
        yield from (p.node for p in node.properties)
        yield from node.rest
    elif isinstance(node, ArrayNode):
        yield from node.prefix
        yield from (part for part in (node.key, node.item) if part is not None)
    elif isinstance(node, ChoiceNode):
        yield node.selector
        yield from node.branches


def enclosing_arrays(form: Form) -> dict[int, int]:
    """For each array the array that its rows lie in, -1 for none; parents come before their children."""
    around_of: dict[int, int] = {}

    def visit(node: Node, around: int) -> None:
        if not isinstance(node, ArrayNode):
            for part in children(node):
                visit(part, around)
            return
        around_of[node.index] = around
        for part in node.prefix:
            visit(part, around)
        if node.item is not None:
            visit(node.item, node.index)

    visit(form.root, -1)
    return around_of


def walk(node: Node) -> Iterator[Node]:
    """This node and all nodes below it, parents before children."""
    yield node
    for part in children(node):
        yield from walk(part)
