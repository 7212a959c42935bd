"""Runs, what a folder holds, and small files made into large ones beside readers."""

from __future__ import annotations

import duckdb
import pytest

from cinnabar.extraction.storage import housekeeping
from cinnabar.extraction.storage.files import is_locked
from cinnabar.extraction.storage.housekeeping import compact, runs, status
from cinnabar.extraction.storage.reading import query
from cinnabar.extraction.storage.store import Store
from cinnabar.extraction.storage.verification import verify
from cinnabar.schemas.errors import RunError, UsageError

EVERYTHING = [
    f"SELECT * FROM {view} ORDER BY ALL" for view in ("note", "fields", "outcomes", "documents", "runs")
]


def test_runs_are_listed_the_last_one_first_also_one_that_did_not_end(out, workload):
    workload.work(out)
    with Store.open(out) as store:
        workload.begin(store)
    last, first = runs(out)
    assert (last.written, last.seconds, first.written, first.quarantined) == (None, None, 5, 1)
    assert first.schema == "note" and first.seconds >= 0 and first.started <= last.started
    assert runs(out, limit=1) == [last]
    with pytest.raises(UsageError, match="at least 1"):
        runs(out, limit=0)


def test_status_says_what_is_there_and_whether_a_run_is_going(out, workload):
    workload.work(out)
    found = status(out)
    assert (found.runs, found.documents, found.records, found.quarantined) == (
        1,
        5,
        {"note": 5},
        {"not_pdf": 1},
    )
    assert (found.writing, found.snapshot, found.batches, found.replaced) == (False, True, 4, 0)
    with Store.open(out):
        assert status(out).writing
    assert not is_locked(out) and not is_locked(out / "nowhere")


def test_compaction_changes_no_row_and_breaks_no_reader(out, workload):
    workload.work(out)
    before = [query(out, sql).rows for sql in EVERYTHING]
    with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as reader:
        found = compact(out)
        assert reader.execute("SELECT count(*) FROM note").fetchone() == (5,)
    assert (found.batches_before, found.batches, found.files) == (4, 1, 5)
    assert [query(out, sql).rows for sql in EVERYTHING] == before
    assert compact(out).batches == 1
    assert verify(out).problems == []
    assert workload.work(out).skipped == 6


def test_large_batches_are_not_written_again(out, workload, monkeypatch):
    workload.work(out)
    monkeypatch.setattr(housekeeping, "LARGE", 1)
    found = compact(out)
    assert found.batches == found.batches_before == 4


def test_a_file_that_has_changed_is_not_merged_under_a_new_checksum(out, workload):
    workload.work(out)
    path = sorted((out / "outcomes").iterdir())[-1]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(RunError, match="SHA-256"):
        compact(out)


def test_what_needs_results_says_that_there_are_none(tmp_path):
    for command in (runs, status, compact):
        with pytest.raises(UsageError, match="no results"):
            command(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_committed_is_published_soon_also_where_no_other_batch_comes(out, workload, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.storage.run.PUBLISH_EVERY", 0.2)
    with Store.open(out) as store:
        run = workload.begin(store)
        for name in "ab":
            run.commit_batch([workload.written(name)])
        store._later.join()
        with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as reader:
            assert reader.execute("SELECT count(*) FROM note").fetchone() == (2,)
