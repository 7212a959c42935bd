"""Fields that are facts: the keyword `x-cinnabar-from` binds a field to a fact, and no model is asked for it.

    {"type": "string", "format": "email", "x-cinnabar-from": "mail.from.address"}

A fact belongs to the whole document. So it can be bound to a scalar, or to a list of scalars, that lies in objects
alone: not in the rows of a list, in an alternative or among open properties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from cinnabar.errors import SchemaError
from cinnabar.schemas.facts import FACTS
from cinnabar.schemas.form.form import ArrayNode, Form, Node, ObjectNode, Slot, children
from cinnabar.schemas.judging.resources import Documents
from cinnabar.schemas.parsing.schema_object import BINDING
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

# The most facts that an error names.
_NEAR = 3

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


def check_names(schema: dict[str, Any] | bool) -> None:
    """Raises SchemaError, with the pointer of the keyword, for a binding in this schema that names no fact."""
    for place in Documents(schema).subschemas():
        if BINDING not in place.value:
            continue
        named, where = place.value[BINDING], f"{place.pointer}/{BINDING}"
        if not isinstance(named, str):
            raise SchemaError(f"{where}: expected the name of a fact, got {type(named).__name__}")
        if named not in FACTS:
            near = get_close_matches(named.lower(), FACTS, _NEAR, 0.5)
            some = f"; near it: {', '.join(near)}" if near else ""
            raise SchemaError(
                f"{where}: expected the name of a fact, got {named!r:.80}{some}; docs/schemas.md lists all facts"
            )


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
        defined = pointer.startswith(("/$defs/", "/definitions/"))
        if BINDING in place_of_schema.value and pointer not in there and not defined:
            problem = "the form has no single field for this part of the schema"
            raise refused(Refusal.FACT_PLACE, pointer, problem=problem)


def _inside(node: Node, within: bool = False) -> Iterator[str]:
    """Yields the pointers of bindings within lists and alternatives."""
    if within and isinstance(node, (Slot, ArrayNode)) and node.binding is not None:
        yield node.binding.pointer
    inner = within or not isinstance(node, (Slot, ObjectNode))
    for part in children(node):
        yield from _inside(part, inner or part in getattr(node, "rest", ()))
