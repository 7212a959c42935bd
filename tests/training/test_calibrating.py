"""Fitting a calibration to documents that training never saw, judged on sets that the fit did not use."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.tiny_network import BILL, VOCABULARY, bill, tiny_network
from training.calibrate import main, means_of_lists, reliability_svg
from training.calibration_data import Observation, unseen_files, without_row
from training.confidence_fit import SIGNS, calibrate, fit, worth
from training.whole_model import save_network

from cinnabar.engine.models.identity import SHIPPED, weights_fingerprint
from cinnabar.engine.models.reader.calibration import (
    Calibration,
    Scale,
    load_calibration,
    save_calibration,
)
from cinnabar.engine.models.reader.confidence_features import log_odds
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.network.network import Network, Size
from cinnabar.engine.request import Filled, Leaf
from cinnabar.errors import CinnabarError, UsageError
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, load_set, mark_of


def observed(name: str, count: int, seed: int, honest: float) -> list[Observation]:
    """Leaves of a model that says p; the log odds that one is right are `honest` times those of p."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        odds = rng.uniform(-6, 6)
        raw, true = (1 / (1 + 2.718281828**-x) for x in (odds, odds * honest))
        for family in SIGNS:
            signs = dict.fromkeys(SIGNS[family], 0.0) | {"posterior": log_odds(raw)}
            found.append(Observation(name, str(number), family, raw, rng.random() < true, signs))
    return found


def test_an_overconfident_model_is_corrected_on_sets_outside_the_fit() -> None:
    seen = [one for at in range(6) for one in observed(f"set {at}", 120, at, honest=0.3)]
    done = fit(seen, "w")
    before, after = worth(seen, [one.raw for one in seen]), worth(seen, list(done.crossed))
    assert before.error > 0.15 > 0.05 > after.error
    assert (after.sets, after.leaves) == (6, len(seen))
    assert done.calibration.values.weights["posterior"] == pytest.approx(0.3, abs=0.08)
    assert done.calibration.about["sets"] == [f"set {at}" for at in range(6)]


def test_confidence_rises_with_the_models_probability_against_contrary_data() -> None:
    done = fit([one for at in range(3) for one in observed(f"set {at}", 80, at, honest=-0.5)], "w")
    assert done.calibration.values.weights["posterior"] == 0.0


def test_the_shipped_calibration_weighs_the_signs_that_are_fitted() -> None:
    found = load_calibration(SHIPPED, weights_fingerprint("default"))
    assert found is not None
    scales = {family: getattr(found, family) for family in SIGNS}
    fitted = {family: set(scale.weights) for family, scale in scales.items() if scale is not None}
    assert fitted == {family: set(SIGNS[family]) for family in fitted}
    assert {"values", "absences", "rows"} <= fitted.keys()


def test_little_evidence_leaves_a_calibration_near_its_prior() -> None:
    scale = Scale(0.5, {"posterior": 0.8, "label": 0.4})
    prior = Calibration(scale, scale, scale, "base")
    little = fit(observed("mine", 3, 0, honest=0.1), "w", prior).calibration
    much = fit(observed("mine", 400, 0, honest=0.1), "w", prior).calibration
    assert abs(little.values.weights["posterior"] - 0.8) < 0.3 < 0.8 - much.values.weights["posterior"]
    assert little.values.weights["label"] == 0.4, "a sign that never changed keeps its weight"
    assert fit([], "w", prior).calibration.rows.bias == 0.5


def labelled(name: str, files: list[str]) -> LabelledSet:
    return LabelledSet(name, Path(name), tuple({"file": f, "truth": {}} for f in files), {}, {})


def test_documents_that_the_weights_were_trained_on_do_not_count() -> None:
    files = [f"{number}.txt" for number in range(60)]
    assert unseen_files(labelled("left", files), {"sources": ["left"]}) == files
    tuned = {"base": {}, "trained": {"mine": [mark_of(f) for f in files[:40]], "other": [mark_of(files[50])]}}
    assert unseen_files(labelled("mine", files), tuned) == files[40:]


@pytest.fixture(name="bills")
def _bills(tmp_path: Path) -> LabelledSet:
    folder = tmp_path / "bills"
    folder.mkdir()
    lines: list[dict[str, Any]] = []
    for number in range(6):
        text, truth = bill(number)
        (folder / f"{number}.txt").write_text(text)
        lines.append({"file": f"{number}.txt", "truth": truth})
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "schema.json").write_text(json.dumps(BILL))
    return load_set(folder)


def test_a_models_folder_gets_its_calibration_and_reading_is_done_once(
    bills: LabelledSet, tmp_path: Path
) -> None:
    model, cache = tmp_path / "model", tmp_path / "cache"
    save_network(model, tiny_network(), VOCABULARY, {})
    weights = weights_fingerprint(model)
    done = calibrate([bills], model, "cpu", cache, limit=4, workers=1)
    assert {one.document for one in done.seen} == {f"{number}.txt" for number in range(4)}
    assert load_calibration(model, weights) == done.fit.calibration
    assert load_model(model, "cpu").calibration == done.fit.calibration
    (kept,) = cache.iterdir()
    before = kept.stat().st_mtime_ns
    again = calibrate([bills], model, "cpu", cache, limit=4, workers=1)
    assert kept.stat().st_mtime_ns == before and again.fit.calibration == done.fit.calibration


@pytest.mark.parametrize("changed", ["0.txt", pytest.param("schema.json", marks=pytest.mark.slow)])
def test_observations_of_another_schema_or_document_are_not_used(
    bills: LabelledSet, tmp_path: Path, changed: str
) -> None:
    model, cache = tmp_path / "model", tmp_path / "cache"
    save_network(model, tiny_network(), VOCABULARY, {})
    calibrate([bills], model, "cpu", cache, limit=1, workers=1)
    path = bills.folder / changed
    text = json.dumps(json.loads(path.read_text()) | {"title": "other"}) if "json" in changed else "other\n"
    path.write_text(text)
    calibrate([load_set(bills.folder)], model, "cpu", cache, limit=1, workers=1)
    assert len([*cache.iterdir()]) == 2


def test_a_stale_calibration_does_not_keep_a_model_from_being_calibrated(
    bills: LabelledSet, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    save_network(model, tiny_network(), VOCABULARY, {})
    save_calibration(model, Calibration(Scale(0, {}), Scale(0, {}), Scale(0, {}), "other weights"))
    calibrate([bills], model, "cpu", None, limit=2, workers=1)
    assert load_calibration(model, weights_fingerprint(model)) is not None


def test_a_set_without_documents_for_the_fit_is_an_error(bills: LabelledSet, tmp_path: Path) -> None:
    save_network(tmp_path / "model", tiny_network(), VOCABULARY, {})
    with pytest.raises(UsageError, match="labelled document that can be read and did not train the model"):
        calibrate([bills.select([])], tmp_path / "model", "cpu", workers=1)


def test_a_diagram_shows_how_often_leaves_are_right() -> None:
    drawn = reliability_svg([("raw", [(0.95, True), (0.95, False), (0.15, False)]), ("none", [])])
    assert drawn.startswith("<svg") and drawn.count("<circle") == 2
    assert "2 leaves, confidence 0.95, right 0.50" in drawn and "calibration error 0.350" in drawn


def test_a_record_without_a_row_has_its_later_rows_one_place_up() -> None:
    leaves = {f"/rows/{at}/name": Leaf(json.dumps(name), 0.9) for at, name in enumerate("abc")}
    rows = {f"/rows/{at}": (at, 0.9) for at in range(3)}
    record = {"rows": [{"name": name} for name in "abc"], "total": 3}
    less = without_row(Filled("x", record, leaves | {"/total": Leaf("3", 0.9)}, rows, 1, 0), "/rows", 1)
    assert json.loads(less.record) == {"rows": [{"name": "a"}, {"name": "c"}], "total": 3}
    assert {at: leaf.text for at, leaf in less.leaves.items()} == {
        "/rows/0/name": '"a"', "/rows/1/name": '"c"', "/total": "3"
    }  # fmt: skip
    assert less.rows == {"/rows/0": (0, 0.9), "/rows/1": (2, 0.9)}


def test_the_command_prints_the_worth_of_confidence_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled, model, drawn = tmp_path / "set", tmp_path / "own", tmp_path / "own.svg"
    (labelled / "docs").mkdir(parents=True)
    fields = {"author": {"type": ["string", "null"]}, "day": {"type": ["string", "null"], "format": "date"}}
    (labelled / "schema.json").write_text(json.dumps({"title": "letter", "type": "object", "properties": fields}))
    for number in range(3):
        (labelled / f"docs/{number}.txt").write_text("Author: Anna\n")
    lines = [{"file": f"docs/{n}.txt", "truth": {"author": "Anna", "day": None}} for n in range(3)]
    (labelled / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    size = Size(hidden=48, heads=4, inner=64, layers=1, decoder_layers=1, pointer=16)
    save_network(model, Network(size), SHIPPED / "vocab.txt", {"sources": []})
    asked = ["calibrate", str(labelled), "--model", str(model), "--workers", "1", "--diagram", str(drawn)]
    monkeypatch.setattr("sys.argv", asked)
    main()
    told = capsys.readouterr().out
    assert "all sets" in told and "after" in told and " 6 " in told
    assert (model / "calibration.json").is_file() and drawn.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("sets", "more", "said"),
    [
        (["empty"], [], "truth.jsonl"),
        (["set"], ["--model", "empty"], "model.json"),
        (["set", "set"], [], "sets with different names"),
    ],
)
def test_what_the_command_cannot_do_is_told_before_any_work(
    sets: list[str], more: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "set", "model"):
        Path(name).mkdir()
    Path("model/model.json").write_text("{}")
    Path("set/a.txt").write_text("a")
    Path("set/schema.json").write_text("{}")
    Path("set/truth.jsonl").write_text('{"file": "a.txt", "truth": {}}\n')
    monkeypatch.setattr("sys.argv", ["calibrate", *sets, "--model", "model", *more])
    with pytest.raises(CinnabarError, match=said):
        main()
    assert not Path("model/calibration.json").exists()


def test_lists_of_several_sets_are_rated_together_and_by_the_means_over_the_sets() -> None:
    together = means_of_lists({"x": [(0.9, True), (0.1, False)], "y": [(0.5, True)]})
    assert (together["sets"], together["rated_lists"], together["list_auc"]) == (2, 3, 1)
    assert (together["mean_auc"], together["mean_ece"]) == (1, pytest.approx((0.1 + 0.5) / 2))
