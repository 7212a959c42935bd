"""Scales that are fitted anew on corrected documents: truer on others, and left where they were true."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cinnabar.engine.models.reader.calibration import Calibration, Scale
from cinnabar.extraction.learning.refitting import Rated, ranged, rated_of, refitted
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet

OWN = Scale(0.5, {"posterior": 1.0, "label": 0.4})
CALIBRATION = Calibration(OWN, OWN, OWN, "w", lists=OWN)


def drawn(factor: float, shift: float, documents: int, absent: bool = False) -> list[Rated]:
    """Documents of six values, of which the share is right that such a change of the log odds says."""
    rng, made = random.Random(7), list[Rated]()
    for _ in range(documents):
        odds = np.array([rng.uniform(-2.0, 3.0) for _ in range(6)])
        shares = 1.0 / (1.0 + np.exp(-(factor * odds + shift)))
        right = np.array([rng.random() < share for share in shares])
        made.append((1.0 / (1.0 + np.exp(-odds)), np.full(6, absent), right))
    return made


@pytest.mark.parametrize(("factor", "shift"), [(1.0, -2.0), (1.0, 1.5), (0.3, 0.0)], ids=["too sure", "unsure", "wild"])
def test_scales_that_say_too_much_or_too_little_are_fitted_anew(factor: float, shift: float) -> None:
    found, measured = refitted(CALIBRATION, drawn(factor, shift, 40))
    assert measured is not None and measured.better and measured.low <= measured.after <= measured.high
    assert measured.after < 0.6 * measured.before
    assert abs(found.values.weights["posterior"] - factor) < 0.4
    assert abs(found.values.bias - (factor * 0.5 + shift)) < 0.6
    # Of absences there were none to tell.
    assert (found.absences, found.rows, found.lists) == (OWN, OWN, OWN)


def test_values_and_absences_are_fitted_apart() -> None:
    found, _ = refitted(CALIBRATION, [*drawn(1.0, -2.0, 20), *drawn(1.0, 1.5, 20, absent=True)])
    assert found.values.bias < 0.0 < 1.0 < found.absences.bias


def test_true_scales_stay_near_themselves() -> None:
    found, measured = refitted(CALIBRATION, drawn(1.0, 0.0, 60))
    assert measured is not None and abs(found.values.bias - 0.5) < 0.3
    assert refitted(CALIBRATION, drawn(1.0, -2.0, 4)) == (CALIBRATION, None)


def test_few_documents_move_the_scales_little() -> None:
    few, many = (refitted(CALIBRATION, drawn(1.0, -2.0, count))[0].values.bias for count in (5, 60))
    assert many < few < 0.5


def test_the_range_of_a_figure_holds_it() -> None:
    low, high = ranged([0.0, 0.2, 0.4, 0.1], lambda one: sum(one) / len(one))
    assert 0.0 < low < 0.175 < high < 0.4 and ranged([0.3] * 4, lambda one: one[0]) == (0.3, 0.3)


def test_values_without_a_confidence_are_not_rated() -> None:
    truths: tuple[Any, ...] = ({"file": "a", "truth": {"x": "1", "y": None}}, {"file": "b", "truth": {"x": "2"}})
    read = {
        "a": {"record": {"x": "1", "y": "3"}, "confidence": {"/x": 0.9, "/y": 1.0}},
        "b": {"record": None, "confidence": {}},
    }
    ((chances, absent, right),) = rated_of(LabelledSet("s", Path(), truths, {}, {}), read)
    assert chances.tolist() == [0.9, 0.999] and not absent.any() and right.tolist() == [True, False]
