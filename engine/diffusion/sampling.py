"""Drawing tokens at a temperature: the best of logits with Gumbel noise is a draw from their softmax.

A position has the same noise in each pass, made from the request's seed and its place. So a draw depends on no other
request, a token that is masked again changes with its context alone, and a schema is enforced as without noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

#: What a token that may not be drawn loses, in units of the temperature. If the constraint allows none of the others,
#: the likeliest of these is taken, for they have no noise.
_LOST = 60.0
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the tokens of a request are drawn.

    temperature: above 0; at 1 by the model's own probabilities. top_p: the likeliest tokens that together have this
    probability may be drawn. seed: any integer; the same one gives the same answer.
    """

    temperature: float
    top_p: float = 1.0
    seed: int = 0

    def drawn(self, logits: torch.Tensor, place: int) -> torch.Tensor:
        """Returns the logits of one position with its noise, [V]; the best one is 0."""
        source = np.random.Generator(np.random.Philox(key=np.array([self.seed & _WORD, place], np.uint64)))
        waiting = source.standard_exponential(len(logits), np.float32)
        noise = torch.from_numpy(-np.log(np.maximum(waiting, np.finfo(np.float32).tiny)))
        scores = logits.float()
        drawn = scores + self.temperature * noise.to(logits.device)
        if self.top_p < 1:
            others = self._others(scores)
            drawn[others] = scores[others] - _LOST * self.temperature
        # Near 0 even bfloat16 tells the best ones apart; at 40 its steps of .25 preferred the first of the vocabulary.
        return (drawn - drawn.max()).to(logits.dtype)

    def _others(self, logits: torch.Tensor) -> torch.Tensor:
        """Returns the tokens that are none of the likeliest ones, of which there is at least one."""
        shares, order = (logits / self.temperature).softmax(-1).sort(descending=True)
        return order[1:][shares.cumsum(-1)[:-1] >= self.top_p]


#: The rows of logits that are drawn: each with its sampling and its place in the sequence.
Draws = Mapping[int, tuple[Sampling, int]]
NO_DRAWS: Draws = {}


def draw(logits: torch.Tensor, begin: int, draws: Draws) -> torch.Tensor:
    """Adds the noise of the rows that are drawn, in place; begin: the number of the first row. logits: [N, V]."""
    for row, (sampling, place) in draws.items():
        # What is no number is told of by the scores.
        if begin <= row < begin + len(logits):
            logits[row - begin] = sampling.drawn(logits[row - begin], place)
    return logits
