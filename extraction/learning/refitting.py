"""Fits the scales of a confidence anew on corrected documents, and measures it before and after with a range.

Each scale keeps its signs. Two numbers are fitted, a factor and a shift of its log odds, which stay near one and zero
where few values contradict that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.calibration import Calibration, Scale
from cinnabar.extraction.learning.evaluation import leaves_of
from cinnabar.extraction.learning.scoring import Prediction, calibration_error
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet

#: The weight of the squared distance of factor and shift from one and zero, in values.
_NEAR = 5.0
#: Confidences are at least so far from 0 and 1.
_LEAST = 1e-3
_FOLDS, _DRAWS = 5, 200
_T = TypeVar("_T")
_Numbers = npt.NDArray[np.float64]
#: The values of a document: its confidences, whether each is one of no value, and whether it is right.
Rated = tuple[_Numbers, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Refit:
    """The calibration error of corrected documents before and after, judged by fits on others, and the range after it.

    Nine of ten samples of such documents lie in the range.
    """

    before: float
    after: float
    low: float
    high: float

    @property
    def better(self) -> bool:
        """Returns whether the scales that were fitted anew count."""
        return self.after < self.before


def rated_of(labelled: LabelledSet, read: Mapping[str, Prediction]) -> list[Rated]:
    """Returns the values of each document that has some with a confidence."""
    documents = list[Rated]()
    for line in labelled.truths:
        record, sure = read[line["file"]]["record"], read[line["file"]]["confidence"]
        leaves = [leaf for leaf in leaves_of(line, record, **labelled.options) if leaf.pointer in sure]
        if leaves:
            chances = np.clip([float(sure[leaf.pointer]) for leaf in leaves], _LEAST, 1.0 - _LEAST)
            absent = np.array([leaf.predicted is None for leaf in leaves])
            documents.append((chances, absent, np.array([bool(leaf.right) for leaf in leaves])))
    return documents


def refitted(calibration: Calibration, documents: Sequence[Rated]) -> tuple[Calibration, Refit | None]:
    """Returns the calibration fitted to these documents if that is better, and its measure; None of too few."""
    if len(documents) < _FOLDS:
        return calibration, None
    judged = list[list[tuple[float, bool]]]()
    for at, (chances, absent, right) in enumerate(documents):
        others = [own for place, own in enumerate(documents) if place % _FOLDS != at % _FOLDS]
        changes = [_fitted(others, family) for family in (False, True)]
        factor, shift = (np.where(absent, *(change[one] for change in reversed(changes))) for one in (0, 1))
        judged.append([*zip(_share(factor * _odds(chances) + shift).tolist(), right.tolist(), strict=True)])
    plain = [pair for chances, _, right in documents for pair in zip(chances.tolist(), right.tolist(), strict=True)]
    low, high = ranged(judged, lambda drawn: calibration_error([pair for own in drawn for pair in own]))
    after = calibration_error([pair for own in judged for pair in own])
    measured = Refit(*(round(one, 4) for one in (calibration_error(plain), after, low, high)))
    if not measured.better:
        return calibration, measured
    values, absences = (
        _changed(scale, *_fitted(documents, family))
        for scale, family in ((calibration.values, False), (calibration.absences, True))
    )
    return replace(calibration, values=values, absences=absences), measured


def ranged(documents: Sequence[_T], figure: Callable[[Sequence[_T]], float]) -> tuple[float, float]:
    """Returns between which two numbers this figure lies for nine of ten samples of as many such documents."""
    draws = np.random.default_rng(0).integers(0, len(documents), (_DRAWS, len(documents)))
    low, high = np.quantile([figure([documents[at] for at in draw]) for draw in draws], (0.05, 0.95))
    return float(low), float(high)


def _fitted(documents: Sequence[Rated], family: bool) -> tuple[float, float]:
    """Returns factor and shift of the log odds of the values, or of no value for the `family` True."""
    chances, absent, right = (np.concatenate(one) for one in zip(*documents, strict=True))
    signs = np.column_stack([_odds(chances), np.ones(len(chances))])[absent == family]
    wanted, near, found = right[absent == family], np.array([1.0, 0.0]), np.array([1.0, 0.0])
    for _ in range(20):
        share = _share(signs @ found)
        slope = signs.T @ (share - wanted) + _NEAR * (found - near)
        curve = (signs * (share * (1.0 - share))[:, None]).T @ signs + _NEAR * np.eye(2)
        found = found - np.linalg.solve(curve, slope)
    return max(0.0, float(found[0])), float(found[1])


def _changed(scale: Scale, factor: float, shift: float) -> Scale:
    weights = {name: round(factor * weight, 4) for name, weight in scale.weights.items()}
    return Scale(round(factor * scale.bias + shift, 4), weights)


def _odds(chances: _Numbers) -> _Numbers:
    return np.log(chances) - np.log1p(-chances)


def _share(odds: _Numbers) -> _Numbers:
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
