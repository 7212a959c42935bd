"""Replaced files go during a run once no reader holds a snapshot that names them, and no sooner."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import duckdb
import pytest

from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store import held_snapshots
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import store as store_module
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.snapshot import DATABASE
from cinnabar.extraction.store.store import Store

# Another program: it opens the snapshot, and counts its values twice, the second time once it is told to.
READER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
for _ in range(2):
    print(connection.execute("SELECT count(*), count(DISTINCT pointer) FROM fields").fetchone()[0], flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 4)
    monkeypatch.setattr(store_module, "KEEP_UNHELD", timedelta(0))
    monkeypatch.setattr(store_module, "_LOOK", 0.0)
    monkeypatch.setattr(held_snapshots, "_OPENING", 0.0)


def commit(store, run, workload, numbers):
    for number in numbers:
        run.commit_batch([workload.written(f"{number:03}.txt")])
        store.publish()


def program(out):
    command = [sys.executable, "-c", READER, str(out / DATABASE)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def there(out):
    return {path.relative_to(out).as_posix() for path in out.rglob("batch-*.parquet")}


def counting(store):
    return {file.path for entry in store.commits() for file in entry.files}


@pytest.mark.slow
@pytest.mark.parametrize("last", [22, pytest.param(60, marks=pytest.mark.slow)])
def test_without_readers_a_run_keeps_nothing_that_it_replaced(out, workload, last):
    with Store.open(out) as store:
        run = workload.begin(store)
        commit(store, run, workload, range(last))
        assert there(out) == counting(store)
        assert {entry.number for entry in manifests.read_all(out)} == {entry.number for entry in store.commits()}
        run.finish()
    assert verify(out).problems == []


@pytest.mark.slow
@pytest.mark.parametrize("last", [24, pytest.param(70, marks=pytest.mark.slow)])
def test_a_program_reads_its_snapshot_while_the_run_replaces_every_batch_of_it(out, workload, last):
    with Store.open(out) as store:
        run = workload.begin(store)
        commit(store, run, workload, range(7))
        named = counting(store)
        with program(out) as reader:
            first = int(reader.stdout.readline())
            assert first > 0
            commit(store, run, workload, range(7, last))
            assert named <= there(out) and not named & counting(store)
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert int(reader.stdout.readline()) == first
            # Of what came after the snapshot, only the batches that replaced its own are kept.
            assert len(there(out) - named - counting(store)) <= 2 * len(named)
            reader.stdin.close()
        commit(store, run, workload, [last])
        assert there(out) == counting(store)
        run.finish()


@pytest.mark.slow
@pytest.mark.parametrize("last", [24, 40])
@pytest.mark.parametrize("way", ["snapshot", "manifests"])
def test_a_reader_in_the_same_process_keeps_its_files(out, workload, way, last):
    with Store.open(out) as store:
        run = workload.begin(store)
        commit(store, run, workload, range(7))
        named = counting(store)
        opened = duckdb.connect(str(out / DATABASE), read_only=True) if way == "snapshot" else connect(out)
        with opened as reader:
            before = reader.execute("SELECT * FROM fields ORDER BY ALL").fetchall()
            commit(store, run, workload, range(7, last))
            assert reader.execute("SELECT * FROM fields ORDER BY ALL").fetchall() == before
            assert named <= there(out)
        commit(store, run, workload, [last])
        assert there(out) == counting(store)
        run.finish()


@pytest.mark.slow
@pytest.mark.parametrize("last", [24, 40])
def test_a_reader_of_an_earlier_runs_snapshot_keeps_its_files(out, workload, last):
    with Store.open(out) as store:
        commit(store, workload.begin(store), workload, range(7))
        named = counting(store)
    with program(out) as reader:
        first = reader.stdout.readline()
        with Store.open(out) as store:
            commit(store, workload.begin(store), workload, range(7, last))
            assert named <= there(out)
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert int(reader.stdout.readline()) == int(first)
            reader.stdin.close()


@pytest.mark.slow
def test_batches_that_an_earlier_run_replaced_stay_for_their_day(out, workload, monkeypatch):
    monkeypatch.setattr(store_module, "_LOOK", float("inf"))
    with Store.open(out) as store:
        commit(store, workload.begin(store), workload, range(7))
    replaced = there(out)
    monkeypatch.setattr(store_module, "_LOOK", 0.0)
    with Store.open(out) as store:
        run = workload.begin(store)
        commit(store, run, workload, range(7, 20))
        assert replaced - counting(store) and replaced <= there(out) | counting(store)
        monkeypatch.setattr(store_module, "KEEP_REPLACED", timedelta(0))
        commit(store, run, workload, [20])
        assert there(out) == counting(store)


@pytest.mark.slow
def test_where_locks_cannot_be_told_all_snapshots_count_as_held(out, workload, monkeypatch):
    monkeypatch.setattr(held_snapshots, "_ASK", None)
    with Store.open(out) as store:
        run = workload.begin(store)
        commit(store, run, workload, range(7))
        named = there(out)
        commit(store, run, workload, range(7, 30))
        assert named <= there(out)
        run.finish()
