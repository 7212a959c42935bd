"""Signs of a confidence: numbers by name, the log odds of probabilities among them."""

from __future__ import annotations

import math

Signs = dict[str, float]

#: Probabilities are clipped to this distance from 0 and 1 before their log odds are computed.
EDGE = 1e-3


def log_odds(probability: float, edge: float = EDGE) -> float:
    """Returns the logarithm of p / (1 - p), with p clipped to a distance of `edge` from 0 and 1."""
    p = min(max(probability, edge), 1.0 - edge)
    return math.log(p / (1.0 - p))
