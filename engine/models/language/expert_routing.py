"""Which experts compute which tokens, in the order of the experts.

A layer with experts chooses some for each token, sorts the pairs of token and expert by expert, so that each expert's
matrix meets its tokens in one product, and adds what the experts made to their tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from cinnabar.engine.models.language.traits import ExpertTraits


@dataclass(frozen=True, slots=True)
class Placed:
    """Pairs of token and expert, sorted by expert, in each by token.

    token: [N K] int64, the token of each place. back: [N, K] int64, the place of each pair. ends: [E] int32, the end
    of each expert's places.
    """

    token: torch.Tensor
    back: torch.Tensor
    ends: torch.Tensor


def choose_experts(
    scores: torch.Tensor, bias: torch.Tensor | None, traits: ExpertTraits
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (experts [N, K] int64, weights [N, K] float32) of router scores [N, E] float32.

    bias: [E] float32, which decides the choice and not the weight (DeepSeek-V3, arXiv 2412.19437).
    """
    shares = scores.softmax(-1) if traits.softmax else scores.sigmoid()
    choice = shares if bias is None else shares + bias
    if traits.groups > 1:
        grouped = choice.view(len(scores), traits.groups, -1)
        best = grouped.topk(2, -1).values.sum(-1).topk(traits.chosen_groups, -1).indices
        opened = torch.zeros_like(grouped[..., 0], dtype=torch.bool).scatter_(1, best, True)
        choice = grouped.masked_fill(~opened.unsqueeze(-1), -torch.inf).flatten(1)
    experts = choice.topk(traits.chosen, -1).indices
    weights = shares.gather(1, experts)
    if traits.chosen > 1 and traits.normed:
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
    return experts, weights * traits.scale


def place_pairs(experts: torch.Tensor, count: int) -> Placed:
    """Returns the places of the pairs of tokens with their `experts`, [N, K] of so many."""
    flat = experts.flatten()
    order = flat.argsort(stable=True)
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    ends = torch.nn.functional.one_hot(flat, count).sum(0).cumsum(0).int()
    return Placed(order // experts.shape[1], back.view_as(experts), ends)


def sum_weighted(made: torch.Tensor, placed: Placed, weights: torch.Tensor) -> torch.Tensor:
    """Returns [N, D], for each token the weighted sum of what its experts made of it; made: [N K, D]."""
    each = made[placed.back.flatten()].view(*placed.back.shape, -1)
    return (each.float() * weights.unsqueeze(-1)).sum(1).to(made.dtype)
