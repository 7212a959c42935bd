"""The report of rules: a row with all rules, a row without each, and a row without any."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from bench.labelled_sets import DRAWN
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.recipe import load_recipe
from training.whole_model import save_network

from cinnabar.engine.models.reader.priors.config import RULES

REPORT = "bench.ablation"


def letters(folder: Path) -> Path:
    (folder / "docs").mkdir(parents=True)
    author = {"type": ["string", "null"]}
    schema = {"type": "object", "required": ["author"], "properties": {"author": author}}
    (folder / "schema.json").write_text(json.dumps(schema))
    for i in range(3):
        (folder / "docs" / f"{i}.txt").write_text(f"Author: Anna {i}\n")
    lines = [{"file": f"docs/{i}.txt", "truth": {"author": f"Anna {i}"}} for i in range(3)]
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_sets_that_were_drawn_train_and_are_twelve() -> None:
    recipe = load_recipe()
    assert len({*DRAWN}) == 12
    assert {*DRAWN} <= recipe.sets.keys() - {*recipe.left_out}


@pytest.mark.slow
def test_the_table_has_a_row_for_each_rule_and_the_worth_of_each_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_network(tmp_path / "model", tiny_network(), VOCABULARY, {"name": "tiny"})
    sets = [letters(tmp_path / name) for name in ("first", "second")]
    more = ("--limit", "2", "--draws", "2", "--model", tmp_path / "model", "--device", "cpu")
    monkeypatch.setattr(sys, "argv", [REPORT, *map(str, (*sets, *more))])
    runpy.run_module(REPORT, run_name="__main__")
    _, _, head, _, *rows = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]
    assert cells[0] == ["without", "F1", "invented", "worth"]
    assert [row[0] for row in cells[1:]] == ["nothing", *RULES, "all rules"]
    assert cells[1][3].split() == ["+0.0000", "+0.0000"]
    assert all(len(row[3].split()) == 2 and 0 <= float(row[1]) <= 1 for row in cells[1:])
