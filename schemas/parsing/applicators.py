"""Shapes of the keywords that apply schemas to the value itself: alternatives, conditions, denials.

A denial is the complement of a schema, which lays out `not` when the judge alone finds no record. A value is in it if
it breaks any keyword of the schema. Most keywords have a shape of their own for this: `not: {required: [a]}` is an
object without `a`, `not: {properties: {a: S}}` an object in which `a` breaks S. Keywords without such a shape are
skipped; the judge decides on the whole record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from cinnabar.schemas.judging.dialects import modern
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.parsing.algebra import TYPES, forbidden, intersect, pick, restrict, types_of, union
from cinnabar.schemas.parsing.containers import MAX_MIN_ITEMS
from cinnabar.schemas.parsing.language import MAX_UNROLLED_LENGTH, NO_AUTOMATON
from cinnabar.schemas.parsing.scalars import BOUNDS, constant_meaning, locate_errors
from cinnabar.schemas.parsing.schema_object import ANY_TYPE, CUT, ReadingState, SchemaObject, TooMany, annotation
from cinnabar.schemas.parsing.shape import (
    Anything,
    Array,
    Boolean,
    Enum,
    Field,
    Null,
    Number,
    Object,
    Shape,
    String,
    branches,
    set_notes,
)
from cinnabar.schemas.refusals import Refusal, refused


def alternatives(
    reader: ReadingState, schema: SchemaObject, keyword: str, types: frozenset[str], level: int
) -> Shape | None:
    """The shape of the values that may be written under `anyOf` or `oneOf`."""
    places = (schema.below(keyword, str(at)) for at in range(len(schema.get(keyword))))
    return union([constant_meaning(part) for part in _either(reader, places, types, level)])


def _either(reader: ReadingState, places: Iterable[Place], types: frozenset[str], level: int) -> list[Shape]:
    """The shapes of the places under which a value can be written."""
    before = reader.problem
    parts: list[Shape] = []
    for place in places:
        if parts and reader.full:
            reader.left_out.append((place.pointer, CUT))
            break
        try:
            part = reader.read(place, types, level)
        except TooMany as stopped:
            reader.go_on_without(stopped, needed=not parts)
            continue
        if part is not None:
            parts.append(part)
    if parts:
        reader.problem = before
    return parts


def condition(reader: ReadingState, schema: SchemaObject, types: frozenset[str], level: int) -> Shape | None:
    """The values that meet the condition and `then`, or that meet `else`; the judge tells them apart."""
    met = reader.optional(schema.below("if"), types, level)
    parts = [
        reader.optional(schema.below(k), types, level) if k in schema else restrict(Anything(), types)
        for k in ("then", "else")
    ]
    with locate_errors(schema.pointer("then"), "then"):
        both = None if met is None or parts[0] is None else intersect(met, parts[0])
    return union([part for part in (both, parts[1]) if part is not None])


def dependent(
    reader: ReadingState, schema: SchemaObject, keyword: str, name: str, types: frozenset[str], level: int
) -> Shape | None:
    """Objects with the property and the values that depend on it, objects without it, and all other values."""
    part = reader.optional(schema.below(keyword, name), types, level)
    with_it = Object((Field(name, Anything(), True),), Anything())
    without = Object((), Anything(), patterns=(forbidden(name),))
    both = None if part is None else intersect(part, with_it)
    others = restrict(Anything(), types - {"object"})
    return union([s for s in (both, without, others) if s is not None])


def close_unevaluated(reader: ReadingState, shape: Shape, schema: SchemaObject, level: int) -> Shape:
    """The shape with `unevaluatedProperties` and `unevaluatedItems` applied to the undescribed parts."""
    for keyword, kind in (("unevaluatedProperties", Object), ("unevaluatedItems", Array)):
        if keyword not in schema:
            continue
        value = reader.optional(schema.below(keyword), ANY_TYPE, level + 1)
        parts = [_close(part, value) if isinstance(part, kind) else part for part in branches(shape)]
        shape = set_notes(union(parts) or shape, shape.notes)
    return shape


def _close(shape: Shape, value: Shape | None) -> Shape:
    """The container with `value` for its undescribed parts; items that `contains` describes stay."""
    if isinstance(shape, Object) and isinstance(shape.additional, Anything) and value is not None:
        return replace(shape, additional=value)
    if isinstance(shape, Array) and isinstance(shape.item, Anything):
        item = union([part for part in (value, shape.contained) if part is not None])
        if item is not None or shape.min_items <= len(shape.prefix):
            return replace(shape, item=item)
    return shape


#: Keywords whose breaking leaves numbers alone: no alternatives come of it.
_OF_NUMBERS = {"multipleOf", *BOUNDS}


def drop_denied(reader: ReadingState, shape: Shape, schema: SchemaObject, level: int) -> Shape | None:
    """The shape without the values that `not` denies, as far as the denied values are types or choices."""
    denied = schema.get("not", False)
    left: Shape | None = shape
    if denied is True or denied == {}:
        left = None
    elif isinstance(denied, Mapping) and set(denied) == {"type"}:
        named = denied["type"] if isinstance(denied["type"], list) else [denied["type"]]
        gone = frozenset(named) | ({"integer"} if "number" in named else set())
        left = restrict(shape, types_of(shape) - gone)
    elif isinstance(denied, Mapping) and denied.keys() <= {"enum", "const"}:
        values = [*denied.get("enum", ()), *([denied["const"]] if "const" in denied else ())]
        texts = {annotation(value) for value in values}
        parts = [_without(branch, texts) for branch in branches(shape)]
        left = union([part for part in parts if part is not None])
    elif isinstance(denied, Mapping) and denied and denied.keys() <= _OF_NUMBERS:
        parts = [beyond(keyword, value) for keyword, value in denied.items()]
        if not any(isinstance(part, Anything) for part in parts):
            apart = union([part for part in parts if part is not None])
            with suppress(*NO_AUTOMATON):
                left = None if apart is None else intersect(shape, apart)
    elif reader.denying and "not" in schema:
        what = Denial(reader.documents, lambda place: reader.optional(place, ANY_TYPE, level))
        with locate_errors(schema.pointer("not"), "not"):
            broken = what.of(schema.below("not"))
            left = (None if broken is None else intersect(shape, broken)) or shape
    if left is None:
        reader.note_no_value(refused(Refusal.NOTHING, schema.pointer("not"), "not"))
        return None
    return set_notes(left, shape.notes)


def _without(shape: Shape, texts: set[str | None]) -> Shape | None:
    """A branch without these canonical texts, as far as the branch lists its values."""
    if isinstance(shape, Null):
        return None if "null" in texts else shape
    if isinstance(shape, Boolean):
        shape = Enum(("true", "false"), ("", ""), shape.notes) if texts & {"true", "false"} else shape
    if not isinstance(shape, Enum):
        return shape
    keep = [i for i, text in enumerate(shape.options) if text not in texts]
    return pick(shape, keep) if keep else None


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
