"""Shapes of the keywords of arrays and objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cinnabar.schemas.parsing.algebra import forbidden, intersect, undeclared_shape
from cinnabar.schemas.parsing.scalars import locate_errors, whole
from cinnabar.schemas.parsing.schema_object import ANY_TYPE, CUT, ReadingState, SchemaObject, TooMany
from cinnabar.schemas.parsing.shape import Anything, Array, Field, Object, Shape
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

#: The most rows that an array may demand; nobody fills a form with more of them.
MAX_MIN_ITEMS = 512


def array_shape(reader: ReadingState, schema: SchemaObject, level: int) -> Shape | None:
    """The arrays that the keywords of a schema allow; None if no value can be written."""
    low, high = _whole(schema, "minItems") or 0, _whole(schema, "maxItems")
    place = schema.pointer("minItems")
    if high is not None and low > high:
        reader.note_no_value(refused(Refusal.NO_SIZE, place, "minItems", low=low, high=high, parts="items"))
        return None
    if low > MAX_MIN_ITEMS:
        raise refused(Refusal.LEAST, place, "minItems", most=MAX_MIN_ITEMS, got=low)
    wanted = 0
    if "contains" in schema:
        wanted = (_whole(schema, "minContains") if "minContains" in schema else 1) or 0
    if level >= reader.levels and not low and not wanted:
        cut = next((k for k in ("items", "prefixItems", "contains") if k in schema), None)
        if cut is not None:
            reader.left_out.append((schema.pointer(cut), CUT))
        return Array(None, 0, high)
    prefix: list[Shape] = []
    item: Shape | None = None
    for at in range(len(schema.get("prefixItems", ()))):
        shape = reader.optional(schema.below("prefixItems", str(at)), ANY_TYPE, level + 1)
        if shape is None:
            break
        prefix.append(shape)
    else:
        rest = schema.below("items") if "items" in schema else None
        item = Anything() if rest is None else reader.optional(rest, ANY_TYPE, level + 1)
    held = reader.optional(schema.below("contains"), ANY_TYPE, level + 1) if "contains" in schema else None
    if wanted and held is None:
        reader.note_no_value(refused(Refusal.NOTHING, schema.pointer("contains"), "contains"))
        return None
    if item is None and max(low, wanted) > len(prefix):
        reader.note_no_value(refused(Refusal.NOTHING, schema.pointer("minItems"), "minItems"))
        return None
    return Array(
        item, max(low, wanted), high, prefix=tuple(prefix[:high]), unique=schema.get("uniqueItems") is True,
        contained=held, min_contained=wanted,
    )  # fmt: skip


def _whole(schema: SchemaObject, keyword: str) -> int | None:
    return whole(schema.values, keyword, schema.pointer())


def object_shape(reader: ReadingState, schema: SchemaObject, level: int) -> Shape | None:
    """The objects that the keywords of a schema allow; None if no value can be written."""
    declared = schema.get("properties", {})
    required = {name: None for name in schema.get("required", ()) if isinstance(name, str)}
    last = level >= reader.levels
    patterns: tuple[tuple[str, Shape | None], ...] = ()
    for pattern in schema.get("patternProperties", {}):
        below = schema.below("patternProperties", pattern)
        reader.count(below.pointer)
        plain = last or reader.full
        patterns += ((pattern, Anything() if plain else reader.optional(below, ANY_TYPE, level + 1)),)
    names = None
    if "propertyNames" in schema:
        names = reader.optional(schema.below("propertyNames"), frozenset({"string"}), level)
    frame = Object((), _rest(reader, schema, last, level), patterns=patterns, names=names)
    fields: list[Field] = []
    denied: list[tuple[str, Shape | None]] = []
    cut = False
    for name in dict.fromkeys((*declared, *required)):
        needed = name in required
        if (last or reader.full) and not needed:
            cut = True
            continue
        left_before, before = len(reader.left_out), reader.problem
        try:
            shape = _property(reader, schema, name, frame, level)
        except TooMany as stopped:
            reader.go_on_without(stopped, needed)
            cut = True
            continue
        if shape is not None:
            fields.append(Field(name, shape, needed))
        elif needed:
            reader.note_no_value(refused(Refusal.NOTHING, schema.pointer("required"), "required"))
            return None
        else:
            reader.problem = before
            # Without such a pattern the keywords beside it would take the name for an undeclared one.
            denied.append(forbidden(name))
        if shape is None and declared[name] is not False and len(reader.left_out) == left_before:
            place = f"{schema.pointer('properties')}/{escape(name)}"
            reader.left_out.append((place, "left out, because no value can be written here"))
    if cut:
        reader.left_out.append((schema.pointer("properties"), CUT))
    low, high = _whole(schema, "minProperties") or 0, _whole(schema, "maxProperties")
    if low > MAX_MIN_ITEMS and low > len(fields):
        raise refused(Refusal.MIN_PROPERTIES, schema.pointer("minProperties"), most=MAX_MIN_ITEMS, got=low)
    patterns = (*patterns, *denied) if frame.additional is not None or patterns else ()
    return replace(
        frame, fields=tuple(fields), patterns=patterns, min_properties=low, max_properties=high,
        demands=tuple(_demands(schema)),
    )  # fmt: skip


def _demands(schema: SchemaObject) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that must be there beside another one."""
    for keyword in ("dependentRequired", "dependencies:dependentRequired"):
        for name, others in schema.get(keyword, {}).items():
            yield name, tuple(other for other in others if isinstance(other, str))


def _property(reader: ReadingState, schema: SchemaObject, name: str, frame: Object, level: int) -> Shape | None:
    """The shape of a property under all keywords of its object that apply to its name; None if it is forbidden."""
    own: Shape | None = Anything()
    if name in schema.get("properties", {}):
        own = reader.read(schema.below("properties", name), ANY_TYPE, level + 1)
        frame = replace(frame, additional=Anything())
    else:
        reader.count(schema.pointer("required"))
    with locate_errors(schema.pointer("patternProperties"), "patternProperties"):
        matched = undeclared_shape(frame, name)
        return None if own is None or matched is None else intersect(own, matched)


def _rest(reader: ReadingState, schema: SchemaObject, last: bool, level: int) -> Shape | None:
    """The shape of undeclared properties that match no pattern; None if they are forbidden.

    The declarations of other keywords are not known here, so `unevaluatedProperties` does not change the result.
    """
    if "additionalProperties" not in schema or (last and schema.get("additionalProperties") is not False):
        return Anything()
    return reader.optional(schema.below("additionalProperties"), ANY_TYPE, level + 1)
