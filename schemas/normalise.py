"""JSON Schema to a shape: what constrains is taken over exactly, or refused with its JSON pointer.

Drafts 4 to 2020-12 are read as `$schema` says, 2020-12 where it says nothing. References within the schema
are inlined, and what stands beside a reference, `allOf`, `anyOf` or `enum` is intersected with it. A keyword
that would constrain and cannot be enforced raises UnsupportedSchema; there is no silent pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from cinnabar.schemas.algebra import TYPES, NotClosed, intersect, restrict, types_of, union
from cinnabar.schemas.canonical import json_text
from cinnabar.schemas.errors import NoValue, UnsupportedSchema
from cinnabar.schemas.formats import format_content
from cinnabar.schemas.keywords import CONTAINER_ASSERTIONS, REFUSED, SCALAR_ASSERTIONS, refuse
from cinnabar.schemas.language import MAX_UNROLLED_LENGTH, smallest
from cinnabar.schemas.metaschema import check_schema
from cinnabar.schemas.scalars import (
    constant_meaning,
    enum_shape,
    located,
    number_shape,
    string_shape,
    whole,
)
from cinnabar.schemas.shape import (
    Array,
    Boolean,
    Enum,
    Field,
    Notes,
    Null,
    Object,
    Shape,
    String,
    branches,
    is_scalar,
    with_notes,
)

# References are inlined, so a chain of definitions that each use the next one twice grows without bound.
MAX_SHAPES = 10_000
MAX_MIN_ITEMS = 512
ANY_TYPE = frozenset(TYPES)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A shape, and what its schema says that nobody checks, as (pointer, what) in the order of the schema."""

    shape: Shape
    unenforced: tuple[tuple[str, str], ...]


def normalise(schema: dict[str, Any] | bool) -> Normalised:
    """The shape of a JSON Schema.

    Raises SchemaError for what is no schema, and UnsupportedSchema with the pointer of the keyword that
    cannot be enforced.
    """
    check_schema(schema)
    reader = _Reader(schema)
    try:
        shape = reader.read(schema, "", ANY_TYPE, typed=False)
    except RecursionError:
        raise UnsupportedSchema("", "$ref", "too many levels", "flatten the schema") from None
    return Normalised(shape, tuple(dict.fromkeys(reader.unenforced)))


def escape(name: str) -> str:
    """A property's name as a token of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


@dataclass(slots=True)
class _Reader:
    """One walk over one schema."""

    root: dict[str, Any] | bool
    unenforced: list[tuple[str, str]] = field(default_factory=list)
    following: list[str] = field(default_factory=list)
    targets: dict[str, Any] = field(default_factory=dict)
    shapes: int = 0

    def read(self, schema: Any, pointer: str, types: frozenset[str], typed: bool) -> Shape:
        """The shape of the schema at `pointer`.

        `types` are the JSON types that its surroundings leave, `typed` whether they chose them: a schema that
        names no type takes the chosen ones, and is refused where nothing chose.
        """
        if schema is False:
            raise NoValue(pointer, "false", "no value is allowed here", "leave it out of the schema")
        if schema is True:
            schema = {}
        self.shapes += 1
        if self.shapes > MAX_SHAPES:
            reason = f"more than {MAX_SHAPES} values once references are inlined"
            raise UnsupportedSchema(pointer, "$ref", reason, "describe fewer values")
        if "$ref" in schema and _ignores_siblings(self.root):
            shape = self._reference(schema["$ref"], f"{pointer}/$ref", types, typed)
            return with_notes(shape, _notes(schema))
        refuse(schema, pointer)
        self._tell(schema, pointer)
        if "type" in schema:
            named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            types, typed = _common(types, frozenset(named)), True
        bases = list(self._bases(schema, pointer, types, typed))
        if bases:
            shape = self._meet_all(bases, schema, pointer, types)
        elif typed:
            shape = self._typed(schema, pointer, types)
        else:
            advice = 'write the "type" that is wanted'
            raise UnsupportedSchema(pointer, "type", "any JSON value at all is allowed here", advice)
        return with_notes(shape, _notes(schema))

    def _tell(self, schema: Mapping[str, Any], pointer: str) -> None:
        name = schema.get("format")
        if name is not None and format_content(name) is None:
            self.unenforced.append((f"{pointer}/format", f"format {name} is unknown and not checked"))
        for keyword in ("contentEncoding", "contentMediaType"):
            if keyword in schema:
                what = f"{keyword} {schema[keyword]} is an annotation and not checked"
                self.unenforced.append((f"{pointer}/{keyword}", what))

    def _bases(
        self, schema: Mapping[str, Any], pointer: str, types: frozenset[str], typed: bool
    ) -> Iterator[Shape]:
        """The shapes that `$ref`, `allOf`, `anyOf`, `oneOf`, `enum` and `const` give."""
        if "$ref" in schema:
            yield self._reference(schema["$ref"], f"{pointer}/$ref", types, typed)
        if "allOf" in schema:
            if len(schema["allOf"]) != 1:
                reason = f"expected one schema, got {len(schema['allOf'])}"
                raise UnsupportedSchema(f"{pointer}/allOf", "allOf", reason, "merge them into one")
            yield self.read(schema["allOf"][0], f"{pointer}/allOf/0", types, typed)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield self._alternatives(schema, keyword, f"{pointer}/{keyword}", types, typed)
        if "enum" in schema:
            yield enum_shape(schema["enum"], f"{pointer}/enum", "enum")
        if "const" in schema:
            yield enum_shape([schema["const"]], f"{pointer}/const", "const")

    def _reference(self, target: str, pointer: str, types: frozenset[str], typed: bool) -> Shape:
        if target != "#" and not target.startswith("#/"):
            reason = f"expected a reference within this schema, #/$defs/…, got {target}"
            raise UnsupportedSchema(pointer, "$ref", reason, "copy the schema that is meant under $defs")
        if target in self.following or target == "#":
            advice = "write the levels that are wanted one by one"
            raise UnsupportedSchema(pointer, "$ref", f"{target} contains itself", advice)
        place = unquote(target[1:])
        if target not in self.targets:
            self.targets[target] = _resolve(self.root, place, pointer, target)
        self.following.append(target)
        try:
            return self.read(self.targets[target], place, types, typed)
        finally:
            self.following.pop()

    def _alternatives(
        self, schema: Mapping[str, Any], keyword: str, pointer: str, types: frozenset[str], typed: bool
    ) -> Shape:
        beside = next((k for k in CONTAINER_ASSERTIONS if k in schema), None)
        if beside is not None:
            reason = f"alternatives beside {beside} are not enforced"
            advice = "describe the object or the array once, without alternatives"
            raise UnsupportedSchema(pointer, keyword, reason, advice)
        parts: list[Shape] = []
        dropped: NoValue | None = None
        for i, part in enumerate(schema[keyword]):
            try:
                parts.append(constant_meaning(self.read(part, f"{pointer}/{i}", types, typed)))
            except NoValue as problem:
                dropped = problem
        flat = [branch for part in parts for branch in branches(part)]
        containers = [b for b in flat if isinstance(b, (Array, Object))]
        if containers and any(b is not containers[0] and not isinstance(b, Null) for b in flat):
            reason = "a choice between an object or an array and other values is not enforced"
            advice = "use one object with all the properties, optional where they may be missing"
            raise UnsupportedSchema(pointer, keyword, reason, advice)
        if keyword == "oneOf":
            _check_exclusive(parts, pointer)
        found = union(parts)
        if found is None:
            raise dropped or NoValue(pointer, keyword)
        _check_lengths(found, pointer, keyword)
        return found

    def _meet_all(
        self, bases: list[Shape], schema: Mapping[str, Any], pointer: str, types: frozenset[str]
    ) -> Shape:
        """The values of all bases that are of these types and meet the keywords that stand beside them."""
        found: Shape | None = bases[0]
        for base in bases[1:]:
            found = None if found is None else self._meet(found, base, pointer)
        found = None if found is None else restrict(found, types)
        if found is None:
            keyword = next(k for k in ("enum", "const", "anyOf", "oneOf", "allOf", "$ref") if k in schema)
            raise NoValue(f"{pointer}/{keyword}", keyword)
        held = types_of(found)
        for keyword, kind in CONTAINER_ASSERTIONS.items():
            if keyword in schema and kind in held:
                reason = "it stands beside another description of the same value"
                raise UnsupportedSchema(f"{pointer}/{keyword}", keyword, reason, "write both in one place")
        beside = [k for k in SCALAR_ASSERTIONS if k in schema]
        if not beside or not is_scalar(found):
            return found
        met = self._meet(found, self._typed(schema, pointer, held), pointer)
        with located(f"{pointer}/{beside[0]}", beside[0]):
            if met is None or smallest(met) is None:
                raise NoValue(f"{pointer}/{beside[0]}", beside[0])
        return met

    def _meet(self, first: Shape, second: Shape, pointer: str) -> Shape | None:
        try:
            return intersect(first, second)
        except NotClosed as problem:
            advice = "write them in one place"
            raise UnsupportedSchema(pointer, "allOf", f"{problem} are not merged", advice) from None

    def _typed(self, schema: Mapping[str, Any], pointer: str, types: frozenset[str]) -> Shape:
        """What the keywords of each of these types leave of its values."""
        if types & {"array", "object"} and len(types - {"null"}) > 1:
            reason = f"a choice between {', '.join(t for t in TYPES if t in types)} is not enforced"
            raise UnsupportedSchema(f"{pointer}/type", "type", reason, "choose one type, or it and null")
        kinds = [k for k in TYPES if k in types and not (k == "integer" and "number" in types)]
        found = union([self._of_type(kind, schema, pointer) for kind in kinds])
        if found is None:
            raise NoValue(f"{pointer}/type", "type")
        return found

    def _of_type(self, kind: str, schema: Mapping[str, Any], pointer: str) -> Shape:
        if kind == "null":
            return Null()
        if kind == "boolean":
            return Boolean()
        if kind == "string":
            return string_shape(schema, pointer)
        if kind == "array":
            return self._array(schema, pointer)
        if kind == "object":
            return self._object(schema, pointer)
        return number_shape(schema, pointer, integer=kind == "integer")

    def _array(self, schema: Mapping[str, Any], pointer: str) -> Array:
        items = schema.get("items")
        if items is None:
            reason = "the items of this array are not described"
            raise UnsupportedSchema(pointer, "items", reason, "say under items what they are")
        if isinstance(items, list):
            raise UnsupportedSchema(f"{pointer}/items", "items", *REFUSED["prefixItems"])
        low, high = whole(schema, "minItems", pointer) or 0, whole(schema, "maxItems", pointer)
        place = f"{pointer}/minItems"
        if high is not None and low > high:
            raise NoValue(place, "minItems", f"no array has both {low} items or more and {high} or fewer")
        if low > MAX_MIN_ITEMS:
            reason = f"expected at most {MAX_MIN_ITEMS}, got {low}"
            raise UnsupportedSchema(place, "minItems", reason, "lower the bound")
        return Array(self._part(items, f"{pointer}/items"), low, high)

    def _object(self, schema: Mapping[str, Any], pointer: str) -> Object:
        declared, required = schema.get("properties", {}), schema.get("required", [])
        for name in required:
            if name not in declared:
                reason = f"{name!r} is required and not declared"
                raise UnsupportedSchema(
                    f"{pointer}/required", "required", reason, "describe it under properties"
                )
        additional = schema.get("additionalProperties", True)
        if "properties" not in schema and additional is not False:
            keyword = "additionalProperties" if "additionalProperties" in schema else "properties"
            place = f"{pointer}/{keyword}" if keyword in schema else pointer
            reason = "no property is declared here, and undeclared ones are never written"
            raise UnsupportedSchema(place, keyword, reason, "declare each wanted property under properties")
        fields = []
        for name, part in declared.items():
            place = f"{pointer}/properties/{escape(name)}"
            fields.append(Field(name, self._part(part, place), name in required))
        if not isinstance(additional, bool):
            place = f"{pointer}/additionalProperties"
            additional = self._part(additional, place) if additional else True
        return Object(tuple(fields), additional)

    def _part(self, schema: Any, pointer: str) -> Shape:
        """The shape of a value within a container, which has to have a value for its own sake."""
        try:
            return self.read(schema, pointer, ANY_TYPE, typed=False)
        except NoValue as problem:
            raise UnsupportedSchema(
                problem.pointer, problem.keyword, problem.reason, problem.advice
            ) from None


def _common(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    """The types that both sets allow, integers being numbers."""
    found = set(first & second)
    if ("number" in first and "integer" in second) or ("integer" in first and "number" in second):
        found.add("integer")
    if "number" in found:
        found.discard("integer")
    return frozenset(found)


def _check_exclusive(parts: list[Shape], pointer: str) -> None:
    """Refuse a `oneOf` in which one value fits two alternatives, for exactly one may fit."""
    for i, first in enumerate(parts):
        for j, second in enumerate(parts[:i]):
            for a in branches(first):
                for b in branches(second):
                    both = intersect(a, b)
                    with located(pointer, "oneOf"):
                        if both is not None and smallest(both) is not None:
                            reason = f"a value can fit alternatives {j} and {i} at once, and only one may"
                            raise UnsupportedSchema(pointer, "oneOf", reason, "write anyOf")


def _check_lengths(shape: Shape, pointer: str, keyword: str) -> None:
    """Refuse large bounds on length that differ between alternatives; a slot has one that is not unrolled."""
    strings = [b for b in branches(shape) if isinstance(b, String)]
    if len(strings) + any(isinstance(b, Enum) for b in branches(shape)) < 2:
        return
    if any((b.max_length or 0) > MAX_UNROLLED_LENGTH for b in strings):
        reason = f"alternatives of strings with a maxLength above {MAX_UNROLLED_LENGTH} are not enforced"
        raise UnsupportedSchema(pointer, keyword, reason, "lower the bound, or write one string")


def _resolve(root: Any, place: str, pointer: str, target: str) -> Any:
    """The schema that `place` points at, checked by itself: it may stand where no meta-schema looks."""
    found = root
    for token in place.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, ValueError, TypeError):
            reason = f"{target} leads nowhere"
            raise UnsupportedSchema(pointer, "$ref", reason, "add what is meant under $defs") from None
    if isinstance(found, bool):
        return found
    if not isinstance(found, dict):
        reason = f"expected a schema at {target}, got {type(found).__name__}"
        raise UnsupportedSchema(pointer, "$ref", reason, "refer to a schema")
    draft = {"$schema": root["$schema"]} if "$schema" in root else {}
    check_schema({**found, **draft}, target)
    return found


def _ignores_siblings(root: Any) -> bool:
    """Whether the draft that `$schema` names ignores what stands beside a `$ref` (all before 2019-09)."""
    name = root.get("$schema", "") if isinstance(root, Mapping) else ""
    return re.search(r"draft-0?[3-7]\b", name) is not None


def _notes(schema: Mapping[str, Any]) -> Notes:
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
    """An example or a default as canonical text; None where it has none, for it constrains nothing."""
    try:
        return json_text(value)
    except ValueError:
        return None
