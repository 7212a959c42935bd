"""Validation of records: violations with their places, exact numbers, drafts and references."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

import pytest
from pydantic import BaseModel, model_validator
from tests.support.cases import each

from cinnabar.extraction.filling.checks.validation import RecordViolation, Validator
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
