"""Matrix products in 8-bit integers.

An input row is split into two 8-bit integers and a scale: x ≈ s (high + low / 254), so that two integer products give
the result to 15 bits (an Ozaki scheme; Ootomo et al. 2024, arXiv 2306.11975; a scale for each row: Dettmers et al.
2022, arXiv 2208.07339). The weights of a release are 8-bit integers times a scale for each output; others are split
too. With 8 bits of the input alone the encoder's states were 5% off, with two parts they are .02% off; in bfloat16 they
are .7% off.

Sums of integers are exact, so a row's result depends on no other row, whatever the batch.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)
#: The largest integer of a part, and how much finer the second part is than the first.
_LARGEST, FINER = 127.0, 254.0
#: What oneDNN takes for zero in rows of bytes.
_ZERO = 128
#: A weight is an 8-bit integer if it is this near to one, in units of its row's scale.
_NEAR = 0.004
#: The least value that a row's scale is computed from.
_LEAST = 1e-12
#: How often both products are timed.
_ROUNDS = 5
#: Two rounds are enough for integers this much slower: on a processor with AVX2 five take 1.4 s, and they are 50 times.
_SLOW = 4
#: CUDA multiplies no fewer rows than this, and no sizes that eight does not divide.
_LEAST_ROWS, _MULTIPLE = 32, 8


class Int8Linear(nn.Module):
    """A linear layer with weights in P parts of 8 bits: one if they are such integers times their scales, else two.

    weight: [in, P out] int8; scale, bias: [out] float32.
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        high, low, scale = _parts(weight)
        parts = [high] if float(low.abs().amax()) <= FINER * _NEAR else [high, low]
        bias = torch.zeros(len(weight)) if linear.bias is None else linear.bias.detach().float()
        self._take(torch.cat(parts).to(torch.int8).t().contiguous(), scale[:, 0], bias.to(weight.device))

    @classmethod
    def of(cls, weight: Tensor, scale: Tensor, bias: Tensor) -> Int8Linear:
        """Returns a layer that holds these tensors."""
        layer = cls.__new__(cls)
        nn.Module.__init__(layer)
        layer._take(weight, scale, bias)
        return layer

    def _take(self, weight: Tensor, scale: Tensor, bias: Tensor) -> None:
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)

    @property
    def outputs(self) -> int:
        """The values of an output row."""
        return len(self.scale)

    @property
    def parts(self) -> int:
        """The parts of 8 bits of each weight."""
        return self.weight.shape[1] // len(self.scale)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the layer's output, [..., out] float32, for x: [..., in]."""
        return project(x, self)[0]


class PackedLinear(nn.Module):
    """A linear layer whose weights lie in the order in which oneDNN multiplies them on a CPU.

    parts: of 8 bits of each input, 1 or 2. scale, bias: [out] float32. The sums of integers are exact, so a row's
    output depends on no other row.
    """

    scale: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, scale: Tensor, bias: Tensor, parts: int) -> None:
        """weight: [out, in] int8."""
        super().__init__()
        self.parts = parts
        self._weight = torch.ops.onednn.qlinear_prepack(weight, None)
        self._zeros = torch.zeros(len(scale), dtype=torch.int32)
        # Copies: the pages that these were mapped from are given back with those of the weights.
        self.register_buffer("scale", scale.clone())
        self.register_buffer("bias", bias.clone())

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., in]; returns [..., out] float32."""
        return self.output(*self.split(x)).view(*x.shape[:-1], len(self.scale))

    @torch.no_grad()
    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the rows of x in bytes, [parts N, in], part after part, and their scales, [N, 1]."""
        high, low, scale = _parts(x.reshape(-1, x.shape[-1]).float())
        if self.parts == 2:
            high = torch.cat([high, low])
        return high.add_(_ZERO).to(torch.uint8), scale

    @torch.no_grad()
    def output(self, rows: Tensor, scale: Tensor) -> Tensor:
        """Returns [N, out] float32 for what `split` gives, which another layer of as many parts may have made."""
        sums = torch.ops.onednn.qlinear_pointwise(
            rows, 1.0, _ZERO, self._weight, self.scale, self._zeros, None, 1.0, 0,
            torch.float32, "none", [], "",
        )  # fmt: skip
        if self.parts == 2:
            first, second = sums.chunk(2)
            sums = first.add_(second, alpha=1 / FINER)
        made: Tensor = torch.addcmul(self.bias, sums, scale, out=sums)
        return made


def project(x: Tensor, *layers: nn.Module) -> tuple[Tensor, ...]:
    """Returns the outputs of several layers for the same input, [..., in]; it is split once for those in integers."""
    packed = [layer for layer in layers if isinstance(layer, PackedLinear)]
    if len(packed) == len(layers) and len({layer.parts for layer in packed}) == 1:
        rows, scale = packed[0].split(x)
        return tuple(layer.output(rows, scale).view(*x.shape[:-1], len(layer.scale)) for layer in packed)
    if not any(isinstance(layer, Int8Linear) for layer in layers):
        return tuple(layer(x) for layer in layers)
    flat = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    split = Split.of(flat if flat.dtype == torch.float32 else flat.float())
    outputs = []
    for layer in layers:
        if isinstance(layer, Int8Linear):
            made = split.output(torch._int_mm(split.integers, layer.weight), layer.scale, layer.bias)
            outputs.append(made if flat is x else made.view(*x.shape[:-1], layer.outputs))
        else:
            outputs.append(layer(x))
    return tuple(outputs)


@dataclass(frozen=True, slots=True)
class Split:
    """N rows in two parts of 8 bits, [2 M, in] int8, with their scales, [N, 1]; M is N or what the device takes."""

    integers: Tensor
    scale: Tensor

    @classmethod
    @torch.no_grad()
    def of(cls, rows: Tensor) -> Split:
        """Returns rows of float32, [N, in], in integers."""
        scale = row_scales(rows)
        count = max(len(rows) + -len(rows) % _MULTIPLE, _LEAST_ROWS) if rows.is_cuda else len(rows)
        parts = torch.empty(2, count, rows.shape[1], device=rows.device)
        high, low = parts.unbind()
        if count > len(rows):
            parts.zero_()
            high, low = high[: len(rows)], low[: len(rows)]
        # Written in place: a large new tensor costs a processor more than the arithmetic on it.
        torch.div(rows, scale, out=low)
        torch.round(low, out=high)
        low.sub_(high).mul_(FINER).round_()
        return cls(parts.to(torch.int8).view(-1, rows.shape[1]), scale)

    @torch.no_grad()
    def output(self, products: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        """Returns a layer's output, [N, out] float32, of the products with its weights in P parts, [2 M, P out]."""
        first, second = products.chunk(2)
        sums = first.float().add_(second, alpha=1 / FINER)[: len(self.scale)]
        if products.shape[1] > len(scale):
            sums = torch.add(*sums.chunk(2, 1), alpha=1 / FINER)
        return torch.addcmul(bias, sums.mul_(self.scale), scale, out=sums)


def row_scales(rows: Tensor) -> Tensor:
    """Returns the scale of each row, [N, 1]: its numbers are whole ones of 8 bits times that, at most."""
    return rows.abs().amax(-1, keepdim=True).clamp_min_(_LEAST).mul_(1 / _LARGEST)


def _parts(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the two parts of each row and its scale, all in float32: row ≈ scale (high + low / 254)."""
    scale = row_scales(rows)
    scaled = rows / scale
    high = scaled.round()
    return high, scaled.sub_(high).mul_(FINER).round_(), scale


def use_integer_products(module: M) -> M:
    """Returns the module with its linear layers in integers; it shares all other parts with the one given.

    On a device without fast and exact products of 8-bit integers that is the module itself.
    """
    device = next(module.parameters()).device
    return _convert(module) if supports_int8(device) else module


def _convert(module: M) -> M:
    converted = copy.copy(module)
    converted._modules = {
        name: child if child is None else _layer(child) if isinstance(child, nn.Linear) else _convert(child)
        for name, child in module._modules.items()
    }
    return converted


def take_integers(
    module: nn.Module,
    held: Mapping[str, Tensor],
    made: Callable[..., nn.Module] = lambda _, *own: Int8Linear.of(*own),
) -> None:
    """Replaces, in place, the linear layers and embeddings that have a scale in `held`, a module's state with integers.

    made: returns a new layer for a path and its weight, scale and bias, which are the tensors of `held` themselves.
    """
    for name, parent in list(module.named_modules()):
        for last, child in list(parent._modules.items()):
            path = f"{name}.{last}" if name else last
            if isinstance(child, nn.Linear | nn.Embedding) and f"{path}.scale" in held:
                own = (held[f"{path}.{one}"] for one in ("weight", "scale", "bias") if f"{path}.{one}" in held)
                parent._modules[last] = made(path, *own).train(child.training)


def eight_bits(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Returns (integers [out, in] int8, scale [out] float32) of a matrix, rounded to 8 bits with a scale an output."""
    high, _, scale = _parts(weight.float())
    return high.to(torch.int8), scale[:, 0]


def fits_int8(shape: tuple[int, ...]) -> bool:
    """Returns whether the products are for a matrix of this shape."""
    return not any(size % _MULTIPLE for size in shape)


def _layer(linear: nn.Linear) -> nn.Module:
    """Returns the layer in integers; one of another size than the products take stays as it is."""
    return Int8Linear(linear) if fits_int8(tuple(linear.weight.shape)) else linear


@lru_cache(maxsize=4)
def supports_int8(device: torch.device) -> bool:
    """Returns whether the device multiplies 8-bit integers exactly, and two products faster than one of floats.

    Processors without such instructions may add two products in 16 bits, which overflows.
    """
    generator = torch.Generator().manual_seed(0)
    # Sums of 768 products are below 2^24, so that float32 adds them up exactly.
    a = torch.randint(-127, 128, (320, 768), generator=generator)
    b = torch.randint(-127, 128, (768, 384), generator=generator)
    a[:32], b[:, :32] = 127, 127
    a[32:64], b[:, 32:64] = -127, -127
    left, right = a.to(device, torch.int8), b.to(device, torch.int8)
    floats = left.float(), right.float()
    try:
        if not torch.equal(torch._int_mm(left, right).float(), floats[0] @ floats[1]):
            return False
    except RuntimeError:
        return False
    twice = torch.cat([left, left])
    # In turns, so that other work on the machine slows both: the difference is fourfold, one way or the other.
    integers, numbers = [], []
    for _ in range(_ROUNDS):
        integers.append(_seconds(lambda: torch._int_mm(twice, right), device))
        numbers.append(_seconds(lambda: floats[0] @ floats[1], device))
        if len(numbers) > 1 and min(integers) > _SLOW * min(numbers):
            break
    return min(integers) < min(numbers)


def _seconds(work: Callable[[], Tensor], device: torch.device) -> float:
    begun = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begun


@lru_cache(maxsize=1)
def packs_integers() -> bool:
    """Returns whether the CPU multiplies packed matrices of 8-bit integers exactly."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(-127, 128, (40, 768), generator=generator)
    weight = torch.randint(-127, 128, (64, 768), generator=generator)
    # Sums of two such products do not fit into 16 bits.
    rows[:8], weight[:8] = 127, 127
    rows[8:16] = -127
    # Each row has the scale 1.
    rows[:, 0] = 127
    try:
        layer = PackedLinear(weight.to(torch.int8), torch.ones(64), torch.zeros(64), 1)
        found = layer(rows)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return torch.equal(found, (rows @ weight.t()).float())
