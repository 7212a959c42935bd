"""Shapes of the keywords that apply schemas to the value itself: alternatives, conditions, denials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from cinnabar.schemas.judging.resources import Place
from cinnabar.schemas.reading.algebra import forbidden, intersect, restrict, types_of, union
from cinnabar.schemas.reading.denial import Denial, beyond
from cinnabar.schemas.reading.language import NO_AUTOMATON
from cinnabar.schemas.reading.named_types import ANY_TYPE
from cinnabar.schemas.reading.reading_state import CUT, ReadingState, TooMany
from cinnabar.schemas.reading.scalars import BOUNDS, constant_meaning, locate_errors
from cinnabar.schemas.reading.schema_object import SchemaObject, annotation
from cinnabar.schemas.reading.shape import (
    Anything,
    Array,
    Boolean,
    Enum,
    Field,
    Null,
    Object,
    Shape,
    branches,
    with_notes,
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


def with_unevaluated(reader: ReadingState, shape: Shape, schema: SchemaObject, level: int) -> Shape:
    """The shape with `unevaluatedProperties` and `unevaluatedItems` applied to the undescribed parts."""
    for keyword, kind in (("unevaluatedProperties", Object), ("unevaluatedItems", Array)):
        if keyword not in schema:
            continue
        value = reader.optional(schema.below(keyword), ANY_TYPE, level + 1)
        parts = [_close(part, value) if isinstance(part, kind) else part for part in branches(shape)]
        shape = with_notes(union(parts) or shape, shape.notes)
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


def without_denied(reader: ReadingState, shape: Shape, schema: SchemaObject, level: int) -> Shape | None:
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
    return with_notes(left, shape.notes)


def _without(shape: Shape, texts: set[str | None]) -> Shape | None:
    """A branch without these canonical texts, as far as the branch lists its values."""
    if isinstance(shape, Null):
        return None if "null" in texts else shape
    if isinstance(shape, Boolean):
        shape = Enum(("true", "false"), ("", ""), shape.notes) if texts & {"true", "false"} else shape
    if not isinstance(shape, Enum):
        return shape
    keep = [i for i, text in enumerate(shape.options) if text not in texts]
    if not keep:
        return None
    return Enum(tuple(shape.options[i] for i in keep), tuple(shape.meanings[i] for i in keep), shape.notes)
