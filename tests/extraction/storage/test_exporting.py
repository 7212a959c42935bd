"""Exports: other programs get every value as it is, and no formula among them."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.storage import exporting
from cinnabar.extraction.storage.exporting import DEFUSED, FORMULA, export, format_of
from cinnabar.extraction.storage.reading import query
from cinnabar.extraction.storage.store import Store
from cinnabar.schemas.errors import UsageError

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
]


@pytest.fixture
def rich(out, workload):
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
    rows = export(out, what, form, stream, sql=True, **more)
    assert rows == len(TEXTS) + 1
    return stream.getvalue()


def test_csv_has_no_formula_and_numbers_stay_numbers(rich):
    *rows, empty = csv.DictReader(io.StringIO(exported(rich, "csv").decode(), newline=""))
    texts = [row["text"] for row in rows]
    assert not any(text.startswith(tuple("=+@\t\uff1d")) for text in texts)
    undone = [text[1:] if text[:1] == DEFUSED and FORMULA.match(text) else text for text in texts]
    assert undone == TEXTS
    assert {(row["price"], row["count"], row["day"]) for row in rows} == {("-3.50", "-7", "2024-02-29")}
    assert rows[0]["at"] == "2024-02-29T21:30:00+00:00" and json.loads(rows[3]["lines"]) == [{"n": 3}]
    assert (empty["text"], empty["price"]) == ("", "")


def test_csv_reads_back_in_another_engine_with_null_and_empty_text_apart(rich, tmp_path):
    path = tmp_path / "rich.csv"
    path.write_bytes(exported(rich, "csv", formulas=True))
    sql = f"SELECT text, price, count, day FROM read_csv('{path}', allow_quoted_nulls = false) ORDER BY path"
    rows = duckdb.sql(sql).fetchall()
    assert [row[0] for row in rows] == [*TEXTS, None]
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
    assert duckdb.sql(f"SELECT sum(price) FROM read_parquet('{path}')").fetchall()[0] == (Decimal("-45.50"),)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_pandas_and_polars_read_the_tables(rich, tmp_path, library):
    engine = pytest.importorskip(library)
    # polars would take the signs in the folder's name for a pattern.
    plain: dict[str, bool] = {"glob": False} if library == "polars" else {}
    path = tmp_path / "rich.parquet"
    export(rich, "SELECT * FROM rich ORDER BY path", "parquet", path, sql=True)
    for where in (path, *sorted((rich / "data").rglob("*.parquet"))):
        frame = engine.read_parquet(where, **plain)
        assert {"text", "price", "record_json"} <= set(frame.columns)
    assert list(engine.read_parquet(path, **plain)["text"])[: len(TEXTS)] == TEXTS


@given(st.text())
def test_defused_text_is_no_formula_and_can_be_restored(text):
    safe = exporting._safe(text)
    assert not FORMULA.match(safe) or safe.startswith(DEFUSED) or exporting._NUMBER.fullmatch(safe)
    undone = safe[1:] if safe[:1] == DEFUSED and FORMULA.match(safe) else safe
    assert undone == text


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
    for path, named in ((None, None), (tmp_path / "x.txt", None), (None, "xlsx")):
        with pytest.raises(UsageError, match="csv, jsonl, parquet"):
            format_of(path, named)


def test_every_view_can_be_exported(rich):
    views = [row[0] for row in query(rich, "SHOW TABLES").rows if row[0] != "_snapshot"]
    assert "history" in views
    for view in views:
        for form in exporting.FORMATS:
            export(rich, view, form, io.BytesIO())
