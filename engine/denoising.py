"""Pure functions on tensors that choose which values to commit and which to re-open.

Every decision rounds probabilities to four places first: the last bits of a matrix product vary with the shape of a
batch, and they must decide nothing. Ties go by kind and place.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cinnabar.kernels.bounds import FLOOR, POSSIBLE

#: Scores are clamped to this range, so that they stay apart from FLOOR.
WIDEST = 1.0e6
#: Probabilities are rounded to multiples of 1 / GRAIN.
GRAIN = 1.0e4


def round_to_places(probability: torch.Tensor) -> torch.Tensor:
    """Returns the probabilities rounded to four places."""
    return torch.round(probability * GRAIN) / GRAIN


@dataclass(frozen=True, slots=True)
class Shares:
    """Posterior over the choices of a slot: absent, or one of K candidates.

    posterior: [S, K + 1] float32, rounded; column 0 is absent, 1 to K the candidates; a row sums to one if anything is
    possible. possible: [S, K + 1] bool. log_allowed: [S] float32, log share of the model's mass that is allowed.
    """

    posterior: torch.Tensor
    possible: torch.Tensor
    log_allowed: torch.Tensor

    def best(self, excluded: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns (index, posterior), each [S], of the best choice that is not excluded ([S, K + 1] bool).

        Among equals absent goes first, then candidates in their order. The index is -1 if nothing is left.
        """
        left = self.possible & ~excluded
        top, index = torch.where(left, self.posterior, -1.0).max(1)
        # `max` does not promise the first of equals; this does.
        index = (left & (self.posterior >= top.unsqueeze(1))).int().argmax(1)
        return torch.where(top < 0, -1, index), top.clamp_min(0.0)


def weigh(
    absent: torch.Tensor, candidates: torch.Tensor, refused: torch.Tensor, ruled_out: torch.Tensor
) -> Shares:
    """Returns the posterior of every slot over what is allowed.

    absent: [S] logits; candidates: [S, K] logits, -inf beyond a list's end; refused: [S], logit of the mass that the
    automata removed from the candidates; ruled_out: [S, K + 1] bool, choices that are given up.
    """
    offered = torch.cat([absent.unsqueeze(1), candidates, refused.unsqueeze(1)], 1).float()
    everything = torch.where(offered > POSSIBLE, offered.clamp(-WIDEST, WIDEST), FLOOR)
    # The last column, what is refused, is no choice.
    possible = (offered > POSSIBLE) & ~torch.nn.functional.pad(ruled_out, (0, 1), value=True)
    kept = torch.where(possible, everything, FLOOR)
    log_allowed = (kept.logsumexp(1) - everything.logsumexp(1)).clamp_(FLOOR, 0.0)
    posterior = torch.where(possible, kept.softmax(1), 0.0)
    return Shares(round_to_places(posterior[:, :-1]), possible[:, :-1], log_allowed)


def select(
    offered: torch.Tensor,
    confidence: torch.Tensor,
    absent: torch.Tensor,
    request: torch.Tensor,
    remaining: torch.Tensor,
    threshold: float,
) -> torch.Tensor:
    """Returns the offered slots to commit now: [S] bool.

    offered: [S] bool. confidence: [S] float32. absent: [S] bool, slots that go first among equals. request: [S] int64,
    the request of each slot. remaining: [R] int64, steps left for each request, including this one. Every slot at the
    threshold or above is committed. Each request also commits its quota, its offered slots divided by its remaining
    steps: the most confident ones first, then by place.
    """
    slot = offered.nonzero().squeeze(1)
    owner = request[slot]
    grade = torch.round(confidence[slot] * GRAIN).long()
    key = (owner * (int(GRAIN) + 1) + (int(GRAIN) - grade)) * 2 + (~absent[slot]).long()
    order = torch.argsort(key, stable=True)
    count = torch.bincount(owner, minlength=len(remaining))
    quota = (count + remaining - 1) // remaining
    begin = torch.cumsum(count, 0) - count
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - begin[owner[order]]
    chosen = (rank < quota[owner]) | (grade >= round(threshold * GRAIN))
    result = torch.zeros_like(offered)
    result[slot[chosen]] = True
    return result


def is_doubtful(now: torch.Tensor, other: torch.Tensor, reopen: float, margin: float) -> torch.Tensor:
    """Returns whether to re-open a committed choice: its posterior is low and another one's is clearly higher."""
    return (round_to_places(now) < reopen) & (round_to_places(other) - round_to_places(now) >= margin)
