"""JSON Schema to shapes: what is taken over exactly, what becomes the nearest that can be written, and what
cannot be written at all."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cinnabar.schemas import UnsupportedSchema, compile_schema
from cinnabar.schemas.algebra import MAX_BRANCHES
from cinnabar.schemas.automaton import MAX_STATES
from cinnabar.schemas.containers import ANY_TYPE, MAX_MIN_ITEMS
from cinnabar.schemas.ecma import MAX_DEPTH
from cinnabar.schemas.errors import NoValue
from cinnabar.schemas.formats import FORMATS
from cinnabar.schemas.instances import BUDGET
from cinnabar.schemas.judging.building import MAKERS, MAX_BESIDE
from cinnabar.schemas.judging.resources import Documents
from cinnabar.schemas.language import MAX_UNROLLED_LENGTH, UNROLLED_LENGTH
from cinnabar.schemas.layout import lay_out
from cinnabar.schemas.normalise import LEVELS, MAX_DEMANDED, MAX_SHAPES, UNROLLED, Reader, normalise
from cinnabar.schemas.schema_object import ABOUT
from cinnabar.schemas.shape import (
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

TEXT = {"type": "string"}
OPEN = {"type": "object", "properties": {"a": TEXT}}
CLOSED = {**OPEN, "additionalProperties": False}
DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}


def shape(schema: Any) -> Shape:
    return normalise(schema).shape


def fields(found: Shape) -> dict[str, Field]:
    assert isinstance(found, Object)
    return {field.name: field for field in found.fields}


def chain(name: str, part: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"$defs": {name: part}, "$ref": f"#/$defs/{name}", **more}


def one(text: str) -> Enum:
    return Enum((text,), ("",))


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


@pytest.mark.parametrize(("schema", "expected"), TAKEN_OVER, ids=lambda v: str(v)[:60])
def test_what_the_algebra_can_say_is_taken_over_exactly(schema: Any, expected: Shape) -> None:
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
        {"dependentRequired": {"a": ["b"]}},
        {"unevaluatedProperties": False},
        {"not": {"required": ["a"]}},
    ],
)
def test_what_says_nothing_of_a_single_place_leaves_the_shape_as_it_is(idle: dict[str, Any]) -> None:
    assert shape({**OPEN, **idle}) == shape(OPEN)


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


def test_a_keyword_without_a_type_is_written_as_the_type_that_it_is_about() -> None:
    assert shape({"minimum": 3}) == Number(minimum=Decimal(3))
    assert shape({"properties": {"a": TEXT}}) == Object((Field("a", String(), False),), Anything())
    assert shape({"type": ["string", "integer"], "minLength": 2}) == Union(
        (Number(True), String(min_length=2))
    )


def test_keywords_about_another_type_leave_alternatives_and_choices_as_they_are() -> None:
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


def test_alternatives_are_all_of_them_and_the_judge_knows_which_go_together() -> None:
    overlapping = {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]}
    assert shape(overlapping) == Union((Number(True), Number(minimum=Decimal(2))))
    other = {"type": "object", "properties": {"b": TEXT}, "additionalProperties": False}
    assert shape({"oneOf": [CLOSED, other]}) == Union((shape(CLOSED), shape(other)))
    assert shape({"anyOf": [CLOSED, TEXT]}) == Union((shape(CLOSED), String()))


def test_a_condition_becomes_what_meets_it_and_what_does_not() -> None:
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


def test_what_depends_on_a_property_is_there_with_it_or_the_property_is_not() -> None:
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


def test_more_alternatives_than_fit_a_form_are_the_first_ones() -> None:
    found = normalise({"anyOf": [{"type": "string", "pattern": f"^{n}"} for n in range(100)]})
    assert len(branches(found.shape)) < 100
    assert branches(found.shape)[0] == String(("^0",))


# Recursion and size


NODE = {
    "type": "object",
    "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name"],
}


def depth(found: Shape) -> int:
    """How many nodes of a tree stand one below the other."""
    children = fields(found)["children"].shape if isinstance(found, Object) else None
    return 1 + depth(children.item) if isinstance(children, Array) and children.item is not None else 1


def test_recursion_is_unrolled_in_the_shape_and_told() -> None:
    found = normalise(chain("node", NODE))
    assert depth(found.shape) == UNROLLED[0]
    assert [pointer for pointer, _ in found.left_out] == ["/$defs/node/properties/children/items/$ref"]


def test_recursion_is_followed_further_where_nothing_could_be_written_otherwise() -> None:
    steps: dict[str, Any] = {"n": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "integer"}]}}
    schema = {"$defs": {**steps, "m": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}}
    assert Number(True) in branches(shape({**schema, "$ref": "#/$defs/n"}))
    within: dict[str, Any] = {"$ref": "#/$defs/l"}
    for _ in range(3):
        within = {"type": "object", "properties": {"x": within}, "required": ["x"]}
    # Four levels of the list are demanded before it may end.
    least = {"type": "array", "items": {"$ref": "#/$defs/l"}}
    assert isinstance(shape({"$defs": {"l": least}, **within}), Object)


def test_a_dynamic_reference_leads_to_the_outermost_schema() -> None:
    schema = {
        "$id": "https://example.org/tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"c": {"type": "array", "items": {"$dynamicRef": "#node"}}},
        "additionalProperties": False,
    }
    children = fields(shape(schema))["c"].shape
    assert isinstance(children, Array) and list(fields(children.item or Anything())) == ["c"]


def test_what_contains_itself_without_an_end_has_no_form() -> None:
    endless = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["next"]}
    with pytest.raises(UnsupportedSchema, match="contains itself") as caught:
        normalise(chain("n", endless))
    assert caught.value.pointer == "/$defs/n/properties/next/$ref"


def test_of_a_large_schema_the_optional_values_that_lie_deepest_are_left_out_and_told() -> None:
    definitions: dict[str, Any] = {"d0": TEXT}
    for i in range(1, 30):
        twice = {"$ref": f"#/$defs/d{i - 1}"}
        definitions[f"d{i}"] = {"type": "object", "properties": {"l": twice, "r": twice}, "required": ["l"]}
    found = normalise({"$defs": definitions, "$ref": "#/$defs/d29"})
    form = lay_out(found.shape)
    assert len(form.slots) + len(form.objects) < MAX_SHAPES
    assert list(fields(found.shape)) == ["l", "r"]
    assert all(pointer.endswith("/properties") for pointer, _ in found.left_out)
    assert {what for _, what in found.left_out} == {"left out, for the form is as large as it gets"}


WIDE = {f"p{at}": TEXT for at in range(2 * MAX_SHAPES)}


def test_of_more_properties_than_a_form_has_the_first_and_the_required_ones_are_written() -> None:
    found = normalise({"type": "object", "properties": WIDE, "required": [f"p{len(WIDE) - 1}"]})
    names = list(fields(found.shape))
    assert names == [*(f"p{at}" for at in range(MAX_SHAPES - 1)), f"p{len(WIDE) - 1}"]
    assert found.left_out == (("/properties", "left out, for the form is as large as it gets"),)
    both = {"allOf": [{"type": "object", "properties": WIDE}, {"properties": {"b": TEXT}, "required": ["b"]}]}
    assert list(fields(shape(both)))[-1] == "b"
    within = {"type": "object", "properties": {"b": TEXT, "a": {**OPEN, "required": [*WIDE, "x"]}}}
    assert list(fields(normalise(within).shape)) == ["b"], "what is too large by itself is left out whole"
    deep = shape({"type": "object", "properties": {"o": {"type": "object", "properties": within}, **WIDE}})
    assert not fields(fields(deep)["o"].shape), "below the top only what is required is written then"


def test_of_more_alternatives_than_a_form_has_the_first_ones_are_written() -> None:
    codes = [{"const": name, "title": f"the code {name}"} for name in WIDE]
    found = normalise({"oneOf": codes})
    assert isinstance(found.shape, Enum) and len(found.shape.options) == MAX_SHAPES - 1
    assert found.left_out == ((f"/oneOf/{MAX_SHAPES - 1}", "left out, for the form is as large as it gets"),)


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": dict.fromkeys([*WIDE, "x", "y"], TEXT), "required": [*WIDE, "x", "y"]},
         f"/properties/p{MAX_DEMANDED - 1}", "properties"),
        ({"required": [*WIDE, "x", "y"]}, "/required", "required"),
        ({"allOf": [TEXT] * (MAX_DEMANDED + 1)}, f"/allOf/{MAX_DEMANDED - 1}", "allOf"),
        ({"patternProperties": {f"^{name}$": TEXT for name in WIDE}}, "/patternProperties/^p3000$",
         "patternProperties"),
    ],
)  # fmt: skip
def test_more_values_than_a_form_has_are_refused_where_none_may_be_left_out(
    schema: Any, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema, match=r"more than 4,000 .* that cannot be left out") as caught:
        normalise(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert not isinstance(caught.value, NoValue)


def test_lists_within_lists_end_somewhere_and_this_is_told() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    found = normalise(schema)
    assert [pointer for pointer, _ in found.left_out] == ["/items" * (LEVELS[0] + 1)]


def test_an_optional_property_that_cannot_be_written_is_left_out_and_told() -> None:
    never = {"type": "integer", "minimum": 3, "maximum": 2}
    found = normalise({"type": "object", "properties": {"a": False, "b/c": never, "d": TEXT}})
    assert list(fields(found.shape)) == ["d"]
    assert [pointer for pointer, _ in found.left_out] == ["/properties/b~1c"]


def test_what_nobody_checks_is_told() -> None:
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


# What cannot be written


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


@pytest.mark.parametrize(("schema", "pointer", "keyword"), NOTHING, ids=lambda v: str(v)[:60])
def test_where_no_value_is_allowed_the_keyword_is_named(schema: Any, pointer: str, keyword: str) -> None:
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
def test_what_cannot_be_written_under_is_refused_by_its_pointer(
    schema: Any, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        normalise(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert caught.value.reason


# Drafts


def test_drafts_before_2019_ignore_what_stands_beside_a_reference() -> None:
    schema = {"definitions": {"s": TEXT}, "$ref": "#/definitions/s", "maxLength": 3}
    for draft, expected in ((4, None), (6, None), (7, None), (2019, 3), (2020, 3)):
        found = shape({**schema, "$schema": DRAFTS[draft]})
        assert isinstance(found, String) and found.max_length == expected, draft


def test_draft_4_has_flags_for_exclusive_bounds() -> None:
    schema = {"$schema": DRAFTS[4], "type": "integer", "minimum": 1}
    assert shape({**schema, "exclusiveMinimum": True}) == Number(True, exclusive_minimum=Decimal(1))
    assert shape({**schema, "exclusiveMinimum": False}) == Number(True, minimum=Decimal(1))


def test_a_keyword_says_nothing_before_the_draft_that_brought_it() -> None:
    assert shape({"$schema": DRAFTS[4], "type": "integer", "const": 3}) == Number(True)
    assert shape({"$schema": DRAFTS[6], **TEXT, "if": True, "then": False}) == String()
    assert shape({"$schema": DRAFTS[7], "type": "array", "prefixItems": [TEXT]}) == Array(Anything())


def test_lists_under_items_are_prefixes_before_2020() -> None:
    schema = {"type": "array", "items": [TEXT], "additionalItems": {"type": "null"}}
    for draft in (4, 6, 7, 2019):
        assert shape({"$schema": DRAFTS[draft], **schema}) == Array(Null(), prefix=(String(),)), draft


def test_null_may_be_written_where_openapi_says_nullable_and_no_draft_says_otherwise() -> None:
    assert shape({**TEXT, "nullable": True}) == Union((Null(), String()))
    assert shape({"$schema": DRAFTS[2020], **TEXT, "nullable": True}) == String()


def test_references_are_followed_by_pointer_anchor_and_name() -> None:
    escaped = {"$defs": {"a/b~ c": TEXT}, "type": "array", "items": {"$ref": "#/$defs/a~1b~0%20c"}}
    assert shape(escaped) == Array(String())
    assert shape({"$defs": {"n": {"$anchor": "num", "type": "integer"}}, "$ref": "#num"}) == Number(True)
    named = {"$defs": {"n": {"$id": "https://example.org/n", **TEXT}}, "$ref": "https://example.org/n"}
    assert shape(named) == String()


# Words


def test_words_beside_a_reference_win_over_those_behind_it() -> None:
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
def test_what_lies_within_has_no_place_where_its_parts_have_no_value_in_common(
    schema: Any, expected: str
) -> None:
    assert compile_schema(schema).minimal() == expected


def test_a_property_without_a_value_is_no_undeclared_one_to_what_stands_beside() -> None:
    apart = {"allOf": [having(DAY), having(SHORT), {"type": "object", "additionalProperties": TEXT}]}
    assert compile_schema(apart).minimal() == "{}"
    with pytest.raises(NoValue) as caught:
        normalise({"allOf": [*apart["allOf"], {"required": ["a"]}]})
    assert caught.value.pointer == "/allOf"


LARGE = [{**TEXT, "pattern": pattern} for pattern in ("a[^x]{8}b[^y]{3}$", "c[^a]{9}d[^z]{2}$")]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"allOf": [having(part) for part in LARGE]}, "/allOf"),
        ({**having(LARGE[0]), "patternProperties": {"a": LARGE[1]}}, "/patternProperties"),
        ({"if": having(LARGE[0]), "then": having(LARGE[1])}, "/then"),
    ],
)
def test_patterns_that_are_too_large_together_are_refused_by_the_pointer_of_what_joins_them(
    schema: Any, pointer: str
) -> None:
    with pytest.raises(UnsupportedSchema, match="the automaton needs") as caught:
        _ = compile_schema(schema).form
    assert caught.value.pointer == pointer


def test_choices_that_are_too_long_are_dropped_whatever_the_bound() -> None:
    for bound in (5, 140, 900):
        found = shape({"enum": ["x" * bound, "x" * (bound + 1)], "maxLength": bound})
        assert found == one('"' + "x" * bound + '"')


def test_the_page_of_json_schema_names_every_keyword_and_format_and_the_limits_that_hold() -> None:
    page = (Path(__file__).parents[2] / "docs" / "json-schema.md").read_text(encoding="utf-8")
    for name in (*MAKERS, *FORMATS, *(keyword for group in ABOUT.values() for keyword in group)):
        assert f"`{name.partition(':')[0]}`" in page, name
    limits = (
        *(UNROLLED_LENGTH, MAX_UNROLLED_LENGTH, MAX_MIN_ITEMS, MAX_STATES, MAX_SHAPES, MAX_BRANCHES),
        MAX_DEMANDED,
        *(MAX_DEPTH, MAX_BESIDE, BUDGET),
    )
    for limit in limits:
        assert re.search(rf"(?<![\d,]){limit:,}(?![\d,])", page), limit
    assert UNROLLED[0] == 2 and UNROLLED[-1] == 8 and "below two levels (up to eight" in page


WITHIN: dict[str, Any] = {
    "items": lambda part: {"type": "array", "items": part},
    "unevaluatedItems": lambda part: {"type": "array", "unevaluatedItems": part},
    "prefixItems": lambda part: {"type": "array", "prefixItems": [part]},
    "contains": lambda part: {"type": "array", "contains": part, "minContains": 0},
    "properties": lambda part: {"type": "object", "properties": {"a": part}},
    "patternProperties": lambda part: {"type": "object", "patternProperties": {"^a": part}},
    "additionalProperties": lambda part: {"type": "object", "additionalProperties": part},
}


@pytest.mark.parametrize("keyword", WITHIN)
def test_each_container_is_one_level_deeper(keyword: str) -> None:
    schema: Any = TEXT
    for _ in range(6):
        schema = WITHIN[keyword](schema)
    for levels in (2, 3):
        documents, count = Documents(schema), 0
        found = last = Reader(documents, levels, 2).read(documents.root, ANY_TYPE, 0)
        while isinstance(found, Array | Object):
            count += 1
            if isinstance(found, Array):
                parts = [found.contained, *found.prefix, found.item]
            else:
                parts = [*(f.shape for f in found.fields), *(p for _, p in found.patterns), found.additional]
            found = next((part for part in parts if isinstance(part, Array | Object)), None)
            last = last if found is None else found
        assert count == levels + 1, "the last one has nothing in it"
        patterns = (("^a", Anything()),) if keyword == "patternProperties" else ()
        assert last in (Array(None), Object((), Anything(), patterns=patterns))


def test_the_last_level_has_what_is_required_and_stays_closed() -> None:
    inner = {**CLOSED, "required": ["b"], "properties": {"a": TEXT, "b": TEXT}}
    rows = {"type": "array", "items": TEXT, "maxItems": 3}
    schema = {"type": "object", "properties": {"o": inner, "r": rows, "s": {**rows, "minItems": 2}}}
    documents = Documents(schema)
    found = fields(Reader(documents, 1, 2).read(documents.root, ANY_TYPE, 0) or Anything())
    assert found["o"].shape == Object((Field("b", String(), True),))
    assert found["r"].shape == Array(None, 0, 3) and found["s"].shape == Array(String(), 2, 3)
