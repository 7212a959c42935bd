"""Rotary position embeddings (arXiv 2104.09864)."""

from __future__ import annotations

import torch
from torch import nn

from cinnabar.engine.models.language.traits import Traits


class Rotary(nn.Module):
    """Cosines and sines of the angles of positions."""

    frequencies: torch.Tensor

    def __init__(self, traits: Traits) -> None:
        super().__init__()
        width = traits.head_width
        steps = torch.arange(0, width, 2, dtype=torch.float32, device="cpu")
        self.register_buffer("frequencies", traits.rope_theta ** -(steps / width), persistent=False)

    def forward(self, positions: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """positions: [R, T] int64, at least 0; returns (cosines, sines), each [R, 1, T, W], W the head's width."""
        angles = positions.unsqueeze(-1).float() * self.frequencies
        both = torch.cat([angles, angles], -1).unsqueeze(1)
        return both.cos().to(dtype), both.sin().to(dtype)
