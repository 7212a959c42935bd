"""Decides whether shares and distributions of a run differ from those of earlier runs by more than chance.

The units are documents, which are independent of each other; values of one document are not. Two shares are compared by
Fisher's exact test, or by the chi-squared test if there are many documents, and distributions by the chi-squared test.
The p-values of all comparisons are corrected by Holm's method, so that the chance of any false alarm stays below
DRIFT_LEVEL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.plan.thresholds import DRIFT_CONFIDENCE, DRIFT_DISTANCE, DRIFT_EXPECTED_COUNT

# Up to so many documents the exact test is computed.
_EXACT = 20_000
# Random tables: few, and many if less than so many of these are as far from the expected one. The least p-value has to
# be told from chance among a hundred comparisons.
_DRAWS, _ENOUGH = (1_000, 100_000), 20


@dataclass(frozen=True, slots=True)
class Share:
    """Documents with a property in this run and in earlier ones: (with it, all)."""

    now: tuple[int, int]
    before: tuple[int, int]

    @property
    def difference(self) -> float:
        """Returns by how much the share rose."""
        return _share(self.now) - _share(self.before)

    @property
    def p(self) -> float:
        """Returns the probability of a difference like this one if nothing had changed."""
        if not self.now[1] or not self.before[1]:
            return 1.0
        if self.now[1] + self.before[1] <= _EXACT:
            return fisher(self.now, self.before)
        table = [[k, n - k] for k, n in (self.now, self.before)]
        return chi_squared(*table)


def _share(pair: tuple[int, int]) -> float:
    return pair[0] / pair[1] if pair[1] else 0.0


def fisher(now: tuple[int, int], before: tuple[int, int]) -> float:
    """Returns the two-sided p-value of Fisher's exact test for (k, n) and (k, n)."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, now[1] + before[1] + 1)))])

    def choose(n: int, k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        log_ways: npt.NDArray[np.float64] = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
        return log_ways

    with_it = now[0] + before[0]
    k = np.arange(max(0, with_it - before[1]), min(now[1], with_it) + 1)
    log = choose(now[1], k) + choose(before[1], with_it - k)
    own = log[int(now[0] - k[0])]
    chance = np.exp(log - log.max())
    return float(chance[log <= own + 1e-7].sum() / chance.sum())


def chi_squared(now: Sequence[int], before: Sequence[int]) -> float:
    """Returns the p-value of the chi-squared test for two rows of counts; with rare columns it is drawn at random.

    The draws are tables with the same sums of rows and columns (a permutation test); equal counts give equal values.
    """
    table = np.array([now, before], np.int64)
    table = table[:, table.sum(0) > 0]
    rows, columns = table.sum(1), table.sum(0)
    if table.shape[1] < 2 or not rows.all():
        return 1.0
    expected = np.outer(rows, columns) / table.sum()
    own = _statistic(table[:1], expected)[0]
    if expected.min() >= DRIFT_EXPECTED_COUNT:
        return _chi_squared_tail(table.shape[1] - 1, float(own))
    source = np.random.default_rng(0)
    for many in _DRAWS:
        drawn = source.multivariate_hypergeometric(columns, rows[0], size=many, method="marginals")
        as_far = int((_statistic(drawn, expected) >= own * (1 - 1e-9)).sum())
        if as_far >= _ENOUGH:
            break
    return (1 + as_far) / (1 + many)


def _chi_squared_tail(freedom: int, statistic: float) -> float:
    """Returns the chance of a larger statistic with so many degrees of freedom, by its finite series."""
    half = statistic / 2
    if half <= 0:
        return 1.0
    first = freedom % 2 / 2
    terms = (first + k for k in range(freedom // 2))
    series = sum(math.exp(one * math.log(half) - half - math.lgamma(one + 1)) for one in terms)
    return series + (math.erfc(math.sqrt(half)) if first else 0.0)


def _statistic(now: npt.NDArray[np.int64], expected: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns Pearson's statistic of tables with these first rows, [N, K]; expected: [2, K]."""
    # What the first row has more, the second has less.
    distance: npt.NDArray[np.float64] = (np.square(now - expected[0]) * (1 / expected).sum(0)).sum(1)
    return distance


def distance(now: Sequence[int], before: Sequence[int]) -> float:
    """Returns the share of documents that would have to move to make two distributions equal."""
    a, b = np.array(now, np.float64), np.array(before, np.float64)
    if not a.sum() or not b.sum():
        return 0.0
    return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)


def is_large_shift(now: Sequence[int], before: Sequence[int], means: tuple[float, float]) -> bool:
    """Returns whether a difference of two distributions of confidence, of these means, is large enough to be told."""
    return distance(now, before) >= DRIFT_DISTANCE and abs(means[0] - means[1]) >= DRIFT_CONFIDENCE


def holm(values: Sequence[float]) -> list[float]:
    """Returns p-values corrected for their number by Holm's method."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, most = [1.0] * len(values), 0.0
    for rank, at in enumerate(order):
        most = max(most, min(1.0, values[at] * (len(values) - rank)))
        corrected[at] = most
    return corrected
