"""Pure functions on tensors that choose which values and positions to commit and which to re-open.

Every decision rounds probabilities to four places first: the last bits of a matrix product vary with the shape of a
batch, and they must decide nothing. Ties go by kind and place.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cinnabar.kernels.tables import FLOOR, POSSIBLE

#: Scores of whole values are clamped to this range, so that they stay apart from FLOOR.
WIDEST = 1.0e6
#: Probabilities are rounded to multiples of 1 / GRAIN.
GRAIN = 1.0e4


def rounded(probability: torch.Tensor) -> torch.Tensor:
    """Returns the probabilities rounded to four places."""
    return torch.round(probability * GRAIN) / GRAIN


@dataclass(frozen=True, slots=True)
class Shares:
    """Posterior over the choices of a slot: absent, one of K candidates, or spelled out.

    posterior: [S, K + 2] float32, rounded; column 0 is absent, 1 to K the candidates, K + 1 spelled out; a row sums to
    one if anything is possible. possible: [S, K + 2] bool. log_allowed: [S] float32, log share of the model's mass
    that the constraint leaves.
    """

    posterior: torch.Tensor
    possible: torch.Tensor
    log_allowed: torch.Tensor

    def best(self, excluded: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns (index, posterior), each [S], of the best choice that is not excluded ([S, K + 2] bool).

        Among equals absent goes first, then candidates in their order. The index is -1 if nothing is left.
        """
        left = self.possible & ~excluded
        top, index = torch.where(left, self.posterior, -1.0).max(1)
        # `max` does not promise the first of equals; this does.
        index = (left & (self.posterior >= top.unsqueeze(1))).int().argmax(1)
        return torch.where(top < 0, -1, index), top.clamp_min(0.0)


def weigh(
    absent: torch.Tensor,
    candidates: torch.Tensor,
    spelled: torch.Tensor,
    log_mass: torch.Tensor,
    refused: torch.Tensor,
    ruled_out: torch.Tensor,
) -> Shares:
    """Returns the constrained posterior of every slot.

    absent, spelled: [S] logits; candidates: [S, K] logits, -inf beyond a list's end; log_mass: [S], log share of the
    allowed texts among all that could be spelled out; refused: [S], logit of the mass that the automata removed from
    the candidates; ruled_out: [S, K + 2] bool, choices that contradict committed positions.
    The logit of spelled out is `spelled` plus `log_mass`, so that its share is the model's mass on allowed texts.
    """
    offered = torch.cat([absent.unsqueeze(1), candidates, spelled.unsqueeze(1)], 1).float()
    possible = offered > POSSIBLE
    whole = torch.where(possible, offered.clamp(-WIDEST, WIDEST), FLOOR)
    possible[:, -1] &= log_mass > POSSIBLE
    kept = whole.clone()
    kept[:, -1] += log_mass
    possible &= ~ruled_out
    kept = torch.where(possible, kept.clamp_min(FLOOR), FLOOR)
    everything = torch.cat([whole, refused.float().clamp(FLOOR, WIDEST).unsqueeze(1)], 1)
    log_allowed = (kept.logsumexp(1) - everything.logsumexp(1)).clamp_(FLOOR, 0.0)
    posterior = torch.where(possible, kept.softmax(1), 0.0)
    return Shares(rounded(posterior), possible, log_allowed)


def select(
    offered: torch.Tensor,
    confidence: torch.Tensor,
    absent: torch.Tensor,
    request: torch.Tensor,
    remaining: torch.Tensor,
    threshold: float,
) -> torch.Tensor:
    """Returns the offered units to commit now: [S, U] bool.

    A unit is a whole value (column 0) or a position of a slot that is spelled out (columns 1 and up).
    offered: [S, U] bool. confidence: [S, U] float32. absent: [S] bool, units of column 0 that go first among equals.
    request: [S] int64, the request of each slot. remaining: [R] int64, steps left for each request, including this
    one. Every unit at the threshold or above is committed. Each request also commits its quota, its offered units
    divided by its remaining steps: the most confident units first, then by place.
    """
    width = offered.shape[1]
    unit = offered.flatten().nonzero().squeeze(1)
    slot = unit // width
    owner = request[slot]
    grade = torch.round(confidence.flatten()[unit] * GRAIN).long()
    later = ~(absent[slot] & (unit % width == 0))
    key = (owner * (int(GRAIN) + 1) + (int(GRAIN) - grade)) * 2 + later.long()
    order = torch.argsort(key, stable=True)
    count = torch.bincount(owner, minlength=len(remaining))
    quota = (count + remaining - 1) // remaining
    begin = torch.cumsum(count, 0) - count
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - begin[owner[order]]
    chosen = (rank < quota[owner]) | (grade >= round(threshold * GRAIN))
    result = torch.zeros(offered.numel(), dtype=torch.bool, device=offered.device)
    result[unit[chosen]] = True
    return result.view_as(offered)


def doubted(now: torch.Tensor, other: torch.Tensor, reopen: float, margin: float) -> torch.Tensor:
    """Returns whether to re-open a committed choice: its posterior is low and another one's is clearly higher."""
    return (rounded(now) < reopen) & (rounded(other) - rounded(now) >= margin)
