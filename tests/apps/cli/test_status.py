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


@pytest.mark.slow
def test_every_command_has_a_table_and_json(done: Path, tiny_model: Path, capsys: CaptureResult) -> None:
    out = ("--out", str(done))
    status, text = said(capsys, "status", "runs", *out)
    assert status == 0 and "note" in text and "quarantined" in text
    (one,) = json.loads(said(capsys, "status", "runs", *out, "--json")[1])
    assert (one["schema"], one["inputs"], one["written"], one["quarantined"]) == ("note", 4, 3, 1)
    assert one["model"] and one["run_id"][:4] == one["started"][:4]

    assert "records of note" in said(capsys, "status", *out)[1]
    found = json.loads(said(capsys, "status", *out, "--json")[1])
    assert (found["records"], found["quarantined"], found["writing"]) == (
        {"note": 3},
        {"truncated": 1},
        False,
    )

    assert "broken.pdf" in said(capsys, "quarantine", "list", *out)[1]
    (held,) = json.loads(said(capsys, "quarantine", "list", *out, "--json")[1])
    assert (held["code"], held["schema_name"]) == ("truncated", "note")
    again = ("quarantine", "retry", *out, "--model", str(tiny_model))
    assert "1 tried again, 0 written, 1 held back" in said(capsys, *again)[1]
    assert json.loads(said(capsys, *again, "--json")[1])["runs"][0]["inputs"] == 1
    moved = Path(held["path"]).rename(done.parent / "moved.pdf")
    assert "broken.pdf is not there any more, nothing was done; if it has moved" in said(capsys, *again)[1]
    assert "1 tried again, 0 written, 1 held back" in said(capsys, *again, "--from", str(moved))[1]
    assert "0 released, 1 stay" in said(capsys, "quarantine", "release", *out, "--all")[1]
    assert json.loads(said(capsys, "quarantine", "release", *out, "--all", "--json")[1])["released"] == []

    assert "\nnow: 1 batch, " in said(capsys, "status", "compact", *out)[1]
    assert "nothing to merge: 1 batch, " in said(capsys, "status", "compact", *out)[1]
    assert json.loads(said(capsys, "status", "compact", *out, "--json")[1])["batches"] == 1
    assert said(capsys, "verify", *out)[0] == 0
    found = json.loads(said(capsys, "verify", *out, "--clean", "--json")[1])
    assert (found["records"], found["problems"], found["leftovers"]) == (3, [], [])


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


def test_export_writes_files_and_standard_output(done: Path, tmp_path: Path, capfdbinary: object) -> None:
    for name in ("note.csv", "fields.jsonl", "history.parquet"):
        target = tmp_path / name
        assert run(["export", target.stem, "--out", str(done), "--to", str(target)]) == 0
        assert target.stat().st_size > 100
    query = "select count(*) as n from note"
    capfdbinary.readouterr()
    assert run(["export", "--sql", query, "--format", "jsonl", "--out", str(done)]) == 0
    assert json.loads(capfdbinary.readouterr().out) == {"n": 3}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["status"], "no results"),
        (["status", "--json", "compact"], "expected --out and --json after `compact`"),
        (["status", "compact"], "no results"),
        (["verify"], "no results"),
        (["quarantine", "list"], "no results"),
        (["quarantine", "retry", "x"], "no results"),
        (["quarantine", "release"], "--code or --all"),
        (["quarantine", "release", "--all"], "no results"),
        (["export", "note", "--format", "csv"], "no results"),
        (["export", "note"], "csv, json, jsonl, parquet, xlsx"),
        (["export", "note", "--sql", "select 1", "--format", "csv"], "name of a view, or --sql"),
        (["export", "--format", "csv"], "name of a view, or --sql"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    arguments: list[str], expected: str, tmp_path: Path, capsys: CaptureResult
) -> None:
    assert run([*arguments, "--out", str(tmp_path)]) == 2
    line = capsys.readouterr().err
    assert expected in line and len(line.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
