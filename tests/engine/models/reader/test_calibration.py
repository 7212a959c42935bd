"""Calibration: features give confidence, it never falls with the model's probability, and it lies with its model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import BILL, VOCABULARY, bill, passage_of, tiny_model, tiny_network
from training.whole_model import save_network

from cinnabar.apps.cli.main import run
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.identity import SHIPPED, fingerprint_of, stale_calibration, weights_fingerprint
from cinnabar.engine.models.reader.calibration import (
    Calibration,
    Scale,
    carry_calibration,
    features_of,
    load_calibration,
    save_calibration,
)
from cinnabar.engine.models.reader.confidence_features import log_odds
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filled, Leaf, Request
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.schemas import compile_schema

FORM = compile_schema(BILL).form
SLOT = {slot.path: slot.index for slot in FORM.slots}
PASSAGE = passage_of("Seller: Acme Ltd\nTotal: 12.50\n")
HALF = Calibration(Scale(0.0, {"posterior": 0.5}), Scale(0.0, {"posterior": 0.25}), Scale(1.0, {}), "w")


def leaf(path: str, confidence: float, span: tuple[int, int] | None = None, **more: float) -> Leaf:
    return Leaf('"x"', confidence, (span,) if span else (), slot=SLOT[path], **more)  # type: ignore[arg-type]


def filled(rows: dict[str, tuple[int, float]] | None = None, **leaves: Leaf) -> Filled:
    named = {"/" + name.replace("__", "/"): found for name, found in leaves.items()}
    return Filled("a", {}, named, rows or {}, 1, 0)


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 10),
    st.dictionaries(st.text(), st.floats(-5, 5), max_size=3),
)
def test_confidence_never_falls_with_the_models_own_probability(
    one: float, other: float, weight: float, more: dict[str, float]
) -> None:
    scale = Scale(0.3, {**more, "posterior": weight})
    low, high = sorted((one, other))
    signs = dict.fromkeys(more, 1.0)
    confidence = [scale.confidence({**signs, "posterior": log_odds(p)}) for p in (low, high)]
    assert 0.0 <= confidence[0] <= confidence[1] <= 1.0


def test_a_value_an_absence_and_a_row_have_their_own_scales() -> None:
    absent = Leaf(None, 0.8, origin="absent", absence=0.8, slot=SLOT["/due"])
    found = filled({"/lines/0": (3, 0.9)}, seller=leaf("/seller", 0.8, absence=0.1), due=absent)
    done = HALF.calibrate(FORM, PASSAGE, found)
    assert done.leaves["/seller"].confidence == pytest.approx(2 / 3, abs=1e-4)
    assert done.leaves["/due"].confidence == done.leaves["/due"].absence == pytest.approx(0.5858, abs=1e-4)
    assert done.rows["/lines/0"] == (3, pytest.approx(0.7311, abs=1e-4))


def test_the_other_readings_keep_their_proportion() -> None:
    done = HALF.calibrate(FORM, PASSAGE, filled(seller=leaf("/seller", 0.8, absence=0.05)))
    assert done.leaves["/seller"].absence == pytest.approx(
        0.25 * (1 - done.leaves["/seller"].confidence), abs=1e-4
    )


def test_known_values_keep_their_confidence() -> None:
    known = replace(leaf("/seller", 1.0), origin="known")
    assert HALF.calibrate(FORM, PASSAGE, filled(seller=known)).leaves["/seller"] == known


def test_signs_tell_the_name_before_a_value_and_words_that_two_fields_share() -> None:
    found = filled(
        {"/lines/0": (0, 0.5)},
        seller=leaf("/seller", 0.9, (8, 16)),
        lines__0__name=leaf("/lines/*/name", 0.5, (8, 16)),
        total=leaf("/total", 0.9, (24, 29)),
    )
    signs = features_of(FORM, PASSAGE, found).leaves
    assert [signs[p]["label"] for p in ("/seller", "/total", "/lines/0/name")] == [1.0, 1.0, 0.0]
    assert [signs[p]["shared"] for p in ("/seller", "/total", "/lines/0/name")] == [1.0, 0.0, 1.0]
    assert [signs[p]["row"] for p in ("/seller", "/lines/0/name")] == [0.0, 1.0]
    assert signs["/total"]["number"] == 1.0 and signs["/total"]["text"] == 0.0
    assert len({tuple(own) for own in signs.values()}) == 1, "all leaves have the same signs, in one order"


def test_signs_are_finite_for_whatever_a_model_makes_of_a_document() -> None:
    text, _ = bill(1)
    for passage in (passage_of(text), passage_of("")):
        (result,) = Engine(tiny_model()).fill([Request("a", FORM, passage)])
        assert isinstance(result, Filled)
        signs = features_of(FORM, passage, result)
        assert signs.leaves.keys() == result.leaves.keys() and signs.rows.keys() == result.rows.keys()
        assert all(abs(value) < 50 for own in (signs.leaves | signs.rows).values() for value in own.values())


def test_the_engine_reports_the_calibrated_confidence() -> None:
    model, passage = tiny_model(), passage_of(bill(1)[0])
    (plain,) = Engine(model).fill([Request("a", FORM, passage)])
    model.calibration = HALF
    (sure,) = Engine(model).fill([Request("a", FORM, passage)])
    assert isinstance(plain, Filled) and isinstance(sure, Filled)
    assert sure == HALF.calibrate(FORM, passage, plain)
    assert sure.record == plain.record and sure.leaves != plain.leaves


def saved_model(folder: Path) -> Path:
    save_network(folder, tiny_network(), VOCABULARY, {})
    return folder


def test_a_calibration_is_part_of_its_models_fingerprint(tmp_path: Path) -> None:
    folder = saved_model(tmp_path / "model")
    weights = weights_fingerprint(folder)
    assert fingerprint_of(folder) == weights
    save_calibration(folder, replace(HALF, model=weights))
    assert weights_fingerprint(folder) == weights != fingerprint_of(folder)
    model = load_model(folder, "cpu")
    assert model.fingerprint == fingerprint_of(folder)
    assert model.calibration == replace(HALF, model=weights)


def test_a_calibration_of_other_weights_or_of_nothing_is_refused(tmp_path: Path) -> None:
    from cinnabar.errors import ModelError

    save_calibration(tmp_path, HALF)
    with pytest.raises(ModelError, match="fitted for the weights w, found the weights v; run `python -m training"):
        load_calibration(tmp_path, "v")
    path = tmp_path / "calibration.json"
    for text in ("{", "[]", json.dumps(json.loads(path.read_text()) | {"values_version": None})):
        path.write_text(text)
        with pytest.raises(ModelError, match="expected"):
            load_calibration(tmp_path, "w")


@pytest.mark.parametrize("folder", [one.parent.name for one in sorted(SHIPPED.parent.glob("*/calibration.json"))])
def test_each_calibration_that_ships_was_fitted_with_the_rules_of_today(folder: str) -> None:
    part = "reader" if folder == SHIPPED.name else "language"
    asked = "make calibrate" if part == "reader" else "python -m training.calibrate SETS --model"
    assert stale_calibration(SHIPPED.parent / folder, part) is None, f"run `{asked}` (training/README.md)"


@pytest.mark.slow
def test_a_calibration_of_earlier_rules_is_used_and_said_to_be_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_model(tmp_path / "model")
    now = replace(HALF, model=weights_fingerprint(folder))
    save_calibration(folder, now)
    assert stale_calibration(folder) is None
    save_calibration(folder, replace(now, values_version=now.values_version - 1))
    told = stale_calibration(folder)
    assert told is not None and "run `python -m training.calibrate` for it" in told
    assert model_source(str(folder), "cpu").notice == told
    assert load_model(folder, "cpu").calibration is not None
    (tmp_path / "a.txt").write_text("Seller: Acme\n")
    schema = tmp_path / "s.json"
    schema.write_text('{"type": "object", "properties": {"seller": {"type": ["string", "null"]}}}')
    out = str(tmp_path / "out")
    run(["extract", str(tmp_path / "a.txt"), "--schema", str(schema), "--out", out, "--model", str(folder)])
    assert told in capsys.readouterr().err


def test_a_fine_tuned_model_has_the_calibration_of_its_base(tmp_path: Path) -> None:
    base, own = saved_model(tmp_path / "base"), saved_model(tmp_path / "own")
    carry_calibration(base, own, "w2")
    assert load_calibration(own, "w2") is None, "a base without one gives none"
    save_calibration(base, replace(HALF, model=weights_fingerprint(base)))
    carry_calibration(base, own, "w2")
    assert load_calibration(own, "w2") == replace(HALF, model="w2")


@pytest.mark.parametrize("harm", ["none", "broken", "of other weights"])
def test_saving_a_model_removes_the_calibration_of_the_previous_one(tmp_path: Path, harm: str) -> None:
    base, own = saved_model(tmp_path / "base"), saved_model(tmp_path / "own")
    save_calibration(own, replace(HALF, model="of the model before"))
    if harm == "broken":
        (base / "calibration.json").write_text("{")
    elif harm == "of other weights":
        save_calibration(base, HALF)
    carry_calibration(base, own, weights_fingerprint(own))
    assert load_calibration(own, weights_fingerprint(own)) is None


def test_the_shipped_calibration_was_fitted_for_the_shipped_weights() -> None:
    found = load_calibration(SHIPPED, weights_fingerprint("default"))
    assert found is not None and found.about["leaves"] > 1000
    assert all(scale.weights["posterior"] >= 0 for scale in (found.values, found.absences, found.rows))


def test_lists_get_a_confidence_if_the_calibration_was_fitted_with_lists(tmp_path: Path) -> None:
    found = Filled("a", {"lines": []}, {}, {}, 1, 0)
    assert HALF.calibrate(FORM, PASSAGE, found).lists == {}
    whole = replace(HALF, lists=Scale(1.0, {"empty": -1.0}))
    assert whole.calibrate(FORM, PASSAGE, found).lists == {"/lines": 0.5}
    for one in (HALF, whole):
        save_calibration(tmp_path, one)
        assert load_calibration(tmp_path, "w") == one
    said = json.loads((tmp_path / "calibration.json").read_text())
    del said["lists"]
    (tmp_path / "calibration.json").write_text(json.dumps(said))
    assert load_calibration(tmp_path, "w") == HALF
