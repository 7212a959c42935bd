"""The description of a schema that `cinnabar schema check` prints."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cinnabar.errors import NoValue
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.compiling.describe import FormRow, describe

SCHEMA = {
    "title": "Order",
    "type": "object",
    "properties": {
        "day": {"type": ["string", "null"], "format": "date"},
        "kind": {"enum": ["in", "out"], "description": "in = received; out = sent"},
        "note": {"type": "string", "maxLength": 9000},
        "rows": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
            },
        },
        "colour": {"type": "string", "format": "colour"},
    },
    "required": ["kind"],
}


def rows(schema: dict[str, Any] = SCHEMA) -> list[FormRow]:
    source = load_schema(schema)
    return describe(compile_schema(source.schema), source)


def test_every_place_has_a_row_in_document_order() -> None:
    places = [row.pointer for row in rows()]
    assert places == [
        *("", "", "/", "/day", "/kind", "/note", "/rows", "/rows/*", "/rows/*/n", "/colour"),
        "/properties/colour/format",
    ]


def test_rows_say_what_is_allowed_and_how_it_is_enforced() -> None:
    whole, judged, *_ = rows()
    said = {row.pointer: (row.values, row.enforced) for row in rows()}
    assert whole.values == "Order" and "5 slots, 1 array, 13 characters at least" in whole.enforced
    assert judged.values == "the whole record" and "every keyword" in judged.enforced
    assert said["/"] == ("object", "5 properties, 1 required")
    assert said["/day"][0] == "date or null, may be left out"
    assert said["/day"][1].endswith("10 positions")
    assert said["/kind"][0] == "enum"
    assert said["/kind"][1].endswith("2 choices, 2 of them explained")
    assert "9000 characters at most" in said["/note"][1]
    assert said["/rows"] == ("array, may be left out", "0 to 3 rows")
    assert said["/rows/*/n"][1].endswith("2 positions")
    assert said["/properties/colour/format"] == ("not checked", "format colour is unknown and not checked")


def table(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The rows below the two of the whole schema, without the sizes of automata."""
    return [
        (row.pointer, row.values, re.sub(r"^automaton of \d+ states?(, )?", "", row.enforced))
        for row in rows(schema)[2:]
    ]


def test_alternatives_stand_below_one_another_under_their_names() -> None:
    person = {"type": "object", "title": "Person", "properties": {"first": {"type": "string"}}}
    company = {
        "type": "object",
        "title": "Company",
        "properties": {"vat": {"type": "string"}},
        "required": ["vat"],
    }
    schema = {"type": "object", "properties": {"who": {"anyOf": [person, company, {"type": "integer"}]}}}
    assert table(schema)[1:] == [
        (
            "/who",
            "one of Person; Company; number, may be left out",
            "3 alternatives, chosen before they are filled",
        ),
        ("/who", "Person: object", "1 property, 0 required"),
        ("/who/first", "string, may be left out", ""),
        ("/who", "Company: object", "1 property, 1 required"),
        ("/who/vat", "string", ""),
        ("/who", "number: integer", ""),
    ]
    assert "1 choice," in rows(schema)[0].enforced


def test_open_properties_and_first_items_have_rows() -> None:
    schema = {
        "type": "object",
        "properties": {
            "marks": {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 3},
            "size": {"type": "array", "prefixItems": [{"type": "boolean"}], "items": False, "minItems": 1},
            "more": {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"type": "null"}},
            "none": {"type": "array", "items": False},
            "void": {"type": "object"},
        },
        "additionalProperties": {"type": "null"},
        "required": ["marks", "size", "more", "none", "void"],
    }
    assert table(schema) == [
        ("/", "object", "5 properties, 5 required, and open ones"),
        ("/marks", "object", "open properties"),
        ("/marks/*", "names of open properties, 0 to 3", ""),
        ("/marks/*", "number", ""),
        ("/size", "array", "1 item by place, 1 required"),
        ("/size/0", "boolean", "2 choices"),
        ("/more", "array", "0 or more rows, the first 1 by place"),
        ("/more/0", "boolean", "2 choices"),
        ("/more/*", "null", "4 positions"),
        ("/none", "array", "empty"),
        ("/void", "object", "no property is described"),
        ("/*", "names of open properties, 0 or more", ""),
        ("/*", "null", "4 positions"),
    ]


def test_a_place_of_several_kinds_of_value_names_them_all() -> None:
    said = {
        "a": {"type": ["string", "number", "null"]},
        "b": {},
        "c": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1000}]},
        "d": {"type": ["boolean", "string"]},
    }
    schema = {"type": "object", "properties": said, "required": list(said)}
    assert [values for _, values, _ in table(schema)[1:]] == [
        "string or number or null",
        "string or number or boolean or null",
        "string or number",
        "string or boolean",
    ]


def test_an_alternative_named_by_its_kind_shows_it_once() -> None:
    parts = [{"type": "object", "properties": {name: {"type": "null"}}} for name in "ab"]
    found = [values for _, values, _ in table({"anyOf": parts})]
    assert found[0] == "one of object with a; object with b"
    assert found[1::2] == ["object with a", "object with b"]


def test_omissions_of_the_form_are_shown() -> None:
    node = {
        "type": "object",
        "properties": {"below": {"$ref": "#/$defs/node"}, "never": {"const": 1, "type": "null"}},
    }
    found = table({"$defs": {"node": node}, "$ref": "#/$defs/node"})
    assert [(pointer, kind) for pointer, kind, _ in found if kind == "not in the form"] == [
        ("/$defs/node/properties/below/$ref", "not in the form"),
        ("/$defs/node/properties/never", "not in the form"),
    ]


def test_a_schema_without_a_record_has_no_table() -> None:
    with pytest.raises(NoValue):
        rows({"type": "object", "properties": {"a": {"enum": [1], "type": "string"}}, "required": ["a"]})
