"""Column alignment: the values of one field stand in one column, so a place shared by many rows is likelier.

The network reads each row by itself, and in a table of many columns it sometimes takes a value from the neighbouring
column. If most rows have the values of a field in the same place across the page, a candidate from another place is
less likely to be right. If their values stand anywhere, the place says nothing (an empirical prior over places, after
Robbins 1956, from the model's own probabilities).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import ColumnAlignmentConfig
from cinnabar.engine.models.reader.scoring.slot_shares import Floats

_Ints = npt.NDArray[np.int64]


def rerank_by_column(
    candidates: Sequence[Sequence[Candidate]],
    logits: Sequence[Sequence[float]],
    absent: Sequence[float],
    pieces: Pieces,
    config: ColumnAlignmentConfig,
) -> list[list[float]]:
    """Returns the log probabilities of one field's candidates in R rows, raised in places where other rows have theirs.

    candidates, logits: R lists of at most K; absent: R log probabilities of there being no value.
    """
    left, right, logs = _padded(candidates, logits, pieces)
    if len(logs) < 2:
        return [list(own) for own in logits]
    middle, low, high = (left + right) // 2 // config.coarse, left // config.coarse, right // config.coarse + 1
    inside = (middle[:, None] >= low[..., None]) & (middle[:, None] < high[..., None])
    changed = logs
    for _ in range(config.rounds):
        whole = np.logaddexp(np.logaddexp.reduce(changed, 1), np.asarray(absent, np.float64))
        share = np.exp(changed - whole[:, None])
        total = float(share.sum())
        if total <= 0:
            break
        bins = np.bincount(middle.ravel(), share.ravel(), int(high.max()) + 1)
        mass = np.concatenate([[0.0], np.cumsum(bins)])
        # A row's own share of a place does not count for the row itself.
        others = mass[high] - mass[low] - (inside * share[:, None]).sum(-1)
        rest = total - share.sum(1, keepdims=True)
        prior = (others + config.no_column) / (rest + config.no_column)
        changed = logs + np.log(prior / ((prior * share).sum() / total))
    return [changed[i, : len(own)].tolist() for i, own in enumerate(logits)]


def _padded(
    candidates: Sequence[Sequence[Candidate]], logits: Sequence[Sequence[float]], pieces: Pieces
) -> tuple[_Ints, _Ints, Floats]:
    """Returns left and right edge of each candidate, and its log probability, -inf beyond a row's last: [R, K]."""
    most = max(1, max(map(len, candidates), default=0))
    left, right = (np.zeros((len(candidates), most), np.int64) for _ in range(2))
    logs = np.full((len(candidates), most), -np.inf)
    for i, (own, of) in enumerate(zip(candidates, logits, strict=True)):
        logs[i, : len(own)] = of
        for j, candidate in enumerate(own):
            (begin, end), *_ = candidate.spans
            first, last = pieces.at(begin), pieces.at(max(begin, end - 1))
            left[i, j] = pieces.extents[first, 0]
            right[i, j] = max(pieces.extents[last, 1], left[i, j] + 1)
    return left, right, logs
