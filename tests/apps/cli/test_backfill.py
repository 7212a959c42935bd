"""The command `cinnabar backfill`: its output before and after, and its answer to wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.reading import query

CaptureResult = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """`out`, read from `docs` with the first version of `note`; `v2/note.json` and others are later ones."""
    root = tmp_path_factory.mktemp("backfill")
    (root / "docs").mkdir()
    for number in range(3):
        (root / "docs" / f"{number}.txt").write_text(
            f"Note {number}\nWritten by Anna on 2024-05-0{number + 1}\n"
        )
    fields = {"author": {"type": ["string", "null"]}, "day": {"type": ["string", "null"], "format": "date"}}
    for version, more in {"v1": {}, "v2": {"done": {"type": ["boolean", "null"]}}}.items():
        (root / version).mkdir()
        schema = {"type": "object", "properties": fields | more}
        (root / version / "note.json").write_text(json.dumps(schema))
    (root / "bad").mkdir()
    (root / "bad" / "note.json").write_text(
        json.dumps({"type": "object", "properties": {"day": {"type": "string"}}})
    )
    arguments = ["--schema", str(root / "v1" / "note.json"), "--out", str(root / "out")]
    model = ["--model", str(tiny_model)]
    assert run(["extract", str(root / "docs"), *arguments, *model, "--on", "empty=write"]) == 0
    return root


def backfill(base: Path, model: Path, *more: str, version: str = "v2") -> int:
    arguments = ["--schema", str(base / version / "note.json"), "--out", str(base / "out")]
    return run(["backfill", *arguments, "--model", str(model), *more])


WRONG = [
    (["--below", "2"], "--below"),
    (["--since", "2026-02-01"], "--since is gone: --where"),
    (["--where", "nothing ="], "--where"),
    (["--model", "mercury-2"], "asks no server"),
    (["--out", "/nowhere/at/all"], "expected the folder"),
]


@pytest.mark.parametrize(("more", "told"), WRONG)
def test_wrong_use_is_one_line_and_status_2(
    base: Path, tiny_model: Path, capsys: CaptureResult, more: list[str], told: str
) -> None:
    assert backfill(base, tiny_model, *more) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1


def test_a_backfill_over_nothing_says_so_with_status_0(
    base: Path, tiny_model: Path, capsys: CaptureResult
) -> None:
    for more, version in (([], "v1"), (["--where", "run_id < '2020'"], "v2")):
        assert backfill(base, tiny_model, *more, version=version) == 0
        assert "nothing to fill" in capsys.readouterr().out
    other = base / "other.json"
    other.write_text('{"type": "object", "properties": {"a": {"type": "string"}}}')
    assert run(["backfill", "--schema", str(other), "--out", str(base / "out")]) == 0
    assert "there are records of note" in capsys.readouterr().out


def test_a_schema_that_the_folder_holds_is_named_as_it_is_there(
    base: Path, tiny_model: Path, capsys: CaptureResult
) -> None:
    said = ["backfill", "--schema", "note", "--out", str(base / "out"), "--model", str(tiny_model), "--dry-run"]
    assert run([*said, "--below", "1"]) == 0
    assert "3 documents" in capsys.readouterr().out


@pytest.mark.slow
def test_the_work_is_estimated_first_and_then_done(
    base: Path, tiny_model: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ["--where", "run_id >= '2024'", "--source", str(base / "docs")]
    assert backfill(base, tiny_model, "--dry-run", *chosen) == 0
    said = capsys.readouterr().out
    assert "to be filled: /done" in said and "3 documents of 36 tokens, about " in said
    assert query(base / "out", "select count(*) from runs").rows == [(1,)]
    (base / "archive").mkdir()
    (base / "docs" / "2.txt").rename(base / "archive" / "old.txt")
    assert backfill(base, tiny_model) == 0
    said = capsys.readouterr().out
    assert "2.txt is not there any more" in said and "2 written, 0 quarantined, 1 skipped" in said
    monkeypatch.setattr("cinnabar.apps.cli.backfill.NAMED", 0)
    assert backfill(base, tiny_model) == 0
    said = capsys.readouterr().out
    assert "2.txt" not in said and "… and 1 more" in said
    assert backfill(base, tiny_model, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["estimate"]["documents"], found["estimate"]["lost"], found["summary"]["skipped"]) == (
        0,
        1,
        1,
    )
    assert query(base / "out", "select count(*), count(schema_fingerprint) from note_all").rows == [(3, 3)]
    assert backfill(base, tiny_model, "--from", str(base / "archive")) == 0
    assert "1 written, 0 quarantined, 0 skipped" in capsys.readouterr().out
