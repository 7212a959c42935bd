"""The JSON types that a schema names for its value, and the types that its other parts leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cinnabar.schemas.judging.dialects import modern
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.judging.values import TYPES as KINDS_OF
from cinnabar.schemas.reading.algebra import TYPES, types_of
from cinnabar.schemas.reading.schema_object import SchemaObject
from cinnabar.schemas.reading.shape import Shape

#: The types of a value if no keyword names one.
ANY_TYPE = frozenset(TYPES)


@dataclass(frozen=True, slots=True)
class NamedTypes:
    """Finds the types that the schemas of some documents name; results are kept."""

    documents: Documents
    _types_of: dict[Place, frozenset[str]] = field(default_factory=dict, init=False, repr=False)

    def of(self, place: Place) -> frozenset[str]:
        """The types that a schema, or one it leads to at the same value, names; all types if none does."""
        types = self._types_of.get(place)
        if types is None:
            # A schema that leads back to itself names no further type.
            types = self._types_of[place] = ANY_TYPE
            if isinstance(place.value, Mapping):
                schema = SchemaObject(place, modern(place.value, place.resource.dialect))
                for part in self._type_names(schema):
                    if not part | {"integer"} >= ANY_TYPE:
                        types = common(types, part)
            self._types_of[place] = types
        return types

    def _type_names(self, schema: SchemaObject) -> Iterator[frozenset[str]]:
        named = schema.get("type")
        if named is not None:
            yield frozenset(named if isinstance(named, list) else [named])
        values = [*schema.get("enum", ()), *([schema.get("const")] if "const" in schema else ())]
        if values:
            yield frozenset(_type_of(value) for value in values)
        if "$ref" in schema:
            yield self.of(self.documents.resolve(schema.get("$ref"), schema.place, "$ref")[0])
        for at in range(len(schema.get("allOf", ()))):
            yield self.of(schema.below("allOf", str(at)))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                parts = [self.of(schema.below(keyword, str(at))) for at in range(len(schema.get(keyword)))]
                yield frozenset[str]().union(*parts)


def _type_of(value: Any) -> str:
    """The JSON type of a value; `number` for all numbers."""
    if isinstance(value, bool):
        return "boolean"
    return next((kind for kind in reversed(TYPES) if isinstance(value, KINDS_OF[kind])), "null")


def common(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    """The types that both sets allow; integers count as numbers."""
    both = set(first & second)
    if ("number" in first and "integer" in second) or ("integer" in first and "number" in second):
        both.add("integer")
    if "number" in both:
        both.discard("integer")
    return frozenset(both)


def left(types: frozenset[str], part: Shape | None) -> frozenset[str]:
    """The types that `part` leaves; None leaves them all."""
    return types if part is None else common(types, types_of(part))
