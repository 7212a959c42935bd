"""`cinnabar model check` and `cinnabar model fetch`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import hub_server
from tests.support.hub_server import Hub
from tests.support.tiny_checkpoint import write_checkpoint, write_texts

from cinnabar.apps.cli.main import run


def test_check_shows_the_facts_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_checkpoint(tmp_path)
    assert run(["model", "check", str(tmp_path), "--device", "cpu", "--no-run", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["family"], shown["block"], shown["problems"]) == ("SDAR", 4, [])
    assert run(["model", "check", str(tmp_path), "--device", "cpu", "--no-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "parameters                 38,080" in lines
    assert "missing tensors            none" in lines


def test_check_of_a_model_that_cannot_be_loaded_ends_with_its_first_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_checkpoint(tmp_path)
    write_texts(tmp_path, mask_token=None)
    (tmp_path / "model.safetensors").unlink()
    assert run(["model", "check", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out.count("\nproblems  ") == 2
    assert told.err.count("\n") == 1
    assert "expected the mask token of a diffusion model" in told.err


def labelled(folder: Path) -> Path:
    """Writes a labelled set of three short documents."""
    folder.mkdir()
    schema = {
        "title": "note",
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}},
        "required": ["name"],
    }
    (folder / "schema.json").write_text(json.dumps(schema))
    lines = [{"file": f"{number}.txt", "truth": {"name": f"N{number}"}} for number in range(3)]
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Name: N{number}\n")
    return folder


def test_check_runs_labelled_documents_through_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_checkpoint(tmp_path / "model", window=1024)
    arguments = ["model", "check", str(tmp_path / "model"), "--sets", str(labelled(tmp_path / "notes"))]
    arguments += ["--device", "cpu", "--effort", "instant", "--workers", "1"]
    assert run([*arguments, "--limit", "2", "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)["run"]
    assert (ran["documents"], ran["no record, by reason"]) == (2, {})
    assert ran["passes a record"] >= 1 and ran["tokens a pass"] > 1
    write_checkpoint(tmp_path / "model", writes_records=True, window=1024)
    assert run([*arguments, "--limit", "2", "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)["run"]
    assert (ran["documents"], ran["no record, by reason"]) == (2, {})
    assert 0 <= ran["f1"] <= 1
    assert ran["passes a record"] >= 1
    assert ran["tokens a record"] >= 4
    spelled = ran["passes a record"] * (ran["chosen tokens a pass"] + ran["forced tokens a pass"])
    assert spelled == pytest.approx(ran["tokens a record"], rel=0.05)
    assert ran["tokens/s"] == pytest.approx(2 * ran["tokens a record"] / ran["seconds, prompts included"], rel=0.2)
    assert run(arguments) == 0
    assert "\ndocuments                  3\n" in capsys.readouterr().out


def test_check_runs_nothing_through_a_model_with_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_checkpoint(tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    arguments = ["model", "check", str(tmp_path / "model"), "--sets", str(labelled(tmp_path / "notes")), "--json"]
    assert run(arguments) == 2
    assert "run" not in json.loads(capsys.readouterr().out)
    assert run(["model", "check", str(tmp_path / "model"), "--sets", str(tmp_path / "none")]) == 2


def test_fetch_writes_a_folder_that_check_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in (tmp_path / "source").iterdir()}
    monkeypatch.chdir(tmp_path)
    with hub_server.running(Hub("org/tiny", files)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert run(["model", "fetch", "org/tiny"]) == 0
        assert run(["model", "fetch", "org/none"]) == 2
    told = capsys.readouterr()
    assert "written: models/tiny: 5 files, 0.00 GB, commit 0123456789ab" in told.out
    assert "org/none: expected ORG/NAME of a model" in told.err
    assert run(["model", "check", "models/tiny", "--device", "cpu", "--no-run"]) == 0
