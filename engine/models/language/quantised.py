"""Weight-only quantisation: matrices as whole numbers of 8 or 4 bits with a scale for each group, for small GPUs.

The weights of one row are cut into groups, and each group has the scale with which its largest weight becomes the
largest whole number. A product turns them back into the numbers of its input first, so activations lose nothing. A
weight is off by half a scale at most.

Matrices of 8-bit integers with a scale for each row, as they lie in memory: embeddings, head, and linear layers.

Where a processor multiplies integers fast, the layers of a decoder are `PackedLinear`, and on other devices that do
`Int8Linear`. Elsewhere some rows at a time are turned back to floats, which stay in the processor's cache (one
thread of a processor with AVX2, 896 x 9,728: 12 rows take 5.6 ms, of a matrix in float32 11.8 ms; 512 rows 113 and
112 ms; `_int_mm` takes 50 times as long).

The input is in two parts of 8 bits, but for the layers that widen (`_ONE_PART`), where one does. On documents with a
model of 0.5B, logits with a spread of 3.2 are .076 off in the mean by the rounded weights; one part of the input adds
.195 in all layers, .078 in those that widen alone, two add .001. (Blocks of 256 columns with a scale each, as llama.cpp
has, add .1.)

Linear layers in floats of 8 bits (E4M3, arXiv 2209.05433), for GPUs whose tensor cores multiply these.

A weight has a scale for each output, an input one for each token, so that the largest number of each is the largest
float of 8 bits. Weights take half of the bytes of bfloat16, and products run at twice its rate. Elsewhere the same
rounded numbers are multiplied in float32.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cinnabar.engine.models.int8_matmul import Int8Linear, PackedLinear, Split
from cinnabar.engine.models.language.decoder import ExpertMatrices
from cinnabar.engine.models.language.memory import drop_pages, mapped_places

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


FLOAT8 = torch.float8_e4m3fn
#: The largest float of 8 bits, and the least magnitude of a row.
_LARGEST, _LEAST = 448.0, 1e-12
#: What the tensor cores ask of the sizes of a matrix.
_STEP = 16


class Float8Linear(nn.Module):
    """`nn.Linear` in floats of 8 bits."""

    values: torch.Tensor
    scales: torch.Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.register_buffer("values", torch.empty_like(linear.weight, dtype=FLOAT8, requires_grad=False))
        self.register_buffer("scales", torch.empty(linear.out_features, device=linear.weight.device))
        self.bias = linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., I]; returns [..., O]."""
        return float8_product(x, self.values, self.scales, self.bias)


def round_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (values [N, I] in 8 bits, scales [N] float32) of the rows of a matrix."""
    wide = weight.float()
    scales = wide.abs().amax(-1).clamp_min(_LEAST) / _LARGEST
    return (wide / scales[:, None]).to(FLOAT8), scales


def float8_product(
    x: torch.Tensor, values: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Returns x times the matrix, [..., O] in the dtype of x; values: [O, I], scales: [O]."""
    rows, own = round_rows(x.reshape(-1, x.shape[-1]))
    if x.dtype == torch.bfloat16 and _multiplies(values):
        made = torch._scaled_mm(
            rows, values.t(), scale_a=own[:, None], scale_b=scales[None], out_dtype=x.dtype, use_fast_accum=True
        )
    else:
        made = ((rows.float() @ values.float().t()) * own[:, None] * scales).to(x.dtype)
    made = made if bias is None else made + bias
    return made.view(*x.shape[:-1], len(values))


def _multiplies(values: torch.Tensor) -> bool:
    whole = all(size % _STEP == 0 for size in values.shape)
    return whole and values.is_cuda and torch.cuda.get_device_capability(values.device) >= (8, 9)


def to_float8(module: nn.Module) -> None:
    """Puts such layers, without their numbers, in the place of the projections within a decoder's layers."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and name.endswith("_proj"):
            setattr(module, name, Float8Linear(child))
        else:
            to_float8(child)
