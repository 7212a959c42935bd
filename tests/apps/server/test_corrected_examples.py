"""Corrected documents of a results folder are examples in the prompts of a language model behind the server."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.support.server_process import running
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.apps.cli.main import run
from cinnabar.apps.cli.serve import model_of
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.learning.corrected_set import corrected_examples
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.schemas import compile_schema

NOTE: dict[str, Any] = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": ["string", "null"], "maxLength": 8}},
    "required": ["name"],
}


@pytest.fixture
def corrected(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results folder of two documents, one of which is corrected."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for number in range(2):
        Path(f"docs/{number}.txt").write_text(f"Name: N{number}\n")
    Path("note.json").write_text(json.dumps(NOTE))
    asked = ["extract", "docs", "--schema", "note.json", "--out", "out", "--model", str(tiny_model)]
    assert run([*asked, "--json"]) == 0
    digest = sha256(Path("docs/1.txt").read_bytes()).hexdigest()
    changes = [Change(Action.VALUE, "/name", '"N1"')]
    corrector = Corrector(Path("out"))
    corrector.correct(digest, "note", changes, "eva")
    corrector.correct(digest, "note", [Change(Action.ACCEPT, "")], "eva")
    return tmp_path / "out"


def test_a_corrected_document_is_an_example_of_its_schema(corrected: Path) -> None:
    found = corrected_examples(corrected)
    (own,) = found.by_form.values()
    assert [(one.text.strip(), one.record) for one in own] == [("Name: N1", '{"name":"N1"}')]
    assert [*found.by_form] == [compile_schema(NOTE).form.fingerprint]
    Path("docs/1.txt").unlink()
    assert not corrected_examples(corrected).by_form


@pytest.mark.slow
def test_the_server_shows_it_in_a_prompt(corrected: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "tiny", window=2048, block=8)
    asked = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Name: N7"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "note", "schema": NOTE}},
    }
    tokens = []
    for more in ([], ["--out", str(corrected)]):
        with running("--model", str(folder), "--effort", "instant", *more) as server:
            answer = server.post("/chat/completions", asked)
            assert answer.status_code == 200, answer.text
            tokens.append(answer.json()["usage"]["prompt_tokens"])
    assert tokens[1] != tokens[0]


def test_of_several_kept_models_one_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.apps.cli.serve.names", lambda _: ["note", "bill"])
    monkeypatch.setattr("cinnabar.apps.cli.serve.kept_model", lambda out, name: out / name if name == "note" else None)
    with pytest.raises(UsageError, match=r"2 schemas.*--model .*/note` for note, or `--model default`"):
        model_of(RunPlan(out=tmp_path))
    assert model_of(RunPlan(out=tmp_path, model="default")) == "default"


@pytest.mark.slow
def test_the_model_that_the_folder_keeps_is_served(
    corrected: Path, tiny_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = corrected / "models" / "note" / "current"
    shutil.copytree(tiny_model, kept)
    with running("--out", str(corrected)) as server:
        answer = server.post("/extract", {"schema": NOTE, "files": [{"name": "a.txt", "content": "QQ=="}]})
        assert answer.status_code == 200
    assert any(str(kept) in line for line in server.log)
    assert capfd.readouterr().err == ""
    assert run(["serve", "--out", str(corrected / "nothing")]) == 2
    assert "expected a folder of results" in capfd.readouterr().err
