"""Housekeeping: the state of a folder, and merged batches beside readers."""

from __future__ import annotations

from unittest.mock import Mock

import duckdb
import pytest
from tests.support.store_fixtures import compact

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.files import is_locked
from cinnabar.extraction.store.housekeeping import status
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.snapshot import published_number
from cinnabar.extraction.store.store import Store

EVERYTHING = [
    f"SELECT * FROM {view} ORDER BY ALL" for view in ("note", "fields", "outcomes", "documents", "runs")
]


def test_status_shows_the_results_and_a_running_run(out, workload):
    workload.work(out)
    found = status(out)
    assert (found.runs, found.documents, found.records, found.quarantined) == (
        1,
        5,
        {"note": 5},
        {"not_pdf": 1},
    )
    assert (found.writing, found.snapshot, found.batches) == (False, True, 4)
    with Store.open(out):
        assert status(out).writing
    assert not is_locked(out) and not is_locked(out / "nowhere")


def test_status_counts_the_documents_whose_records_the_views_show(out, workload):
    more = {**workload.SCHEMA, "properties": {**workload.SCHEMA["properties"], "more": {"type": "string"}}}
    for schema, content in ((workload.SCHEMA, "one"), (workload.SCHEMA, "changed"), (more, "changed")):
        with Store.open(out) as store:
            run = workload.begin(store, schema)
            # One path that gets other bytes, and then another version of the schema.
            run.commit_batch([workload.written("a.txt", {"name": "a", "size": 1}, content)])
            run.finish()
    assert status(out).records == {"note": query(out, "SELECT count(*) FROM note_all").rows[0][0]} == {"note": 1}


def test_compaction_changes_no_row_and_breaks_no_reader(out, workload):
    workload.work(out)
    before = [query(out, sql).rows for sql in EVERYTHING]
    with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as reader:
        compact(out)
        assert reader.execute("SELECT count(*) FROM note").fetchone() == (5,)
    assert (status(out).batches, status(out).files) == (1, 5)
    assert [query(out, sql).rows for sql in EVERYTHING] == before
    assert verify(out).problems == []
    assert workload.work(out).skipped == 6


def test_a_file_that_has_changed_is_not_merged_under_a_new_checksum(out, workload):
    workload.work(out)
    path = sorted((out / "outcomes").iterdir())[-1]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(RunError, match="SHA-256"):
        compact(out)


def test_commands_on_an_empty_folder_say_that_it_has_no_results(tmp_path):
    with pytest.raises(UsageError, match="no results"):
        status(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_next_commit_meets_the_error_of_a_snapshot_that_could_not_be_published(out, workload, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.run.stored_run.PUBLISH_EVERY", 0.01)
    with Store.open(out) as store:
        run = workload.begin(store)
        with monkeypatch.context() as failing:
            failing.setattr("cinnabar.extraction.store.snapshot.define_views", Mock(side_effect=duckdb.IOException))
            run.commit_batch([workload.written("a")])
            store._later.join()
            with pytest.raises(RunError, match="could not be built"):
                run.commit_batch([workload.written("b")])
        run.commit_batch([workload.written("c")])
        assert published_number(out) == max(entry.number for entry in store.commits())


def test_a_commit_is_published_soon_without_a_further_batch(out, workload, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.run.stored_run.PUBLISH_EVERY", 0.2)
    with Store.open(out) as store:
        run = workload.begin(store)
        for name in "ab":
            run.commit_batch([workload.written(name)])
        store._later.join()
        with duckdb.connect(str(out / "cinnabar.duckdb"), read_only=True) as reader:
            assert reader.execute("SELECT count(*) FROM note").fetchone() == (2,)
