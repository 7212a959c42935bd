"""The commands `cinnabar label` and `cinnabar truth`: from documents to a set, and wrong use refused at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run


def corrected(folder: Path) -> None:
    for path in (folder / "drafts").glob("*.json"):
        draft = json.loads(path.read_text())
        draft["truth"], draft["checked"] = {"author": "Anna", "day": "2024-05-01"}, True
        path.write_text(json.dumps(draft, indent=1))


def test_a_set_is_drafted_corrected_and_scored(
    notes: Path, tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = str(tmp_path / "own")
    asked = ["label", str(notes), "--schema", str(tmp_path / "note.json"), "--out", own]
    assert run([*asked, "--model", str(tiny_model)]) == 0
    printed = capsys.readouterr()
    assert f"3 drafts in {own}/drafts; " in printed.out and f"cinnabar truth {own}" in printed.out
    assert "docs/broken.pdf: truncated" in printed.err
    assert run(["truth", own]) == 0
    assert "0 drafts taken, 3 not checked yet; 0 documents with a truth" in capsys.readouterr().out
    corrected(tmp_path / "own")
    assert run(["truth", own]) == 0
    assert "3 drafts taken" in capsys.readouterr().out
    assert run(["eval", own, "--model", str(tiny_model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3
    assert run([*asked, "--model", str(tiny_model)]) == 0
    assert "nothing new to draft: 3 documents drafted before, 1 not read" in capsys.readouterr().out


def test_wrong_drafts_are_named_with_file_line_and_place(
    notes: Path, tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own"
    schema = ["--schema", str(tmp_path / "note.json"), "--model", str(tiny_model)]
    assert run(["label", str(notes), *schema, "--out", str(own), "--documents", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 1
    corrected(own)
    (path,) = (own / "drafts").glob("*.json")
    path.write_text(path.read_text().replace('"2024-05-01"', '"May"'))
    assert run(["truth", str(own)]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith(f'{path}:6: /day: "May" is not ')
    assert "to be corrected first: 1 of the drafts; nothing was written" in printed.err
    assert not (own / "truth.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["label", "{docs}", "--schema", "{schema}", "--out", "{out}", "--documents", "0"],
            "at least 1, got 0",
        ),
        (["label", "{docs}", "--schema", "none", "--out", "{out}"], "expected a JSON Schema file"),
        (["label", "{docs}/no", "--schema", "{schema}", "--out", "{out}"], "no such file or folder"),
        (["label", "{docs}", "--schema", "{schema}", "--out", "{out}", "--model", "none"], "--model none"),
        (["label", "{docs}", "--schema", "{schema}"], "--out"),
        (["truth", "{docs}"], "expected a set with schema.json and drafts"),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], told: str, notes: Path, tmp_path: Path, tiny_model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    places = {"docs": notes, "schema": tmp_path / "note.json", "out": tmp_path / "out"}
    said = [argument.format(**places) for argument in arguments]
    if said[0] == "label" and "--model" not in said:
        said += ["--model", str(tiny_model)]
    assert run(said) == 2
    printed = capsys.readouterr()
    assert not printed.out and told in printed.err and printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
