"""The probabilities of all candidates of several slots, as one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def shares(logs: Floats, absent: Floats, slot: npt.NDArray[np.int64]) -> Floats:
    """Returns the probability of each candidate among those of its slot and absence."""
    top = absent.copy()
    np.maximum.at(top, slot, logs)
    weight = np.exp(logs - top[slot])
    return weight / (np.bincount(slot, weight, len(absent)) + np.exp(absent - top))[slot]


def by_slot(values: Floats, counts: Sequence[int]) -> list[list[float]]:
    """Returns the values of all candidates, [M], as a list for each slot."""
    ends = np.cumsum(counts).tolist()
    return [values[end - count : end].tolist() for end, count in zip(ends, counts, strict=True)]
