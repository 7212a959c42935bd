"""Exports: other programs get every value as it is, and no formula among them."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from datetime import date, datetime
from decimal import Decimal
from xml.etree import ElementTree

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.effort import some

from cinnabar.errors import UsageError
from cinnabar.extraction.store import exporting, spreadsheet
from cinnabar.extraction.store.exporting import export, format_of
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.spreadsheet import DEFUSED, FORMULA, write_workbook
from cinnabar.extraction.store.store import Store

SCHEMA = {
    "title": "rich",
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "price": {"type": "number", "multipleOf": 0.01},
        "count": {"type": "integer"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
}
def restored(text: str) -> str:
    return re.sub(f"{FORMULA.pattern}{DEFUSED}", "", text)


TEXTS = [
    "=1+1",
    "+1 (0)",
    "-cmd|x",
    "@sum",
    "\t=1",
    "'=1",
    "'t Hooft",
    "",
    "a\r\nb",
    'say "hi"',
    " x",
    "\uff1d1",
    "-3.50",
    ";=1",
    "a; \x00=1",
    "\u202e=1",
]


@pytest.fixture(scope="module")
def rich(tmp_path_factory, workload):
    """Results that no test changes, in a folder with a name that breaks careless quoting."""
    out = tmp_path_factory.mktemp("rich") / 'it\'s "out"; drop [1]*'
    records = [
        {"text": text, "price": -3.5, "count": -7, "day": "2024-02-29", "at": "2024-02-29T23:30:00+02:00"}
        | {"lines": [{"n": number}]}
        for number, text in enumerate(TEXTS)
    ]
    with Store.open(out) as store:
        run = workload.begin(store, SCHEMA)
        run.commit_batch([workload.written(f"{i:02}.txt", record) for i, record in enumerate(records)])
        run.commit_batch([workload.written("99.txt", {})])
        run.finish()
    return out


def exported(out, form, what="SELECT * FROM rich ORDER BY path", **more):
    stream = io.BytesIO()
    assert export(out, what, form, stream, sql=True, **more) == len(TEXTS) + 1
    return stream.getvalue()


def test_csv_has_no_formula_and_numbers_stay_numbers(rich):
    *rows, empty = csv.DictReader(io.StringIO(exported(rich, "csv").decode(), newline=""))
    texts = [row["text"] for row in rows]
    assert not any(text.startswith(tuple("=+@\t\uff1d")) for text in texts)
    assert [restored(text) for text in texts] == TEXTS
    assert {(row["price"], row["count"], row["day"]) for row in rows} == {("-3.50", "-7", "2024-02-29")}
    assert rows[0]["at"] == "2024-02-29T21:30:00+00:00" and json.loads(rows[3]["lines"]) == [{"n": 3}]
    assert (empty["text"], empty["price"]) == ("", "")


def test_csv_reads_back_in_another_engine_with_null_and_empty_text_apart(rich, tmp_path):
    path = tmp_path / "rich.csv"
    path.write_bytes(exported(rich, "csv"))
    sql = f"SELECT text, price, count, day FROM read_csv('{path}', allow_quoted_nulls = false) ORDER BY path"
    rows = duckdb.sql(sql).fetchall()
    assert [row[0] and restored(row[0]) for row in rows] == [*TEXTS, None]
    assert rows[0][1:] == duckdb.sql("SELECT -3.5::DOUBLE, -7::BIGINT, DATE '2024-02-29'").fetchall()[0]


def test_json_lines_are_exact(rich):
    first, *_, last = [json.loads(line, parse_float=Decimal) for line in exported(rich, "jsonl").splitlines()]
    assert (first["text"], first["price"], first["count"]) == ("=1+1", Decimal("-3.50"), -7)
    assert (first["day"], first["lines"], last["text"]) == ("2024-02-29", [{"n": 0}], None)


def test_parquet_has_the_types_of_the_view_and_other_engines_read_it(rich, tmp_path):
    path = tmp_path / "rich.parquet"
    assert export(rich, "rich", "parquet", path) == len(TEXTS) + 1
    table = pq.read_table(path).sort_by("path")
    assert table["text"].to_pylist() == [*TEXTS, None]
    assert str(table.schema.field("price").type).startswith("decimal128(38, 2)")
    assert str(table.schema.field("day").type).startswith("date32")
    assert duckdb.sql(f"SELECT sum(price) FROM read_parquet('{path}')").fetchall()[0] == (
        Decimal("-3.50") * len(TEXTS),
    )


def test_two_columns_of_one_name_are_both_exported(rich):
    stream = io.BytesIO()
    export(rich, "SELECT 1 AS a, 2 AS a", "jsonl", stream, sql=True)
    assert json.loads(stream.getvalue()) == {"a": 1, "a_1": 2}


def test_an_exported_file_is_whole_or_absent(rich, tmp_path):
    with pytest.raises(UsageError, match="expected a view"):
        export(rich, "nothing", "csv", tmp_path / "x.csv")
    with pytest.raises(UsageError, match="got DELETE"):
        export(rich, "DELETE FROM rich", "csv", tmp_path / "x.csv", sql=True)
    with pytest.raises(UsageError, match="an existing, writable folder"):
        export(rich, "rich", "csv", tmp_path / "nowhere" / "x.csv")
    assert [path for path in tmp_path.iterdir() if path != rich] == []


def test_an_export_never_overwrites_a_file_of_the_results(rich, tmp_path):
    (tmp_path / "link").symlink_to(rich)
    for folder in (rich, tmp_path / "link"):
        for name in ("cinnabar.duckdb", "manifest/batch-0000000001.json", "new.parquet"):
            with pytest.raises(UsageError, match="lies in the output folder"):
                export(rich, "rich", "parquet", folder / name)
    assert query(rich, "SELECT count(*) FROM rich").rows == [(len(TEXTS) + 1,)]


def test_the_format_is_named_or_known_by_the_ending(tmp_path):
    assert [format_of(tmp_path / f"x{end}", None) for end in (".csv", ".NDJSON", ".parquet")] == [
        "csv",
        "jsonl",
        "parquet",
    ]
    assert format_of(None, "csv") == "csv"
    for path, named in ((None, None), (tmp_path / "x.txt", None), (None, "xls")):
        with pytest.raises(UsageError, match="csv, json, jsonl, parquet, xlsx"):
            format_of(path, named)
    with pytest.raises(UsageError, match=r"^--to .*x\.txt: expected"):
        format_of(tmp_path / "x.txt", None)


@pytest.mark.slow
@pytest.mark.parametrize("form", some(("xlsx",), exporting.FORMATS))
def test_every_view_can_be_exported(rich, form):
    views = [row[0] for row in query(rich, "SHOW TABLES").rows if not row[0].startswith("_")]
    assert "history" in views
    for view in views:
        export(rich, view, form, io.BytesIO())


def test_json_is_one_array_of_the_same_objects_as_json_lines(rich):
    lines = [json.loads(line) for line in exported(rich, "jsonl").splitlines()]
    assert json.loads(exported(rich, "json")) == lines
    stream = io.BytesIO()
    assert export(rich, "SELECT 1 WHERE false", "json", stream, sql=True) == 0
    assert json.loads(stream.getvalue()) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_table_of_records_repeats_none_as_json_unless_asked(rich, form):
    def headings(what, **more):
        stream = io.BytesIO()
        export(rich, what, form, stream, **more)
        if form == "csv":
            return next(csv.reader(io.StringIO(stream.getvalue().decode(), newline="")))
        return [cell.value for cell in sheet_of(stream.getvalue())[1]]

    assert "record_json" not in headings("rich") and "confidence" in headings("rich")
    assert "record_json" in headings("quarantine") and "record_json" in headings("records")
    assert headings("SELECT record_json FROM rich", sql=True) == ["record_json"]


def sheet_of(data):
    openpyxl = pytest.importorskip("openpyxl")
    return openpyxl.load_workbook(io.BytesIO(data)).active


def column_of(data, heading):
    columns = {column[0].value: column[1:] for column in sheet_of(data).columns}
    return columns[heading]


def test_a_workbook_has_texts_numbers_and_dates_and_no_formula(rich):
    data = exported(rich, "xlsx")
    texts = column_of(data, "text")
    assert {cell.data_type for cell in texts if cell.value is not None} == {"s"}
    # Excel has no empty texts, and its files spell control characters.
    written = [(cell.value or "").replace("_x000D_", "\r").replace("_x0000_", "\0") for cell in texts]
    assert written == [*TEXTS, ""]
    price, day, at = (column_of(data, name)[0] for name in ("price", "day", "at"))
    assert (price.value, price.data_type, price.number_format) == (-3.5, "n", "0.00")
    assert (day.value, day.number_format) == (datetime(2024, 2, 29), "yyyy-mm-dd")
    assert at.value == datetime(2024, 2, 29, 21, 30)
    assert column_of(data, "lines")[3].value == '[{"n": 3}]'
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        assert not any(b"<f>" in parts.read(name) for name in parts.namelist())


def test_a_workbook_of_records_is_for_people(out, workload, tmp_path):
    """Objects are columns, each list is a sheet, each column shows a date with its time, and nothing is a hash."""
    openpyxl = pytest.importorskip("openpyxl")
    amount = {"type": "object", "properties": {"net": {"type": "number"}, "due": {"type": "string", "format": "date"}}}
    line = {"type": "object", "properties": {"text": {"type": "string"}, "parts": {"type": "array", "items": amount}}}
    schema = {
        "title": "bill",
        "type": "object",
        "properties": {
            "seller": {"type": "object", "properties": {"name": {"type": "string"}, "day": {"type": "string"}}},
            "total": amount,
            "lines": {"type": "array", "items": line},
            "bill": {"type": "array", "items": {"type": "string"}},
            "empty": {"type": "array", "items": {"type": "integer"}},
        },
    }
    part = {"net": 1.5, "due": "2026-02-03"}
    records = [
        {
            "seller": {"name": "A" * 30},
            "total": part,
            "lines": [{"text": "=1", "parts": [part, part]}, {"text": "y"}],
            "bill": ["one", "two"],
        },
        {},
    ]
    with Store.open(out) as store:
        run = workload.begin(store, schema)
        run.commit_batch([workload.written(f"{i}.txt", record) for i, record in enumerate(records)])
        run.finish()
    path = tmp_path / "bills.xlsx"
    assert export(out, "bill", "xlsx", path) == 2
    book = openpyxl.load_workbook(path)
    found = {sheet.title: [list(row) for row in sheet.values] for sheet in book}
    assert list(found) == ["bill", "lines", "parts", "bill_2", "empty"]
    head, first, second = found["bill"]
    assert head[:8] == ["path", "seller.name", "seller.day", "total.net", "total.due", "lines", "bill", "empty"]
    assert not {"document", "schema_fingerprint", "engine_fingerprint", "record_json"} & set(head)
    assert first[:8] == ["0.txt", "A" * 30, None, 1.5, datetime(2026, 2, 3), 2, 2, None] and second[1:8] == [None] * 7
    assert found["lines"] == [["path", "row", "text", "parts"], ["0.txt", 1, "=1", 2], ["0.txt", 2, "y", None]]
    assert found["parts"][:2] == [["path", "lines", "row", "net", "due"], ["0.txt", 1, 1, 1.5, datetime(2026, 2, 3)]]
    assert found["parts"][2][:3] == ["0.txt", 1, 2]
    assert found["bill_2"] == [["path", "row", "value"], ["0.txt", 1, "one"], ["0.txt", 2, "two"]]
    assert all(sheet.freeze_panes == "A2" for sheet in book)
    assert all(sheet.column_dimensions["A"].width > len("2026-02-03 00:00:00.000") for sheet in book)
    assert book["lines"]["C2"].quotePrefix and book["lines"]["C2"].data_type == "s"
    for view in ("fields", "runs", "outcomes"):
        export(out, view, "xlsx", path := tmp_path / f"{view}.xlsx")
        (sheet,) = openpyxl.load_workbook(path)
        heads = {cell.value for cell in sheet[1]}
        assert not {name for name in heads if "fingerprint" in name or name == "document"}


@pytest.mark.parametrize(
    "text",
    ["<r>a</r>", "<r><t>x</t></r></si></sst>", "_x0041_", "a\x01b\x0b", "\ufffe", "http://example.org", "1e5", " x "],
)
def test_a_workbook_keeps_every_text_as_it_is(text):
    stream = io.BytesIO()
    write_workbook(pa.table({"t": [text]}).to_reader(), stream, "t", str)
    with zipfile.ZipFile(io.BytesIO(stream.getvalue())) as parts:
        root = ElementTree.fromstring(parts.read("xl/worksheets/sheet1.xml"))
        assert not any("hyperlink" in node.tag for node in root.iter())
    spelled = "".join(node.text or "" for node in list(root.iter())[0:] if node.tag.endswith("}t"))[1:]
    unescaped = re.sub("_x([0-9A-F]{4})_", lambda found: chr(int(found[1], 16)), spelled)
    assert unescaped == text


def test_cells_that_excel_cannot_hold_are_texts_and_cut_where_one_sees_it():
    rows = pa.table({
        "text": ["x" * 40_000, "\U0001f600" * 20_000],
        "number": [Decimal("12345678901234567.89"), Decimal("12345.67")],
        "day": [date(1899, 12, 31), date(1900, 3, 1)],
    })  # fmt: skip
    stream = io.BytesIO()
    assert write_workbook(rows.to_reader(), stream, "t", exporting._plain) == 2
    first, second = list(sheet_of(stream.getvalue()).values)[1:]
    assert len(first[0]) == 32_767 and first[0].endswith("x…")
    assert first[1:] == ("12345678901234567.89", "1899-12-31")
    assert set(second[0]) == {"\U0001f600", "…"} and second[1:] == (12345.67, datetime(1900, 3, 1))


def test_more_rows_than_excel_holds_are_refused_and_no_file_is_left(rich, tmp_path, monkeypatch):
    monkeypatch.setattr(spreadsheet, "ROWS", 5)
    with pytest.raises(UsageError, match="Excel holds 4 rows below the heading"):
        export(rich, "rich", "xlsx", tmp_path / "x.xlsx")
    assert not list(tmp_path.glob("*x.xlsx*"))
    with pytest.raises(UsageError, match="Excel holds 16,384 columns"):
        wide = pa.table({f"a{at}": pa.array([], pa.string()) for at in range(16_385)})
        write_workbook(wide.to_reader(), io.BytesIO(), "t", str)


class Closed(io.BytesIO):
    """A pipe that nobody reads any more."""

    def write(self, _data: object) -> int:
        raise BrokenPipeError


def test_a_workbook_into_a_closed_pipe_ends_like_any_other_text() -> None:
    with pytest.raises(BrokenPipeError):
        write_workbook(pa.table({"a": ["b"]}).to_reader(), Closed(), "t", str)
