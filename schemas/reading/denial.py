"""The complement of a schema as a shape, used to lay out `not` when the judge alone finds no record.

A value is in the complement if it breaks any keyword of the schema. Most keywords have a shape of their own for this:
`not: {required: [a]}` is an object without `a`, `not: {properties: {a: S}}` an object in which `a` breaks S. Keywords
without such a shape are skipped; the judge decides on the whole record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cinnabar.schemas.judging.dialects import modern
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.reading.algebra import TYPES, forbidden, intersect, restrict, union
from cinnabar.schemas.reading.containers import MAX_MIN_ITEMS
from cinnabar.schemas.reading.language import MAX_UNROLLED_LENGTH
from cinnabar.schemas.reading.schema_object import SchemaObject
from cinnabar.schemas.reading.shape import (
    Anything,
    Array,
    Enum,
    Field,
    Number,
    Object,
    Shape,
    String,
    branches,
)

#: The deepest nesting of schemas that is followed.
DEEPEST = 6
#: Steps whose multiples numbers can be kept apart from by a few states: about as many as the step.
LEAST_STEP, LARGEST_STEP = Decimal("0.01"), 100

Read = Callable[[Place], Shape | None]


@dataclass(frozen=True, slots=True)
class Denial:
    """Builds the shapes of values that break schemas; `read` gives the shape of values that meet one."""

    documents: Documents
    read: Read

    def of(self, place: Place, deep: int = 0) -> Shape | None:
        """The values that break the schema at a place; Anything if they are unknown, None if there are none."""
        if place.value is False:
            return Anything()
        if not isinstance(place.value, Mapping) or not place.value:
            return None
        if deep >= DEEPEST:
            return Anything()
        schema = SchemaObject(place, modern(place.value, place.resource.dialect))
        parts = [part for part in self._parts(schema, deep + 1) if part is not None]
        known: list[Shape] = [part for part in parts if not isinstance(part, Anything)]
        return union(known) if known else Anything()

    def _parts(self, schema: SchemaObject, deep: int) -> Iterator[Shape | None]:
        """For each keyword the values that break it."""
        for keyword, (_, value) in schema.entries.items():
            match keyword:
                case "type":
                    named = set(value if isinstance(value, list) else [value])
                    left = set(TYPES) - named - ({"integer"} if "number" in named else set())
                    yield restrict(Anything(), frozenset(left))
                case "not":
                    yield self.read(schema.below("not"))
                case "$ref":
                    yield self.of(self.documents.resolve(value, schema.place, keyword)[0], deep)
                case "allOf":
                    yield from (self.of(schema.below(keyword, str(at)), deep) for at in range(len(value)))
                case "anyOf" | "oneOf":
                    yield self._all_denied([schema.below(keyword, str(at)) for at in range(len(value))], deep)
                case "required":
                    yield from (Object((), Anything(), patterns=(forbidden(name),)) for name in value)
                case "properties":
                    for name in value:
                        part = self.of(schema.below(keyword, name), deep)
                        yield None if part is None else Object((Field(name, part, True),), Anything())
                case "dependentRequired" | "dependencies:dependentRequired":
                    for name, others in value.items():
                        there = (Field(name, Anything(), True),)
                        yield from (
                            Object(there, Anything(), patterns=(forbidden(other),)) for other in others
                        )
                case "propertyNames":
                    yield from self._with_named_property(self.of(schema.below(keyword), deep))
                case "items":
                    part = self.of(schema.below(keyword), deep)
                    yield None if part is None else Array(Anything(), 1, contained=part, min_contained=1)
                case "contains" if "minContains" not in schema:
                    part = self.of(schema.below(keyword), deep)
                    yield Array(part)
                case _:
                    yield beyond(keyword, value)

    def _all_denied(self, places: Sequence[Place], deep: int) -> Shape | None:
        """The values that break each of these schemas."""
        breaking: Shape | None = Anything()
        for place in places:
            part = self.of(place, deep)
            breaking = None if breaking is None or part is None else intersect(breaking, part)
        return breaking

    @staticmethod
    def _with_named_property(name: Shape | None) -> Iterator[Shape]:
        """Objects with a property of such a name."""
        for kind in branches(name) if name is not None else ():
            if isinstance(kind, Enum):
                names = [text for text in kind.options if text.startswith('"')]
                yield from (
                    Object((Field(json.loads(text), Anything(), True),), Anything()) for text in names
                )
            elif isinstance(kind, String):
                yield Object((), Anything(), names=kind, min_properties=1)


def beyond(keyword: str, value: Any) -> Shape | None:
    """The values that break a bound."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return Anything()
    if keyword == "pattern":
        return String((f"^(?![^]*(?:{value}))",))
    if isinstance(value, str):
        return Anything()
    exact, whole = Decimal(str(value)), int(value)
    match keyword:
        case "multipleOf" if LEAST_STEP <= exact <= LARGEST_STEP:
            return Number(apart=(exact,))
        case "minimum":
            return Number(exclusive_maximum=exact)
        case "maximum":
            return Number(exclusive_minimum=exact)
        case "exclusiveMinimum":
            return Number(maximum=exact)
        case "exclusiveMaximum":
            return Number(minimum=exact)
        case "minLength":
            return String(max_length=whole - 1) if whole else None
        case "maxLength" if whole < MAX_UNROLLED_LENGTH:
            return String(min_length=whole + 1)
        case "minItems":
            return Array(Anything(), 0, whole - 1) if whole else None
        case "maxItems" if whole < MAX_MIN_ITEMS:
            return Array(Anything(), whole + 1)
        case "minProperties":
            return Object((), Anything(), max_properties=whole - 1) if whole else None
        case "maxProperties" if whole < MAX_MIN_ITEMS:
            return Object((), Anything(), min_properties=whole + 1)
    return Anything()
