"""Weight-only quantisation: matrices as whole numbers of 8 or 4 bits with a scale for each group, for small GPUs.

The weights of one row are cut into groups, and each group has the scale with which its largest weight becomes the
largest whole number. A product turns them back into the numbers of its input first, so activations lose nothing. A
weight is off by half a scale at most.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import nn

from cinnabar.engine.models.language.experts import ExpertMatrices

Bits = Literal[8, 4]
#: Weights of a group; a row whose length it does not divide has smaller groups, or is one.
GROUP, SMALLEST = 64, 8


def group_of(width: int) -> int:
    """Returns how many weights of rows of this length share a scale."""
    common = math.gcd(width, GROUP)
    return common if common >= SMALLEST else width


def is_quantised(name: str, shape: tuple[int, ...]) -> bool:
    """Returns whether the decoder's tensor of this name becomes whole numbers: the projections of its layers do.

    Embedding, head, norms, biases and routers stay: they are few, or small differences in them decide much.
    """
    return name.startswith("model.layers.") and name.endswith("_proj.weight") and shape[-1] % 2 == 0


def quantised_bytes(shape: tuple[int, ...], bits: Bits) -> int:
    """Returns the memory of a quantised tensor with its scales."""
    values = math.prod(shape)
    return values * bits // 8 + values // group_of(shape[-1]) * torch.bfloat16.itemsize


def quantise(weight: torch.Tensor, bits: Bits) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (values, scales [..., I / G] bfloat16) of a weight [..., I].

    values: [..., I] int8, or with 4 bits [..., I / 2] uint8, two of them each, the first one in the lower half.
    """
    groups = weight.float().unflatten(-1, (-1, group_of(weight.shape[-1])))  # type: ignore[no-untyped-call]
    most = 2 ** (bits - 1) - 1
    scales = (groups.abs().amax(-1) / most).bfloat16()
    steps = torch.where(scales == 0, 1.0, scales.float()).unsqueeze(-1)
    values = (groups / steps).round().clamp(-most, most).flatten(-2).to(torch.int8)
    if bits == 8:
        return values, scales
    halves = (values + 8).to(torch.uint8)
    return halves[..., ::2] | halves[..., 1::2] << 4, scales


def dequantise(values: torch.Tensor, scales: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns the weight [..., I] that `quantise` made these of."""
    if values.dtype == torch.uint8:
        values = torch.stack([values & 15, values >> 4], -1).flatten(-2).to(torch.int8) - 8
    grouped = values.view(*scales.shape, -1).to(dtype) * scales.to(dtype).unsqueeze(-1)
    return grouped.flatten(-2)


class _Quantised(nn.Module):
    values: torch.Tensor
    scales: torch.Tensor

    def __init__(self, shape: tuple[int, ...], bits: Bits) -> None:
        super().__init__()
        values, scales = quantise(torch.zeros(shape, device="meta"), bits)
        self.register_buffer("values", values)
        self.register_buffer("scales", scales)


class QuantisedLinear(_Quantised):
    """`nn.Linear` with a quantised matrix."""

    def __init__(self, linear: nn.Linear, bits: Bits) -> None:
        super().__init__(tuple(linear.weight.shape), bits)
        self.bias = linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., I]; returns [..., O]."""
        return F.linear(x, dequantise(self.values, self.scales, x.dtype), self.bias)


class QuantisedExpertMatrices(_Quantised):
    """`ExpertMatrices` with quantised matrices."""

    def __init__(self, matrices: ExpertMatrices, bits: Bits) -> None:
        super().__init__(tuple(matrices.weight.shape), bits)

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """x: [N, I], sorted by expert; ends: [E], the end of the rows of each expert; returns [N, O]."""
        made = x.new_empty(len(x), self.scales.shape[1])
        begin = 0
        # One expert after the other: all of them turned back at once would take the memory that was saved.
        for expert, end in enumerate(ends.tolist()):
            if end > begin:
                weight = dequantise(self.values[expert], self.scales[expert], x.dtype)
                made[begin:end] = F.linear(x[begin:end], weight)
            begin = end
        return made


def quantise_modules(module: nn.Module, bits: Bits, prefix: str = "") -> None:
    """Puts quantised modules, on the meta device, in the place of those whose tensors become whole numbers."""
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if isinstance(child, nn.Linear | ExpertMatrices) and is_quantised(f"{path}.weight", tuple(child.weight.shape)):
            kind = QuantisedLinear if isinstance(child, nn.Linear) else QuantisedExpertMatrices
            setattr(module, name, kind(child, bits))  # type: ignore[arg-type]
        else:
            quantise_modules(child, bits, f"{path}.")
