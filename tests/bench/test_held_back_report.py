"""The report over documents that training never saw: of a set that trains it scores those held back."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from bench.labelled_sets import DRAWN
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.recipe import is_held_back, load_recipe
from training.whole_model import save_network

REPORT = "bench.held_back_report"


def letters(folder: Path, count: int) -> list[str]:
    folder.mkdir(parents=True)
    files = [f"{number}.txt" for number in range(count)]
    schema = {"type": "object", "required": ["author"], "properties": {"author": {"type": ["string", "null"]}}}
    (folder / "schema.json").write_text(json.dumps(schema))
    for file in files:
        (folder / file).write_text("Author: Anna\n")
    lines = [json.dumps({"file": file, "truth": {"author": "Anna"}}) for file in files]
    (folder / "truth.jsonl").write_text("".join(line + "\n" for line in lines))
    return files


def test_the_sets_that_were_drawn_train_and_are_twelve() -> None:
    recipe = load_recipe()
    assert len({*DRAWN}) == 12
    assert {*DRAWN} <= recipe.sets.keys() - {*recipe.left_out}


def test_a_set_that_trains_counts_with_its_documents_held_back_and_others_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_network(tmp_path / "model", tiny_network(), VOCABULARY, {"name": "tiny"})
    files = letters(tmp_path / "sets" / "ping_output", 20)
    letters(tmp_path / "sets" / "own_letters", 3)
    held = [file for file in files if is_held_back(file, {}, load_recipe().sets["ping_output"])]
    assert 0 < len(held) < 20
    asked = [REPORT, str(tmp_path / "sets"), "--model", str(tmp_path / "model"), "--device", "cpu"]
    # A module that another test has imported is not run again without a warning.
    monkeypatch.delitem(sys.modules, REPORT, raising=False)
    monkeypatch.setattr(sys, "argv", [*asked, "--json"])
    runpy.run_module(REPORT, run_name="__main__")
    sets = json.loads(capsys.readouterr().out)["sets"]
    assert {name: own["documents"] for name, own in sets.items()} == {"own_letters": 3, "ping_output": len(held)}
    monkeypatch.setattr(sys, "argv", [*asked, "--limit", "1", "--beside-constant"])
    runpy.run_module(REPORT, run_name="__main__")
    told = capsys.readouterr().out
    assert "constant" in told and "ping_output" in told and "mean" in told
