"""Fields that are facts: the keyword `x-cinnabar-from` binds a field to a fact, and no model is asked for it.

    {"type": "string", "format": "email", "x-cinnabar-from": "mail.from.address"}

A fact belongs to the whole document. So it can be bound to a scalar, or to a list of scalars, that lies in objects
alone: not in the rows of a list, in an alternative or among open properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from cinnabar.errors import SchemaError
from cinnabar.schemas.facts import FACTS, LANGUAGE, FactKind
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode, Slot, children
from cinnabar.schemas.judging.resources import Documents
from cinnabar.schemas.parsing.schema_object import BINDING
from cinnabar.schemas.pointers import escape, unescape
from cinnabar.schemas.refusals import Refusal, refused

# The most facts that an error names.
_NEAR = 3
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
# Words of a name that say nothing about its fact.
_EMPTY = frozenset({
    "the", "a", "an", "of", "in", "this", "mail", "email", "e", "message", "document", "file", "header", "field",
    "value", "iso",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class FactField:
    """A fact field: its JSON pointer in every record, its node, and its fact.

    `optional`: the record may omit the field. `excusable`: the field, or an object around it, may be left out or null.
    """

    pointer: str
    node: Slot | ArrayNode
    fact: str
    optional: bool
    excusable: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """A field with a name and a type that suit a fact."""

    pointer: str
    fact: str


def check_names(schema: dict[str, Any] | bool) -> None:
    """Raises SchemaError, with the pointer of the keyword, for a binding in this schema that names no fact."""
    for place in Documents(schema).subschemas():
        if BINDING not in place.value:
            continue
        named, where = place.value[BINDING], f"{place.pointer}/{BINDING}"
        if not isinstance(named, str):
            raise SchemaError(f"{where}: expected the name of a fact, got {type(named).__name__}")
        if named not in FACTS:
            near = _near(named)
            some = f"; near it: {', '.join(near)}" if near else ""
            raise SchemaError(
                f"{where}: expected the name of a fact, got {named!r:.80}{some}; docs/facts.md lists all facts"
            )


def _near(name: str) -> list[str]:
    """Returns facts with a similar name, or with the same words."""
    close = get_close_matches(name.lower(), FACTS, _NEAR, 0.5)
    words = set(_words(name)) - _EMPTY
    shared = {fact: len(words & {*_words(fact), *" ".join(FACTS[fact].words).split()}) for fact in FACTS}
    likely = sorted((fact for fact in FACTS if shared[fact]), key=lambda fact: -shared[fact])
    return [*dict.fromkeys([*close, *likely])][:_NEAR]


@lru_cache(maxsize=256)
def fact_fields(form: Form) -> tuple[FactField, ...]:
    """Returns the fact fields of a form, in its order."""
    return tuple(_fields_in(form.root, "", False, False))


def _fields_in(node: Node, pointer: str, optional: bool, excusable: bool) -> Iterator[FactField]:
    if isinstance(node, (Slot, ArrayNode)):
        if node.binding is not None:
            yield FactField(pointer, node, node.binding.fact, optional, excusable or optional)
    elif isinstance(node, ObjectNode):
        may_close = excusable or optional or node.nullable
        for place in node.properties:
            yield from _fields_in(place.node, f"{pointer}/{escape(place.name)}", not place.required, may_close)


def check_places(form: Form, schema: dict[str, Any] | bool) -> None:
    """Raises UnsupportedSchema, with the pointer of the keyword, for a binding where the form can hold no fact."""
    found = fact_fields(form)
    there = {place.node.binding.pointer for place in found if place.node.binding is not None}
    for place in found:
        node = place.node
        if isinstance(node, ArrayNode) and (node.prefix or not isinstance(node.item, Slot)):
            assert node.binding is not None
            problem = "a list of objects, lists or fixed items holds no fact"
            raise refused(Refusal.FACT_PLACE, node.binding.pointer, problem=problem)
    for pointer in _inside(form.root):
        problem = "a fact belongs to the whole document, and this is a row or an alternative"
        raise refused(Refusal.FACT_PLACE, pointer, problem=problem)
    for place_of_schema in Documents(schema).subschemas():
        pointer = f"{place_of_schema.pointer}/{BINDING}"
        # Definitions may be unused.
        if BINDING in place_of_schema.value and pointer not in there and not _is_definition(pointer):
            problem = "the form has no single field for this part of the schema"
            raise refused(Refusal.FACT_PLACE, pointer, problem=problem)


def _inside(node: Node, within: bool = False) -> Iterator[str]:
    """Yields the pointers of bindings within lists and alternatives."""
    if within and isinstance(node, (Slot, ArrayNode)) and node.binding is not None:
        yield node.binding.pointer
    inner = within or not isinstance(node, (Slot, ObjectNode))
    for part in children(node):
        yield from _inside(part, inner or part in getattr(node, "rest", ()))


def _is_definition(pointer: str) -> bool:
    return pointer.startswith(("/$defs/", "/definitions/"))


def proposals(form: Form) -> Iterator[Proposal]:
    """Yields the fields outside of lists that are not bound and whose name and type suit one fact."""
    yield from _proposals(form.root, "")


def _proposals(node: Node, pointer: str) -> Iterator[Proposal]:
    if isinstance(node, ObjectNode):
        for place in node.properties:
            yield from _proposals(place.node, f"{pointer}/{escape(place.name)}")
    elif isinstance(node, (Slot, ArrayNode)) and node.binding is None and pointer:
        suiting = [fact for fact in FACTS if _suits(fact, node, pointer)]
        if len(suiting) == 1:
            yield Proposal(pointer, suiting[0])


def _suits(fact: str, node: Slot | ArrayNode, pointer: str) -> bool:
    if not _has_type(node, FACTS[fact].kind, fact):
        return False
    groups = [set(group.split()) for group in FACTS[fact].words]
    whole = [unescape(step) for step in pointer.split("/")[1:]]
    # The name of the object around a field may say a part: /sender/name.
    for steps in (whole[-1:], whole[-2:]):
        words = {word for step in steps for word in _words(step)}
        meant = words - _EMPTY | {word for word in words & _EMPTY if any(word in group for group in groups)}
        if meant and meant <= set().union(*groups) and _covers(groups, meant):
            return True
    return False


def _covers(groups: list[set[str]], words: set[str]) -> bool:
    """Returns True if every group has a word of its own among these."""
    if not groups:
        return True
    first, *others = groups
    return any(_covers(others, words - {word}) for word in first & words)


def _has_type(node: Slot | ArrayNode, kind: FactKind, fact: str) -> bool:
    if isinstance(node, ArrayNode):
        item = node.item
        if node.prefix or not isinstance(item, Slot):
            return False
        numbers = item.kind in ("integer", "number")
        return (kind == "texts" and item.kind == "string") or (kind == "integers" and numbers)
    if kind == "integer":
        return node.kind in ("integer", "number")
    if kind == "moment":
        return node.kind == "string" and node.format in ("date", "date-time", "time")
    if fact == LANGUAGE and node.options:
        return True
    return kind == "text" and node.kind == "string" and node.format in ("", "email", "idn-email")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]
