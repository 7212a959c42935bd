"""Schemas that cannot be written: without a value, or without one for us, named with keyword and place."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import each
from tests.support.shapes_of_schemas import CLOSED, OPEN, TEXT

from cinnabar.errors import NoValue
from cinnabar.schemas import UnsupportedSchema, compile_schema
from cinnabar.schemas.parsing.containers import MAX_MIN_ITEMS
from cinnabar.schemas.parsing.language import MAX_UNROLLED_LENGTH
from cinnabar.schemas.parsing.shape_reader import normalise

NOTHING: list[tuple[Any, str, str]] = [
    (False, "", "false"),
    ({"not": {}}, "/not", "not"),
    ({"type": "array", "items": TEXT, "minItems": 3, "maxItems": 2}, "/minItems", "minItems"),
    ({"type": "array", "prefixItems": [TEXT], "items": False, "minItems": 2}, "/minItems", "minItems"),
    ({"type": "array", "contains": False}, "/contains", "contains"),
    ({"enum": ["a"], "type": "integer"}, "/type", "type"),
    ({"enum": ["a"], "minLength": 2}, "/minLength", "minLength"),
    ({"allOf": [TEXT, {"type": "integer"}]}, "/allOf/1/type", "type"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "/minLength", "minLength"),
    ({"type": "string", "pattern": "^ab$", "minLength": 3}, "/pattern", "pattern"),
    ({"type": "string", "pattern": "^a{300}$", "maxLength": 200}, "/pattern", "pattern"),
    ({"type": "string", "format": "date", "maxLength": 4}, "/maxLength", "maxLength"),
    ({"type": "integer", "minimum": 3, "maximum": 2}, "/minimum", "minimum"),
    ({"type": "integer", "exclusiveMinimum": 0, "maximum": 0.5}, "/maximum", "maximum"),
    ({"type": "number", "multipleOf": 7, "minimum": 1, "maximum": 6}, "/multipleOf", "multipleOf"),
    ({**OPEN, "properties": {"a/b": False}, "required": ["a/b"]}, "/properties/a~1b", "false"),
    ({**CLOSED, "required": ["z"]}, "/required", "required"),
    (
        {"type": "object", "properties": {"a": False, "b": {"minimum": 3, "maximum": 2}}, "required": ["b"]},
        "/properties/b/minimum",
        "minimum",
    ),
    ({"anyOf": [False, {"type": "string", "minLength": 3, "maxLength": 2}]}, "/anyOf/0", "false"),
]


@each("schema, pointer, keyword", NOTHING)
def test_a_schema_without_values_is_named_by_its_keyword(schema: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(NoValue) as caught:
        normalise(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    compiled = compile_schema(schema)
    assert not any(compiled.accepts(text) for text in ("null", "0", '""', '"a"', "[]", "[1,2]", "{}"))
    with pytest.raises(NoValue):
        _ = compiled.form


REFUSED: list[tuple[Any, str, str]] = [
    ({"type": "string", "pattern": "(a)\\1"}, "/pattern", "pattern"),
    ({"type": "string", "minLength": MAX_UNROLLED_LENGTH + 1}, "/minLength", "minLength"),
    ({"type": "array", "items": TEXT, "minItems": MAX_MIN_ITEMS + 1}, "/minItems", "minItems"),
    ({"$ref": "#"}, "/$ref", "$ref"),
    ({"$ref": "#/$defs/none"}, "/$ref", "$ref"),
    ({"$ref": "#/title", "title": "x"}, "/$ref", "$ref"),
    ({"$ref": "https://example.org/schema"}, "/$ref", "$ref"),
    ({"$dynamicRef": "#x", "type": "string"}, "/$dynamicRef", "$dynamicRef"),
    ({"type": "object", "properties": {"a": {"pattern": "(?i:a)"}}}, "/properties/a/pattern", "pattern"),
]


@pytest.mark.parametrize(("schema", "pointer", "keyword"), REFUSED, ids=lambda v: str(v)[:60])
def test_a_schema_that_cannot_be_written_is_refused_by_its_pointer(
    schema: Any, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        normalise(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert caught.value.reason


DAY, SHORT = {**TEXT, "format": "date"}, {**TEXT, "maxLength": 4}


def having(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": part}, **more}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({**having(DAY), "patternProperties": {"a": SHORT}}, "{}"),
        ({"allOf": [having(DAY), having(SHORT)]}, "{}"),
        ({"allOf": [having(having(DAY)), having(having(SHORT))]}, "{}"),
        (
            {"allOf": [having({"type": "number", "maximum": 2}), having({"type": "number", "minimum": 3})]},
            "{}",
        ),
        ({"allOf": [{"type": "array", "items": DAY}, {"type": "array", "items": SHORT}]}, "[]"),
        ({"type": "array", "items": DAY, "contains": SHORT, "minContains": 0}, "[]"),
        ({"type": "object", "patternProperties": {"^x": DAY, "^xy": SHORT}}, "{}"),
        ({**having(DAY), "dependentSchemas": {"a": having(SHORT)}}, "{}"),
        ({"type": "object", "if": having(DAY, required=["a"]), "then": having(SHORT)}, "{}"),
    ],
    ids=lambda v: str(v)[:60],
)
def test_an_optional_value_with_contradicting_parts_has_no_place(
    schema: Any, expected: str
) -> None:
    assert compile_schema(schema).minimal() == expected


def test_a_property_without_a_value_counts_as_declared_in_the_other_parts() -> None:
    apart = {"allOf": [having(DAY), having(SHORT), {"type": "object", "additionalProperties": TEXT}]}
    assert compile_schema(apart).minimal() == "{}"
    with pytest.raises(NoValue) as caught:
        normalise({"allOf": [*apart["allOf"], {"required": ["a"]}]})
    assert caught.value.pointer == "/allOf"


LARGE = [{**TEXT, "pattern": pattern} for pattern in ("a[^x]{8}b[^y]{3}$", "c[^a]{9}d[^z]{2}$")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"allOf": [having(part) for part in LARGE]}, "/allOf"),
        ({**having(LARGE[0]), "patternProperties": {"a": LARGE[1]}}, "/patternProperties"),
        ({"if": having(LARGE[0]), "then": having(LARGE[1])}, "/then"),
    ],
)
def test_patterns_too_large_together_are_refused_by_the_pointer_of_their_parent(
    schema: Any, pointer: str
) -> None:
    with pytest.raises(UnsupportedSchema, match="the automaton needs") as caught:
        _ = compile_schema(schema).form
    assert caught.value.pointer == pointer
