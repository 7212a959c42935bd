"""JSON Schema to a shape: what may be written under a schema, as the form is laid out from it.

Everything that the closed algebra of shapes can say is taken over exactly: bounds, choices, alternatives,
what stands beside a reference, `allOf` as an intersection, closed objects. Of the rest the shape has the
nearest thing that can be written: a condition becomes two alternatives, a recursive schema is followed a few
levels, of a schema of thousands of values the optional ones that lie deepest are left out. Whether a record
is allowed, the judge decides (`cinnabar.schemas.judging`); nothing is written that it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cinnabar.schemas.algebra import TYPES, anything_of, intersect, restrict, types_of, undeclared, union
from cinnabar.schemas.canonical import json_text
from cinnabar.schemas.errors import NoValue, UnsupportedSchema
from cinnabar.schemas.formats import format_content
from cinnabar.schemas.judging.dialects import Draft, Entry, modern
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.language import smallest
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.scalars import constant_meaning, located, number_shape, string_shape, value_shape, whole
from cinnabar.schemas.shape import (
    Anything,
    Array,
    Boolean,
    Enum,
    Field,
    Notes,
    Null,
    Object,
    Shape,
    branches,
    is_scalar,
    with_notes,
)

#: Shapes that a form is laid out from; references are inlined, so schemas may grow without bound.
MAX_SHAPES = 2_000
#: Containers within containers that are followed, the most first; at the last one only what is required is.
LEVELS = (40, 7, 5, 4, 3, 2, 1)
#: How often a reference is followed within itself; more where nothing could be written otherwise.
UNROLLED = (2, 4, 8)
#: Rows that an array may demand; a form with more of them is none that anybody fills.
MAX_MIN_ITEMS = 512
#: Conditions on the presence of properties that become alternatives of their own.
MAX_DEPENDENT = 3
ANY_TYPE = frozenset(TYPES)
_CUT = "left out, for the form is as large as it gets"

#: Keywords by the JSON type that they are about; a schema without `type` is read as of these types.
ABOUT = {
    "string": ("pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems", "unevaluatedItems"),
}  # fmt: skip

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


class _TooMany(Exception):
    """More shapes than a form is laid out from."""


def normalise(schema: dict[str, Any] | bool) -> Normalised:
    """The shape of a JSON Schema, of the draft that it names.

    Raises UnsupportedSchema with the pointer of a keyword that cannot be written under, and NoValue where
    nothing can be.
    """
    documents = Documents(schema)
    problem: UnsupportedSchema | None = None
    for unrolled in UNROLLED:
        for levels in LEVELS:
            reader = _Reader(documents, levels, unrolled)
            try:
                shape = reader.read(documents.root, ANY_TYPE, 0)
            except _TooMany:
                continue
            except RecursionError:
                problem = UnsupportedSchema("", "$ref", "too many levels", "flatten the schema")
                continue
            if shape is not None:
                return Normalised(shape, tuple(dict.fromkeys(reader.left_out)))
            problem = reader.problem
            break
        if not reader.stopped:
            break
    raise problem or NoValue("", "type")


@dataclass(frozen=True, slots=True)
class _Schema:
    """One schema object: its place, and what its keywords mean in 2020-12."""

    place: Place
    entries: dict[str, Entry]

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.entries

    def get(self, keyword: str, default: Any = None) -> Any:
        """The value under a keyword."""
        return self.entries[keyword][1] if keyword in self.entries else default

    def below(self, keyword: str, *tokens: str) -> Place:
        """The place of a schema under this keyword."""
        found = self.place.child(self.entries[keyword][0])
        for token in tokens:
            found = found.child(token)
        return found

    def pointer(self, keyword: str = "") -> str:
        """The pointer of this schema, or of a keyword of it."""
        own = self.place.pointer
        if keyword not in self.entries:
            return own
        return f"{own}/{escape(self.entries[keyword][0])}"

    @property
    def values(self) -> dict[str, Any]:
        """All values by keyword."""
        return {keyword: value for keyword, (_, value) in self.entries.items()}


@dataclass(slots=True)
class _Reader:
    """One walk over one schema, with what it may not go beyond."""

    documents: Documents
    levels: int
    unrolled: int
    left_out: list[tuple[str, str]] = field(default_factory=list)
    following: list[int] = field(default_factory=list)
    shapes: int = 0
    stopped: bool = False
    problem: UnsupportedSchema | None = None

    def read(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of the schema at a place, `level` containers deep; None where nothing can be written.

        `types` are the JSON types that its surroundings leave.
        """
        if place.value is False:
            self._nothing(NoValue(place.pointer, "false", "no value is allowed here"))
            return None
        if not isinstance(place.value, Mapping) or not place.value:
            return Anything() if types == ANY_TYPE else restrict(Anything(), types)
        self.shapes += 1
        if self.shapes > MAX_SHAPES:
            raise _TooMany
        schema = _Schema(place, modern(place.value, place.resource.draft))
        self._tell(schema)
        if "type" in schema:
            named = schema.get("type")
            types = _common(types, frozenset(named if isinstance(named, list) else [named]))
        found: Shape | None = Anything()
        for keyword, part in self._parts(schema, types, level):
            if part is None:
                self._nothing(NoValue(schema.pointer(keyword), keyword))
                return None
            assert found is not None
            alone = isinstance(found, Anything)
            found = intersect(found, part)
            # What came alone was looked at when it was made.
            if found is None or not (alone or _inhabited(found, schema, keyword)):
                self._nothing(NoValue(schema.pointer(keyword), keyword))
                return None
        assert found is not None
        found = found if types == ANY_TYPE else restrict(found, types)
        if found is None:
            self._nothing(NoValue(schema.pointer("type"), "type"))
            return None
        found = self._denied(found, schema)
        return None if found is None else with_notes(found, notes_of(place.value))

    def _nothing(self, problem: UnsupportedSchema) -> None:
        self.problem = self.problem or problem

    def _either(self, places: Iterable[Place], types: frozenset[str], level: int) -> list[Shape]:
        """The shapes of those places under which something can be written."""
        before = self.problem
        found = [part for place in places if (part := self.read(place, types, level)) is not None]
        if found:
            self.problem = before
        return found

    def _optional(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of a place that need not be written under."""
        before = self.problem
        found = self.read(place, types, level)
        self.problem = before
        return found

    def _tell(self, schema: _Schema) -> None:
        name = schema.get("format")
        if isinstance(name, str) and format_content(name) is None:
            self.left_out.append((schema.pointer("format"), f"format {name} is unknown and not checked"))
        for keyword in ("contentEncoding", "contentMediaType"):
            if keyword in schema and not _asserted(schema, keyword):
                what = f"{keyword} {schema.get(keyword)} is an annotation and not checked"
                self.left_out.append((schema.pointer(keyword), what))

    def _parts(
        self, schema: _Schema, types: frozenset[str], level: int
    ) -> Iterator[tuple[str, Shape | None]]:
        """The shapes that a value has to have all at once, each with its keyword.

        What references and `allOf` leave of the types is what the keywords beside them are read for.
        """
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                part = self._reference(schema, keyword, types, level)
                types = _left(types, part)
                yield keyword, part
        for at in range(len(schema.get("allOf", ()))):
            part = self.read(schema.below("allOf", str(at)), types, level)
            types = _left(types, part)
            yield "allOf", part
        if "enum" in schema:
            part = union([s for v in schema.get("enum") if (s := value_shape(v)) is not None])
            types = _left(types, part)
            yield "enum", part
        if "const" in schema:
            part = value_shape(schema.get("const"))
            types = _left(types, part)
            yield "const", part
        about = {kind for kind, keywords in ABOUT.items() if any(k in schema for k in keywords)}
        either: dict[str, Shape | None] = {}
        if "type" in schema or any(_group(kind) in about for kind in types):
            own = self._own(schema, about, types, level)
            left = _left(types, own)
            if "type" not in schema:
                either = {
                    keyword: self._alternatives(schema, keyword, left, level)
                    for keyword in ("anyOf", "oneOf")
                    if keyword in schema
                }
            if None in either.values():
                # Keywords about arrays say nothing of alternatives that are all strings, say.
                either = {}
            else:
                types = left
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

    def _alternatives(self, schema: _Schema, keyword: str, types: frozenset[str], level: int) -> Shape | None:
        """What may be written under `anyOf` or `oneOf`."""
        places = (schema.below(keyword, str(at)) for at in range(len(schema.get(keyword))))
        return union([constant_meaning(part) for part in self._either(places, types, level)])

    def _reference(self, schema: _Schema, keyword: str, types: frozenset[str], level: int) -> Shape | None:
        target, _ = self.documents.resolve(schema.get(keyword), schema.place, keyword)
        if self.following.count(id(target)) >= self.unrolled:
            self.stopped = True
            what = f"the form has {self.unrolled} levels of a schema that contains itself, and no more"
            self.left_out.append((schema.pointer(keyword), what))
            advice = "write the levels that are wanted one by one"
            reason = "it contains itself without an end"
            self._nothing(UnsupportedSchema(schema.pointer(keyword), keyword, reason, advice))
            return None
        self.following.append(id(target))
        try:
            return self.read(target, types, level)
        finally:
            self.following.pop()

    def _condition(self, schema: _Schema, types: frozenset[str], level: int) -> Shape | None:
        """What meets the condition and its consequence, or else the other one: the judge tells them apart."""
        met = self._optional(schema.below("if"), types, level)
        parts = [
            self._optional(schema.below(k), types, level) if k in schema else restrict(Anything(), types)
            for k in ("then", "else")
        ]
        both = None if met is None or parts[0] is None else intersect(met, parts[0])
        return union([part for part in (both, parts[1]) if part is not None])

    def _dependent(
        self, schema: _Schema, keyword: str, name: str, types: frozenset[str], level: int
    ) -> Shape | None:
        """Objects that have the property and what depends on it, or that do not have it; and all else."""
        part = self._optional(schema.below(keyword, name), types, level)
        with_it = Object((Field(name, Anything(), True),), Anything())
        without = Object((), Anything(), patterns=(_forbidden(name),))
        both = None if part is None else intersect(part, with_it)
        others = restrict(Anything(), types - {"object"})
        return union([s for s in (both, without, others) if s is not None])

    def _denied(self, shape: Shape, schema: _Schema) -> Shape | None:
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
            texts = {_annotation(value) for value in values}
            parts = [_without(branch, texts) for branch in branches(shape)]
            left = union([part for part in parts if part is not None])
        if left is None:
            self._nothing(NoValue(schema.pointer("not"), "not"))
            return None
        return with_notes(left, shape.notes)

    def _own(self, schema: _Schema, about: set[str], types: frozenset[str], level: int) -> Shape | None:
        """What the schema's own keywords leave of the values of each type.

        Without `type`, values of the types that no keyword is about are allowed and not written.
        """
        kinds = [k for k in TYPES if k in types and not (k == "integer" and "number" in types)]
        found: list[Shape] = []
        before = self.problem
        for kind in kinds:
            if _group(kind) not in about:
                if "type" in schema:
                    found.append(anything_of(kind))
                continue
            try:
                part = self._of_type(kind, schema, level)
            except NoValue as problem:
                self._nothing(problem)
                continue
            if part is not None:
                found.append(part)
        if found:
            self.problem = before
        return union(found)

    def _of_type(self, kind: str, schema: _Schema, level: int) -> Shape | None:
        if kind == "string":
            found = string_shape(schema.values, schema.pointer())
            content = next((CONTENT[k, schema.get(k)] for k, _ in CONTENT if _asserted(schema, k)), None)
            return found if content is None else replace(found, patterns=(*found.patterns, content))
        if kind == "array":
            return self._array(schema, level)
        if kind == "object":
            return self._object(schema, level)
        return number_shape(schema.values, schema.pointer(), integer=kind == "integer")

    def _array(self, schema: _Schema, level: int) -> Shape | None:
        low, high = self._whole(schema, "minItems") or 0, self._whole(schema, "maxItems")
        if high is not None and low > high:
            reason = f"no array has both {low} items or more and {high} or fewer"
            self._nothing(NoValue(schema.pointer("minItems"), "minItems", reason))
            return None
        if low > MAX_MIN_ITEMS:
            reason = f"expected at most {MAX_MIN_ITEMS}, got {low}"
            raise UnsupportedSchema(schema.pointer("minItems"), "minItems", reason, "lower the bound")
        wanted = 0
        if "contains" in schema:
            wanted = (self._whole(schema, "minContains") if "minContains" in schema else 1) or 0
        if level >= self.levels and not low and not wanted:
            cut = next((k for k in ("items", "prefixItems", "contains") if k in schema), None)
            if cut is not None:
                self.left_out.append((schema.pointer(cut), _CUT))
            return Array(None, 0, high)
        prefix: list[Shape] = []
        item: Shape | None = None
        for at in range(len(schema.get("prefixItems", ()))):
            shape = self._optional(schema.below("prefixItems", str(at)), ANY_TYPE, level + 1)
            if shape is None:
                break
            prefix.append(shape)
        else:
            keyword = "items" if "items" in schema else "unevaluatedItems"
            rest = schema.below(keyword) if keyword in schema else None
            item = Anything() if rest is None else self._optional(rest, ANY_TYPE, level + 1)
        held = self._optional(schema.below("contains"), ANY_TYPE, level + 1) if "contains" in schema else None
        if wanted and held is None:
            self._nothing(NoValue(schema.pointer("contains"), "contains"))
            return None
        if item is None and max(low, wanted) > len(prefix):
            self._nothing(NoValue(schema.pointer("minItems"), "minItems"))
            return None
        return Array(
            item, max(low, wanted), high, prefix=tuple(prefix), unique=schema.get("uniqueItems") is True,
            contained=held, min_contained=wanted,
        )  # fmt: skip

    def _whole(self, schema: _Schema, keyword: str) -> int | None:
        return whole(schema.values, keyword, schema.pointer())

    def _object(self, schema: _Schema, level: int) -> Shape | None:
        declared = schema.get("properties", {})
        required = [name for name in schema.get("required", ()) if isinstance(name, str)]
        last = level >= self.levels
        patterns: tuple[tuple[str, Shape | None], ...] = ()
        for pattern in schema.get("patternProperties", {}):
            below = schema.below("patternProperties", pattern)
            patterns += ((pattern, Anything() if last else self._optional(below, ANY_TYPE, level + 1)),)
        names = None
        if "propertyNames" in schema:
            names = self._optional(schema.below("propertyNames"), frozenset({"string"}), level)
        frame = Object((), self._rest(schema, last, level), patterns=patterns, names=names)
        fields: list[Field] = []
        forbidden: list[tuple[str, Shape | None]] = []
        for name in dict.fromkeys((*declared, *required)):
            needed = name in required
            if last and not needed:
                continue
            told, before = len(self.left_out), self.problem
            shape = undeclared(frame, name)
            if name in declared:
                shape = self.read(schema.below("properties", name), ANY_TYPE, level + 1)
                matched = undeclared(replace(frame, additional=Anything()), name)
                shape = None if shape is None or matched is None else intersect(shape, matched)
            if shape is not None:
                fields.append(Field(name, shape, needed))
            elif needed:
                self._nothing(NoValue(schema.pointer("required"), "required"))
                return None
            else:
                self.problem = before
                # Said of a property by itself, it would be like any undeclared one to what stands beside.
                forbidden.append(_forbidden(name))
            if shape is None and declared[name] is not False and len(self.left_out) == told:
                place = f"{schema.pointer('properties')}/{escape(name)}"
                self.left_out.append((place, "left out, for nothing can be written here"))
        if last and len(declared) > len(fields):
            self.left_out.append((schema.pointer("properties"), _CUT))
        low, high = self._whole(schema, "minProperties") or 0, self._whole(schema, "maxProperties")
        patterns = (*patterns, *forbidden) if frame.additional is not None or patterns else ()
        return replace(
            frame, fields=tuple(fields), patterns=patterns, min_properties=low, max_properties=high
        )

    def _rest(self, schema: _Schema, last: bool, level: int) -> Shape | None:
        """The shape of undeclared properties that match no pattern, None where there are none.

        What other keywords declare is not known here, so `unevaluatedProperties` says nothing of the rest.
        """
        if "additionalProperties" not in schema or (last and schema.get("additionalProperties") is not False):
            return Anything()
        return self._optional(schema.below("additionalProperties"), ANY_TYPE, level + 1)


def _asserted(schema: _Schema, keyword: str) -> bool:
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


def _common(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    """The types that both sets allow, integers being numbers."""
    found = set(first & second)
    if ("number" in first and "integer" in second) or ("integer" in first and "number" in second):
        found.add("integer")
    if "number" in found:
        found.discard("integer")
    return frozenset(found)


def _inhabited(shape: Shape, schema: _Schema, keyword: str) -> bool:
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


def _forbidden(name: str) -> tuple[str, None]:
    """A pattern of an object that this name alone matches, with nothing to stand under it."""
    literally = "".join(c if c.isalnum() else f"\\u{{{ord(c):x}}}" for c in name)
    return f"^{literally}$", None


def notes_of(schema: Mapping[str, Any]) -> Notes:
    """What the schema's annotations say of its values."""
    examples = schema.get("examples", [schema["example"]] if "example" in schema else [])
    texts = [_annotation(example) for example in examples] if isinstance(examples, list) else []
    return Notes(
        _words(schema.get("title")),
        _words(schema.get("description")),
        tuple(text for text in texts if text is not None),
        _annotation(schema["default"]) if "default" in schema else None,
    )


def _words(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _annotation(value: Any) -> str | None:
    """A value as canonical text; None where it has none, for it constrains nothing."""
    try:
        return json_text(value)
    except ValueError:
        return None
