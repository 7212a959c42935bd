"""Reading results: documents with their evidence, and SQL queries that change nothing."""

from __future__ import annotations

import pytest

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.store.housekeeping import status
from cinnabar.extraction.store.reading import connect, query, show
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Store


def test_a_document_is_shown_with_its_evidence(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store)
        run.commit_batch([workload.written("in/a.txt", {"size": 3, "name": "n"})])
        run.finish()
    digest = workload.written("in/a.txt").digest
    for named in ("in/a.txt", "./in/a.txt", "a.txt", digest, digest[:6], digest[:8].upper()):
        (shown,) = show(out, named)
        assert (shown.path, shown.outcome, shown.record) == ("in/a.txt", "written", {"size": 3, "name": "n"})
        assert [row["pointer"] for row in shown.fields] == ["/size", "/name"]
        name = shown.fields[1]
        assert (name["value"], name["page"], name["span_start"], name["span_end"]) == ("n", 2, 3, 12)
        assert (name["x0"], name["bottom"], len(name["boxes"])) == (1.0, 4.0, 2)
        assert name["evidence_text"] == "as it stands"


@pytest.fixture(scope="module")
def worked(tmp_path_factory, workload):
    """The folder of a whole run, for tests that only read."""
    folder = tmp_path_factory.mktemp("worked") / 'it\'s "out"; drop [1]*'
    workload.work(folder)
    return folder


#: What tells whether a path was read again with other bytes.
SEEN_AGAIN = {"outcomes", "runs", "_moved", "_superseded"}
ALL_VIEWS = {
    "outcomes", "corrections", "runs", "documents", "quarantine", "records", "history", "_fields", "fields", "_checks",
    "checks", "lists", "note", "note_history", "_moved", "_superseded",
}  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "made"),
    [
        ("SELECT count(*) FROM runs", {"runs"}),
        ('FROM "Records" JOIN Note USING (document)', {"records", "note", *SEEN_AGAIN}),
        ("WITH fields AS (FROM runs) FROM fields", {"_fields", "fields", *SEEN_AGAIN}),
        ("SELECT 1 ORDER BY 1 DESC", set()),
        ("SHOW TABLES", ALL_VIEWS),
        ("DESCRIBE runs", ALL_VIEWS),
        ("SELECT view_name FROM duckdb_views()", ALL_VIEWS),
        ("SELECT name FROM sqlite_master", ALL_VIEWS),
        ("FROM histogram(note, size)", {"note", *SEEN_AGAIN}),
        ("FROM query('FROM ' || 'memory.main.runs')", {"runs"}),
        ("FROM (PIVOT runs ON kind IN ('extract') USING count(*))", {"runs"}),
    ],
)
def test_a_query_has_the_views_that_it_may_read_and_those_below_them(worked, sql, made):
    with connect(worked, "sql", sql=sql) as connection:
        there = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert {name for (name,) in there} == made
    assert query(worked, sql).columns


def test_a_quarantined_document_is_shown_with_its_reason(worked):
    (shown,) = show(worked, "broken.pdf")
    assert (shown.outcome, shown.code, shown.record, shown.fields) == ("quarantined", "not_pdf", None, [])


def test_a_file_that_could_not_be_opened_is_shown_with_its_reason(out, workload):
    for outcome in (workload.written("in/a.txt"), Outcome("in/a.txt", "quarantined", "unreadable", "gone")):
        with Store.open(out) as store:
            run = workload.begin(store)
            run.commit_batch([outcome])
            run.finish()
    (shown,) = show(out, "a.txt")
    assert (shown.document, shown.outcome, shown.code) == ("", "quarantined", "unreadable")


def test_the_latest_content_of_a_path_is_shown(out, workload):
    for content in ("one", "two"):
        with Store.open(out) as store:
            run = workload.begin(store)
            run.commit_batch([workload.written("a.txt", content=content)])
            run.finish()
    (shown,) = show(out, "a.txt")
    assert shown.document == workload.written("a.txt", content="two").digest


def test_an_unknown_or_ambiguous_document_is_an_error(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store)
        run.commit_batch([workload.written("x/a.txt"), workload.written("y/a.txt")])
        run.finish()
    with pytest.raises(UsageError, match="no document of this path or digest"):
        show(out, "'; DROP TABLE x; --")
    with pytest.raises(UsageError, match=r"fits 2 documents.*x/a.txt"):
        show(out, "a.txt")


def test_sql_gives_columns_and_rows(worked):
    columns, rows = query(worked, "SELECT name, size FROM note ORDER BY name LIMIT 1")
    assert (columns, rows) == (["name", "size"], [("0.txt", 5)])
    with pytest.raises(UsageError, match="no_such"):
        query(worked, "SELECT no_such FROM note")


def test_a_broken_file_is_named_with_a_remedy_and_a_wrong_query_on_one_line(out, workload):
    workload.work(out)
    with pytest.raises(UsageError) as raised:
        query(out, "SELECT no_such FROM note")
    assert not {"LINE", "^"} & set(str(raised.value).split())
    path = sorted((out / "data").rglob("*.parquet"))[-1]
    path.write_bytes(b"x" * path.stat().st_size)
    for ask in (lambda: query(out, "SELECT * FROM note"), lambda: status(out)):
        with pytest.raises(RunError, match=f"{path.name}.* run `cinnabar verify` to set its batch aside"):
            ask()


def test_a_folder_without_results_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="the folder holds no results of Cinnabar"):
        query(tmp_path, "SELECT 1")


def test_reading_needs_no_lock(out, workload):
    workload.work(out)
    with Store.open(out):
        assert query(out, "SELECT count(*) FROM note").rows == [(5,)]
