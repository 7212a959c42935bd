"""The store: keys, locks, runs and the merging of batches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import store as store_module
from cinnabar.extraction.store.files import write_whole
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Store


def test_a_run_counts_every_input_once(out, workload):
    summary = workload.work(out)
    assert (summary.inputs, summary.written, summary.quarantined, summary.skipped) == (6, 5, 1, 0)
    assert summary.reasons == {"not_pdf": 1}
    row = query(out, "SELECT inputs, written, quarantined, skipped, finished IS NOT NULL FROM runs").rows
    assert row == [(6, 5, 1, 0, True)]


def test_another_engine_supersedes_records_and_retries_the_quarantine(out, workload):
    workload.work(out)
    with Store.open(out) as store:
        run = workload.begin(store, engine="engine-2")
        assert not any(run.done(outcome.digest) for batch in workload.batches() for outcome in batch)
        run.commit_batch([workload.written("0.txt", {"name": "better", "size": 1}, confidence=1.0)])
        run.commit_batch([workload.written("broken.pdf", content="now readable")])
        run.finish()
    assert query(out, "SELECT name FROM note WHERE path = '0.txt'").rows == [("better",)]
    assert query(out, "SELECT value FROM fields WHERE field = '/name' AND confidence = 1").rows == [
        ("better",)
    ]
    assert query(out, "SELECT count(*) FROM note").rows == [(6,)]
    assert query(out, "SELECT count(*), count_if(latest) FROM records").rows == [(7, 6)]
    assert query(out, "SELECT count(*) FROM fields").rows == [(12,)]
    assert query(out, "SELECT * FROM quarantine").rows == []


def test_the_quarantine_is_retried_on_request_only(out, workload):
    workload.work(out)
    with Store.open(out) as store:
        assert workload.begin(store).done("f" * 64, "moved/broken.PDF")
        # Another suffix may have another parser read it.
        assert not workload.begin(store).done("f" * 64, "broken.html")
        assert not workload.begin(store, retry_quarantined=True).done("f" * 64, "broken.pdf")


def test_a_key_is_written_once_under_any_calls(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store)
        run.commit_batch([workload.written("a"), workload.written("b", content="a")])
        run.finish()
        run = workload.begin(store)
        run.commit_batch([workload.written("a")])
        run.finish()
    rows = query(out, "SELECT path, outcome, code, duplicate_of FROM outcomes ORDER BY run_id, path").rows
    assert rows == [
        ("a", "written", None, None),
        ("b", "skipped", "duplicate", "a"),
        ("a", "skipped", "done", None),
    ]
    assert query(out, "SELECT count(*) FROM records").rows == [(1,)]


def test_a_run_that_lost_an_input_fails(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store, inputs=["a", "lost\x1b"])
        run.commit_batch([workload.written("a")])
        with pytest.raises(RunError, match=r"1 inputs have no outcome.*lost\\x1b"):
            run.finish()
    assert query(out, "SELECT finished FROM runs").rows == [(None,)]
    assert query(out, "SELECT count(*) FROM note").rows == [(1,)]


def test_a_value_that_its_column_cannot_hold_goes_to_quarantine_alone(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store)
        big = workload.written("big", {"name": "x", "size": 2**70})
        torn = workload.written("torn", '{"name": "\\ud800", "size": 1}')
        run.commit_batch([workload.written("a"), big, torn])
        assert run.finish().reasons == {"unstorable": 2}
    rows = query(out, "SELECT path, record_json FROM quarantine ORDER BY path").rows
    assert rows == [("big", big.record.text), ("torn", torn.record.text)]


def test_a_second_writer_stops_with_one_clear_line(out):
    with Store.open(out):
        with pytest.raises(UsageError, match=rf"another run is writing here.*process {os.getpid()}"):
            Store.open(out)
        code = "import sys; from pathlib import Path; from cinnabar.extraction.store.store import Store;"
        code += "Store.open(Path(sys.argv[1]))"
        other = subprocess.run([sys.executable, "-c", code, out], capture_output=True, text=True)
        assert "InUse" in other.stderr and "another run is writing here" in other.stderr
    Store.open(out).close()


def test_a_forked_child_does_not_keep_the_lock_of_a_dead_parent(out):
    store = Store.open(out)
    (alive, say), (ready, go) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.write(say, b"x")
        os.read(ready, 1)
        os._exit(0)
    assert os.read(alive, 1) == b"x"
    with pytest.raises(UsageError):
        Store.open(out)
    store._lock.forget()  # what the kernel does when the parent dies: it closes the file without unlocking it
    Store.open(out).close()
    os.close(go)
    os.waitpid(child, 0)
    for descriptor in (alive, say, ready):
        os.close(descriptor)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match="cannot be written to"):
        Store.open(file)
    with pytest.raises(UsageError, match="cannot be written to"):
        Store.open(file / "below")


def test_a_full_disk_leaves_the_last_good_state(out, workload, monkeypatch):
    first, second = workload.batches()
    with Store.open(out) as store:
        run = workload.begin(store)
        run.commit_batch(first)
        with monkeypatch.context() as broken:

            def full(_):
                raise OSError(28, "No space left on device")

            broken.setattr(os, "fsync", full)
            with pytest.raises(RunError, match=r"No space left on device.*run the same command again"):
                run.commit_batch(second)
    assert query(out, "SELECT count(*) FROM note").rows == [(2,)]
    assert not list(out.rglob(".part-*"))
    assert workload.work(out).written == 3


def test_only_files_of_our_own_are_removed(out, workload):
    workload.work(out)
    (out / "data" / "mine.parquet").write_text("keep")
    (out / "documents" / "notes.txt").write_text("keep")
    left = out / "data" / "note" / "batch-0000009999.parquet"
    left.parent.mkdir(exist_ok=True)
    left.write_text("left behind")
    torn = out / "manifest" / ".part-17-batch-0000009999.json"
    torn.write_text("{")
    snapshot = out / ".part-17-cinnabar.duckdb"
    snapshot.write_text("torn")
    Store.open(out).close()
    assert not left.exists() and not torn.exists() and not snapshot.exists()
    assert (out / "data" / "mine.parquet").exists() and (out / "documents" / "notes.txt").exists()


def test_a_missing_committed_file_is_an_error(out, workload):
    workload.work(out)
    next((out / "data").rglob("batch-0000000002.parquet")).unlink()
    with pytest.raises(RunError, match="it is missing; restore it"):
        Store.open(out)
    with pytest.raises(RunError, match="it is missing; restore it"):
        query(out, "SELECT 1")


def test_many_batches_are_merged_and_nothing_changes(out, workload, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 4)
    # On a busy machine the clock would merge before the run has ended.
    monkeypatch.setattr("cinnabar.extraction.run.stored_run.PUBLISH_EVERY", 3600.0)
    names = [f"{i}.txt" for i in range(20)]
    with Store.open(out) as store:
        run = workload.begin(store)
        for name in names:
            run.commit_batch([workload.written(name)])
        before = (
            query(out, "SELECT * FROM note ORDER BY path").rows,
            query(out, "SELECT * FROM fields ORDER BY ALL").rows,
        )
        replaced = store.commits()
        assert len(replaced) == 21
        run.finish()
        assert [entry.level for entry in store.commits()] == [2, 1, 0, 0]
        assert all((out / file.path).exists() for entry in replaced for file in entry.files)
    after = (
        query(out, "SELECT * FROM note ORDER BY path").rows,
        query(out, "SELECT * FROM fields ORDER BY ALL").rows,
    )
    assert before == after and len(after[0]) == 20

    monkeypatch.setattr(store_module, "KEEP_REPLACED", timedelta(0))
    with Store.open(out) as store:
        kept = {out / file.path for entry in store.commits() for file in entry.files}
        assert set(out.rglob("batch-*.parquet")) == kept
        assert len(manifests.read_all(out)) == len(store.commits())
        assert store.done_keys(run.key.schema_fingerprint, workload.ENGINE) == {
            workload.written(name).digest for name in names
        }
    assert query(out, "SELECT * FROM note ORDER BY path").rows == after[0]


def test_runs_sort_in_the_order_they_began_even_when_the_clock_is_set_back(out, workload, monkeypatch):
    with Store.open(out) as store:
        first = workload.begin(store)
        real = manifests.now
        monkeypatch.setattr(manifests, "now", lambda: real() - timedelta(days=400))
        second = workload.begin(store)
        third = workload.begin(store)
    assert first.id < second.id < third.id


def test_records_with_other_column_types_are_not_mixed(out, workload, monkeypatch):
    workload.work(out)
    other = pa.schema([("name", pa.string()), ("size", pa.string())])
    monkeypatch.setattr("cinnabar.extraction.run.stored_run.arrow_schema", lambda _: other)
    with Store.open(out) as store, pytest.raises(UsageError, match="other column types"):
        workload.begin(store)


def test_the_schema_lies_beside_the_data(out, workload):
    workload.work(out)
    (path,) = (out / "schemas").iterdir()
    assert json.loads(path.read_text()) == workload.SCHEMA


@pytest.mark.parametrize(
    "parts",
    [
        {"status": "kept"},
        {"status": "written", "digest": "0"},
        {"status": "quarantined"},
        {"status": "skipped"},
        {"status": "skipped", "code": "duplicate"},
    ],
)
def test_an_outcome_with_contradicting_parts_is_refused(parts):
    with pytest.raises(ValueError, match=r"a.pdf"):
        Outcome("a.pdf", **parts)


def test_a_document_with_another_digest_is_refused(workload):
    with pytest.raises(ValueError, match="digest"):
        replace(workload.written("a"), digest="0" * 64)


def test_threads_that_write_one_file_at_once_leave_one_of_theirs_whole(out) -> None:
    meeting = threading.Barrier(2)

    def write(letter: bytes, temporary: Path) -> None:
        temporary.write_bytes(letter * 10)
        meeting.wait(10)  # both have begun; under one name each would now write to the other's file
        assert temporary.read_bytes() == letter * 10
        meeting.wait(10)

    with ThreadPoolExecutor(2) as threads:
        ended = [threads.submit(write_whole, out / "file", partial(write, letter)) for letter in (b"a", b"b")]
    assert [one.exception() for one in ended] == [None, None]
    assert (out / "file").read_bytes() in (b"a" * 10, b"b" * 10) and not list(out.glob(".part-*"))
