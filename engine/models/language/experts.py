"""A mixture of experts: each token is computed by the few feed-forward nets that a router chooses for it.

The router is that of DeepSeek-V3 (arXiv 2412.19437): sigmoid scores, a bias that decides the choice and not the weight,
and a choice among the best groups of experts only; or that of Qwen3: shares by softmax, and no bias.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.int8_matmul import project
from cinnabar.engine.models.language.traits import ExpertTraits
from cinnabar.kernels.expert_routing import ExpertRouting, RoutingRule

#: The steps of experts by their definitions.
ROUTING = ExpertRouting()


def routing_of(traits: ExpertTraits) -> RoutingRule:
    """Returns how a model of these traits chooses experts."""
    return RoutingRule(
        traits.count, traits.chosen, traits.softmax, traits.groups, traits.chosen_groups, traits.normed, traits.scale
    )


class FeedForward(nn.Module):
    """The gated feed-forward net, by default with SiLU (SwiGLU)."""

    def __init__(
        self, width: int, inner: int, activation: Callable[[torch.Tensor], torch.Tensor] = F.silu
    ) -> None:
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape."""
        gate, up = project(x, self.gate_proj, self.up_proj)
        made: torch.Tensor = self.down_proj(self.activation(gate) * up)
        return made


class ExpertRouter(nn.Module):
    """Chooses experts for each token, in float32."""

    expert_bias: torch.Tensor | None

    def __init__(self, width: int, traits: ExpertTraits) -> None:
        super().__init__()
        self.traits = traits
        self.weight = nn.Parameter(torch.empty(traits.count, width).normal_(0.0, width**-0.5))
        self.register_buffer("expert_bias", None if traits.softmax else torch.zeros(traits.count))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: [N, D]; returns (experts [N, K] int64, their weights [N, K] float32)."""
        bias = None if self.expert_bias is None else self.expert_bias.float()
        return ROUTING.chosen(F.linear(x.float(), self.weight.float()), bias, routing_of(self.traits))


class ExpertMatrices(nn.Module):
    """A matrix for each expert: [E, O, I]."""

    def __init__(self, count: int, width: int, made: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, made, width).normal_(0.0, width**-0.5))

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """Returns [N, O], the product of rows `ends[e - 1]` to `ends[e]` of `x` [N, I] with the matrix of expert e."""
        made: torch.Tensor = F.grouped_mm(x, self.weight.transpose(1, 2), offs=ends)
        return made


class Experts(nn.Module):
    """Gated feed-forward nets; gates and inner values are one matrix."""

    def __init__(
        self,
        width: int,
        count: int,
        inner: int,
        activation: Callable[[torch.Tensor], torch.Tensor] = F.silu,
    ) -> None:
        super().__init__()
        self.count, self.activation = count, activation
        self.gate_up_proj = ExpertMatrices(count, width, 2 * inner)
        self.down_proj = ExpertMatrices(count, inner, width)

    def forward(self, x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """x: [N, D]; chosen, weights: [N, K]; returns [N, D], the weighted sum of what the chosen experts compute."""
        # Counted on the device: tokens per expert as numbers on the host would stop it in every layer.
        placed = ROUTING.place(chosen, self.count)
        gate, up = self.gate_up_proj(x[placed.token], placed.ends).chunk(2, -1)
        return ROUTING.sum_weighted(self.down_proj(self.activation(gate) * up, placed.ends), placed, weights)


class Mixture(nn.Module):
    """Chosen experts, and those that compute every token."""

    def __init__(self, width: int, traits: ExpertTraits) -> None:
        super().__init__()
        self.gate = ExpertRouter(width, traits)
        self.experts = Experts(width, traits.count, traits.inner)
        self.shared_experts = FeedForward(width, traits.shared) if traits.shared else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., D]; returns the same shape."""
        flat = x.flatten(0, -2)
        made: torch.Tensor = self.experts(flat, *self.gate(flat))
        if self.shared_experts is not None:
            made = made + self.shared_experts(flat)
        return made.view(x.shape)
