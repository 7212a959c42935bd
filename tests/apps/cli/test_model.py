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
    assert run(["model", "check", str(tmp_path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["family"], shown["block"], shown["problems"]) == ("SDAR", 4, [])
    assert run(["model", "check", str(tmp_path)]) == 0
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
    assert run(["model", "check", "models/tiny"]) == 0
