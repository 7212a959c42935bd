"""What `cinnabar schema check` says of a schema."""

from __future__ import annotations

from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.describe import Row, describe

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


def rows() -> list[Row]:
    source = load_schema(SCHEMA)
    return describe(compile_schema(source.schema), source)


def test_every_place_has_a_row_in_document_order() -> None:
    places = [row.pointer for row in rows()]
    assert places == [
        *("", "/", "/day", "/kind", "/note", "/rows", "/rows/*", "/rows/*/n", "/colour"),
        "/properties/colour/format",
    ]


def test_rows_say_what_is_allowed_and_how_it_is_enforced() -> None:
    said = {row.pointer: (row.values, row.enforced) for row in rows()}
    assert said[""][0] == "Order"
    assert said["/"] == ("object", "5 properties, 1 required")
    assert said["/day"][0] == "date or null, may be left out"
    assert said["/day"][1].endswith("10 positions")
    assert said["/kind"][0] == "enum"
    assert said["/kind"][1].endswith("2 choices, 2 of them explained")
    assert "9000 characters at most" in said["/note"][1]
    assert said["/rows"] == ("array, may be left out", "0 to 3 rows")
    assert said["/rows/*/n"][1].endswith("2 positions")
    assert said["/properties/colour/format"][0] == "not enforced"
