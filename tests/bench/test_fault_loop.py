"""Some cases of the loop of faults: they find no fault, and they would find one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from tests.support import ROOT


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch):
    # `prepare` leaves these in place for the processes that it forks.
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("cinnabar.extraction.filling.batch_reader.ParserPool", None)
    monkeypatch.setattr("cinnabar.extraction.run.stored_run.PUBLISH_EVERY", 0.0)
    fault_loop = importlib.import_module("bench.fault_loop")
    monkeypatch.chdir(ROOT)
    fault_loop.prepare()
    return fault_loop


@pytest.mark.slow
def test_a_run_that_is_broken_anywhere_ends_with_the_same_rows(loop, tmp_path: Path) -> None:
    assert loop.fault_loop(tmp_path, documents=5, every=53) == []


def test_every_kind_of_disk_fault_is_tried(loop, tmp_path: Path) -> None:
    seen = loop.operations(loop.make_documents(tmp_path / "docs", 5), tmp_path / "out")
    assert len(seen) > 100
    assert {way for ways in seen for way in ways} == {"error", "full", "before", "after", "torn"}


@pytest.mark.slow
def test_the_loop_finds_a_run_that_writes_a_manifest_before_its_files(
    loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = loop.make_documents(tmp_path / "docs", 5)
    assert loop.in_child(lambda: loop.run_once(docs, tmp_path / "whole")) == 0
    expected = loop.rows_of(tmp_path / "whole")

    def careless(path: Path, write) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)

    monkeypatch.setattr("cinnabar.extraction.store.files.write_whole", careless)
    points = [i for i, ways in enumerate(loop.operations(docs, tmp_path / "count")) if "torn" in ways]
    found = []
    # The last four write the snapshot and the report of the run, which no row depends on.
    for point in points[-6:-4]:
        try:
            found += loop.check_case(docs, tmp_path / str(point), point, "torn", expected)
        except Exception as error:
            found.append(str(error))
    assert found != []


def test_the_loop_finds_lost_and_repeated_rows(loop, tmp_path: Path) -> None:
    docs = loop.make_documents(tmp_path / "docs", 5)
    assert loop.in_child(lambda: loop.run_once(docs, tmp_path / "out")) == 0
    expected = loop.rows_of(tmp_path / "out")
    assert loop.differences(tmp_path / "out", expected) == []
    for rows in (expected["note"][1:], [*expected["note"], expected["note"][0]]):
        assert loop.differences(tmp_path / "out", expected | {"note": rows}) != []


@pytest.mark.slow
def test_a_clock_that_jumps_changes_no_row(loop, tmp_path: Path) -> None:
    assert loop.jumping_clock(tmp_path, documents=5) == []


@pytest.mark.slow
def test_kills_of_runs_and_parsers_and_two_runs_at_once_change_no_row(loop, tmp_path: Path) -> None:
    assert loop.random_kills(tmp_path / "kills", documents=6, kills=1) == []
    assert loop.two_at_once(tmp_path / "two", documents=6) == []
    assert loop.worker_kills(tmp_path / "parsers", documents=6, kills=1) == []
