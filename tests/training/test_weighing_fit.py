"""Fitting the scales that weigh two readings, judged on sets that the fit did not use."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.reading_model import ReadingModel
from training.kept import keep
from training.weighing_fit import SIGNS, fitted, left_out, two_readings, worth

from cinnabar.engine.fill.engine import Engine, Watcher
from cinnabar.engine.request import Filled, Filler, Leaf, Request, Result
from cinnabar.extraction.filling.merge.weighing import NULLS, VALUES
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, load_set

SCHEMA = {"type": "object", "properties": {"city": {"type": ["string", "null"]}}, "required": ["city"]}


def kept_set(folder: Path, answers: Path, seed: int) -> LabelledSet:
    """A set whose kept answers are right where both agree, and else where they are sure."""
    draw = random.Random(seed)
    lines, answered = list[dict[str, Any]](), dict[str, tuple[Filled, ...]]()
    for number in range(40):
        readings, truth = [], None
        agreed = draw.random() < 0.5
        for reading in range(2):
            sure = draw.choice((0.2, 0.8))
            city = f"C{number if agreed else number * 2 + reading}"
            truth = city if agreed or (sure == 0.8 and draw.random() < 0.8) else truth
            leaf = Leaf(json.dumps(city), sure, origin="copied", slot=0)
            readings.append(Filled("", {"city": city}, {"/city": leaf}, {}, 0, 0))
        lines.append({"file": f"{number}.txt", "truth": {"city": truth}})
        answered[f"{number}.txt"] = tuple(readings)
    folder.mkdir(parents=True)
    for line in lines:
        (folder / line["file"]).touch()
    (folder / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    keep(answers / f"{folder.name}.pickle", answered)
    return load_set(folder)


def test_kept_answers_are_fitted_without_a_model_and_judged_on_the_sets_left_out(tmp_path: Path) -> None:
    def unasked() -> Sequence[Filler]:
        raise AssertionError("a model was asked")

    documents = []
    for seed, name in enumerate(("first", "second", "third")):
        documents += two_readings(kept_set(tmp_path / "sets" / name, tmp_path, seed), unasked, tmp_path)
    values, nulls = fitted(documents)
    assert values.weights["own"] > 0.3 and values.weights["agreed"] > 0.5 and nulls.weights["value"] < 0
    found = left_out(documents)
    assert {name: len(own) for name, own in found.items()} == dict.fromkeys(("first", "second", "third"), 40)
    figures = worth(found, documents)
    assert float(figures["F1"]) > 0.7 and float(figures["AUROC of values"]) > 0.8
    assert float(figures["ECE of values"]) < 0.15


def test_both_models_are_asked_once_and_the_second_one_beside_the_record_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("city=Ulm\n", encoding="utf-8")
    (folder / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    line = {"file": "a.txt", "truth": {"city": "Ulm"}}
    (folder / "truth.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    drafts = list[Filled | None]()

    class Recording(Engine):
        def fill(self, requests: Sequence[Request], watcher: Watcher | None = None) -> list[Result]:
            drafts.extend(request.passage.draft for request in requests)
            return super().fill(requests, watcher)

    models = [Recording(ReadingModel()), Recording(ReadingModel())]
    for _ in range(2):
        (document,) = two_readings(load_set(folder), lambda: models, tmp_path)
        assert [json.loads(one.record) for one in document.readings] == [{"city": "Ulm"}] * 2
        assert next(iter(document.candidates()))[2] and len(list(document.candidates())) == 2
    assert drafts == [None, document.readings[0]]


@pytest.mark.parametrize(("scale", "signs"), [(VALUES, SIGNS[0]), (NULLS, SIGNS[1])])
def test_the_shipped_scales_weigh_the_signs_that_are_fitted(scale: Any, signs: tuple[str, ...]) -> None:
    assert tuple(scale.weights) == signs and scale.weights["own"] > 0 and scale.weights["agreed"] > 0
