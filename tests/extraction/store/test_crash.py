"""Crashes: a process that dies at any moment leaves whole batches or none, and a second run finishes its work."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from tests.support import ROOT

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store

PROGRAM = [sys.executable, "-m", "tests.support.store_workload"]
NAMES = "SELECT name, size, confidence FROM note ORDER BY ALL"


def committed(out):
    found = manifests.live(manifests.read_all(out))
    manifests.check_files(out, found)
    return found


def leftovers(out):
    named = {out / file.path for entry in manifests.read_all(out) for file in entry.files}
    return [
        p for p in out.rglob("*batch-*") if (p.suffix == ".parquet" and p not in named) or ".part-" in p.name
    ]


def test_a_process_killed_around_each_rename_leaves_whole_batches_or_none(tmp_path, workload):
    done = subprocess.run([*PROGRAM, "kill", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    points = int(done.stdout)
    assert points > 15
    expected = query(tmp_path / "whole", NAMES)
    sizes_seen = set()
    for point in range(points):
        out = tmp_path / str(point)
        if committed(out):
            outcomes, records = query(
                out, "SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM note)"
            ).rows[0]
            assert (outcomes, records) in {(0, 0), (3, 2), (6, 5)}
            sizes_seen.add(outcomes)
        if point % 6 == 0:
            summary = workload.work(out)
            assert (summary.inputs, summary.written + summary.skipped) == (6, 6 - summary.quarantined)
            assert query(out, NAMES) == expected
            assert query(out, "SELECT count(*), count(DISTINCT document) FROM records").rows == [(5, 5)]
            assert leftovers(out) == []
    assert sizes_seen == {0, 3, 6}


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_no_lock_and_no_torn_batch(out):
    for delay in (0.0, 0.1):
        with subprocess.Popen([*PROGRAM, "write", out], cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout.readline() == "began\n"
            time.sleep(delay)
            writer.kill()
        committed(out)
        with Store.open(out) as store:
            assert leftovers(out) == []
            rows = query(out, "SELECT count(*), count(DISTINCT document) FROM note").rows[0]
            assert rows[0] == rows[1] and rows[0] % 3 == 0
            assert len(store.commits()) >= 1


@pytest.mark.slow
def test_readers_beside_a_writer_see_whole_batches_only(out, workload, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.run.stored_run.PUBLISH_EVERY", 0.0)
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 4)
    with Store.open(out) as store:
        run = workload.begin(store)
        store.publish()
        readers = [
            subprocess.Popen(
                [*PROGRAM, "read", out], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for number in range(10):
            run.commit_batch([workload.written(f"{number}-{i}.txt") for i in range(3)])
        run.finish()
        time.sleep(1)
        seen = [json.loads(reader.communicate()[0]) for reader in readers]
    assert all(report["wrong"] == [] for report in seen)
    assert max(report["seen"] for report in seen) == 30 and min(report["reads"] for report in seen) > 1
