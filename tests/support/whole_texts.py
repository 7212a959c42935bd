"""Whole texts through a decoder, without a cache."""

from __future__ import annotations

import torch

from cinnabar.engine.models.language.attention import Attend, attention, visibility_mask
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits


def self_attention(traits: Traits, positions: torch.Tensor, opened: torch.Tensor | None = None) -> Attend:
    """Returns attention among the tokens at these positions ([R, T] int64); opened: see `visibility_mask`."""
    seen = visibility_mask(traits, positions, positions, opened).unsqueeze(1)

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, _: int) -> torch.Tensor:
        return attention(q, k, v, seen)

    return attend


def whole(
    decoder: Decoder, tokens: torch.Tensor, positions: torch.Tensor, opened: torch.Tensor | None = None
) -> torch.Tensor:
    """The hidden states [R, T, D] of texts whose tokens see those of their rows; opened: see `visibility_mask`."""
    states: torch.Tensor = decoder(tokens, positions, self_attention(decoder.traits, positions, opened))
    return states
