"""Low-rank fine-tuning: small matrices beside the frozen ones (LoRA, arXiv 2106.09685)."""

from __future__ import annotations

import torch
from torch import nn

from cinnabar.engine.models.language.decoder import Decoder


class LowRank(nn.Module):
    """A frozen linear layer with a trained product of two thin matrices beside it."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features, device=base.weight.device) * rank**-0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., I]; returns [..., O]."""
        # Twice the product is the usual scale: alpha is twice the rank.
        added = nn.functional.linear(nn.functional.linear(x, self.down.to(x.dtype)), self.up.to(x.dtype))
        made: torch.Tensor = self.base(x) + 2.0 * added
        return made

    def merge(self) -> nn.Linear:
        """Returns the base with the product added to its weight."""
        with torch.no_grad():
            self.base.weight += 2.0 * (self.up @ self.down).to(self.base.weight.dtype)
        return self.base


def add_low_rank(decoder: Decoder, rank: int) -> None:
    """Freezes a decoder, in place, and puts trained matrices of this rank beside those of its layers."""
    decoder.requires_grad_(False)
    for part in list(decoder.model.layers.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, nn.Linear):
                setattr(part, name, LowRank(child, rank))


def merge_low_rank(decoder: Decoder) -> None:
    """Puts plain linear layers with the trained products back in their places."""
    for part in list(decoder.model.layers.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, LowRank):
                setattr(part, name, child.merge())
