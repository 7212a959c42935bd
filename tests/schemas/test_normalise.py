"""JSON Schema to shapes: what constrains is taken over, and what cannot be is refused by its pointer."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cinnabar.schemas.keywords import CONTAINER_ASSERTIONS, REFUSED, SCALAR_ASSERTIONS

from cinnabar.schemas import SchemaError, UnsupportedSchema
from cinnabar.schemas.automaton import MAX_STATES
from cinnabar.schemas.formats import FORMATS
from cinnabar.schemas.language import MAX_UNROLLED_LENGTH, UNROLLED_LENGTH
from cinnabar.schemas.normalise import MAX_MIN_ITEMS, MAX_SHAPES, normalise
from cinnabar.schemas.shape import Array, Boolean, Enum, Null, Number, Object, Shape, String, Union, notes_of

TEXT = {"type": "string"}
OPEN = {"type": "object", "properties": {"a": TEXT}}


def shape(schema: dict[str, Any]) -> Shape:
    return normalise(schema).shape


REFUSALS: list[tuple[dict[str, Any] | bool, str, str]] = [
    (True, "", "type"),
    (False, "", "false"),
    ({}, "", "type"),
    ({"properties": {"a": TEXT}}, "", "type"),
    ({**OPEN, "not": {"required": ["a"]}}, "/not", "not"),
    ({**OPEN, "if": {"required": ["a"]}, "then": {"minProperties": 1}}, "/if", "if"),
    ({**OPEN, "patternProperties": {"^x": TEXT}}, "/patternProperties", "patternProperties"),
    ({**OPEN, "propertyNames": {"minLength": 2}}, "/propertyNames", "propertyNames"),
    ({**OPEN, "dependentRequired": {"a": ["b"]}}, "/dependentRequired", "dependentRequired"),
    ({**OPEN, "dependentSchemas": {"a": OPEN}}, "/dependentSchemas", "dependentSchemas"),
    ({**OPEN, "dependencies": {"a": ["b"]}}, "/dependencies", "dependencies"),
    ({**OPEN, "unevaluatedProperties": False}, "/unevaluatedProperties", "unevaluatedProperties"),
    ({**OPEN, "minProperties": 1}, "/minProperties", "minProperties"),
    ({**OPEN, "maxProperties": 1}, "/maxProperties", "maxProperties"),
    ({**OPEN, "required": ["a", "b"]}, "/required", "required"),
    ({**OPEN, "anyOf": [{"required": ["a"]}, {"type": "object"}]}, "/anyOf", "anyOf"),
    ({**OPEN, "$ref": "#/$defs/o", "$defs": {"o": OPEN}}, "/properties", "properties"),
    ({"type": "object"}, "", "properties"),
    ({"type": "object", "additionalProperties": TEXT}, "/additionalProperties", "additionalProperties"),
    ({"type": "object", "properties": {"a/b": {"not": TEXT}}}, "/properties/a~1b/not", "not"),
    ({"type": "object", "properties": {"a": {}}}, "/properties/a", "type"),
    ({"type": "object", "properties": {"a": False}}, "/properties/a", "false"),
    ({"type": "array"}, "", "items"),
    ({"type": "array", "items": TEXT, "uniqueItems": True}, "/uniqueItems", "uniqueItems"),
    ({"type": "array", "items": TEXT, "contains": TEXT}, "/contains", "contains"),
    ({"type": "array", "items": TEXT, "prefixItems": [TEXT]}, "/prefixItems", "prefixItems"),
    ({"type": "array", "items": TEXT, "unevaluatedItems": False}, "/unevaluatedItems", "unevaluatedItems"),
    ({"type": "array", "items": TEXT, "minItems": 3, "maxItems": 2}, "/minItems", "minItems"),
    ({"type": "array", "items": TEXT, "minItems": 10_000}, "/minItems", "minItems"),
    ({"type": ["array", "string"], "items": TEXT}, "/type", "type"),
    ({"type": ["object", "array"], "items": TEXT, "properties": {}}, "/type", "type"),
    ({"anyOf": [OPEN, {"type": "object", "properties": {"b": TEXT}}]}, "/anyOf", "anyOf"),
    ({"anyOf": [OPEN, TEXT]}, "/anyOf", "anyOf"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "/oneOf", "oneOf"),
    (
        {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]},
        "/oneOf",
        "oneOf",
    ),
    ({"anyOf": [{"type": "string", "maxLength": 900}, {"const": "x"}]}, "/anyOf", "anyOf"),
    ({"allOf": [TEXT, {"minLength": 2}]}, "/allOf", "allOf"),
    ({"enum": [{"a": 1}]}, "/enum", "enum"),
    ({"const": [1]}, "/const", "const"),
    ({"enum": ["a"], "type": "integer"}, "/enum", "enum"),
    ({"enum": ["a"], "minLength": 2}, "/minLength", "minLength"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "/minLength", "minLength"),
    ({"type": "string", "pattern": "^ab$", "minLength": 3}, "/pattern", "pattern"),
    ({"type": "string", "pattern": "^a{300}$", "maxLength": 200}, "/pattern", "pattern"),
    ({"type": "string", "pattern": "(a)\\1"}, "/pattern", "pattern"),
    ({"type": "string", "format": "date", "maxLength": 4}, "/maxLength", "maxLength"),
    ({"type": "integer", "minimum": 3, "maximum": 2}, "/minimum", "minimum"),
    ({"type": "integer", "exclusiveMinimum": 0, "maximum": 0.5}, "/maximum", "maximum"),
    ({"type": "number", "multipleOf": 7, "minimum": 1, "maximum": 6}, "/multipleOf", "multipleOf"),
    ({"$ref": "#"}, "/$ref", "$ref"),
    ({"$ref": "#/$defs/none"}, "/$ref", "$ref"),
    ({"$ref": "#/title", "title": "x"}, "/$ref", "$ref"),
    ({"$ref": "https://example.org/schema"}, "/$ref", "$ref"),
    ({"$dynamicRef": "#x", "type": "string"}, "/$dynamicRef", "$dynamicRef"),
]


@pytest.mark.parametrize(("schema", "pointer", "keyword"), REFUSALS, ids=lambda v: str(v)[:60])
def test_what_cannot_be_enforced_is_refused_by_its_pointer(
    schema: dict[str, Any] | bool, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        normalise(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert caught.value.reason


def test_a_schema_that_contains_itself_is_refused_where_it_does() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    with pytest.raises(UnsupportedSchema, match="contains itself") as caught:
        normalise({"$defs": {"tree": tree}, "$ref": "#/$defs/tree"})
    assert caught.value.pointer == "/$defs/tree/properties/children/items/$ref"


def test_references_that_multiply_are_stopped() -> None:
    definitions: dict[str, Any] = {"d0": TEXT}
    for i in range(1, 30):
        twice = {"$ref": f"#/$defs/d{i - 1}"}
        definitions[f"d{i}"] = {"type": "object", "properties": {"l": twice, "r": twice}}
    with pytest.raises(UnsupportedSchema, match=str(MAX_SHAPES)):
        normalise({"$defs": definitions, "$ref": "#/$defs/d29"})


def test_a_very_deep_schema_is_refused() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    try:
        normalise(schema)
    except (UnsupportedSchema, SchemaError) as problem:
        assert "level" in str(problem) or "recursion" in str(problem)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"type": "string", "minLength": -1},
        {"type": "object", "required": "a"},
        {"enum": "a"},
        {"type": "object", "properties": {"\ud800": TEXT}},
        {"$ref": "#/x-part", "x-part": {"type": {"a": 1}}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/$defs/a",
            "$defs": {"a": {"type": 3}},
        },
    ],
)
def test_what_is_no_schema_is_told_apart(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        normalise(schema)


def test_keywords_that_constrain_nothing_are_let_through() -> None:
    idle = {
        "then": False,
        "minContains": 2,
        "uniqueItems": False,
        "propertyNames": True,
        "x-mine": {"not": {}},
    }
    assert shape({**OPEN, **idle, "required": ["a"], "minProperties": 1}) == shape(
        {**OPEN, "required": ["a"]}
    )


def test_null_is_read_from_type_lists_alternatives_and_choices() -> None:
    assert shape({"type": ["string", "null"]}) == Union((Null(), String()))
    assert shape({"anyOf": [TEXT, {"type": "null"}]}) == Union((String(), Null()))
    assert shape({"oneOf": [{"type": "null"}, TEXT]}) == Union((Null(), String()))
    assert shape({"enum": ["a", None]}) == Union((Enum(('"a"',), ("",)), Null()))
    assert shape({"enum": ["a", None], "type": "string"}) == Enum(('"a"',), ("",))


def test_alternatives_that_nothing_meets_are_dropped() -> None:
    assert shape({"type": "string", "anyOf": [{"type": "integer"}, {"minLength": 2}]}) == String(min_length=2)
    assert shape({"anyOf": [False, TEXT]}) == String()


def test_what_stands_beside_a_base_is_met_with_it() -> None:
    named = {
        "$defs": {"code": {"type": "string", "pattern": "^[A-Z]"}},
        "$ref": "#/$defs/code",
        "maxLength": 3,
    }
    assert shape(named) == String(("^[A-Z]",), (), 0, 3)
    assert shape({"enum": ["a", "bb", 3], "minLength": 2}) == Enum(('"bb"', "3"), ("", ""))
    bounded = {"allOf": [{"type": "number", "minimum": 1}], "type": "integer", "minimum": 2}
    assert shape(bounded) == Number(True, minimum=Decimal(2))
    assert shape({"anyOf": [TEXT, {"type": "integer"}], "maxLength": 9}) == Union(
        (String(max_length=9), Number(True))
    )


def test_bases_are_met_with_one_another() -> None:
    numbers = {"$defs": {"n": {"type": "number", "minimum": 2}}, "$ref": "#/$defs/n"}
    assert shape({**numbers, "anyOf": [{"type": "integer", "maximum": 9}]}) == Number(
        True, minimum=Decimal(2), maximum=Decimal(9)
    )
    assert shape({**numbers, "enum": [1, 2.5, "x", 3]}) == Enum(("2.5", "3"), ("", ""))


def test_choices_that_are_too_long_are_dropped_whatever_the_bound() -> None:
    for bound in (5, 140, 900):
        found = shape({"enum": ["x" * bound, "x" * (bound + 1)], "maxLength": bound})
        assert found == Enum(('"' + "x" * bound + '"',), ("",))


def test_drafts_before_2019_ignore_what_stands_beside_a_reference() -> None:
    schema = {"definitions": {"s": TEXT}, "$ref": "#/definitions/s", "maxLength": 3, "title": "T"}
    assert shape({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}) == String(
        notes=notes_of(shape({"type": "string", "title": "T"}))
    )


def test_draft_4_has_flags_for_exclusive_bounds() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 1}
    assert shape({**schema, "exclusiveMinimum": True}) == Number(True, exclusive_minimum=Decimal(1))
    assert shape({**schema, "exclusiveMinimum": False}) == Number(True, minimum=Decimal(1))


def test_bounds_are_exact_decimals() -> None:
    found = shape({"type": "number", "multipleOf": 0.01, "maximum": 0.1})
    assert found == Number(maximum=Decimal("0.1"), multiples=(Decimal("0.01"),))


def test_words_beside_a_reference_win_over_those_behind_it() -> None:
    part = {"type": "object", "properties": {"a": TEXT}, "title": "Party", "description": "Either party."}
    schema = {
        "$defs": {"p": part},
        "type": "object",
        "properties": {
            "x": {"$ref": "#/$defs/p", "title": "Seller"},
            "y": {
                "anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}],
                "description": "The buyer.",
                "default": None,
            },
            "z": {"allOf": [{"$ref": "#/$defs/p"}], "title": "Third"},
        },
    }
    found = shape(schema)
    assert isinstance(found, Object)
    notes = [notes_of(f.shape) for f in found.fields]
    assert [(n.title, n.description) for n in notes] == [
        ("Seller", "Either party."),
        ("Party", "The buyer."),
        ("Third", "Either party."),
    ]
    assert notes[1].default == "null"


def test_containers_keep_what_they_hold() -> None:
    rows = {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 4}
    found = shape({"type": "object", "properties": {"r": rows}, "additionalProperties": {"type": "integer"}})
    assert isinstance(found, Object)
    assert found.fields[0].shape == Array(Boolean(), 1, 4)
    assert found.additional == Number(True)
    assert not found.fields[0].required


def test_pointers_with_escapes_are_followed() -> None:
    schema = {"$defs": {"a/b~ c": TEXT}, "type": "array", "items": {"$ref": "#/$defs/a~1b~0%20c"}}
    assert shape(schema) == Array(String())


def test_the_page_of_keywords_names_every_keyword_and_format_and_the_limits_that_hold() -> None:
    page = (Path(__file__).parents[2] / "schemas" / "keywords.md").read_text(encoding="utf-8")
    for name in (*REFUSED, *SCALAR_ASSERTIONS, *CONTAINER_ASSERTIONS, *FORMATS):
        assert f"`{name}`" in page or f"`{name}," in page, name
    for limit in (UNROLLED_LENGTH, MAX_UNROLLED_LENGTH, MAX_MIN_ITEMS, MAX_STATES, MAX_SHAPES):
        assert f" {limit:,}" in page, limit
