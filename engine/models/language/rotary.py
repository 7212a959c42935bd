"""Rotary position embeddings (arXiv 2104.09864), plain or scaled for longer texts.

The kinds of scaling are those of `rope_scaling` in config.json: `linear` divides the angles (2306.15595), `llama3`
divides those of long wavelengths, and `yarn` passes smoothly between both and makes attention sharper (2309.00071).
`dynamic` changes nothing up to the model's window, and with `proportional` a share of the angles turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import torch
from torch import nn

from cinnabar.engine.models.language.traits import Traits


class Turn(NamedTuple):
    """What queries and keys get of their positions: cosines and sines of angles, and a factor of the queries, if any.

    cosines, sines: [R, 1, T, W], W the rotary width. scale: [R, 1, T, 1].
    """

    cosines: torch.Tensor
    sines: torch.Tensor
    scale: torch.Tensor | None


class Rotary(nn.Module):
    """Cosines and sines of the angles of positions."""

    frequencies: torch.Tensor

    def __init__(self, traits: Traits) -> None:
        super().__init__()
        frequencies, self.scale = scaled_frequencies(traits)
        # Llama 4's: queries grow with each window of the first training.
        self.growth = traits.rope.get("llama_4_scaling_beta")
        self.window = traits.rope.get("original_max_position_embeddings", traits.window)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        # In bfloat16 a frequency is wrong by up to a 256th: 80 turns at position 131,072. It follows the device alone.
        exact = self.frequencies
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.frequencies = exact.to(self.frequencies.device)
        return self

    def forward(self, positions: torch.Tensor, dtype: torch.dtype) -> Turn:
        """positions: [R, T] int64, at least 0."""
        angles = positions.unsqueeze(-1).float() * self.frequencies
        both = torch.cat([angles, angles], -1).unsqueeze(1)
        scale = None
        if self.growth is not None:
            grown = 1 + float(self.growth) * torch.log1p(positions.div(self.window, rounding_mode="floor").float())
            scale = grown[:, None, :, None].to(dtype)
        return Turn((both.cos() * self.scale).to(dtype), (both.sin() * self.scale).to(dtype), scale)


def scaled_frequencies(traits: Traits) -> tuple[torch.Tensor, float]:
    """Returns (angle of one position [W / 2] float32, factor of cosines and sines)."""
    width = traits.rotary_width or traits.head_width
    steps = torch.arange(0, width, 2, dtype=torch.float32, device="cpu")
    plain = 1.0 / (traits.rope_theta ** (steps / width))
    if not traits.rope or traits.rope["rope_type"] == "dynamic":
        return plain, 1.0
    if traits.rope["rope_type"] == "proportional":
        # The angles are those of the whole head, and only a share of them turns.
        plain[int(traits.rope["partial_rotary_factor"] * width // 2) :] = 0
        return plain, 1.0
    kind, factor = traits.rope["rope_type"], float(traits.rope["factor"])
    if kind == "linear":
        return plain / factor, 1.0
    if kind == "llama3":
        return _llama3(plain, factor, traits.rope), 1.0
    return _yarn(plain, factor, traits.rope, width, traits.rope_theta)


def _llama3(plain: torch.Tensor, factor: float, scaling: Mapping[str, Any]) -> torch.Tensor:
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    # How often the wave of each frequency turns within the window of the first training.
    turns = scaling["original_max_position_embeddings"] * plain / (2 * math.pi)
    return _between(plain, factor, ((turns - low) / (high - low)).clamp(0, 1))


def _yarn(
    plain: torch.Tensor, factor: float, scaling: Mapping[str, Any], width: int, theta: float
) -> tuple[torch.Tensor, float]:
    window = scaling["original_max_position_embeddings"]

    def place(turns: float) -> float:
        """The place among the frequencies at which a wave turns so often within the window."""
        return width * math.log(window / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = place(scaling.get("beta_fast") or 32.0), place(scaling.get("beta_slow") or 1.0)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = (torch.arange(width // 2, dtype=torch.float32, device="cpu") - low) / max(high - low, 0.001)
    scale = scaling.get("attention_factor")
    if scale is None:
        one, other = scaling.get("mscale"), scaling.get("mscale_all_dim")
        scale = _sharper(factor, one) / _sharper(factor, other) if one and other else _sharper(factor, 1.0)
    return _between(plain, factor, 1 - ramp.clamp(0, 1)), float(scale)


def _between(plain: torch.Tensor, factor: float, kept: torch.Tensor) -> torch.Tensor:
    """Returns the frequencies with a share `kept` as they are, the rest divided by the factor."""
    mixed: torch.Tensor = plain / factor * (1 - kept) + plain * kept
    return mixed


def _sharper(factor: float, weight: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0
