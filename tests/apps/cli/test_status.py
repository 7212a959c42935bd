"""The commands that look after a folder: their output and their exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from cinnabar.apps.cli import status
from cinnabar.apps.cli.main import run
from cinnabar.extraction.plan.outcomes import REASONS
from cinnabar.extraction.store.housekeeping import status as look

CaptureResult = pytest.CaptureFixture[str]


def said(capsys: CaptureResult, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    ended = run(arguments)
    return ended, capsys.readouterr().out


def test_broken_files_are_named_with_status_1(done: Path, capsys: CaptureResult) -> None:
    path = sorted((done / "fields").rglob("*.parquet"))[-1]
    path.write_bytes(b"x")
    (done / "manifest" / ".part-1-batch-0000000099.json").write_text("")
    ended, text = said(capsys, "verify", "--out", str(done))
    assert ended == 1
    assert path.name in text and "set aside" in text
    assert text.endswith(": 1 problem\n")
    ended, text = said(capsys, "verify", "--out", str(done))
    assert ended == 0 and "all is well" in text


def test_runs_are_listed_with_their_models_the_last_one_first(done: Path, capsys: CaptureResult) -> None:
    ended, text = said(capsys, "status", "runs", "--out", str(done), "--limit", "1", "--json")
    (last,) = json.loads(text)
    counts = {"inputs", "written", "quarantined", "skipped"}
    assert ended == 0 and {*last} == counts | {"run_id", "started", "seconds", "schema", "model"}
    assert last["model"] and last["inputs"] == last["written"] + last["quarantined"] + last["skipped"]
    shown = said(capsys, "status", "runs", "--out", str(done))[1]
    assert last["run_id"] in shown and f"{last['seconds']:.1f} s: {last['written']} written" in shown


def test_a_folder_of_many_schemas_and_reasons_is_one_screen(
    done: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded = replace(
        look(done),
        folder="/a/[/folder]/far/down/" * 6,
        records={f"a_schema_with_a_long_name_{at}": 1000 + at for at in range(40)},
        quarantined={code: 2000 + at for at, code in enumerate(REASONS)},
    )
    monkeypatch.setattr(status, "look", lambda _: crowded)
    monkeypatch.setattr(status, "standard_output", lambda: Console(width=80))
    shown = said(capsys, "status", "--out", str(done))[1].splitlines()
    assert len(shown) <= 24 and max(map(len, shown)) <= 80
    assert "[/folder]" in "\n".join(shown)
    assert "32 more" in "\n".join(shown) and str(sum(crowded.records.values())) in "\n".join(shown)


def test_the_last_run_stands_beside_what_stands_now(done: Path, capsys: CaptureResult) -> None:
    found = json.loads(said(capsys, "status", "--out", str(done), "--json")[1])
    (last,) = json.loads(said(capsys, "status", "runs", "--out", str(done), "--limit", "1", "--json")[1])
    assert found["last_run"] == last["run_id"]
    assert found["last_outcomes"] == {one: last[one] for one in ("written", "quarantined", "skipped")}
    shown = said(capsys, "status", "--out", str(done))[1]
    assert f"the last: {last['written']} written, {last['quarantined']} quarantined" in shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["status", "--json", "report"], "expected --out and --json after `report`"),
        (["verify"], "no results"),
        (["forget", "a.txt", "--yes"], "no results"),
        (["quarantine", "release"], "--code or --all"),
        (["export", "note"], "csv, json, jsonl, parquet, xlsx"),
        (["export", "note", "--sql", "select 1", "--format", "csv"], "name of a view, or --sql"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    arguments: list[str], expected: str, tmp_path: Path, capsys: CaptureResult
) -> None:
    assert run([*arguments, "--out", str(tmp_path)]) == 2
    line = capsys.readouterr().err
    assert expected in line and len(line.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
