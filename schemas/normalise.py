"""JSON Schema to a shape: what may be written under a schema, as the form is laid out from it.

Everything that the closed algebra of shapes can say is taken over exactly: bounds, choices, alternatives,
what stands beside a reference, `allOf` as an intersection, closed objects. Of the rest the shape has the
nearest thing that can be written: a condition becomes two alternatives, a recursive schema is followed a few
levels, of a schema of thousands of values the optional ones that lie deepest are left out. Whether a record
is allowed, the judge decides (`cinnabar.schemas.judging`); nothing is written that it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.schemas.algebra import TYPES, anything_of, forbidden, intersect, restrict, types_of, union
from cinnabar.schemas.containers import ANY_TYPE, CUT, TooMany, array_shape, object_shape
from cinnabar.schemas.denial import Denial
from cinnabar.schemas.errors import NoValue, UnsupportedSchema
from cinnabar.schemas.formats import format_content
from cinnabar.schemas.judging.dialects import Draft, modern
from cinnabar.schemas.judging.resources import LISTS, MAPS, RECURSIVE, Documents, Place, Resource
from cinnabar.schemas.judging.values import TYPES as KINDS_OF
from cinnabar.schemas.language import smallest
from cinnabar.schemas.scalars import choices_shape, constant_meaning, located, number_shape, string_shape
from cinnabar.schemas.schema_object import ABOUT, SchemaObject, annotation, notes_of
from cinnabar.schemas.shape import (
    Anything,
    Array,
    Boolean,
    Enum,
    Field,
    Null,
    Object,
    Shape,
    branches,
    is_scalar,
    with_notes,
)

#: Shapes that a form is laid out from; references are inlined, so schemas may grow without bound. Up to the
#: second number where even the optional values of the root are more, for what is demanded beside them.
MAX_SHAPES, MAX_DEMANDED = 2_000, 4_000
#: Containers within containers that are followed, the most first; at the last one only what is required is.
LEVELS = (40, 7, 5, 4, 3, 2, 1)
#: How often a reference is followed within itself; more where nothing could be written otherwise.
UNROLLED = (2, 4, 8)
#: Conditions on the presence of properties that become alternatives of their own.
MAX_DEPENDENT = 3

#: What draft 7 asserts of the content of strings, as patterns to write by; the judge knows exactly.
CONTENT = {
    ("contentEncoding", "base64"): r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    ("contentMediaType", "application/json"): (
        r'^(?:\{[\s\S]*\}|\[[\s\S]*\]|"[^"\\]*"|-?(?:0|[1-9][0-9]*)|true|false|null)$'
    ),
}


@dataclass(frozen=True, slots=True)
class Normalised:
    """A shape, and what its schema says and the form leaves out, as (pointer, what) in its order."""

    shape: Shape
    left_out: tuple[tuple[str, str], ...]


def normalise(schema: dict[str, Any] | bool, denying: bool = False) -> Normalised:
    """The shape of a JSON Schema, of the draft that it names.

    `denying` takes all that `not` denies away, as far as there are shapes for it: a form with more
    alternatives, in which more can be found.

    Raises UnsupportedSchema with the pointer of a keyword that cannot be written under, and NoValue where
    nothing can be.
    """
    documents = Documents(schema)
    problem: UnsupportedSchema | None = None
    for unrolled in UNROLLED[1:] if denying else UNROLLED:
        deepest = LEVELS[0]
        for levels, sparing in (*((levels, False) for levels in LEVELS), (LEVELS[-1], True)):
            if levels > deepest and not sparing:
                continue  # It would be read as before.
            reader = Reader(documents, levels, unrolled, denying, sparing)
            try:
                shape = reader.read(documents.root, ANY_TYPE, 0)
            except TooMany as stopped:
                reason = f"there are more than {MAX_DEMANDED:,} parts up to here that cannot be left out"
                keyword = _keyword(stopped.pointer)
                problem = UnsupportedSchema(stopped.pointer, keyword, reason, "demand fewer values at once")
                deepest = reader.deepest
                continue
            except RecursionError:
                reason = "it stands within too many others"
                keyword = _keyword(reader.reached)
                problem = UnsupportedSchema(reader.reached, keyword, reason, "flatten the schema")
                continue
            if shape is not None:
                return Normalised(shape, tuple(dict.fromkeys(reader.left_out)))
            problem = reader.problem
            break
        if not reader.stopped:
            break
    raise problem or NoValue("", "type")


@dataclass(slots=True)
class Reader:
    """One walk over one schema, with what it may not go beyond."""

    documents: Documents
    levels: int
    unrolled: int
    denying: bool = False
    #: Whether what is optional is left out from where it would be too much, and not refused.
    sparing: bool = False
    left_out: list[tuple[str, str]] = field(default_factory=list)
    following: list[int] = field(default_factory=list)
    #: The resources on the way here, each once, the outermost first.
    scope: list[Resource] = field(default_factory=list)
    #: What `named` has found.
    types: dict[Place, frozenset[str]] = field(default_factory=dict)
    shapes: int = 0
    #: The pointer of the last value that was read.
    reached: str = ""
    #: Containers within containers, as far as was read.
    deepest: int = 0
    stopped: bool = False
    problem: UnsupportedSchema | None = None

    def read(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of the schema at a place, `level` containers deep; None where nothing can be written.

        `types` are the JSON types that its surroundings leave.
        """
        entered = place.resource not in self.scope
        if entered:
            self.scope.append(place.resource)
        try:
            self.count(place.pointer)
            if place.value is False:
                self.nothing(NoValue(place.pointer, "false", "no value is allowed here"))
                return None
            if not isinstance(place.value, Mapping) or not place.value:
                return Anything() if types == ANY_TYPE else restrict(Anything(), types)
            schema = SchemaObject(place, modern(place.value, place.resource.draft))
            self._tell(schema)
            if "type" in schema:
                named = schema.get("type")
                types = _common(types, frozenset(named if isinstance(named, list) else [named]))
            found: Shape | None = Anything()
            for keyword, part in self._parts(schema, types, level):
                if part is None:
                    self.nothing(NoValue(schema.pointer(keyword), keyword))
                    return None
                assert found is not None
                alone = isinstance(found, Anything)
                with located(schema.pointer(keyword), keyword):
                    found = intersect(found, part)
                # What came alone was looked at when it was made.
                if found is None or not (alone or _inhabited(found, schema, keyword)):
                    self.nothing(NoValue(schema.pointer(keyword), keyword))
                    return None
            assert found is not None
            found = found if types == ANY_TYPE else restrict(found, types)
            if found is None:
                self.nothing(NoValue(schema.pointer("type"), "type"))
                return None
            found = self._unevaluated(found, schema, level)
            found = self._denied(found, schema, level)
            return None if found is None else with_notes(found, notes_of(place.value))
        finally:
            if entered:
                self.scope.pop()

    @property
    def full(self) -> bool:
        """Whether nothing is read any more that may be left out."""
        return self.sparing and self.shapes >= MAX_SHAPES

    def go_on_without(self, stopped: TooMany, needed: bool) -> None:
        """Leave room for what is demanded beside a part that is too large; raises again if it is needed."""
        if needed or not self.sparing:
            raise stopped
        self.shapes = MAX_SHAPES

    def count(self, pointer: str) -> None:
        """One value more, at this place of the schema."""
        self.shapes += 1
        self.reached = pointer
        if self.shapes > (MAX_DEMANDED if self.sparing else MAX_SHAPES):
            raise TooMany(pointer)

    def nothing(self, problem: UnsupportedSchema) -> None:
        self.problem = self.problem or problem

    def _either(self, places: Iterable[Place], types: frozenset[str], level: int) -> list[Shape]:
        """The shapes of those places under which something can be written."""
        before = self.problem
        found: list[Shape] = []
        for place in places:
            if found and self.full:
                self.left_out.append((place.pointer, CUT))
                break
            try:
                part = self.read(place, types, level)
            except TooMany as stopped:
                self.go_on_without(stopped, needed=not found)
                continue
            if part is not None:
                found.append(part)
        if found:
            self.problem = before
        return found

    def optional(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of a place that need not be written under."""
        before = self.problem
        found = self.read(place, types, level)
        self.problem = before
        return found

    def _tell(self, schema: SchemaObject) -> None:
        name = schema.get("format")
        if isinstance(name, str) and format_content(name) is None:
            self.left_out.append((schema.pointer("format"), f"format {name} is unknown and not checked"))
        for keyword in ("contentEncoding", "contentMediaType"):
            if keyword in schema and not _asserted(schema, keyword):
                what = f"{keyword} {schema.get(keyword)} is an annotation and not checked"
                self.left_out.append((schema.pointer(keyword), what))

    def _parts(
        self, schema: SchemaObject, types: frozenset[str], level: int
    ) -> Iterator[tuple[str, Shape | None]]:
        """The shapes that a value has to have all at once, each with its keyword.

        The keywords beside constants, references and `allOf` are read for the types that these leave.
        """
        if "enum" in schema:
            part = choices_shape(schema.get("enum"), schema.pointer("enum"), "enum")
            types = _left(types, part)
            yield "enum", part
        if "const" in schema:
            part = choices_shape([schema.get("const")], schema.pointer("const"), "const")
            types = _left(types, part)
            yield "const", part
        stated = self.named(schema.place)
        types = types if stated == ANY_TYPE else _common(types, stated) or types
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                part = self._reference(schema, keyword, types, level)
                types = _left(types, part)
                yield keyword, part
        for at in range(len(schema.get("allOf", ()))):
            part = self.read(schema.below("allOf", str(at)), types, level)
            types = _left(types, part)
            yield "allOf", part
        about = {kind for kind, keywords in ABOUT.items() if any(k in schema for k in keywords)}
        either: dict[str, Shape | None] = {}
        if "type" in schema or any(_group(kind) in about for kind in types):
            if "type" not in schema:
                # Types that alternatives name are written, whatever the keywords beside them are about.
                either = {
                    keyword: self._alternatives(schema, keyword, types, level)
                    for keyword in ("anyOf", "oneOf")
                    if keyword in schema
                }
                for part in either.values():
                    types = _left(types, part)
            named = [part for part in either.values() if part is not None]
            order = [kind for part in named for branch in branches(part) for kind in sorted(types_of(branch))]
            own = self._own(schema, about, types, level, order)
            types = _left(types, own)
            yield next((k for k in (*_flat(ABOUT), "type") if k in schema), "type"), own
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                made = keyword in either
                yield keyword, either[keyword] if made else self._alternatives(schema, keyword, types, level)
        if "if" in schema and ("then" in schema or "else" in schema):
            yield "if", self._condition(schema, types, level)
        for keyword in ("dependentSchemas", "dependencies:dependentSchemas"):
            for name in list(schema.get(keyword, {}))[:MAX_DEPENDENT]:
                yield keyword, self._dependent(schema, keyword, name, types, level)

    def named(self, place: Place) -> frozenset[str]:
        """The types that a schema, or what it leads to at the same value, names: all where none does."""
        found = self.types.get(place)
        if found is None:
            # What leads back to itself names nothing more.
            found = self.types[place] = ANY_TYPE
            if isinstance(place.value, Mapping):
                schema = SchemaObject(place, modern(place.value, place.resource.draft))
                for part in self._naming(schema):
                    if not part | {"integer"} >= ANY_TYPE:
                        found = _common(found, part)
            self.types[place] = found
        return found

    def _naming(self, schema: SchemaObject) -> Iterator[frozenset[str]]:
        named = schema.get("type")
        if named is not None:
            yield frozenset(named if isinstance(named, list) else [named])
        values = [*schema.get("enum", ()), *([schema.get("const")] if "const" in schema else ())]
        if values:
            yield frozenset(_type_of(value) for value in values)
        if "$ref" in schema:
            yield self.named(self.documents.resolve(schema.get("$ref"), schema.place, "$ref")[0])
        for at in range(len(schema.get("allOf", ()))):
            yield self.named(schema.below("allOf", str(at)))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                parts = [self.named(schema.below(keyword, str(at))) for at in range(len(schema.get(keyword)))]
                yield frozenset[str]().union(*parts)

    def _alternatives(
        self, schema: SchemaObject, keyword: str, types: frozenset[str], level: int
    ) -> Shape | None:
        """What may be written under `anyOf` or `oneOf`."""
        places = (schema.below(keyword, str(at)) for at in range(len(schema.get(keyword))))
        return union([constant_meaning(part) for part in self._either(places, types, level)])

    def _reference(
        self, schema: SchemaObject, keyword: str, types: frozenset[str], level: int
    ) -> Shape | None:
        target = self._target(schema, keyword)
        if self.following.count(id(target)) >= self.unrolled:
            self.stopped = True
            what = f"the form has {self.unrolled} levels of a schema that contains itself, and no more"
            self.left_out.append((schema.pointer(keyword), what))
            advice = "write the levels that are wanted one by one"
            reason = "it contains itself without an end"
            self.nothing(UnsupportedSchema(schema.pointer(keyword), keyword, reason, advice))
            return None
        self.following.append(id(target))
        try:
            return self.read(target, types, level)
        finally:
            self.following.pop()

    def _target(self, schema: SchemaObject, keyword: str) -> Place:
        """What a reference leads to: a dynamic one to the outermost schema entered that has the anchor."""
        target, fragment = self.documents.resolve(schema.get(keyword), schema.place, keyword)
        name = RECURSIVE if keyword == "$recursiveRef" else fragment
        if keyword == "$ref" or target.resource.dynamic.get(name) is not target:
            return target
        return next((r.dynamic[name] for r in self.scope if name in r.dynamic), target)

    def _condition(self, schema: SchemaObject, types: frozenset[str], level: int) -> Shape | None:
        """What meets the condition and its consequence, or else the other one: the judge tells them apart."""
        met = self.optional(schema.below("if"), types, level)
        parts = [
            self.optional(schema.below(k), types, level) if k in schema else restrict(Anything(), types)
            for k in ("then", "else")
        ]
        with located(schema.pointer("then"), "then"):
            both = None if met is None or parts[0] is None else intersect(met, parts[0])
        return union([part for part in (both, parts[1]) if part is not None])

    def _dependent(
        self, schema: SchemaObject, keyword: str, name: str, types: frozenset[str], level: int
    ) -> Shape | None:
        """Objects that have the property and what depends on it, or that do not have it; and all else."""
        part = self.optional(schema.below(keyword, name), types, level)
        with_it = Object((Field(name, Anything(), True),), Anything())
        without = Object((), Anything(), patterns=(forbidden(name),))
        both = None if part is None else intersect(part, with_it)
        others = restrict(Anything(), types - {"object"})
        return union([s for s in (both, without, others) if s is not None])

    def _unevaluated(self, shape: Shape, schema: SchemaObject, level: int) -> Shape:
        """The shape with what is neither declared in it nor described as the schema says it has to be."""
        for keyword, kind in (("unevaluatedProperties", Object), ("unevaluatedItems", Array)):
            if keyword not in schema:
                continue
            value = self.optional(schema.below(keyword), ANY_TYPE, level + 1)
            parts = [_closed(part, value) if isinstance(part, kind) else part for part in branches(shape)]
            shape = with_notes(union(parts) or shape, shape.notes)
        return shape

    def _denied(self, shape: Shape, schema: SchemaObject, level: int) -> Shape | None:
        """The shape without what `not` denies, as far as that is types or choices."""
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
        elif self.denying and "not" in schema:
            what = Denial(self.documents, lambda place: self.optional(place, ANY_TYPE, level))
            with located(schema.pointer("not"), "not"):
                broken = what.of(schema.below("not"))
                left = (None if broken is None else intersect(shape, broken)) or shape
        if left is None:
            self.nothing(NoValue(schema.pointer("not"), "not"))
            return None
        return with_notes(left, shape.notes)

    def _own(
        self, schema: SchemaObject, about: set[str], types: frozenset[str], level: int, order: Sequence[str]
    ) -> Shape | None:
        """What the schema's own keywords leave of the values of each type.

        Values of the types that no keyword is about are allowed, and written where something else names the
        types, in this `order`.
        """
        kinds = [k for k in TYPES if k in types and not (k == "integer" and "number" in types)]
        kinds.sort(key=lambda kind: order.index(kind) if kind in order else len(order))
        found: list[Shape] = []
        before = self.problem
        for kind in kinds:
            if _group(kind) not in about:
                if "type" in schema or types != ANY_TYPE:
                    found.append(anything_of(kind))
                continue
            try:
                part = self._of_type(kind, schema, level)
            except NoValue as problem:
                self.nothing(problem)
                continue
            if part is not None:
                found.append(part)
        if found:
            self.problem = before
        return union(found)

    def _of_type(self, kind: str, schema: SchemaObject, level: int) -> Shape | None:
        if kind == "string":
            found = string_shape(schema.values, schema.pointer())
            content = next((CONTENT[k, schema.get(k)] for k, _ in CONTENT if _asserted(schema, k)), None)
            return found if content is None else replace(found, patterns=(*found.patterns, content))
        if kind in ("array", "object"):
            self.deepest = max(self.deepest, level)
            return (array_shape if kind == "array" else object_shape)(self, schema, level)
        return number_shape(schema.values, schema.pointer(), integer=kind == "integer")


def _closed(shape: Shape, value: Shape | None) -> Shape:
    """The container with this in place of what nothing is said of; items that `contains` finds are told."""
    if isinstance(shape, Object) and isinstance(shape.additional, Anything) and value is not None:
        return replace(shape, additional=value)
    if isinstance(shape, Array) and isinstance(shape.item, Anything):
        item = union([part for part in (value, shape.contained) if part is not None])
        if item is not None or shape.min_items <= len(shape.prefix):
            return replace(shape, item=item)
    return shape


def _asserted(schema: SchemaObject, keyword: str) -> bool:
    """Whether this keyword about the content of strings asserts anything, as it does in draft 7."""
    named = schema.get(keyword)
    return schema.place.resource.draft is Draft.DRAFT_7 and (keyword, str(named)) in CONTENT


def _group(kind: str) -> str:
    return "number" if kind == "integer" else kind


def _flat(about: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for keywords in about.values():
        yield from keywords


def _left(types: frozenset[str], part: Shape | None) -> frozenset[str]:
    """The types that are left beside a part; a part of any value leaves them all."""
    return types if part is None else _common(types, types_of(part))


def _type_of(value: Any) -> str:
    """The JSON type of a value, `number` for all numbers."""
    if isinstance(value, bool):
        return "boolean"
    return next((kind for kind in reversed(TYPES) if isinstance(value, KINDS_OF[kind])), "null")


def _common(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    """The types that both sets allow, integers being numbers."""
    found = set(first & second)
    if ("number" in first and "integer" in second) or ("integer" in first and "number" in second):
        found.add("integer")
    if "number" in found:
        found.discard("integer")
    return frozenset(found)


def _inhabited(shape: Shape, schema: SchemaObject, keyword: str) -> bool:
    """Whether a shape has a value, as far as automata tell: containers have been looked at by themselves."""
    with located(schema.pointer(keyword), keyword):
        return not is_scalar(shape) or smallest(shape) is not None


def _without(shape: Shape, texts: set[str | None]) -> Shape | None:
    """A branch without these canonical texts, as far as it is choices."""
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


def _keyword(pointer: str) -> str:
    """The keyword under which the schema at this pointer stands."""
    *above, last = pointer.split("/")
    return above[-1] if above and above[-1] in (*LISTS, *MAPS) else last
