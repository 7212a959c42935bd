"""Schemas from classes, tables, APIs and example records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.people.drafting.csv_columns import MOST_COLUMNS
from cinnabar.extraction.people.drafting.example_records import schema_of_records
from cinnabar.extraction.people.drafting.inferring import infer_schema
from cinnabar.extraction.people.drafting.naming import property_name, title_of
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import UsageError

TEXTS = st.text(max_size=8) | st.sampled_from(["2024-01-31", "a@b.example", "12:30", "EUR", "http://a.example", "open"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
RECORDS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)


@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_every_example_is_valid_under_the_inferred_schema(records: list[Any]) -> None:
    schema = schema_of_records(records)
    load_schema(schema)
    compiled = compile_schema(schema)
    assert [record for record in records if not compiled.accepts(json.dumps(record))] == []


def test_examples_tell_types_formats_choices_and_absence(tmp_path: Path) -> None:
    lines = [{"day": "2026-03-14", "state": "open", "total": 1.25, "lines": [{"n": 1}, {"n": None}]}] * 3
    lines += [{"day": "2026-03-15", "state": "paid", "total": 3, "lines": [], "note": "x"}] * 3
    (tmp_path / "orders.jsonl").write_text("\n".join(map(json.dumps, lines)))
    schema = infer_schema(str(tmp_path / "orders.jsonl"))
    assert (schema["title"], schema["required"]) == ("orders", ["day", "state", "total", "lines"])
    assert schema["properties"]["day"] == {"title": "Day", "type": "string", "format": "date"}
    assert schema["properties"]["state"] == {"title": "State", "type": "string", "enum": ["open", "paid"]}
    assert schema["properties"]["total"] == {"title": "Total", "type": "number", "x-cinnabar-decimals": 2}
    assert schema["properties"]["lines"]["items"]["properties"]["n"]["type"] == ["integer", "null"]


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_one_record_or_a_list_of_records_is_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"one.{ending}"
    path.write_text('{"a": 1}')
    assert infer_schema(str(path))["properties"]["a"]["type"] == "integer"
    path.write_text('[{"a": 1}, {"a": null}]')
    assert infer_schema(str(path))["properties"]["a"]["type"] == ["integer", "null"]


def test_columns_of_a_csv_are_properties_with_types(tmp_path: Path) -> None:
    rows = ["A-1;14.03.2026;1.200,50;10", "A-2;15.03.2026;;20"]
    (tmp_path / "orders.csv").write_text("Order no;Datum;Betrag;Größe (cm)\n" + "\n".join(rows), "cp1252")
    properties = infer_schema(str(tmp_path / "orders.csv"))["properties"]
    assert [*properties] == ["order_no", "datum", "betrag", "grosse_cm"]
    assert properties["order_no"] == {"title": "Order no", "type": "string", "examples": ["A-1", "A-2"]}
    assert properties["datum"]["format"] == "date"
    assert (properties["betrag"]["type"], properties["betrag"]["x-cinnabar-decimals"]) == (["number", "null"], 2)
    assert (properties["grosse_cm"]["title"], properties["grosse_cm"]["type"]) == ("Größe (cm)", "integer")


def test_a_header_alone_gives_texts_that_may_be_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffname,when\n", "utf-8")
    assert infer_schema(str(tmp_path / "a.csv"))["properties"]["name"] == {"title": "Name", "type": ["string", "null"]}


API: dict[str, Any] = {
    "openapi": "3.0.3",
    "components": {
        "schemas": {
            "Invoice": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "example": 7},
                    "when": {"type": "string", "format": "date", "nullable": True},
                    "seller": {"$ref": "#/components/schemas/Party", "nullable": True},
                },
            },
            "Party": {"type": "object", "properties": {"parent": {"$ref": "#/components/schemas/Party"}}},
        }
    },
}


def test_a_component_of_an_api_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(json.dumps(API))
    schema = infer_schema(str(tmp_path / "api.json"), "Invoice")
    assert schema["title"] == "Invoice"
    assert schema["properties"]["id"] == {"type": "integer", "exclusiveMinimum": 0, "examples": [7]}
    assert schema["properties"]["when"]["type"] == ["string", "null"]
    assert schema["properties"]["seller"] == {"anyOf": [{"$ref": "#/$defs/Party"}, {"type": "null"}]}
    compiled = compile_schema(load_schema(schema).schema)
    assert compiled.accepts('{"id":1,"when":null,"seller":{"parent":{}}}')
    assert not compiled.accepts('{"id":0}')


def test_a_class_gives_its_schema() -> None:
    found = infer_schema("receipt")
    assert found == load_schema("receipt").schema
    assert [*found][:3] == ["title", "description", "type"] and [*found][-1] == "$defs"


def test_a_class_that_contains_itself_gives_a_schema_with_its_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trees_of_a_test.py").write_text(
        "from __future__ import annotations\nfrom pydantic import BaseModel\n\n\n"
        "class Tree(BaseModel):\n    name: str\n    children: list[Tree] = []\n"
    )
    monkeypatch.chdir(tmp_path)
    found = infer_schema("trees_of_a_test:Tree")
    assert [*found] == ["title", "$ref", "$defs"] and found["title"] == "Tree"


@pytest.mark.parametrize("source", ["orders.csv", "Order", ".", "a/b.yaml"])
def test_a_source_that_is_not_there_is_told_with_what_it_may_be(source: str) -> None:
    with pytest.raises(UsageError, match="a CSV file, example records or an OpenAPI document"):
        infer_schema(source)


@pytest.mark.parametrize(
    ("name", "text", "component", "said"),
    [
        ("a.csv", "", None, "got an empty file"),
        ("a.csv", "a,a\n", None, "got 'a' twice"),
        ("a.csv", "a,,b\n", None, "a column without a name"),
        ("a.csv", ",".join(map(str, range(MOST_COLUMNS + 1))), None, "columns, got 2,001"),
        ("a.csv", "a\n", "X", "--component: expected an OpenAPI document"),
        ("a.jsonl", '{"a": 1}\n{"a": }\n', None, "line 2: expected JSON"),
        ("a.jsonl", "", None, "at least one record"),
        ("a.json", "[]", None, "at least one record"),
        ("a.json", "3", None, "expected a record or a list of records, got a number"),
        ("a.json", '{"$schema": "x"}', None, "got a JSON Schema"),
        ("a.json", '{"a": 1}', "X", "expected an OpenAPI document"),
        ("a.json", "[" * 300 + "]" * 300, None, "more than 200 objects and lists"),
        ("a.yaml", "a: 1\na: 2", None, "line 2: the key 'a' twice"),
        ("a.json", json.dumps(API), None, "expected one of Invoice, Party; got no name"),
        ("a.json", json.dumps(API), "Bill", "expected one of Invoice, Party; got 'Bill'"),
        ("a.json", '{"openapi": "3.1.0"}', None, "expected schemas under /components/schemas"),
        ("a.json", json.dumps(API).replace("schemas/Party", "schemas/None"), "Invoice", "a component of this file"),
        ("a.txt", "a", None, "expected .csv"),
        ("missing.json", None, None, "there is no such file"),
    ],
)
def test_what_gives_no_schema_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str | None, component: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError) as caught:
        infer_schema(str(tmp_path / name), component)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Invoice no.:", "invoice_no"),
        ("Größe (cm)", "grosse_cm"),
        ("Numéro de série", "numero_de_serie"),
        ("2nd line", "n_2nd_line"),
        ("—", "field"),
        ("номер", "номер"),
    ],
)
def test_labels_become_names_of_properties(label: str, name: str) -> None:
    assert property_name(label) == name


def test_a_name_comes_once_and_a_title_without_its_colon() -> None:
    assert property_name("Total", {"total", "total_2"}) == "total_3"
    assert title_of(" amount  due : ") == "Amount due"
