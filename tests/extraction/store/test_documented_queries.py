"""The queries of the documentation, asked of a folder with two models and a quarantine."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Store

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tables.md"
FENCES = re.findall(r"^```sql run\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
QUERIES = [query.strip() for fence in FENCES for query in fence.split(";") if query.strip()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, workload):
    out = tmp_path_factory.mktemp("documented") / "out"
    bill = {"number": "A-1", "gross_total": 12.5, "line_items": [{"description": "nut", "line_total": 12.5}]}
    with Store.open(out) as store:
        for engine, total in (("engine-1", 12.5), ("engine-2", 13)):
            run = workload.begin(store, "invoice", engine)
            written = workload.written("a.pdf", bill | {"gross_total": total})
            written = replace(written, record=replace(written.record, lists={"/line_items": 0.4}))
            run.commit_batch([written, Outcome("b.pdf", "quarantined", "empty", digest="b" * 64)])
            run.finish()
        run = workload.begin(
            store, {"title": "note", "type": "object", "properties": {"n": {"type": "integer"}}}
        )
        run.commit_batch([workload.written("a.pdf", {"n": 1})])
        run.finish()
    return out


def test_the_page_has_queries_to_test():
    assert len(QUERIES) >= 3


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.splitlines()[0][3:50])
def test_each_documented_query_gives_rows(folder, query):
    with duckdb.connect(str(folder / "cinnabar.duckdb"), read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    assert rows != []


def test_the_history_query_shows_the_changes_of_another_model(folder):
    sql = (
        "SELECT previous_json, value_json, latest FROM history"
        " WHERE schema_name = 'invoice' AND pointer = '/gross_total' ORDER BY run_id"
    )
    with duckdb.connect(str(folder / "cinnabar.duckdb"), read_only=True) as connection:
        assert connection.execute(sql).fetchall() == [(None, "12.5", False), ("12.5", "13", True)]
        changed = connection.execute("SELECT pointer FROM history WHERE changed").fetchall()
    assert changed == [("/gross_total",)]
