"""Commands with a language model's folder: extract, escalation, backfill, eval, label; and one line for wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_checkpoint import write_checkpoint

from cinnabar.flows.cli.main import run

NAME = {"type": "string", "maxLength": 6}
KIND = {"enum": ["a", "b", None]}
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_checkpoint(tmp_path_factory.mktemp("language"), window=2048, block=8))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three documents, a schema and its next version; it is the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for number in range(3):
        (tmp_path / "docs" / f"{number}.txt").write_text(f"Name: N{number}\n")
    for file, properties in (("one.json", {"name": NAME}), ("two.json", {"name": NAME, "kind": KIND})):
        schema = {"title": "note", "type": "object", "properties": properties, "required": [*properties]}
        (tmp_path / file).write_text(json.dumps(schema))
    return tmp_path


def extract(model: str, *more: str) -> list[str]:
    asked = ["extract", "docs", "--schema", "one.json", "--out", "out", "--on-missing", "guess", "--json"]
    return [*asked, "--device", "cpu", "--effort", "instant", "--workers", "1", "--model", model, *more]


@pytest.mark.usefixtures("place")
def test_a_folder_reads_documents_and_brings_them_to_a_new_version(model: str, capsys: Captured) -> None:
    assert run(extract(model)) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["written"], first["quarantined"], first["usage"]) == (3, 0, None) and first["steps"] > 0
    assert run(extract(model)) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 3
    assert run(extract(model, "--steps", "3")) == 0
    assert json.loads(capsys.readouterr().out)["written"] == 3  # other steps, another key
    brought = ["backfill", "--schema", "two.json", "--out", "out", "--model", model, "--effort", "instant"]
    assert run([*brought, "--device", "cpu", "--workers", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["estimate"]["asked"] == ["/kind"] and said["summary"]["written"] == 3


@pytest.mark.usefixtures("place")
def test_unsure_fields_are_escalated_to_a_folder(model: str, tiny_model: Path, capsys: Captured) -> None:
    more = ["--escalate-to", model, "--below", "1"]
    assert run(extract(str(tiny_model), *more)) == 0
    usage = json.loads(capsys.readouterr().out)["usage"]
    assert usage["escalated_documents"] == 3 and usage["model"] == Path(model).name
    shown = [*extract(str(tiny_model), *more, "--retry-quarantined"), "--effort", "low"]
    shown.remove("--json")
    assert run(shown) == 0
    assert f"3 fields escalated to {Path(model).name}" in " ".join(capsys.readouterr().out.split())


def test_a_folder_is_scored_and_drafts_labels(model: str, place: Path, capsys: Captured) -> None:
    lines = [{"file": f"docs/{number}.txt", "truth": {"name": f"N{number}"}} for number in range(3)]
    (place / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (place / "schema.json").write_bytes((place / "one.json").read_bytes())
    common = ["--model", model, "--device", "cpu", "--effort", "instant", "--json"]
    assert run(["eval", str(place), *common]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3
    assert run(["label", "docs", "--schema", "one.json", "--out", "own", *common]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model", "docs"], "expected `default` or a folder with model.json"),
        (["--model", "{model}", "--escalate-to", "docs"], "expected mercury-2, openai:NAME, or the folder of a"),
        (["--model", "{model}", "--budget", "1"], "--budget: expected mercury-2 or openai:NAME with it"),
    ],
)
def test_wrong_use_is_one_line(model: str, place: Path, capsys: Captured, more: list[str], said: str) -> None:
    assert run(extract(model, *(part.format(model=model) for part in more))) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not (place / "out").exists()
