"""The commands that look after a folder: their output and their exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run

CaptureResult = pytest.CaptureFixture[str]


def said(capsys: CaptureResult, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    status = run(arguments)
    return status, capsys.readouterr().out


def test_broken_files_are_named_with_status_1(done: Path, capsys: CaptureResult) -> None:
    path = sorted((done / "fields").rglob("*.parquet"))[-1]
    path.write_bytes(b"x")
    (done / "manifest" / ".part-1-batch-0000000099.json").write_text("")
    status, text = said(capsys, "verify", "--out", str(done))
    assert status == 1
    assert path.name in text and "set aside" in text
    assert text.endswith(": 1 problem\n")
    status, text = said(capsys, "verify", "--out", str(done))
    assert status == 0 and "all is well" in text


def test_runs_are_listed_with_their_models_the_last_one_first(done: Path, capsys: CaptureResult) -> None:
    status, text = said(capsys, "status", "runs", "--out", str(done), "--limit", "1", "--json")
    (last,) = json.loads(text)
    counts = {"inputs", "written", "quarantined", "skipped"}
    assert status == 0 and {*last} == counts | {"run_id", "started", "seconds", "schema", "model"}
    assert last["model"] and last["inputs"] == last["written"] + last["quarantined"] + last["skipped"]
    assert last["run_id"] in said(capsys, "status", "runs", "--out", str(done))[1]


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
