"""The interval of a share of right values, from whole documents that were drawn at random.

Values of one document are right or wrong together, so the document is the unit. The variance is that of the ratio
estimator, with each document's leverage taken out and the correction for a finite population (Cochran 1977, ch. 6).
It makes an effective number of values, and Wilson's interval is taken for that number (Dean and Pagano 2015).

With few wrong documents that variance is itself uncertain, and zero if all values are right. It is therefore mixed
with the variance of documents that are right or wrong as a whole, as if there were _PRIOR such documents more. Over 144
kinds of runs (`python -m bench.audit_interval`, 1,000 of each) the interval covers the truth in 97.6%, in the worst
kind in 93.2%. Without the mixture it is 93.4% and 79%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

# Documents of a prior that are right or wrong as a whole; the least degrees of freedom of the quantile.
_PRIOR, _LEAST_FREEDOM = 2.0, 3.0


def share_right(
    right: Sequence[int], values: Sequence[int], population: int, level: float = 0.95
) -> tuple[float, float]:
    """Returns the interval of the share of right values among all values of `population` documents.

    `right` and `values` are the counts of each audited document; documents without values say nothing. Without any
    value there is (0, 1).
    """
    pairs = [(good, all_) for good, all_ in zip(right, values, strict=True) if all_]
    if not pairs:
        return 0.0, 1.0
    count, total = len(pairs), sum(all_ for _, all_ in pairs)
    share = sum(good for good, _ in pairs) / total
    unseen = 1 - len(right) / max(population, len(right))
    if not unseen:
        return share, share
    # Of so many documents of one size the mean would be as sure.
    documents = total**2 / sum(all_**2 for _, all_ in pairs)
    freedom = max(1, min(count - 1, sum(good < all_ for good, all_ in pairs), sum(good > 0 for good, _ in pairs)))
    weight = _PRIOR / (_PRIOR + freedom) if count > 1 else 1.0
    residuals = (((good - share * all_) / (1 - all_ / total)) ** 2 for good, all_ in pairs if all_ < total)
    seen = (count - 1) / count * sum(residuals) / total**2
    spread = share * (1 - share)
    variance = unseen * ((1 - weight) * seen + weight * spread / documents)
    effective = min(spread / variance if variance > 0 else documents / unseen, total / unseen)
    # Wilson's interval (1927) among so many values.
    square = _student(level, max(documents - 1, _LEAST_FREEDOM)) ** 2 / effective
    middle, half = share + square / 2, math.sqrt(square * (spread + square / 4))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


def _student(level: float, freedom: float) -> float:
    """Returns about the two-sided quantile of Student's distribution (Gaver and Kafadar 1984), within 3% from 3 on."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    return math.sqrt(freedom * math.expm1(z**2 * (freedom - 1.5) / (freedom - 1) ** 2))
