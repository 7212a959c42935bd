"""Matrices of 8-bit integers with a scale for each row, as they lie in memory: embeddings, head, and linear layers.

Where a processor multiplies integers fast, the layers of a decoder are `PackedLinear`, and on other devices that do
`Int8Linear`. Elsewhere some rows at a time are turned back to floats, which stay in the processor's cache (one
thread of a processor with AVX2, 896 x 9,728: 12 rows take 5.6 ms, of a matrix in float32 11.8 ms; 512 rows 113 and
112 ms; `_int_mm` takes 50 times as long).

The input is in two parts of 8 bits, but for the layers that widen (`_ONE_PART`), where one does. On documents with a
model of 0.5B, logits with a spread of 3.2 are .076 off in the mean by the rounded weights; one part of the input adds
.195 in all layers, .078 in those that widen alone, two add .001. (Blocks of 256 columns with a scale each, as llama.cpp
has, add .1.)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

from cinnabar.engine.models.int8_matmul import Int8Linear, PackedLinear, Split
from cinnabar.engine.models.language.memory import drop_pages, mapped_places


def is_projection(name: str, shape: tuple[int, ...]) -> bool:
    """Returns whether the decoder's tensor of this name is a projection of its layers, which become whole numbers.

    Embedding, head, norms, biases and routers stay: they are few, or small differences in them decide much.
    """
    return name.startswith("model.layers.") and name.endswith("_proj.weight") and shape[-1] % 2 == 0


#: Numbers of a matrix that are turned back, and logits that are multiplied in integers, at a time.
_SLICE, _LOGITS = 1 << 20, 1 << 22
#: The layers whose input is in one part: they widen it, and two parts would be most of a decoder's work.
_ONE_PART = ("gate_proj", "up_proj")


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
        for part, own in zip(torch.split(self.weight, step), torch.split(made, step, 1), strict=True):
            torch.mm(rows, turned[: len(part)].copy_(part).t(), out=own)
        torch.addcmul(self.bias, made, self.scale, out=made)

    def _in_integers(self, rows: Tensor, made: Tensor) -> None:
        split = Split.of(rows)
        # The matrix stands on the left: a product would copy one on the right that is transposed.
        right = split.integers.t()
        right = right if rows.is_cuda else right.contiguous()
        # CUDA takes no small rest.
        step = len(self.weight) if rows.is_cuda else max(_LOGITS // max(len(split.integers), 1), 32)
        pieces = (torch.split(one, step) for one in (self.weight, self.scale, self.bias))
        for own, weight, scale, bias in zip(torch.split(made, step, 1), *pieces, strict=True):
            own.copy_(split.output(torch._int_mm(weight, right).t(), scale, bias))


def pack_layers(decoder: nn.Module) -> None:
    """Replaces, in place, the `RoundedLinear` layers of a decoder by packed ones."""
    found = [
        (parent, name, layer)
        for parent in decoder.modules()
        for name, layer in parent._modules.items()
        if isinstance(layer, RoundedLinear)
    ]

    places = mapped_places()

    def pack(parent: nn.Module, name: str, layer: RoundedLinear) -> None:
        parts = 1 if name in _ONE_PART else 2
        parent._modules[name] = PackedLinear(layer.weight, layer.scale, layer.bias, parts).train(layer.training)
        drop_pages(layer.weight, places)

    # Packing takes 5 ns a number, of one thread.
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        # What is packed is not held any more.
        for done in [pool.submit(pack, *found.pop()) for _ in range(len(found))]:
            done.result()


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

    def mix(self, shares: Tensor) -> Tensor:
        """shares: [N, tokens] float32; returns the sums of rows with these shares, [N, width] float32."""
        step = max(_SLICE // self.weight.shape[1], 1)
        made = shares.new_zeros(len(shares), self.weight.shape[1])
        scaled = torch.split(shares * self.scale, step, 1)
        for own, part in zip(scaled, torch.split(self.weight, step), strict=True):
            made.addmm_(own, part.float())
        return made


def rounded_layer(path: str, weight: Tensor, scale: Tensor, bias: Tensor | None = None, *, integers: bool) -> nn.Module:
    """Returns the layer of this path in a decoder: an embedding of weight and scale, a linear one of these and a bias.

    integers: whether its products are of integers.
    """
    if bias is None:
        return RoundedEmbedding(weight, scale)
    if integers and path != "lm_head":
        return Int8Linear.of(weight, scale, bias)
    return RoundedLinear(weight, scale, bias, integers)
