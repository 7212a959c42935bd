"""Drawing tokens at a temperature: the best of logits with Gumbel noise is a draw from their softmax.

A position has the same noise in each pass, made from the request's seed, its place and the token by a hash (SplitMix64,
Steele et al. 2014) where the logits are. So a draw depends on no other request, a token that is masked again changes
with its context alone, and a schema is enforced as without noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

#: What a token that may not be drawn loses, in units of the temperature. If the constraint allows none of the others,
#: the likeliest of these is taken, for they have no noise.
_LOST = 60.0
#: The step and the multipliers of the hash.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
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
        scores = logits.float()
        drawn = scores + self.temperature * gumbel(len(logits), self.seed, place, logits.device)
        if self.top_p < 1:
            drawn = torch.where(self._others(scores), scores - _LOST * self.temperature, drawn)
        # Near 0 even bfloat16 tells the best ones apart; at 40 its steps of .25 preferred the first of the vocabulary.
        return (drawn - drawn.max()).to(logits.dtype)

    def _others(self, logits: torch.Tensor) -> torch.Tensor:
        """Returns which tokens, [V] bool, are none of the likeliest ones, of which there is at least one."""
        shares, order = (logits / self.temperature).softmax(-1).sort(descending=True)
        beyond = torch.cat([shares.new_zeros(1, dtype=torch.bool), shares.cumsum(-1)[:-1] >= self.top_p])
        return torch.zeros_like(beyond).scatter_(0, order, beyond)


def gumbel(many: int, seed: int, place: int, device: torch.device) -> torch.Tensor:
    """Returns Gumbel noise, [many] float32, the same for the same seed and place but for the device's logarithm."""
    key = _mix((_mix(seed & _WORD) + place * _STEP) & _WORD)
    bits = torch.arange(1, many + 1, device=device) * _to_signed(_STEP) + _to_signed(key)
    bits = (bits ^ _right(bits, 30)) * _to_signed(_FIRST)
    bits = (bits ^ _right(bits, 27)) * _to_signed(_SECOND)
    # The upper 23 bits, so that a float32 holds the middle of their steps exactly: never 0 or 1.
    uniform = (_right(bits ^ _right(bits, 31), 41).float() + 0.5) * 2.0**-23
    return -torch.log(-torch.log(uniform))


def _right(bits: torch.Tensor, by: int) -> torch.Tensor:
    """Shifts 64 bits without a sign."""
    return (bits >> by) & ((1 << 64 - by) - 1)


def _mix(word: int) -> int:
    word = ((word ^ word >> 30) * _FIRST) & _WORD
    word = ((word ^ word >> 27) * _SECOND) & _WORD
    return word ^ word >> 31


def _to_signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


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
