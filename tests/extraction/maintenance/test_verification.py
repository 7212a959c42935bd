"""Verification: broken files are named and set aside, and the next run restores the folder."""

from __future__ import annotations

import json
import random

import pytest
from tests.support.effort import first

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.maintenance.verification import check, verify
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.snapshot import DATABASE, published_number
from cinnabar.extraction.store.store import Store

ROWS = "SELECT path, name, size, confidence, record_json FROM note ORDER BY path"


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def scramble(path):
    path.write_bytes(random.Random(0).randbytes(path.stat().st_size))


BREAK = {
    "flipped": flip,
    "cut": cut,
    "gone": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "scrambled": scramble,
}


def test_a_sound_folder_has_no_problems(out, workload):
    workload.work(out)
    found = verify(out)
    assert (found.batches, found.records, found.problems, found.aside) == (4, 5, [], [])


@pytest.mark.parametrize(
    ("table", "way"),
    [
        ("data", "flipped"),
        pytest.param("data", "cut", marks=pytest.mark.slow),
        pytest.param("fields", "gone", marks=pytest.mark.slow),
        pytest.param("documents", "flipped", marks=pytest.mark.slow),
        pytest.param("outcomes", "cut", marks=pytest.mark.slow),
        pytest.param("outcomes", "gone", marks=pytest.mark.slow),
        pytest.param("runs", "flipped", marks=pytest.mark.slow),
    ],
)
def test_a_broken_file_is_named_and_set_aside_and_its_documents_are_filled_again(out, workload, table, way):
    workload.work(out)
    before = query(out, ROWS).rows
    path = sorted((out / table).rglob("batch-*.parquet"))[-1]
    BREAK[way](path)
    (problem,) = (found := verify(out)).problems
    assert problem.path == path.relative_to(out).as_posix()
    assert len(found.aside) == 1 and list((out / found.aside[0]).iterdir())
    assert verify(out).problems == []
    for view in ("note", "fields", "history", "documents", "outcomes", "quarantine", "records", "runs"):
        query(out, f"SELECT * FROM {view}")
    workload.work(out)
    assert query(out, ROWS).rows == before
    assert verify(out, clean=True).problems == []
    assert query(out, "SELECT count(*), count(DISTINCT document) FROM records").rows == [(5, 5)]


@pytest.mark.slow
@pytest.mark.parametrize("since", first(1, ["nothing", "the snapshot was lost", "a run failed"]))
@pytest.mark.parametrize("way", first(2, ["scrambled", "gone", "emptied"]))
def test_an_unreadable_file_is_set_aside_after_any_later_event(out, workload, way, since):
    with Store.open(out) as store:
        run = workload.begin(store)
        for batch in workload.batches():
            run.commit_batch(batch)
    before = query(out, ROWS).rows
    path = sorted((out / "data").rglob("batch-*.parquet"))[1]
    BREAK[way](path)
    if since == "the snapshot was lost":
        (out / DATABASE).unlink()
    if since == "a run failed":
        with pytest.raises(RunError, match=f"{path.name}.* run `cinnabar verify` to set its batch aside"):
            fail_a_run(out, workload)
    (problem,) = (found := verify(out)).problems
    assert problem.path == path.relative_to(out).as_posix() and len(found.aside) == 1
    assert published_number(out) == max(entry.number for entry in manifests.read_all(out))
    workload.work(out)
    assert query(out, ROWS).rows == before
    assert verify(out).problems == []


def fail_a_run(out, workload):
    """A run that makes the snapshot stale if it gets so far."""
    with Store.open(out) as store:
        workload.begin(store).finish()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "way"),
    [(0, "cut"), (2, "emptied"), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((1, "emptied"), (3, "cut")))],
)
def test_a_broken_manifest_stops_a_run_until_it_is_set_aside(out, workload, way, place):
    workload.work(out)
    before = query(out, ROWS).rows
    path = sorted((out / "manifest").iterdir())[place]
    path.write_text("{" if way == "emptied" else path.read_text()[:-9])
    with pytest.raises(RunError, match="cinnabar verify"):
        workload.work(out)
    found = verify(out)
    assert [problem.path for problem in found.problems] == [f"manifest/{path.name}"]
    assert "something else (unexpected end of data" in found.problems[0].detail
    assert path.name not in found.problems[0].detail
    workload.work(out)
    assert query(out, ROWS).rows == before
    assert verify(out).problems == []


@pytest.mark.slow
def test_a_broken_manifest_of_a_merge_does_not_bring_rows_back_twice(out, workload, monkeypatch):
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", 4)
    names = [f"{i}.txt" for i in range(20)]
    with Store.open(out) as store:
        run = workload.begin(store)
        for name in names:
            run.commit_batch([workload.written(name)])
        run.finish()
    before = query(out, ROWS).rows
    merged = {entry.number for entry in manifests.read_all(out) if entry.level == 1}
    path = out / manifests.REPLACED / f"{manifests.batch_name(min(merged))}.json"
    path.write_text("")
    assert any("second outcome" in problem.detail for problem in verify(out).problems)
    assert query(out, ROWS).rows == before
    assert verify(out).problems == []


def test_a_record_that_breaks_its_schema_is_set_aside(out, workload):
    with Store.open(out) as store:
        run = workload.begin(store)
        run.commit_batch([workload.written("a", '{"name": "x"}')])
        run.commit_batch([workload.written("b")])
        run.finish()
    (problem,) = verify(out).problems
    assert "breaks its schema" in problem.detail and "size" in problem.detail
    assert query(out, "SELECT path FROM note").rows == [("b",)]


def test_a_lost_schema_is_named_and_written_again(out, workload):
    workload.work(out)
    (path,) = (out / "schemas").iterdir()
    path.write_text(json.dumps({"type": "object"}))
    assert "its schema does not match its name" in verify(out).problems[0].detail
    path.unlink()
    assert "missing" in verify(out).problems[0].detail
    workload.work(out)
    assert verify(out).problems == []


def test_leftovers_are_shown_and_removed_on_request(out, workload):
    workload.work(out)
    torn = out / "manifest" / ".part-17-batch-0000009999.json"
    torn.write_text("{")
    assert verify(out).leftovers == ["manifest/.part-17-batch-0000009999.json"]
    found = verify(out, clean=True)
    assert (found.leftovers, found.removed) == ([], ["manifest/.part-17-batch-0000009999.json"])
    assert not torn.exists()


def test_a_folder_is_checked_but_not_changed_during_a_run(out, workload):
    workload.work(out)
    with Store.open(out):
        assert verify(out).problems == []
        cut(sorted((out / "data").rglob("*.parquet"))[-1])
        with pytest.raises(UsageError, match="another run is writing"):
            verify(out)
    assert len(check(out).problems) == 1


def test_files_set_aside_twice_are_kept_twice(out, workload):
    for _ in range(2):
        workload.work(out)
        for path in (out / "data").rglob("*.parquet"):
            cut(path)
        verify(out)
    assert query(out, "SELECT count(*) FROM records").rows == [(0,)]
    assert workload.work(out).written == 5
