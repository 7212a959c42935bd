"""Arrow types of shapes, and records that come back unchanged from Parquet."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples
from tests.support.schema_strategies import hard_schemas, near, schemas

from cinnabar.errors import NotAccepted
from cinnabar.schemas import UnsupportedSchema, compile_schema, load_schema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.columns.arrow import arrow_schema, arrow_type, arrow_value
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.parsing.shape_reader import normalise

TYPES: list[tuple[dict[str, Any], pa.DataType]] = [
    ({"type": "string"}, pa.string()),
    ({"type": ["string", "null"], "format": "date"}, pa.date32()),
    ({"type": "string", "format": "date-time"}, pa.timestamp("us", tz="UTC")),
    ({"type": "string", "format": "time"}, pa.string()),
    ({"type": "boolean"}, pa.bool_()),
    ({"type": "null"}, pa.string()),
    ({"type": "integer"}, pa.int64()),
    ({"type": "integer", "maximum": 2**64}, pa.decimal128(38, 0)),
    ({"type": "number"}, pa.float64()),
    ({"type": "number", "multipleOf": 0.01}, pa.decimal128(38, 2)),
    ({"type": "number", "multipleOf": 1}, pa.decimal128(38, 0)),
    ({"type": "number", "multipleOf": 0.05}, pa.float64()),
    ({"type": "number", "x-cinnabar-decimals": 4}, pa.decimal128(38, 4)),
    ({"type": "number", "x-cinnabar-decimals": 4, "multipleOf": 0.05}, pa.decimal128(38, 4)),
    ({"type": ["integer", "number", "null"]}, pa.float64()),
    ({"enum": ["a", "b", None]}, pa.string()),
    ({"enum": [1, 2]}, pa.int64()),
    ({"enum": [1, 2.5]}, pa.float64()),
    ({"enum": [True]}, pa.bool_()),
    ({"type": ["string", "integer"]}, pa.string()),
    ({"type": "array", "items": {"type": "integer"}}, pa.list_(pa.int64())),
    ({"type": "object", "properties": {}, "additionalProperties": False}, pa.string()),
    ({"type": "object", "properties": {"a": {"type": "boolean"}}}, pa.struct([pa.field("a", pa.bool_())])),
    # Values of several kinds become text: alternatives, any value, open properties, items that differ.
    ({}, pa.string()),
    ({"type": "array"}, pa.list_(pa.string())),
    ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}, pa.string()),
    ({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
     pa.string()),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, pa.string()),
    ({"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {"type": "null"}}},
     pa.string()),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "integer"}}, pa.string()),
    ({"type": "array", "items": False}, pa.string()),
    ({"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "null"}]},
     pa.struct([pa.field("a", pa.int64())])),
]  # fmt: skip


@each("schema, expected", TYPES)
def test_each_shape_has_its_type(schema: dict[str, Any], expected: pa.DataType) -> None:
    assert arrow_type(normalise(schema).shape) == expected


def through_parquet(records: list[Any], schema: pa.Schema) -> list[Any]:
    struct = pa.struct(list(schema))
    table = pa.Table.from_pylist([arrow_value(record, struct) for record in records], schema=schema)
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    buffer.seek(0)
    return pq.read_table(buffer).to_pylist()


def test_values_come_back_with_their_types() -> None:
    schema = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "sum": {"type": "number", "multipleOf": 0.01},
            "big": {"type": "integer", "minimum": -(10**30)},
            "mixed": {"type": ["string", "number", "null"]},
            "nothing": {"type": "object", "properties": {}, "additionalProperties": False},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
    }
    record = parse(
        '{"day":"2024-02-29","at":"2024-02-29t23:30:00.5-02:00","sum":1234567890123456789012345678901234.5,'
        '"big":1000000000000000000000000000000,"mixed":1.50,"nothing":{},"rows":[{"n":1},{}]}'
    )
    (found,) = through_parquet([record], arrow_schema(compile_schema(schema)))
    assert found == {
        "day": date(2024, 2, 29),
        "at": datetime(2024, 3, 1, 1, 30, 0, 500_000, tzinfo=UTC),
        "sum": Decimal("1234567890123456789012345678901234.50"),
        "big": Decimal(10**30),
        "mixed": "1.5",
        "nothing": "{}",
        "rows": [{"n": 1}, {"n": None}],
    }


def test_values_of_several_kinds_come_back_as_their_json_text() -> None:
    either = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
            {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": False},
            {"type": "array", "items": {"type": "integer"}},
            {"type": "string"},
        ]
    }
    marks = {"type": "object", "additionalProperties": {"type": "number"}}
    pair = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False}
    schema = {"type": "object", "properties": {"e": either, "m": marks, "p": pair, "any": {}}}
    compiled = compile_schema(schema)
    records = [
        {"e": {"a": 1}, "m": {"z": 1.50, "a": 2}, "p": ["x", True], "any": 1.0},
        {"e": {"b": "x"}, "m": {}, "p": [], "any": "x"},
        {"e": [1, 2], "any": False},
        {"e": "[1]", "any": None},
    ]
    texts = [parse(compiled.canonical(record)) for record in records]
    found = through_parquet(texts, arrow_schema(compiled))
    assert found == [
        {"e": '{"a":1}', "m": '{"z":1.5,"a":2}', "p": '["x",true]', "any": "1"},
        {"e": '{"b":"x"}', "m": "{}", "p": "[]", "any": "x"},
        {"e": "[1,2]", "m": None, "p": None, "any": "false"},
        {"e": "[1]", "m": None, "p": None, "any": None},
    ]


@examples(60)
@given(st.data())
def test_every_record_of_any_schema_goes_through_parquet(data: st.DataObject) -> None:
    try:
        compiled = compile_schema(data.draw(hard_schemas()))
        columns, record = arrow_schema(compiled), parse(compiled.minimal())
    except UnsupportedSchema:
        return
    if not isinstance(record, dict) or columns.names == ["value"]:
        assert len(through_parquet([{"value": record}], pa.schema([pa.field("value", columns[0].type)]))) == 1
    else:
        assert len(through_parquet([record], columns)) == 1


@examples(30)
@given(st.data())
def test_every_record_that_fits_its_columns_goes_through_parquet(data: st.DataObject) -> None:
    schema = {"type": "object", "properties": {"root": data.draw(schemas())}, "required": ["root"]}
    if "$defs" in schema["properties"]["root"]:
        schema["$defs"] = schema["properties"]["root"]["$defs"]
    compiled = compile_schema(schema)
    value = {"root": data.draw(near(schema["properties"]["root"], schema))}
    try:
        record = parse(compiled.canonical(value))
    except NotAccepted:
        record = parse(compiled.minimal())
    try:
        rows = through_parquet([record, record], arrow_schema(compiled))
    except ValueError as problem:
        assert "expected" in str(problem)
        assume(False)
    assert len(rows) == 2 and rows[0] == rows[1]
    assert (rows[0]["root"] is None) == (record["root"] is None)


@pytest.mark.parametrize("name", LIBRARY)
def test_library_records_fit_their_columns(name: str) -> None:
    compiled = compile_schema(load_schema(name).schema)
    found = arrow_schema(compiled)
    assert found.names == list(LIBRARY[name].model_fields)
    assert len(through_parquet([json.loads(compiled.minimal())], found)) == 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**63, pa.int64()),
        (Decimal("1e200"), pa.int64()),
        (Decimal("1e400"), pa.float64()),
        (Decimal(10) ** 36, pa.decimal128(38, 2)),
        (Decimal("0.001"), pa.decimal128(38, 2)),
        ("0001-01-01T00:00:00+01:00", pa.timestamp("us", tz="UTC")),
        ("2024-01-01T00:00:00", pa.timestamp("us", tz="UTC")),
    ],
)
def test_a_value_that_the_column_cannot_hold_is_an_error_and_never_rounded(
    value: Any, kind: pa.DataType
) -> None:
    with pytest.raises(ValueError, match="expected"):
        arrow_value(value, kind)


def test_a_record_that_is_no_object_has_one_column() -> None:
    assert arrow_schema(compile_schema({"type": "integer"})) == pa.schema([pa.field("value", pa.int64())])
