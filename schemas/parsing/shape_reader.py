"""The walk over a JSON Schema that makes its shape: the values that may be written, from which the form is laid out.

Whatever the closed algebra of shapes can express is taken over exactly: bounds, choices, alternatives, keywords beside
a reference, `allOf` as an intersection, closed objects. For the rest the shape has the nearest values that can be
written: a condition becomes two alternatives, a recursive schema is followed a few levels, and a schema of thousands of
values loses its deepest optional ones. The judge (`cinnabar.schemas.judging`) decides whether a record is allowed, and
it sees every record before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.errors import NoValue, UnsupportedSchema
from cinnabar.schemas.formats.formats import format_content
from cinnabar.schemas.judging.dialects import Dialect, modern
from cinnabar.schemas.judging.resources import LISTS, RECURSIVE, Documents, Place, Resource
from cinnabar.schemas.keywords import MAPS
from cinnabar.schemas.parsing.algebra import TYPES, anything_of, intersect, restrict, types_of, union
from cinnabar.schemas.parsing.applicators import (
    alternatives,
    close_unevaluated,
    condition,
    dependent,
    drop_denied,
)
from cinnabar.schemas.parsing.containers import array_shape, object_shape
from cinnabar.schemas.parsing.language import smallest
from cinnabar.schemas.parsing.scalars import choices_shape, locate_errors, number_shape, string_shape
from cinnabar.schemas.parsing.schema_object import (
    ABOUT,
    ANY_TYPE,
    MAX_DEMANDED,
    NamedTypes,
    ReadingState,
    SchemaObject,
    TooMany,
    common,
    left,
    schema_notes,
)
from cinnabar.schemas.parsing.shape import Anything, Array, Object, Shape, branches, set_notes
from cinnabar.schemas.refusals import Refusal, refused

#: The most conditions on the presence of properties that become alternatives.
_MAX_DEPENDENT = 3


@dataclass(slots=True)
class ShapeReader(ReadingState):
    """The walk over one schema; it knows all keywords."""

    #: The references on the way here, each by the identity of its place.
    following: list[int] = field(default_factory=list)
    #: The resources on the way here, each once, the outermost first.
    scope: list[Resource] = field(default_factory=list)
    #: The deepest nesting of containers read so far.
    deepest: int = 0
    stopped: bool = False
    named: NamedTypes = field(init=False)

    def __post_init__(self) -> None:
        self.named = NamedTypes(self.documents)

    def read(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of the schema at a place, `level` containers deep; None if no value can be written.

        `types` are the JSON types that the surrounding keywords leave.
        """
        entered = place.resource not in self.scope
        if entered:
            self.scope.append(place.resource)
        try:
            self.count(place.pointer)
            if place.value is False:
                self.note_no_value(refused(Refusal.FALSE, place.pointer))
                return None
            if not isinstance(place.value, Mapping) or not place.value:
                return Anything() if types == ANY_TYPE else restrict(Anything(), types)
            schema = SchemaObject(place, modern(place.value, place.resource.dialect))
            self.left_out.extend(unchecked_demands(schema))
            if "type" in schema:
                named = schema.get("type")
                types = common(types, frozenset(named if isinstance(named, list) else [named]))
            shape: Shape | None = Anything()
            for keyword, part in self._parts(schema, types, level):
                if part is None:
                    self.note_no_value(refused(Refusal.NOTHING, schema.pointer(keyword), keyword))
                    return None
                assert shape is not None
                alone = isinstance(shape, Anything)
                with locate_errors(schema.pointer(keyword), keyword):
                    shape = intersect(shape, part)
                # A part that stands alone was checked when it was made.
                if shape is None or not (alone or _has_value(shape, schema, keyword)):
                    self.note_no_value(refused(Refusal.NOTHING, schema.pointer(keyword), keyword))
                    return None
            assert shape is not None
            shape = shape if types == ANY_TYPE else restrict(shape, types)
            if shape is None:
                self.note_no_value(refused(Refusal.NOTHING, schema.pointer("type"), "type"))
                return None
            shape = close_unevaluated(self, shape, schema, level)
            shape = drop_denied(self, shape, schema, level)
            return None if shape is None else set_notes(shape, schema_notes(place.value, place.pointer))
        finally:
            if entered:
                self.scope.pop()

    def _parts(
        self, schema: SchemaObject, types: frozenset[str], level: int
    ) -> Iterator[tuple[str, Shape | None]]:
        """The shapes that a value must all have, each with its keyword.

        The keywords beside constants, references and `allOf` are read only for the types that these leave.
        """
        if "enum" in schema:
            part = choices_shape(schema.get("enum"), schema.pointer("enum"), "enum")
            types = left(types, part)
            yield "enum", part
        if "const" in schema:
            part = choices_shape([schema.get("const")], schema.pointer("const"), "const")
            types = left(types, part)
            yield "const", part
        stated = self.named.of(schema.place)
        types = types if stated == ANY_TYPE else common(types, stated) or types
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                part = self._reference(schema, keyword, types, level)
                types = left(types, part)
                yield keyword, part
        for at in range(len(schema.get("allOf", ()))):
            part = self.read(schema.below("allOf", str(at)), types, level)
            types = left(types, part)
            yield "allOf", part
        about = {kind for kind, keywords in ABOUT.items() if any(k in schema for k in keywords)}
        either: dict[str, Shape | None] = {}
        if "type" in schema or any(_group(kind) in about for kind in types):
            if "type" not in schema:
                # The types that alternatives name are written, even if the keywords beside them are about others.
                either = {
                    keyword: alternatives(self, schema, keyword, types, level)
                    for keyword in ("anyOf", "oneOf")
                    if keyword in schema
                }
                for part in either.values():
                    types = left(types, part)
            named = [part for part in either.values() if part is not None]
            order = [kind for part in named for branch in branches(part) for kind in sorted(types_of(branch))]
            own = self._own(schema, about, types, level, order)
            types = left(types, own)
            yield next((k for k in (*_flat(ABOUT), "type") if k in schema), "type"), own
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                made = keyword in either
                yield keyword, either[keyword] if made else alternatives(self, schema, keyword, types, level)
        if "if" in schema and ("then" in schema or "else" in schema):
            yield "if", condition(self, schema, types, level)
        for keyword in ("dependentSchemas", "dependencies:dependentSchemas"):
            for name in list(schema.get(keyword, {}))[:_MAX_DEPENDENT]:
                yield keyword, dependent(self, schema, keyword, name, types, level)

    def _reference(
        self, schema: SchemaObject, keyword: str, types: frozenset[str], level: int
    ) -> Shape | None:
        target = self._target(schema, keyword)
        if self.following.count(id(target)) >= self.unrolled:
            self.stopped = True
            what = f"the form has {self.unrolled} levels of a schema that contains itself, and no more"
            self.left_out.append((schema.pointer(keyword), what))
            self.note_no_value(refused(Refusal.CONTAINS_ITSELF, schema.pointer(keyword), keyword))
            return None
        self.following.append(id(target))
        try:
            return self.read(target, types, level)
        finally:
            self.following.pop()

    def _target(self, schema: SchemaObject, keyword: str) -> Place:
        """The target of a reference; for a dynamic one, the outermost entered schema that has the anchor."""
        target, fragment = self.documents.resolve(schema.get(keyword), schema.place, keyword)
        name = RECURSIVE if keyword == "$recursiveRef" else fragment
        if keyword == "$ref" or target.resource.dynamic.get(name) is not target:
            return target
        return next((r.dynamic[name] for r in self.scope if name in r.dynamic), target)

    def _own(
        self, schema: SchemaObject, about: set[str], types: frozenset[str], level: int, order: Sequence[str]
    ) -> Shape | None:
        """The values of each type that the schema's own keywords allow.

        If no keyword is about a type, its values are allowed; they are written if something else names the types,
        in this `order`.
        """
        kinds = [k for k in TYPES if k in types and not (k == "integer" and "number" in types)]
        kinds.sort(key=lambda kind: order.index(kind) if kind in order else len(order))
        shapes: list[Shape] = []
        before = self.problem
        for kind in kinds:
            if _group(kind) not in about:
                if "type" in schema or types != ANY_TYPE:
                    shapes.append(anything_of(kind))
                continue
            try:
                part = self._of_type(kind, schema, level)
            except NoValue as problem:
                self.note_no_value(problem)
                continue
            if part is not None:
                shapes.append(part)
        if shapes:
            self.problem = before
        return union(shapes)

    def _of_type(self, kind: str, schema: SchemaObject, level: int) -> Shape | None:
        if kind == "string":
            strings = string_shape(schema.values, schema.pointer())
            # The first keyword that asserts something about the content of strings.
            content = next((CONTENT[k, schema.get(k)] for k, _ in CONTENT if _asserts(schema, k)), None)
            return strings if content is None else replace(strings, patterns=(*strings.patterns, content))
        if kind in ("array", "object"):
            self.deepest = max(self.deepest, level)
            return (array_shape if kind == "array" else object_shape)(self, schema, level)
        return number_shape(schema.values, schema.pointer(), integer=kind == "integer")


def _group(kind: str) -> str:
    return "number" if kind == "integer" else kind


def _flat(about: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for keywords in about.values():
        yield from keywords


def _has_value(shape: Shape, schema: SchemaObject, keyword: str) -> bool:
    """Whether a shape has a value, by automata; containers count as inhabited, since they were checked before."""
    with locate_errors(schema.pointer(keyword), keyword):
        return any(isinstance(one, (Array, Object)) for one in branches(shape)) or smallest(shape) is not None


# Keywords of strings that assert something in draft 7 and are unchecked annotations in other drafts.

#: Patterns for strings whose content draft 7 asserts; the form writes by them, and the judge decides exactly.
CONTENT = {
    ("contentEncoding", "base64"): r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    ("contentMediaType", "application/json"): (
        r'^(?:\{[\s\S]*\}|\[[\s\S]*\]|"[^"\\]*"|-?(?:0|[1-9][0-9]*)|true|false|null)$'
    ),
}


def unchecked_demands(schema: SchemaObject) -> Iterator[tuple[str, str]]:
    """The demands on strings that nobody checks, as (pointer, description)."""
    name = schema.get("format")
    if isinstance(name, str) and format_content(name) is None:
        yield schema.pointer("format"), f"format {name} is unknown and not checked"
    for keyword in ("contentEncoding", "contentMediaType"):
        if keyword in schema and not _asserts(schema, keyword):
            what = f"{keyword} {schema.get(keyword)} is an annotation and not checked"
            yield schema.pointer(keyword), what


def _asserts(schema: SchemaObject, keyword: str) -> bool:
    """Whether this keyword about the content of strings asserts anything; only draft 7 lets it."""
    named = schema.get(keyword)
    return schema.place.resource.dialect is Dialect.DRAFT_7 and (keyword, str(named)) in CONTENT


#: The depths of nested containers that are tried, the most first; the last level has only required properties.
LEVELS = (40, 7, 5, 4, 3, 2, 1)
#: The numbers of times that a reference is followed within itself; larger ones are tried if nothing can be written.
UNROLLED = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A shape, and the parts of its schema that the form leaves out, as (pointer, description) in its order."""

    shape: Shape
    left_out: tuple[tuple[str, str], ...]


def normalise(schema: dict[str, Any] | bool, denying: bool = False) -> Normalised:
    """The shape of a JSON Schema, of the draft that it names.

    With `denying`, all values that `not` denies are taken away if they have shapes. The form then has more
    alternatives, and more records can be found.

    Raises UnsupportedSchema with the pointer of a keyword if no value can be written under it, and NoValue if
    none exists.
    """
    documents = Documents(schema)
    problem: UnsupportedSchema | None = None
    for unrolled in UNROLLED[1:] if denying else UNROLLED:
        deepest = LEVELS[0]
        for levels, sparing in (*((levels, False) for levels in LEVELS), (LEVELS[-1], True)):
            if levels > deepest and not sparing:
                continue  # The result would be the same as before.
            reader = ShapeReader(documents, levels, unrolled, denying, sparing)
            try:
                shape = reader.read(documents.root, ANY_TYPE, 0)
            except TooMany as stopped:
                problem = refused(Refusal.DEMANDS, stopped.pointer, _keyword(stopped.pointer), most=MAX_DEMANDED)
                deepest = reader.deepest
                continue
            except RecursionError:
                problem = refused(Refusal.NESTED_SHAPES, reader.reached, _keyword(reader.reached))
                continue
            if shape is not None:
                return Normalised(shape, tuple(dict.fromkeys(reader.left_out)))
            problem = reader.problem
            break
        if not reader.stopped:
            break
    raise problem or refused(Refusal.NOTHING, "", "type")


def _keyword(pointer: str) -> str:
    """The keyword that holds the schema at this pointer."""
    *above, last = pointer.split("/")
    return above[-1] if above and above[-1] in (*LISTS, *MAPS) else last
