"""Hypothesis strategies: random schemas that can be enforced, and values that nearly fit them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

PATTERNS = ["^[A-Z]{3}$", "[0-9]", "^(a|bc)*$", "x.z", "^\\d{2}:\\d{2}$", "\\bon\\b", "^[^a]*$"]
FORMATS = ["date", "date-time", "uuid", "ipv4", "time"]
STRINGS = [
    *(
        "",
        "a",
        "abc",
        "ABC",
        "EUR",
        "bcabc",
        "xyz",
        "on",
        "12:30",
        "0",
        "7 on 7",
        "é",
        "😀",
        '"',
        "\\",
        "\n",
        "a/b~c",
    ),
    *("2024-02-29", "2023-02-29", "1999-12-31", "2024-02-29T12:30:00Z", "2024-13-01T12:30:00Z", "12:30:00Z"),
    *("127.0.0.1", "127.0.0.256", "123e4567-e89b-12d3-a456-426614174000", "abcdef" * 30),
]
NUMBERS = [0, 1, -1, 2, 3, 6, 7, 12, 100, -100, 0.5, 0.25, 0.01, 1.5, -2.5, 19.99, 1000000, 1e-7, 2**60]
NAMES = ["a", "b", "name", "total", "a/b", "~", "", "zwölf", 'quo"te', "items"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.integers(-50, 50),
    st.sampled_from(STRINGS),
    st.text(),
).filter(lambda v: not isinstance(v, str) or v.isprintable() or "\x00" not in v)


@st.composite
def string_schemas(draw: st.DrawFn) -> Schema:
    kind = draw(st.sampled_from(["any", "pattern", "format", "length", "long"]))
    schema: Schema = {"type": "string"}
    if kind == "pattern":
        schema["pattern"] = draw(st.sampled_from(PATTERNS))
    if kind == "format":
        schema["format"] = draw(st.sampled_from(FORMATS))
    if kind == "length":
        schema["minLength"] = draw(st.integers(0, 4))
        schema["maxLength"] = schema["minLength"] + draw(st.integers(0, 4))
    if kind == "long":
        schema["maxLength"] = draw(st.integers(129, 300))
    return schema


@st.composite
def number_schemas(draw: st.DrawFn) -> Schema:
    schema: Schema = {"type": draw(st.sampled_from(["integer", "number"]))}
    low = draw(st.none() | st.integers(-20, 20))
    if low is not None:
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
        if draw(st.booleans()):
            schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = low + draw(st.integers(8, 30))
    if draw(st.booleans()):
        steps = [1, 2, 3] if schema["type"] == "integer" else [1, 0.5, 0.01, 0.25, 3]
        schema["multipleOf"] = draw(st.sampled_from(steps))
    return schema


enum_schemas: st.SearchStrategy[Schema] = st.lists(scalars, min_size=1, max_size=4).map(
    lambda values: {"enum": list({repr(v): v for v in values}.values())}
)

scalar_schemas: st.SearchStrategy[Schema] = st.one_of(
    string_schemas(), number_schemas(), enum_schemas, st.just({"type": "boolean"}), st.just({"type": "null"})
)


@st.composite
def _annotated(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema = dict(draw(inner))
    if draw(st.booleans()):
        schema["title"] = draw(st.sampled_from(["Total", "Name of it"]))
        schema["x-unknown"] = {"minimum": 3}
    return schema


@st.composite
def _nullable(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema = draw(inner)
    if isinstance(schema.get("type"), str) and schema["type"] != "null" and draw(st.booleans()):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}], "default": None}


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    schema: Schema = {"type": "object", "properties": {name: draw(inner) for name in names}}
    schema["required"] = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.one_of(st.booleans(), number_schemas()))
    return schema


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema: Schema = {"type": "array", "items": draw(inner)}
    if draw(st.booleans()):
        schema["minItems"] = draw(st.integers(0, 2))
        if draw(st.booleans()):
            schema["maxItems"] = schema["minItems"] + draw(st.integers(0, 2))
    return schema


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    made = st.one_of(_objects(inner), _arrays(inner))
    return st.one_of(_annotated(made), _nullable(made))


_unions = st.lists(scalar_schemas, min_size=2, max_size=3).map(lambda parts: {"anyOf": parts})
_leaves = st.one_of(_annotated(scalar_schemas), _nullable(scalar_schemas), _unions)
_trees = st.recursive(_leaves, _containers, max_leaves=8)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """A schema that can be enforced; references point to some of its parts."""
    schema = dict(draw(_objects(_trees) | _trees))
    if schema.get("properties") and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(schema["properties"])))
        schema["$defs"] = {"part": schema["properties"][name]}
        schema["properties"] = {**schema["properties"], name: {"$ref": "#/$defs/part", "description": "x"}}
    return schema


def near(schema: Schema, root: Schema | None = None) -> st.SearchStrategy[Any]:
    """Values of about the shape that the schema asks for; it allows many of them and refuses many."""
    root = schema if root is None else root
    options: list[st.SearchStrategy[Any]] = [scalars]
    if "$ref" in schema:
        return near(root["$defs"]["part"], root)
    if "enum" in schema:
        options = [st.sampled_from(schema["enum"]), st.sampled_from(schema["enum"]), scalars]
    if "anyOf" in schema:
        options += [near(part, root) for part in schema["anyOf"]]
    if "properties" in schema:
        wanted = {name: near(part, root) for name, part in schema["properties"].items()}
        needed = {name: wanted.pop(name) for name in schema["required"]}
        whole = st.fixed_dictionaries(needed, optional={**wanted, "undeclared": scalars})
        options = [whole, whole, st.fixed_dictionaries({}, optional={**needed, **wanted}), *options]
    if "items" in schema:
        rows = st.lists(near(schema["items"], root), max_size=3)
        options = [rows, rows, *options]
    return st.one_of(options)


# Schemas of any kind: conditions, exclusive alternatives, counts, open properties, references.

_WORDS = st.sampled_from(["a", "b", "ab", "c"])
_FEW = st.integers(0, 3)
hard_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 3),
        st.sampled_from([0.5, 2.5]),
        st.sampled_from(["", "a", "ab", "b😀", "2024-02-29"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_WORDS, inner, max_size=4)),
    max_leaves=8,
)
_small: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}, {}, True]
    ),
    st.sampled_from([{"type": "integer", "minimum": 2}, {"type": "string", "pattern": "^a"}, {"const": 1}]),
    st.sampled_from([{"enum": ["a", 1, None]}, {"type": ["string", "null"], "maxLength": 1}, {"$ref": "#"}]),
)


def _hard(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    named = st.dictionaries(_WORDS, inner, min_size=1, max_size=3)
    words = st.lists(_WORDS, max_size=2, unique=True)
    some = st.lists(inner, min_size=1, max_size=3)
    any_of: dict[str, st.SearchStrategy[Any]] = {"anyOf": some, "oneOf": some, "allOf": some, "not": inner}
    any_of |= {"if": inner, "then": inner, "else": inner}
    of_objects: dict[str, st.SearchStrategy[Any]] = {
        "required": words,
        "minProperties": _FEW,
        "maxProperties": st.integers(1, 3),
        "propertyNames": inner,
        "additionalProperties": inner | st.booleans(),
        "unevaluatedProperties": st.booleans(),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b", "c$"]), inner, max_size=2),
        "dependentRequired": st.dictionaries(_WORDS, words, max_size=2),
        "dependentSchemas": st.dictionaries(_WORDS, inner, max_size=2),
    }
    of_arrays: dict[str, st.SearchStrategy[Any]] = {
        "minItems": _FEW,
        "maxItems": st.integers(1, 4),
        "uniqueItems": st.booleans(),
        "contains": inner,
        "minContains": _FEW,
        "maxContains": st.integers(1, 3),
        "prefixItems": some,
    }
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": named}, optional=of_objects | any_of
    )
    arrays = st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional=of_arrays | any_of)
    return st.one_of(objects, objects, arrays, st.fixed_dictionaries({"anyOf": some}))


def hard_schemas() -> st.SearchStrategy[Schema]:
    """A schema of any keywords, which may allow no value at all."""
    thinned = st.recursive(_small, lambda inner: _thinned(_hard(inner)), max_leaves=6)
    return _thinned(_hard(thinned))


@st.composite
def _thinned(draw: st.DrawFn, whole: st.SearchStrategy[Schema]) -> Schema:
    """A schema with at most three of its keywords beside type, properties and items."""
    schema = draw(whole)
    kept = ("type", "properties", "items", "anyOf")
    others = [keyword for keyword in schema if keyword not in kept]
    chosen = draw(st.lists(st.sampled_from(others), max_size=3, unique=True)) if others else []
    return {k: v for k, v in schema.items() if k in kept or k in chosen}
