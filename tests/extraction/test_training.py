"""A model of one's own from labelled documents: written only where it measures better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_network import VOCABULARY, passage_of, tiny_network, wordpieces

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.loading import load_model, save_network
from cinnabar.engine.request import Filled, Request
from cinnabar.engine.training.recipe import is_held_back
from cinnabar.extraction.labelled import training_source, truths_of
from cinnabar.extraction.training import OWN, FineTuning, fine_tune
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import UsageError

KINDS = ("letter", "notice")
SCHEMA = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": [*KINDS]}}}
SETTINGS = FineTuning(minutes=0.04)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    save_network(folder, tiny_network(), VOCABULARY, {"name": "tiny"})
    return folder


def text_of(number: int) -> str:
    return f"Dear reader {number},\nnothing here says what it is.\n"


def guess(base: Path) -> str:
    """What the base takes these documents for."""
    request = Request("a", compile_schema(SCHEMA).form, passage_of(text_of(0)))
    result = Engine(load_model(base, "cpu")).fill([request])[0]
    assert isinstance(result, Filled)
    return str(json.loads(result.record)["kind"])


def write_set(folder: Path, truth: Any, count: int = 14) -> Path:
    folder.mkdir()
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    lines = []
    for i in range(count):
        (folder / f"{i}.txt").write_text(text_of(i))
        lines.append(json.dumps({"file": f"{i}.txt", "truth": truth}))
    (folder / "truth.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_a_model_that_measures_better_is_written_and_can_be_used(base: Path, tmp_path: Path) -> None:
    wanted = next(kind for kind in KINDS if kind != guess(base))
    folder = write_set(tmp_path / "letters", {"kind": wanted})
    reported: list[dict[str, float]] = []
    done = fine_tune([folder], base, tmp_path / "own", SETTINGS, "cpu", reported.append)
    (result,) = done.sets
    held = [i for i in range(14) if is_held_back(f"{i}.txt", {}, OWN)]
    assert (result.name, result.measured, result.trained) == ("letters", len(held), 14 - len(held))
    assert (result.before, result.after, done.kept) == (0.0, 1.0, True)
    assert guess(tmp_path / "own") == wanted
    said = json.loads((tmp_path / "own" / "model.json").read_text())
    assert said["base"]["fingerprint"] == load_model(base, "cpu").fingerprint
    assert not [*(tmp_path / "own").rglob("checkpoint.pt")]


def test_a_model_that_measures_no_better_is_not_written(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "letters", {"kind": guess(base)})
    settings = FineTuning(minutes=0.005)
    done = fine_tune([folder], base, tmp_path / "own", settings, "cpu", lambda _: None)
    assert not done.kept and done.sets[0].after <= done.sets[0].before == 1.0
    assert not (tmp_path / "own" / "model.json").exists()


def test_too_few_documents_are_told(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "few", {"kind": "letter"}, count=4)
    with pytest.raises(UsageError, match=r"few: expected at least 10 labelled documents .* found 4"):
        fine_tune([folder], base, tmp_path / "own", SETTINGS, "cpu", lambda _: None)


def test_documents_that_cannot_be_read_are_no_source(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", {"kind": "letter"})
    (folder / "0.txt").unlink()
    (folder / "1.txt").write_text("")
    source = training_source(folder, wordpieces(), OWN)
    assert len(source.train) + len(source.held_back) == 12
    assert (source.name, source.shared_schema) == ("set", True)


def test_a_folder_without_truth_is_no_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a set with schema\.json and truth\.jsonl"):
        truths_of(tmp_path)
