"""Matrices of 8-bit integers with a scale for each row, as they lie in memory: embeddings, head, and linear layers.

Where the platform multiplies integers fast, the layers of a decoder are `IntegerLinear`. Elsewhere some rows at a time
are turned back to floats, which stay in the processor's cache (one thread of a processor with AVX2, 896 x 9,728: 12
rows take 5.6 ms, of a matrix in float32 11.8 ms; 512 rows 113 and 112 ms).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cinnabar.engine.models.integer_products import IntegerLinear, Split

#: Numbers of a matrix that are turned back, and logits that are multiplied in integers, at a time.
_SLICE, _LOGITS = 1 << 18, 1 << 22


class RoundedLinear(nn.Module):
    """A linear layer; with `integers` its products are of integers.

    weight: [out, in] int8; scale, bias: [out] float32.
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, scale: Tensor, bias: Tensor, integers: bool) -> None:
        super().__init__()
        for name, tensor in (("weight", weight), ("scale", scale), ("bias", bias)):
            self.register_buffer(name, tensor)
        self._integers = integers

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """x: [..., in]; returns [..., out] float32."""
        rows = x.reshape(-1, x.shape[-1]).float()
        made = rows.new_empty(len(rows), len(self.scale))
        multiply = self._in_integers if self._integers else self._in_floats
        multiply(rows, made)
        return made.view(*x.shape[:-1], len(self.scale))

    def _in_floats(self, rows: Tensor, made: Tensor) -> None:
        step = max(_SLICE // rows.shape[1], 1)
        turned = rows.new_empty(step, rows.shape[1])
        for part, own in zip(self.weight.split(step), made.split(step, 1), strict=True):
            torch.mm(rows, turned[: len(part)].copy_(part).t(), out=own)
        torch.addcmul(self.bias, made, self.scale, out=made)

    def _in_integers(self, rows: Tensor, made: Tensor) -> None:
        split = Split.of(rows)
        # The matrix stands on the left: a product would copy one on the right that is transposed.
        right = split.integers.t()
        right = right if rows.is_cuda else right.contiguous()
        step = max(_LOGITS // max(len(split.integers), 1) // 8 * 8, 32)
        pieces = (one.split(step) for one in (self.weight, self.scale, self.bias))
        for own, weight, scale, bias in zip(made.split(step, 1), *pieces, strict=True):
            own.copy_(split.output(torch._int_mm(weight, right).t(), scale, bias))


class RoundedEmbedding(nn.Module):
    """An embedding whose rows are turned back as they are looked up; the head may have the same tensors.

    weight: [tokens, width] int8; scale: [tokens] float32.
    """

    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens: [...] int64; returns [..., width] float32."""
        return self.weight[tokens].float().mul_(self.scale[tokens].unsqueeze(-1))

    def mixed(self, shares: Tensor) -> Tensor:
        """shares: [N, tokens] float32; returns the sums of rows with these shares, [N, width] float32."""
        step = max(_SLICE // self.weight.shape[1], 1)
        made = shares.new_zeros(len(shares), self.weight.shape[1])
        for own, part in zip((shares * self.scale).split(step, 1), self.weight.split(step), strict=True):
            made.addmm_(own, part.float())
        return made


def rounded_layer(path: str, *tensors: Tensor, integers: bool) -> nn.Module:
    """Returns the layer of this path in a decoder: an embedding of weight and scale, a linear one of these and a bias.

    integers: whether its products are of integers.
    """
    if len(tensors) == 2:
        return RoundedEmbedding(*tensors)
    return IntegerLinear.of(*tensors) if integers and path != "lm_head" else RoundedLinear(*tensors, integers)
