"""Decides whether shares and distributions of a run differ from those of earlier runs by more than chance.

The units are documents, which are independent of each other; values of one document are not. Two shares are compared by
Fisher's exact test, or by the chi-squared test if there are many documents, and distributions by the chi-squared test.
The p-values of all comparisons are corrected by Holm's method, so that the chance of any false alarm stays below
LEVEL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: The chance that anything is told that is due to chance.
LEVEL = 0.01
#: The least difference of two shares, and between two distributions, that is told. Of a million documents the smallest
#: difference is no chance.
LEAST_SHARE, LEAST_DISTANCE = 0.02, 0.05
# Up to so many documents the exact test is computed.
_EXACT = 20_000
# The least expected count of a column in the chi-squared test.
_EXPECTED = 5.0


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
    from scipy.special import gammaln

    def choose(n: int, k: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return found

    with_it = now[0] + before[0]
    k = np.arange(max(0, with_it - before[1]), min(now[1], with_it) + 1, dtype=np.float64)
    log = choose(now[1], k) + choose(before[1], with_it - k)
    own = log[int(now[0] - k[0])]
    chance = np.exp(log - log.max())
    return float(chance[log <= own + 1e-7].sum() / chance.sum())


def chi_squared(now: Sequence[int], before: Sequence[int]) -> float:
    """Returns the p-value of the chi-squared test for two rows of counts; neighbours with few documents are joined."""
    from scipy.special import chdtrc

    table = _joined(np.array([now, before], np.float64))
    if table.shape[1] < 2:
        return 1.0
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    return float(chdtrc(table.shape[1] - 1, statistic))


def _joined(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the table with columns joined until each has enough documents expected in both rows."""
    rows, total = table.sum(1), table.sum()
    if not total or not rows.all():
        return table[:, :0]
    least = _EXPECTED * total / rows.min()
    columns: list[npt.NDArray[np.float64]] = []
    open_column = np.zeros(2)
    for column in table.T:
        open_column = open_column + column
        if open_column.sum() >= least:
            columns.append(open_column)
            open_column = np.zeros(2)
    if columns and open_column.any():
        columns[-1] = columns[-1] + open_column
    return np.array(columns).T if columns else table[:, :0]


def distance(now: Sequence[int], before: Sequence[int]) -> float:
    """Returns the share of documents that would have to move to make two distributions equal."""
    a, b = np.array(now, np.float64), np.array(before, np.float64)
    if not a.sum() or not b.sum():
        return 0.0
    return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)


def holm(values: Sequence[float]) -> list[float]:
    """Returns p-values corrected for their number by Holm's method."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, most = [1.0] * len(values), 0.0
    for rank, at in enumerate(order):
        most = max(most, min(1.0, values[at] * (len(values) - rank)))
        corrected[at] = most
    return corrected
