"""Normalising JSON Schema to shapes: some keywords are kept exactly, others become the nearest shape."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import each
from tests.support.shapes_of_schemas import CLOSED, DRAFTS, OPEN, TEXT, chain, fields, one, shape

from cinnabar.schemas import compile_schema
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
    Union,
    branches,
    notes_of,
)
from cinnabar.schemas.parsing.shape_reader import normalise

TAKEN_OVER: list[tuple[Any, Shape]] = [
    (True, Anything()),
    ({}, Anything()),
    ({"type": "null"}, Null()),
    ({"type": ["string", "null"]}, Union((Null(), String()))),
    ({"anyOf": [TEXT, {"type": "null"}]}, Union((String(), Null()))),
    ({"enum": ["a", None]}, Union((one('"a"'), Null()))),
    ({"enum": ["a", None], "type": "string"}, one('"a"')),
    ({"enum": ["a", "bb", 3], "minLength": 2}, Enum(('"bb"', "3"), ("", ""))),
    ({"type": "number", "multipleOf": 0.01, "maximum": 0.1},
     Number(maximum=Decimal("0.1"), multiples=(Decimal("0.01"),))),
    (chain("c", {"type": "string", "pattern": "^[A-Z]"}, maxLength=3), String(("^[A-Z]",), (), 0, 3)),
    ({"allOf": [{"type": "number", "minimum": 1}], "type": "integer", "minimum": 2},
     Number(True, minimum=Decimal(2))),
    ({"allOf": [TEXT, {"minLength": 2}, {"maxLength": 5}]}, String((), (), 2, 5)),
    ({"anyOf": [TEXT, {"type": "integer"}], "maxLength": 9}, Union((String(max_length=9), Number(True)))),
    ({"allOf": [{"type": ["string", "null"]}, {"maxLength": 9}]}, Union((Null(), String(max_length=9)))),
    ({"type": "array", "contains": TEXT, "unevaluatedItems": {"type": "integer"}},
     Array(Union((Number(True), String())), 1, contained=String(), min_contained=1)),
    ({"type": "array", "prefixItems": [TEXT], "unevaluatedItems": False}, Array(None, prefix=(String(),))),
    ({"type": "object", "unevaluatedProperties": TEXT}, Object((), String())),
    (chain("n", {"type": "number", "minimum": 2}, enum=[1, 2.5, "x", 3]), Enum(("2.5", "3"), ("", ""))),
    ({"anyOf": [False, TEXT]}, String()),
    ({"type": "string", "anyOf": [{"type": "integer"}, {"minLength": 2}]}, String(min_length=2)),
    ({"type": "array"}, Array(Anything())),
    ({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 4}, Array(Boolean(), 1, 4)),
    ({"type": "array", "prefixItems": [TEXT], "items": False}, Array(None, prefix=(String(),))),
    ({"type": "array", "items": TEXT, "uniqueItems": True}, Array(String(), unique=True)),
    ({"type": "array", "items": TEXT, "contains": {"const": "x"}},
     Array(String(), 1, contained=one('"x"'), min_contained=1)),
    ({"allOf": [{"type": "array", "contains": {"type": "integer"}, "minContains": 2},
                {"type": "array", "contains": {"minimum": 3}, "uniqueItems": True}]},
     Array(Anything(), 2, unique=True, contained=Number(True, minimum=Decimal(3)), min_contained=2)),
    ({"allOf": [{"type": "array", "contains": {"type": "integer"}}, {"type": "array", "contains": TEXT}]},
     Array(Anything(), 1, contained=Number(True), min_contained=1)),
    ({"allOf": [{"type": "array", "items": TEXT}, {"type": "array", "contains": {"const": "x"}}]},
     Array(String(), 1, contained=one('"x"'), min_contained=1)),
    ({"type": "array", "items": TEXT, "contains": TEXT, "minContains": 0},
     Array(String(), contained=String())),
    ({"allOf": [{"type": "array", "prefixItems": [TEXT, TEXT, TEXT]},
                {"type": "array", "prefixItems": [{}, {"type": "integer"}, TEXT]}]},
     Array(None, prefix=(String(),))),
    ({"allOf": [{"type": "array", "prefixItems": [TEXT], "items": False, "maxItems": 4},
                {"type": "array", "items": {"maxLength": 3}, "minItems": 1, "maxItems": 3}]},
     Array(None, 1, 3, prefix=(String(max_length=3),))),
    (CLOSED, Object((Field("a", String(), False),))),
    ({**OPEN, "required": ["a", "b"]},
     Object((Field("a", String(), True), Field("b", Anything(), True)), Anything())),
    ({"type": "object", "additionalProperties": TEXT}, Object((), String())),
    ({"type": "object", "patternProperties": {"^x": TEXT}, "additionalProperties": False},
     Object((), None, patterns=(("^x", String()),))),
    ({**OPEN, "minProperties": 1, "maxProperties": 2},
     Object((Field("a", String(), False),), Anything(), min_properties=1, max_properties=2)),
    ({"type": "object", "propertyNames": {"maxLength": 2}},
     Object((), Anything(), names=String((), (), 0, 2))),
    ({"const": {"a": [1]}}, Object((Field("a", Array(None, 1, 1, prefix=(one("1"),)), True),))),
    ({"type": ["array", "string"], "items": TEXT}, Union((String(), Array(String())))),
]  # fmt: skip


@each("schema, expected", TAKEN_OVER)
def test_schemas_that_a_shape_can_express_are_kept_exactly(schema: Any, expected: Shape) -> None:
    assert shape(schema) == expected


@pytest.mark.parametrize(
    "idle",
    [
        {"then": False},
        {"else": False},
        {"minContains": 2},
        {"uniqueItems": False},
        {"x-mine": {"not": {}}},
        {"not": False},
        {"$comment": "x"},
        {"unevaluatedProperties": False},
        {"not": {"required": ["a"]}},
    ],
)
def test_keywords_across_places_leave_the_shape_unchanged(idle: dict[str, Any]) -> None:
    assert shape({**OPEN, **idle}) == shape(OPEN)


def test_names_that_must_be_there_beside_others_are_kept_with_those_of_older_drafts() -> None:
    for keyword in ("dependentRequired", "dependencies"):
        draft = {"$schema": "http://json-schema.org/draft-07/schema#"} if keyword == "dependencies" else {}
        found = shape({**draft, **OPEN, keyword: {"a": ["b"]}})
        assert isinstance(found, Object) and found == replace(shape(OPEN), demands=(("a", ("b",)),))


def test_a_declared_property_meets_every_pattern_that_its_name_matches() -> None:
    schema = {
        "type": "object",
        "properties": {"x-a": {"minimum": 5}, "y": TEXT},
        "patternProperties": {"^x-": {"type": "integer"}, "a$": {"maximum": 9}},
        "additionalProperties": {"type": "null"},
        "required": ["x-b", "z"],
    }
    found = fields(shape(schema))
    assert found["x-a"].shape == Number(True, minimum=Decimal(5), maximum=Decimal(9))
    assert found["x-b"].shape == Number(True)
    assert found["y"].shape == String()
    assert found["z"].shape == Null()


def test_a_keyword_without_a_type_gives_the_type_that_it_is_about() -> None:
    assert shape({"minimum": 3}) == Number(minimum=Decimal(3))
    assert shape({"properties": {"a": TEXT}}) == Object((Field("a", String(), False),), Anything())
    assert shape({"type": ["string", "integer"], "minLength": 2}) == Union(
        (Number(True), String(min_length=2))
    )


def test_keywords_about_another_type_leave_alternatives_and_choices_unchanged() -> None:
    kinds = [TEXT, {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}]
    assert shape({"uniqueItems": True, "oneOf": kinds}) == shape({"oneOf": kinds})
    assert shape({"minLength": 2, "enum": [3, None]}) == shape({"enum": [3, None]})
    named = shape({"anyOf": kinds})
    assert named is not None
    assert shape({"minLength": 2, "anyOf": kinds}) == Union((String(min_length=2), branches(named)[1]))


def test_types_and_choices_under_not_are_taken_away() -> None:
    assert shape({"type": ["string", "null"], "not": {"type": "null"}}) == String()
    assert shape({"enum": ["a", "b", None], "not": {"enum": ["a", None]}}) == one('"b"')
    assert shape({"type": "boolean", "not": {"const": True}}) == one("false")
    assert branches(shape({"not": {"type": ["object", "array", "string", "boolean"]}})) == (Null(), Number())


def test_all_alternatives_are_kept_and_the_judge_decides_among_them() -> None:
    overlapping = {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]}
    assert shape(overlapping) == Union((Number(True), Number(minimum=Decimal(2))))
    other = {"type": "object", "properties": {"b": TEXT}, "additionalProperties": False}
    assert shape({"oneOf": [CLOSED, other]}) == Union((shape(CLOSED), shape(other)))
    assert shape({"anyOf": [CLOSED, TEXT]}) == Union((shape(CLOSED), String()))


def test_a_condition_becomes_an_alternative_that_meets_it_and_one_that_does_not() -> None:
    schema = {
        "type": "object",
        "properties": {"t": {"enum": ["a", "b"]}, "v": {"type": "integer"}},
        "if": {"properties": {"t": {"const": "a"}}, "required": ["t"]},
        "then": {"required": ["v"]},
        "else": {"properties": {"v": False}},
    }
    met, other = branches(shape(schema))
    assert fields(met) == {"t": Field("t", one('"a"'), True), "v": Field("v", Number(True), True)}
    assert list(fields(other)) == ["t"]


def test_a_dependent_schema_applies_with_its_property_or_the_property_is_absent() -> None:
    schema = {**OPEN, "dependentSchemas": {"a": {"required": ["b"], "properties": {"b": TEXT}}}}
    with_it, without = branches(shape(schema))
    assert {name: field.required for name, field in fields(with_it).items()} == {"a": True, "b": True}
    assert not fields(without)
    old = {
        "$schema": DRAFTS[7],
        **OPEN,
        "dependencies": {"a": {"required": ["b"], "properties": {"b": TEXT}}},
    }
    assert shape(old) == shape(schema)


def test_an_optional_property_that_cannot_be_written_is_omitted_and_listed() -> None:
    never = {"type": "integer", "minimum": 3, "maximum": 2}
    found = normalise({"type": "object", "properties": {"a": False, "b/c": never, "d": TEXT}})
    assert list(fields(found.shape)) == ["d"]
    assert [pointer for pointer, _ in found.left_out] == ["/properties/b~1c"]


def test_unchecked_keywords_are_listed() -> None:
    said = {
        "c": {**TEXT, "format": "colour"},
        "d": {**TEXT, "contentEncoding": "base64"},
        "e": {"format": "date"},
    }
    found = normalise({"type": "object", "properties": said})
    assert [pointer for pointer, _ in found.left_out] == [
        "/properties/c/format",
        "/properties/d/contentEncoding",
    ]
    old = {"$schema": DRAFTS[7], **TEXT, "contentEncoding": "base64", "minLength": 3}
    assert not normalise(old).left_out
    assert compile_schema(old).accepts(compile_schema(old).minimal())


def test_words_beside_a_reference_come_before_those_behind_it() -> None:
    part = {"type": "object", "properties": {"a": TEXT}, "title": "Party", "description": "Either party."}
    reference = {"$ref": "#/$defs/p"}
    buyer = {"anyOf": [reference, {"type": "null"}], "description": "The buyer.", "default": None}
    schema = {
        "$defs": {"p": part},
        "type": "object",
        "properties": {
            "x": {**reference, "title": "Seller"},
            "y": buyer,
            "z": {"allOf": [reference], "title": "Third"},
        },
    }
    notes = [notes_of(field.shape) for field in fields(shape(schema)).values()]
    assert [(n.title, n.description) for n in notes] == [
        ("Seller", "Either party."),
        ("Party", "The buyer."),
        ("Third", "Either party."),
    ]
    assert notes[1].default == "null"
