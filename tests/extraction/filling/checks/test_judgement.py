"""Checks in a run: flags, quarantine, the table of results, and the commands that show them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.begun_runs import backfill
from tests.support.reading_model import READING

from cinnabar.apps.cli.main import run
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents, release
from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import DocumentInfo, Outcome, Record
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema

NUMBER = {"type": ["number", "null"]}
SCHEMA: dict[str, Any] = {
    "title": "bill",
    "type": "object",
    "properties": {"net": NUMBER, "tax": NUMBER, "gross": NUMBER},
    "required": ["net", "tax", "gross"],
}
CHECKS = {"adds_up": "net + tax = gross", "positive": "gross > 0"}
QUICK = RunOptions(workers=1)
#: So many batches are merged in the test of merging.
FAN = 4
HOLD = RunOptions(workers=1, on_check="quarantine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = tmp_path_factory.mktemp("checks") / "docs"
    docs.mkdir()
    (docs / "right.txt").write_text("net=0.10\ntax=0.20\ngross=0.30\n")
    (docs / "wrong.txt").write_text("net=100.10\ntax=19.02\ngross=120.12\n")
    (docs / "open.txt").write_text("net=100.10\ngross=120.12\n")
    return docs


@pytest.fixture(scope="module")
def flagged(folder: Path) -> Path:
    """The results of a run that flags records."""
    assert extract([folder], source(), folder.parent / "flagged", READING, QUICK).written == 3
    return folder.parent / "flagged"


@pytest.fixture(scope="module")
def holding(folder: Path) -> Path:
    """The results of a run that holds records back."""
    summary = extract([folder], source(), folder.parent / "holding", READING, HOLD)
    assert (summary.written, summary.reasons) == (2, {"check_failed": 1})
    return folder.parent / "holding"


def source(checks: dict[str, str] = CHECKS) -> Any:
    return load_schema(SCHEMA | {"x-cinnabar-checks": checks})


def results(out: Path) -> set[tuple[Any, ...]]:
    rows = query(out, "select path, check_name, holds, outcome from checks").rows
    return {(Path(path).stem, *rest) for path, *rest in rows}


def flags(out: Path) -> dict[str, list[str]]:
    return {Path(path).stem: found for path, found in query(out, "select path, flags from bill").rows}


def test_a_record_that_fails_is_flagged_and_every_result_is_in_the_table(flagged: Path) -> None:
    out = flagged
    assert flags(out) == {"right": [], "wrong": ["check_failed:adds_up"], "open": []}
    assert results(out) == {
        ("right", "adds_up", True, "written"),
        ("right", "positive", True, "written"),
        ("wrong", "adds_up", False, "written"),
        ("wrong", "positive", True, "written"),
        ("open", "adds_up", None, "written"),
        ("open", "positive", True, "written"),
    }
    assert not verify(out).problems


def test_a_record_that_fails_is_held_back_if_asked_until_it_is_released(holding: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(holding, tmp_path / "out"))
    (one,) = held_documents(out)
    assert (one.code, one.pointers) == ("check_failed", ["/net", "/tax", "/gross"])
    assert one.detail == "adds_up does not hold: net + tax = gross (/net 100.1, /tax 19.02, /gross 120.12)"
    assert ("wrong", "adds_up", False, "quarantined") in results(out)
    assert release(out, [one]).released
    assert flags(out)["wrong"] == ["check_failed:adds_up", "released"]
    assert ("wrong", "adds_up", False, "written") in results(out) and len(results(out)) == 6


def test_the_option_is_no_part_of_a_records_key(folder: Path, flagged: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(flagged, tmp_path / "out"))
    assert extract([folder], source(), out, READING, HOLD).skipped == 3


def test_a_backfill_judges_by_the_checks_of_the_new_version(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    extract([folder], load_schema(SCHEMA), out, READING, QUICK)
    assert query(out, "select count(*) from checks").rows == [(0,)]
    done = backfill(source({"adds_up": "net + tax = gross"}), out, READING, options=QUICK)
    assert done is not None and done.written == 3
    assert flags(out) == {"right": [], "wrong": ["check_failed:adds_up"], "open": []}
    # The tax is right now: the flag of the former version goes.
    looser = source({"adds_up": "net + tax <= gross"})
    again = backfill(looser, out, READING, options=QUICK)
    assert again is not None and flags(out)["wrong"] == []
    counted = query(out, "select check_name, holds, count(*) from checks group by all order by all").rows
    assert counted == [("adds_up", True, 2), ("adds_up", None, 1)]


def test_small_batches_are_merged_with_their_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.store.compaction.FAN", FAN)
    out, bill = tmp_path / "out", source()
    with Store.open(out) as store:
        begun = Run(store, bill, compile_schema(bill.schema), "engine", {})
        for number in range(FAN + 2):
            digest = f"{number:064x}"
            record = Record('{"net":1,"tax":1,"gross":3}', (), 1.0, checks={"adds_up": False, "positive": None})
            info = DocumentInfo(digest, "text/plain", 1, 0, 1, 1)
            begun.commit_batch([Outcome(f"{number}.txt", "written", digest=digest, document=info, record=record)])
        begun.finish()
        assert len(store.commits()) < FAN
    found = query(out, "select check_name, holds, count(*) from checks group by all order by 1").rows
    assert found == [("adds_up", False, FAN + 2), ("positive", None, FAN + 2)]
    assert not verify(out).problems


def test_the_check_of_a_schema_shows_its_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bill.json").write_text(json.dumps(source().schema))
    assert run(["schema", "check", str(tmp_path / "bill.json")]) == 0
    assert "Checked in each record: adds_up: net + tax = gross" in " ".join(capsys.readouterr().out.split())


def test_a_check_that_cannot_be_used_ends_a_run_before_any_document_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "bill.json"
    schema.write_text(json.dumps(SCHEMA | {"x-cinnabar-checks": {"adds_up": "nett + tax = gross"}}))
    for command in (
        ["schema", "check", str(schema)],
        ["extract", str(tmp_path / "docs"), "--schema", str(schema), "--out", str(tmp_path / "out")],
    ):
        assert run(command) == 2
        printed = capsys.readouterr().err
        assert "/x-cinnabar-checks/adds_up" in printed and "got nett (near it: net)" in printed
    assert not (tmp_path / "out").exists()
