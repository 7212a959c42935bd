"""Independent validation: violations with their places, exact numbers, drafts and references."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, model_validator
from tests.support.cases import each

from cinnabar.errors import UnsupportedSchema
from cinnabar.extraction.filling.records.validation import RecordViolation, Validator
from cinnabar.schemas import load_schema
from cinnabar.schemas.compiling.loading import SchemaSource


def check(schema, text):
    return Validator(load_schema(schema)).check(text)


def pointers(violations):
    return [violation.pointer for violation in violations]


def test_each_violation_has_its_place():
    lines = {"type": "array", "items": {"properties": {"a/b~c": {"type": "integer"}}}}
    schema = {"type": "object", "properties": {"lines": lines}, "required": ["lines"]}
    assert check(schema, '{"lines":[]}') == []
    assert pointers(check(schema, '{"lines":[{},{"a/b~c":"x"}]}')) == ["/lines/1/a~1b~0c"]
    (missing,) = check(schema, "{}")
    assert missing.pointer == "" and "lines" in missing.message


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-5", "-5 is less than the minimum of 0"),
        ('"dear"', 'fits none of 4 alternatives: "free" was expected; "dear" does not match "^[A-Z]{3}$"'),
        ('{"name":""}', '/name: "" is shorter than 1 character'),
        ("true", 'fits none of 4 alternatives: true is not of type "number"'),
    ],
)
def test_a_value_that_fits_no_alternative_is_told_why(keyword, text, message):
    person = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}
    ways = [
        {"type": "number", "minimum": 0},
        {"type": "string", "const": "free"},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
    ]
    (violation,) = check({"properties": {"at": {keyword: [*ways, person]}}}, f'{{"at":{text}}}')
    assert violation.pointer == "/at"
    assert violation.message.startswith(message)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "NaN", "[Infinity]", "1 2", '{"a":1,"a":1}', "['a']", "[" * 10**5])
def test_text_that_is_no_json_is_refused(text):
    (violation,) = check({}, text)
    assert violation.message.startswith("expected one JSON text, got ")


def test_a_lone_surrogate_is_refused():
    assert pointers(check({"type": "string"}, '"\\ud800"')) == [""]


@each(
    "schema, text, valid",
    [
        ({"maximum": 9007199254740992}, "9007199254740993", False),
        ({"maximum": 0.1}, "0.1", True),
        ({"maximum": 0.1}, "0.10000000000000000001", False),
        ({"multipleOf": 0.01}, "19.99", True),
        ({"multipleOf": 0.01}, "123456789012345678.91", True),
        ({"multipleOf": 0.01}, "123456789012345678.911", False),
        ({"x-cinnabar-decimals": 4}, "80.91", True),
        ({"x-cinnabar-decimals": 4}, "80.91000", True),
        ({"x-cinnabar-decimals": 4}, '"80.91001"', True),
        ({"x-cinnabar-decimals": 4}, "80.91001", False),
        ({"x-cinnabar-decimals": 0}, "123456789012345678901234567890", True),
        ({"x-cinnabar-decimals": 0}, "1e-400000", False),
        ({"type": "integer"}, "1.0", True),
        ({"type": "integer"}, "1e400000", True),
        ({"maximum": 1}, "1e400000", False),
        ({"type": "integer"}, "9" * 10_000, True),
        ({"const": 0.1}, "0.1000000000000000055", False),
    ],
)
def test_numbers_are_judged_exactly(schema, text, valid):
    assert (check(schema, text) == []) is valid


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("date-time", "2024-01-01T00:00:00Z", "2024-01-01 00:00"),
        ("email", "a@example.org", "a at example"),
        ("uri", "https://example.org/", "no uri"),
        ("uuid", "00000000-0000-4000-8000-000000000000", "x"),
        ("unheard-of", "anything", None),
    ],
)
def test_formats_are_asserted(format, good, bad):
    schema = {"type": "string", "format": format}
    assert check(schema, f'"{good}"') == []
    assert bad is None or check(schema, f'"{bad}"') != []


def test_the_schema_names_its_draft():
    # Draft 7 has `items` with a list and ignores the neighbours of $ref; 2020-12 does neither.
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"type": "integer"}],
    }
    assert pointers(check(old, '["x"]')) == ["/0"]
    new = {"type": "array", "prefixItems": [{"type": "integer"}]}
    assert pointers(check(new, '["x"]')) == ["/0"]
    assert check({**new, "$schema": old["$schema"]}, '["x"]') == []


class Order(BaseModel):
    day: date
    net: Decimal
    gross: Decimal

    @model_validator(mode="after")
    def _gross_is_no_less_than_net(self):
        if self.gross < self.net:
            raise ValueError("gross is less than net")
        return self


def test_the_pydantic_model_has_the_last_word():
    validator = Validator(load_schema(Order))
    assert validator.check('{"day":"2024-01-01","net":1.10,"gross":1.20}') == []
    (violation,) = validator.check('{"day":"2024-01-01","net":1.30,"gross":1.20}')
    assert violation == RecordViolation("", "Value error, gross is less than net")
    assert pointers(validator.check('{"day":"x","net":1,"gross":2}')) == ["/day"]


class Divided(BaseModel):
    total: float

    @model_validator(mode="after")
    def _shared(self):
        assert 1 / self.total
        return self


def test_a_fault_in_the_code_of_a_class_is_told_with_its_line_and_never_ends_the_run():
    validator = Validator(load_schema(Divided))
    assert validator.check('{"total":2}') == []
    (violation,) = validator.check('{"total":0}')
    assert violation.pointer == ""
    assert "the class's own code failed at " in violation.message
    assert re.search(r"test_validation.py, line \d+: ZeroDivisionError: ", violation.message)


def test_null_is_valid_where_openapi_says_nullable_and_no_draft_is_named() -> None:
    schema = {
        "type": "object",
        "properties": {
            "order": {"type": "string", "nullable": True},
            "default": {"type": "number", "nullable": True},
            "kind": {"type": "string", "enum": ["nullable"], "default": {"nullable": True, "type": "x"}},
        },
    }
    nulls, text = '{"order":null,"default":null}', '{"kind":null}'
    assert Validator(SchemaSource("open", schema, None, "0")).check(nulls) == []
    assert Validator(SchemaSource("open", schema, None, "0")).check(text)
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    assert Validator(SchemaSource("draft", draft, None, "0")).check(nulls)


@pytest.mark.parametrize("reference", ["https://example.com/s.json", "other.json#/a"])
def test_a_reference_that_leads_nowhere_is_refused_by_its_place_even_where_nothing_needs_it(
    reference: str,
) -> None:
    unused = {"properties": {"a/b": {"items": {"$ref": reference}}}}
    with pytest.raises(UnsupportedSchema, match="nothing is fetched") as caught:
        Validator(load_schema({"$defs": {"fine": {"$ref": "#"}, "unused": unused}}))
    assert caught.value.pointer == "/$defs/unused/properties/a~1b/items/$ref"


def routes(count: int) -> dict[str, Any]:
    """A schema with two to the power of `count` ways to its last part."""
    parts: dict[str, Any] = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(count)}
    parts[f"d{count}"] = {"properties": {"a": {"type": "string"}}}
    return {"$defs": parts, "$ref": "#/$defs/d0", "unevaluatedProperties": False}


def test_a_schema_that_the_validator_never_finishes_is_refused_by_its_place() -> None:
    with pytest.raises(UnsupportedSchema, match="65,536 ways") as caught:
        Validator(load_schema(routes(40)))
    assert (caught.value.pointer, caught.value.keyword) == ("/unevaluatedProperties", "unevaluatedProperties")
    validator = Validator(load_schema(routes(6)))
    assert validator.check('{"a":"x"}') == [] and validator.check('{"b":"x"}') != []
    endless = {"anyOf": [{"$ref": "#"}, {"type": "object"}], "unevaluatedProperties": False}
    assert Validator(load_schema(endless)).check("{}") == []
