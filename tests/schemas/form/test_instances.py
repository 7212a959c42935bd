"""Smallest instances: compilation finds a record that meets all of a schema, or refuses the schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from tests.support.cases import each
from tests.support.effort import examples
from tests.support.schema_strategies import hard_schemas

from cinnabar.errors import NoValue
from cinnabar.schemas import UnsupportedSchema, compile_schema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.instances import Sketch, smallest_instance
from cinnabar.schemas.form.layout import lay_out
from cinnabar.schemas.parsing.shape_reader import normalise

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ABC = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER, "c": NUMBER}, "additionalProperties": False}


HARD: list[tuple[dict[str, Any], str]] = [
    ({**ABC, "minProperties": 2}, '{"a":0,"b":0}'),
    ({**ABC, "minProperties": 3}, '{"a":0,"b":0,"c":0}'),
    ({"type": "object", "additionalProperties": NUMBER, "minProperties": 2}, ""),
    ({"type": "object", "properties": {"": TEXT}, "required": [""], "additionalProperties": NUMBER,
      "minProperties": 2}, '{"":"","!":0}'),
    ({"type": "array", "items": NUMBER, "contains": {"minimum": 10}}, "[10]"),
    ({"type": "array", "items": NUMBER, "contains": {"minimum": 10}, "minContains": 3}, "[10,10,10]"),
    ({"type": "array", "items": NUMBER, "contains": {"minimum": 10}, "minContains": 2,
      "uniqueItems": True}, ""),
    ({"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3}, ""),
    ({"type": "array", "items": NUMBER, "uniqueItems": True, "minItems": 9}, "[0,1,2,3,4,5,6,7,8]"),
    ({"type": "array", "items": {"type": "object", "properties": {"n": NUMBER}, "required": ["n"]},
      "uniqueItems": True, "minItems": 5}, ""),
    ({**ABC, "required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}}, '{"a":0,"b":0,"c":0}'),
    ({**ABC, "required": ["a"], "dependentSchemas": {"a": {"required": ["c"]}}}, '{"a":0,"c":0}'),
    ({**ABC, "required": ["a"], "if": {"required": ["a"]}, "then": {"required": ["b"]}}, '{"a":0,"b":0}'),
    ({**ABC, "if": {"required": ["a"]}, "else": {"required": ["c"]}}, ""),
    ({**ABC, "if": {"properties": {"a": {"minimum": 1}}}, "then": {"required": ["b"]}}, '{"a":0}'),
    ({"oneOf": [NUMBER, {"type": "number", "minimum": 0}]}, ""),
    ({**ABC, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, '{"a":0}'),
    ({**ABC, "required": ["a"], "not": {"required": ["a", "b"]}, "minProperties": 2}, '{"a":0,"c":0}'),
    ({**ABC, "not": {"properties": {"a": NUMBER, "b": NUMBER}, "maxProperties": 0}}, '{"a":0}'),
    ({"type": "object", "patternProperties": {"^a": NUMBER, "b$": {"minimum": 4}}, "required": ["ab"]},
     '{"ab":4}'),
    ({"type": "object", "patternProperties": {"^x-": NUMBER}, "additionalProperties": False,
      "minProperties": 1}, '{"x-":0}'),
    ({"type": "array", "prefixItems": [{"const": 1}, {"const": 1}], "items": NUMBER, "minItems": 3,
      "contains": {"minimum": 5}}, ""),
    ({"allOf": [{"anyOf": [{"const": 1}, {"const": 2}]}, {"not": {"const": 1}}]}, "2"),
    ({"type": "object", "minProperties": 2}, '{"":null,"!":null}'),
    ({"oneOf": [NUMBER, {"type": "number"}]}, ""),
    ({"type": "object", "not": {"properties": {"a": TEXT}}}, ""),
    ({"type": "object", "not": {"propertyNames": {"not": {"enum": ["x", "y"]}}}}, '{"x":null}'),
    ({"type": "object", "not": {"propertyNames": {"not": {"pattern": "^x.y$"}}}}, ""),
    ({"type": "array", "items": NUMBER, "not": {"items": {"maximum": 99}}}, "[100]"),
    ({"type": "array", "not": {"contains": {"type": "integer"}}, "minItems": 2}, ""),
    ({"type": "string", "not": {"maxLength": 30}}, ""),
    ({"type": "number", "not": {"minimum": -50, "exclusiveMaximum": 70}}, ""),
    ({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "not": {"maxProperties": 2}}, ""),
    ({"type": "string", "not": {"anyOf": [{"pattern": "^.{0,20}$"}, {"pattern": "^a"}]}}, ""),
    ({"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"],
      "anyOf": [{"properties": {"a": {"const": 3}, "b": {"const": 3}}}]}, '{"a":3,"b":3}'),
    ({"$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "maxProperties": 1}},
      "$ref": "#/$defs/t", "minProperties": 1}, '{"t":{}}'),
]  # fmt: skip


@each("schema, expected", HARD)
def test_a_record_is_found_where_keywords_go_together(schema: dict[str, Any], expected: str) -> None:
    text = compile_schema(schema).minimal()
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(json.loads(text)), text
    if expected:
        assert text == expected


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({**ABC, "required": ["a"], "not": {"required": ["a"]}}, "/not"),
        ({**ABC, "minProperties": 4}, "/minProperties"),
        ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3}, "/uniqueItems"),
        (
            {"type": "array", "items": NUMBER, "contains": NUMBER, "minItems": 3, "maxContains": 2},
            "/maxContains",
        ),
        ({"type": "object", "minProperties": 1, "additionalProperties": False}, "/minProperties"),
        ({**ABC, "required": ["a"], "dependentSchemas": {"a": False}}, "/dependentSchemas"),
    ],
)
def test_a_schema_without_a_record_is_refused_by_the_keyword_in_the_way(
    schema: dict[str, Any], pointer: str
) -> None:
    with pytest.raises(NoValue) as caught:
        _ = compile_schema(schema).form
    assert caught.value.pointer.startswith(pointer)
    assert caught.value.reason


@pytest.mark.parametrize("item", [NUMBER, TEXT, {"format": "date"}, {"type": ["integer", "null"]}], ids=str)
def test_many_items_may_have_to_differ(item: dict[str, Any]) -> None:
    rows = {"type": "array", "items": item, "uniqueItems": True, "minItems": 100}
    objects = {**rows, "items": {"type": "object", "properties": {"a": TEXT, "b": item}, "required": ["b"]}}
    for schema in (rows, objects):
        assert len(set(map(json.dumps, json.loads(compile_schema(schema).minimal())))) == 100


def parts(schema: Any) -> tuple[Form, Any]:
    return lay_out(normalise(schema).shape), compile_schema(schema).judge


def test_the_search_stops_at_its_budget() -> None:
    form, judge = parts({**ABC, "minProperties": 3})
    assert smallest_instance(form, judge, budget=1) is None
    assert smallest_instance(form, judge) == '{"a":0,"b":0,"c":0}'


@pytest.mark.parametrize("wanted", [3, 5, 9])
def test_another_text_of_one_slot_comes_before_two_changes(wanted: int) -> None:
    two = {"properties": {"a": {"const": 1}}, "required": ["b"]}
    either = {"anyOf": [{"properties": {"a": {"const": wanted}}}, two]}
    # A double `not` is left to the judge, and makes no choice.
    schema = {**ABC, "properties": {"a": NUMBER, "b": {"const": 1}}, "required": ["a"]}
    assert compile_schema({**schema, "not": {"not": either}}).minimal() == f'{{"a":{wanted}}}'


class Refusing:
    """Refuse every record at its root, and keep its text."""

    def __init__(self) -> None:
        self.judge, self.texts = compile_schema(False).judge, list[str]()

    def violation(self, record: Any) -> Any:
        self.texts.append(json.dumps(record))
        return self.judge.violation(record)


def test_every_record_is_tried_once_with_fewest_changes_first() -> None:
    form, _ = parts({"type": "object", "properties": {name: {"const": 1} for name in "abc"}})
    judge = Refusing()
    assert smallest_instance(form, judge) is None  # type: ignore[arg-type]
    assert len(judge.texts) == len(set(judge.texts)) == 8
    assert [len(json.loads(text)) for text in judge.texts] == [0, 1, 1, 1, 2, 2, 2, 3]
    nested, _ = parts({
        "type": "object",
        "properties": {"o": {"type": "object", "properties": {"x": {"const": 1}}}, "p": {"const": 1}},
        "required": ["o"],
    })  # fmt: skip
    judge = Refusing()
    assert smallest_instance(nested, judge) is None  # type: ignore[arg-type]
    # Changes nearer to the refused place come first.
    assert judge.texts == ['{"o": {}}', '{"o": {}, "p": 1}', '{"o": {"x": 1}}', '{"o": {"x": 1}, "p": 1}']


@examples(150)
@given(hard_schemas())
def test_where_a_record_is_found_an_independent_validator_accepts_it(schema: dict[str, Any]) -> None:
    try:
        compiled = compile_schema(schema)
        text = compiled.form.instance
    except UnsupportedSchema:
        return
    assert jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(json.loads(text)), text
    assert compiled.accepts(text)
    assert fit(compiled.form, parse(text)) == text
    assert compiled.canonical(parse(text)) == text


def test_sets_of_sets_that_cannot_be_filled_are_given_up_before_their_depth_counts() -> None:
    """Three different booleans do not exist; each level of sets around them was tried in all its ways."""
    written: list[int] = []
    for depth in (1, 2, 3):
        sets: dict[str, Any] = {"type": "boolean"}
        for _ in range(depth):
            sets = {"type": "array", "items": sets, "minItems": 3, "uniqueItems": True}
        written.append(Sketch(lay_out(normalise(sets).shape), {}).written)
    assert written[2] < 8 * written[1] < 200 * written[0]
