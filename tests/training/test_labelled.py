"""Labelled sets as sources: what the recipe holds back is left out, and what cannot be read is left out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.tiny_network import wordpieces
from training.calibrate import sets_of_recipe
from training.labelled import held_back_part, set_source
from training.recipe import MadeRecipe, Recipe, SetRecipe, is_held_back

from cinnabar.extraction.run.batch.labelled_sets import LabelledSet

FILES = [f"{number}.txt" for number in range(60)]
RECIPE = Recipe({"trained": SetRecipe()}, ("left",), {}, MadeRecipe())


def labelled(name: str) -> LabelledSet:
    return LabelledSet(name, Path(name), tuple({"file": f, "truth": {}} for f in FILES), {}, {})


def files_of(one: LabelledSet) -> list[str]:
    return [line["file"] for line in one.truths]


def test_of_a_set_that_trains_a_part_is_held_back_and_of_others_all() -> None:
    kept = files_of(held_back_part(labelled("trained"), RECIPE))
    assert kept == [f for f in FILES if is_held_back(f, {}, SetRecipe())] and 0 < len(kept) < 30
    assert files_of(held_back_part(labelled("left"), RECIPE)) == FILES
    assert files_of(held_back_part(labelled("other"), RECIPE)) == FILES


def test_a_calibration_of_the_shipped_weights_takes_the_sets_that_the_recipe_names() -> None:
    found = sets_of_recipe([labelled(name) for name in ("left", "other", "trained")], RECIPE)
    assert [(one.name, len(one.truths) < len(FILES)) for one in found] == [("left", False), ("trained", True)]


def test_unreadable_documents_are_no_training_source(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    schema = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["letter", "notice"]}}}
    (folder / "schema.json").write_text(json.dumps(schema))
    lines = [json.dumps({"file": f"{number}.txt", "truth": {"kind": "letter"}}) for number in range(14)]
    (folder / "truth.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "1.txt").write_text("")
    (folder / "0.txt").write_bytes(b"\0" * 9)
    for number in range(2, 14):
        (folder / f"{number}.txt").write_text(f"Dear reader {number},\nnothing here says what it is.\n")
    source = set_source(folder, wordpieces(), SetRecipe())
    assert len(source.train) == sum(not is_held_back(f"{number}.txt", {}) for number in range(2, 14))
    assert (source.name, source.shared_schema) == ("set", True)
