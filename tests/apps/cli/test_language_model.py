"""Commands with a language model's folder: extract, escalation, backfill, eval; and one line for wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.apps.cli.main import run

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
    asked = ["extract", "docs", "--schema", "one.json", "--out", "out", "--on", "missing=guess", "--json"]
    return [*asked, "--effort", "instant", "--model", model, *more]


def labelled(place: Path) -> Path:
    """A set of the schema one.json with a document for each of two names."""
    folder = place / "set"
    folder.mkdir()
    (folder / "schema.json").write_bytes((place / "one.json").read_bytes())
    lines = []
    for name in ("K1", "K2"):
        (folder / f"{name}.txt").write_text(f"Name: {name}\n")
        lines.append({"file": f"{name}.txt", "truth": {"name": name}})
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.slow
def test_examples_are_shown_in_every_command_that_fills(model: str, place: Path, capsys: Captured) -> None:
    folder = str(labelled(place))
    for written, skipped in ((3, 0), (0, 3)):
        assert run(extract(model, "--examples", folder)) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["written"], said["skipped"]) == (written, skipped)
    assert run(extract(model)) == 0
    assert json.loads(capsys.readouterr().out)["written"] == 3  # without examples, another key
    common = ["--model", model, "--effort", "instant", "--json"]
    assert run(["eval", folder, "--examples", folder, *common]) == 0
    assert json.loads(capsys.readouterr().out)["answered"] == 2
    said_twice = json.loads((place / "set" / "schema.json").read_text()) | json.loads((place / "two.json").read_text())
    (place / "set" / "schema.json").write_text(json.dumps(said_twice))
    lines = [{"file": f"{name}.txt", "truth": {"name": name, "kind": "a"}} for name in ("K1", "K2")]
    (place / "set" / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["backfill", "--schema", "two.json", "--out", "out", "--examples", folder, *common]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["written"] == 3


@pytest.mark.parametrize(
    "command",
    [
        ["extract", "docs", "--schema", "one.json", "--out", "out"],
        ["eval", "set"],
        ["flows", "serve", "docs", "--schema", "one.json", "--out", "out"],
    ],
)
def test_examples_are_refused_where_nothing_has_a_prompt(place: Path, capsys: Captured, command: list[str]) -> None:
    labelled(place)
    assert run([*command, "--examples", "set"]) == 2
    # Confidence that was fitted with older rules is told, too.
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "was fitted with" not in line]
    assert "the reader has no prompt, so train it on the set: cinnabar improve --set SET" in told


def test_examples_without_room_are_told_before_any_document(model: str, place: Path, capsys: Captured) -> None:
    folder = labelled(place)
    for name in ("K1", "K2"):
        (folder / f"{name}.txt").write_text("Name of a long document\n" * 200)
    for command in (extract(model), ["eval", "set", "--model", model]):
        assert run([*command, "--examples", "set"]) == 2
        assert "--examples: the shortest of 2 examples takes" in capsys.readouterr().err
