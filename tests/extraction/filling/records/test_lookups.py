"""Fields that find their row in a reference table: what matches, what is flagged, and a new table."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.apps.cli.main import run
from cinnabar.errors import SchemaError, UnsupportedSchema, UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.filling.records.lookups import ReferenceTable, plain_words, reference_table
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.keywords import LOOKUP, Lookup

ROWS = [
    ("Nordkurier GmbH", "V-01"), ("Südkurier AG", "V-02"), ("Miller & Sons Ltd.", "V-03"),
    ("Miller & Sons Inc.", "V-04"), ("Calderón Textiles S.A.", "V-05"),
    ("Mill Lane 7, Leeds", "V-06"), ("Mill Lane 17, Leeds", "V-07"),
    ("DE 813 577 211", "V-08"), ("Ostermann Logistik GmbH", "V-09"), ("Zeta Foods", "V-10"),
]  # fmt: skip


def meant(printed: str, least: float = 0.9) -> list[str]:
    rows = ReferenceTable(ROWS).meant(printed)
    return [row.value for row in rows if row.alike >= least - 0.05]


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("NORDKURIER GMBH", "V-01"), ("Nordkurier  Gmbh.", "V-01"), ("Sudkurier AG", "V-02"),
        ("Nordkurler GmbH", "V-01"), ("Calderon Textiles SA", "V-05"), ("Textiles Calderón, S.A.", "V-05"),
        ("DE813577211", "V-08"),
        ("Mill Lane 7 Leeds", "V-06"), ("Ostermann Logistic GmbH", "V-09"), ("Ostermannlogistik GmbH", "V-09"),
    ],
)  # fmt: skip
def test_a_row_is_found_by_its_words_in_any_case_order_and_with_a_misread_letter(printed: str, value: str) -> None:
    assert meant(printed) == [value]


@pytest.mark.parametrize(
    "printed", ["", "…", "Zephyr Foods", "Mill Lane 27, Leeds", "DE 813 577 212", "GmbH", "Nordwind GmbH"]
)
def test_a_row_of_other_words_or_figures_is_not_meant(printed: str) -> None:
    assert meant(printed) == []


def test_two_rows_that_are_as_alike_are_both_meant() -> None:
    assert {*meant("Miller & Sons", 0.5)} >= {"V-03", "V-04"}


@given(st.sampled_from(ROWS), st.randoms())
def test_a_key_is_always_found_as_it_stands_and_as_its_plain_words(row: tuple[str, str], _: Any) -> None:
    table = ReferenceTable(ROWS)
    for printed in (row[0], row[0].upper(), " ".join(plain_words(row[0]))):
        assert table.meant(printed)[0].value == row[1] and table.meant(printed)[0].alike == 1.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three bills, a schema and its table of vendors."""
    monkeypatch.chdir(tmp_path)
    field = {"type": ["string", "null"], "description": "Company that sends the bill."}
    field[LOOKUP] = {"table": "vendors.csv", "key": "name", "returns": "vendor_id"}  # type: ignore[assignment]
    total = {"type": ["number", "null"]}
    schema = {"title": "bill", "type": "object", "properties": {"vendor": field, "total": total}}
    (tmp_path / "bill.json").write_text(json.dumps(schema))
    write_vendors(tmp_path / "vendors.csv", ROWS)
    (tmp_path / "bills").mkdir()
    for name, vendor in (("a", "NORDKURIER GMBH"), ("b", "Miller & Sons"), ("c", "Xylophon Traders Oy")):
        (tmp_path / "bills" / f"{name}.txt").write_text(f"Invoice\nFrom: {vendor}\nTotal: 12.50 EUR\n")
    return tmp_path


def write_vendors(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("vendor_id,name\n" + "".join(f'{value},"{name}"\n' for name, value in rows))


def test_what_a_person_said_of_printed_words_holds_for_the_next_document(place: Path) -> None:
    asked = ["extract", str(place / "bills"), "--schema", str(place / "bill.json"), "--out", str(place / "out")]
    asked += ["--model", "reader"]
    assert run(asked) == 0
    for name, vendor in (("b2", "Miller & Sons"), ("c2", "Xylophon Traders Oy"), ("once", "Only Once Ltd")):
        (place / "bills" / f"{name}.txt").write_text(f"Invoice\nFrom: {vendor}\nTotal: 14.50 EUR\n")
    assert run(asked) == 0
    wrong = {"a": "V-10", "a2": "V-10"}  # the table has the printed words of these
    (place / "bills" / "a2.txt").write_text("Invoice\nFrom: NORDKURIER GMBH\nTotal: 15.50 EUR\n")
    assert run(asked) == 0
    said = {"b": "V-03", "b2": "V-03", "c": "V-10", "c2": "V-10", "once": "V-09", **wrong}
    for bill, value in said.items():
        digest = hashlib.sha256((place / "bills" / f"{bill}.txt").read_bytes()).hexdigest()
        change = Change(Action.VALUE, "/vendor", json.dumps(value))
        Corrector(place / "out").correct(digest, "bill", [change], "Ann")
    more = {"d": "MILLER and SONS", "e": "miller & sons", "f": "Xylophon Traders OY"}
    for name, vendor in {**more, "g": "Only Once Ltd", "h": "Nordkurier GmbH"}.items():
        (place / "bills" / f"{name}.txt").write_text(f"Invoice\nFrom: {vendor}\nTotal: 13.50 EUR\n")
    assert run(asked) == 0
    found = dict(query(place / "out", "SELECT parse_filename(path, true), vendor FROM bill").rows)
    assert (found["e"], found["f"], found["h"]) == ("V-03", "V-10", "V-01")
    assert found["d"] is None and found["g"] is None  # other words; said once, without a mark
    sql = "SELECT place FROM fields JOIN bill USING (document) WHERE pointer = '/vendor' AND path LIKE '%/e.txt'"
    assert "as corrected before" in query(place / "out", sql).rows[0][0]
    # A row that the table has no more is not meant.
    write_vendors(place / "vendors.csv", [row for row in ROWS if row[1] != "V-10"])
    (place / "bills" / "i.txt").write_text("Invoice\nFrom: Xylophon Traders Oy\nTotal: 19.50 EUR\n")
    assert run(asked) == 0
    rows = query(place / "out", "SELECT vendor FROM bill WHERE path LIKE '%i.txt'").rows
    assert rows == [(None,)]


def test_a_run_writes_the_row_with_what_is_printed_as_evidence_and_flags_the_others(place: Path) -> None:
    assert run(["extract", "bills", "--schema", "bill.json", "--out", "out", "--quiet"]) == 0
    sql = (
        "SELECT path, value_json, f.flags, evidence_text, place FROM fields f JOIN bill USING (document)"
        " WHERE pointer = '/vendor' ORDER BY path"
    )
    found, several, none = query(place / "out", sql).rows
    assert found[1] == '"V-01"' and found[3] == "NORDKURIER GMBH"
    assert not found[2] and found[4].endswith("vendors.csv: Nordkurier GmbH (1.00)")
    assert several[1] == "null" and several[3] == "Miller & Sons" and len(several[2]) == 1
    assert none[1] == "null" and none[2] == ["no_row"] and none[3] == "Xylophon Traders Oy"


def test_a_new_table_is_another_schema_and_a_backfill_fills_that_field_alone(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["extract", "bills", "--schema", "bill.json", "--out", "out", "--quiet"]) == 0
    write_vendors(place / "vendors.csv", [*ROWS, ("Xylophon Traders Oy", "V-11")])
    capsys.readouterr()
    assert run(["backfill", "--schema", "bill.json", "--out", "out"]) == 0
    assert "bill: to be filled: /vendor\n" in capsys.readouterr().out
    rows = query(place / "out", "SELECT vendor FROM bill ORDER BY path").rows
    assert rows[0] == ("V-01",) and rows[2] == ("V-11",)


def test_tables_are_parquet_or_views_of_duckdb_too(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "ref.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT 7 AS id, 'Nordkurier GmbH' AS name, 'NK' AS short")
        database.execute("CREATE VIEW vendors AS SELECT * FROM t")
        database.execute(f"COPY t TO '{tmp_path / 'ref.parquet'}' (FORMAT parquet)")
    for table in ("ref.parquet", "ref.duckdb#vendors"):
        own = reference_table(Lookup(str(tmp_path / table), ("name", "short"), "id"))
        assert [own.meant(printed)[0].value for printed in ("nordkurier gmbh", "N.K.")] == ["7", "7"]


def test_a_table_that_changed_meanwhile_or_lacks_a_column_is_told(place: Path) -> None:
    source = load_schema(place / "bill.json")
    (slot,) = (slot for slot in compile_schema(source.schema).form.slots if slot.lookup)
    assert slot.lookup is not None and slot.lookup.digest
    write_vendors(place / "vendors.csv", ROWS[:2])
    with pytest.raises(UsageError, match="has changed since"):
        reference_table(slot.lookup)
    with pytest.raises(UsageError, match="expected a table with the columns title, vendor_id"):
        reference_table(Lookup(str(place / "vendors.csv"), ("title",), "vendor_id"))


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({LOOKUP: "vendors.csv"}, "expected an object"),
        ({LOOKUP: {"table": "vendors.csv"}}, "expected a column"),
        ({LOOKUP: {"table": "vendors.csv", "key": "name", "least": 2}}, "expected 0.5 to 1"),
        ({LOOKUP: {"table": "vendors.csv", "key": "name", "return": "x"}}, "expected an object"),
        ({LOOKUP: {"table": "vendors.csv", "key": "name"}, "type": "integer"}, "the field is no text"),
        ({LOOKUP: {"table": "vendors.csv", "key": "name"}, "enum": ["a"]}, "enum stands beside it"),
    ],
)
def test_a_wrong_lookup_is_refused_at_its_place(place: Path, field: dict[str, Any], said: str) -> None:
    schema = {"type": "object", "properties": {"vendor": {"type": "string"} | field}}
    assert (place / "vendors.csv").is_file()
    with pytest.raises(UnsupportedSchema, match=said) as told:
        _ = compile_schema(load_schema(schema).schema).form
    assert told.value.pointer.startswith(f"/properties/vendor/{LOOKUP}")


def test_a_table_that_is_not_there_is_told_with_its_path() -> None:
    field = {"type": "string", LOOKUP: {"table": "nowhere.csv", "key": "name"}}
    with pytest.raises(SchemaError, match=r"nowhere\.csv cannot be read"):
        load_schema({"type": "object", "properties": {"vendor": field}})


def test_items_of_a_list_find_their_rows_and_one_without_is_missing_or_null(place: Path) -> None:
    field: dict[str, Any] = {"type": "string", LOOKUP: {"table": "articles.csv", "key": "name", "returns": "sku"}}
    item = {"type": "object", "properties": {"article": field, "quantity": {"type": "integer"}}}
    item["required"] = ["article", "quantity"]
    schema = {"title": "order", "type": "object", "properties": {"lines": {"type": "array", "items": item}}}
    (place / "articles.csv").write_text("sku,name\nA-1,Bolt M6 zinc\nA-2,Washer 8 mm\nA-3,Hex nut M6\n")
    (place / "orders").mkdir()
    lines = "Bolt M6, zinc         10\nWasher 8mm             5\nHex Nut M6             7\nSpring ring            2\n"
    (place / "orders" / "1.txt").write_text(f"Order 7\n\nArticle           Quantity\n{lines}Bolt M6 Zinc          11\n")
    (place / "order.json").write_text(json.dumps(schema))
    assert run(["extract", "orders", "--schema", "order.json", "--out", "out", "--quiet"]) == 0
    sql = "SELECT code, pointers FROM quarantine"
    assert query(place / "out", sql).rows == [("missing", ["/lines/3/article"])]
    field["type"] = ["string", "null"]
    (place / "order.json").write_text(json.dumps(schema))
    assert run(["extract", "orders", "--schema", "order.json", "--out", "out", "--quiet"]) == 0
    sql = "SELECT list_transform(lines, lambda x: x.article) FROM order_"
    assert query(place / "out", sql).rows == [(["A-1", "A-2", "A-3", None, "A-1"],)]
