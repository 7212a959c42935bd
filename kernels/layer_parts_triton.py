"""`LayerParts` in Triton: one launch each, in float32 between loads and stores, with the norm rounded as defined."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from cinnabar.kernels.expert_routing_triton import TritonExpertRouting
from cinnabar.kernels.layer_parts import CacheWrites, HeadNorms, HeadShape, LayerParts, Positioned

#: Heads of a program, and numbers of one that gates.
_HEADS, _NUMBERS = 8, 1024


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _add_norm(  # type: ignore[no-untyped-def]
    x, added, weight, total, normed, epsilon, WIDTH: tl.constexpr, WIDE: tl.constexpr, ADDS: tl.constexpr
):
    """One token."""
    dim = tl.arange(0, WIDE)
    inside = dim < WIDTH
    at = tl.program_id(0) * WIDTH + dim
    one = tl.load(x + at, mask=inside, other=0.0)
    if ADDS:
        other = tl.load(added + at, mask=inside, other=0.0)
        one = (one.to(tl.float32) + other.to(tl.float32)).to(one.dtype)
        tl.store(total + at, one, mask=inside)
    wide = one.to(tl.float32)
    root = tl.rsqrt(tl.sum(wide * wide, 0) / WIDTH + epsilon)
    scaled = (wide * root).to(one.dtype).to(tl.float32)
    made = scaled * tl.load(weight + dim, mask=inside, other=0.0).to(tl.float32)
    tl.store(normed + at, made.to(one.dtype), mask=inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _queries(  # type: ignore[no-untyped-def]
    joined, cosines, sines, scale, of_queries, of_keys, places, keys, values, made, epsilon,
    HEADS: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, WIDE: tl.constexpr, ROTARY: tl.constexpr,
    NORMED: tl.constexpr, SCALED: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Some heads of one token: of queries, then of keys, then of values."""
    token = tl.program_id(0).to(tl.int64)
    head, dim = tl.program_id(1) * TILE + tl.arange(0, TILE), tl.arange(0, WIDE)
    half: tl.constexpr = ROTARY // 2
    other = tl.where(dim < half, dim + half, tl.where(dim < ROTARY, dim - half, dim))
    inside = (head < HEADS + 2 * GROUPS)[:, None] & (dim < WIDTH)[None, :]
    start = joined + (token * (HEADS + 2 * GROUPS) + head)[:, None] * WIDTH
    value = tl.load(start + dim[None, :], mask=inside, other=0.0)
    x = value.to(tl.float32)
    y = tl.load(start + other[None, :], mask=inside, other=0.0).to(tl.float32)
    asks = (head < HEADS)[:, None]
    if NORMED:
        root = tl.rsqrt(tl.sum(x * x, 1) / WIDTH + epsilon)[:, None]
        held = dim < WIDTH
        here = tl.where(
            asks,
            tl.load(of_queries + dim, mask=held, other=0.0).to(tl.float32)[None, :],
            tl.load(of_keys + dim, mask=held, other=0.0).to(tl.float32)[None, :],
        )
        there = tl.where(
            asks,
            tl.load(of_queries + other, mask=held, other=0.0).to(tl.float32)[None, :],
            tl.load(of_keys + other, mask=held, other=0.0).to(tl.float32)[None, :],
        )
        x = ((x * root).to(value.dtype).to(tl.float32) * here).to(value.dtype).to(tl.float32)
        y = ((y * root).to(value.dtype).to(tl.float32) * there).to(value.dtype).to(tl.float32)
    turns = dim < ROTARY
    cosine = tl.load(cosines + token * ROTARY + dim, mask=turns, other=1.0).to(tl.float32)[None, :]
    sine = tl.load(sines + token * ROTARY + dim, mask=turns, other=0.0).to(tl.float32)[None, :]
    sign = tl.where(dim < half, -1.0, 1.0)[None, :]
    turned = x * cosine + sign * y * sine
    if SCALED:
        turned = tl.where(asks, turned * tl.load(scale + token).to(tl.float32), turned)
    turned = turned.to(value.dtype)
    tl.store(made + (token * HEADS + head)[:, None] * WIDTH + dim[None, :], turned, mask=inside & asks)
    place = tl.load(places + token)
    of_key, of_value = (place * GROUPS + head - HEADS)[:, None], (place * GROUPS + head - HEADS - GROUPS)[:, None]
    is_value = (head >= HEADS + GROUPS)[:, None]
    tl.store(keys + of_key * WIDTH + dim[None, :], turned, mask=inside & ~asks & ~is_value)
    tl.store(values + of_value * WIDTH + dim[None, :], value, mask=inside & is_value)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _silu_gate(both, made, INNER: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Some numbers of one token."""
    token, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = at < INNER
    gate = tl.load(both + token * 2 * INNER + at, mask=inside, other=0.0)
    up = tl.load(both + token * 2 * INNER + INNER + at, mask=inside, other=0.0).to(tl.float32)
    wide = gate.to(tl.float32)
    opened = (wide / (1.0 + tl.exp(-wide))).to(gate.dtype).to(tl.float32)
    tl.store(made + token * INNER + at, (opened * up).to(gate.dtype), mask=inside)


class TritonLayerParts(LayerParts):
    """The kernels; the programs depend on the sizes of the model alone."""

    routing = TritonExpertRouting()

    def add_norm(
        self, x: torch.Tensor, added: torch.Tensor | None, weight: torch.Tensor, epsilon: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """See `LayerParts.add_norm`."""
        many, width = x.shape
        total = x if added is None else torch.empty_like(x)
        normed = torch.empty_like(x)
        _add_norm[(many,)](
            x, x if added is None else added, weight, total, normed, epsilon, width, triton.next_power_of_2(width),
            added is not None,
        )  # fmt: skip
        return total, normed

    def queries(
        self, joined: torch.Tensor, shape: HeadShape, at: Positioned, norms: HeadNorms | None, written: CacheWrites
    ) -> torch.Tensor:
        """See `LayerParts.queries`."""
        many, whole = len(joined), shape.heads + 2 * shape.key_heads
        made = torch.empty(many, shape.heads, shape.width, dtype=joined.dtype, device=joined.device)
        of_queries, of_keys, epsilon = (joined, joined, 0.0)
        if norms is not None:
            of_queries, of_keys, epsilon = norms.queries, norms.keys, norms.epsilon
        _queries[(many, triton.cdiv(whole, _HEADS))](
            joined, at.cosines, at.sines, joined if at.scale is None else at.scale, of_queries, of_keys,
            written.places, written.keys, written.values, made, epsilon, shape.heads, shape.key_heads, shape.width,
            triton.next_power_of_2(shape.width), shape.rotary, norms is not None, at.scale is not None, _HEADS,
        )  # fmt: skip
        return made

    def silu_gate(self, both: torch.Tensor) -> torch.Tensor:
        """See `LayerParts.silu_gate`."""
        many, inner = len(both), both.shape[1] // 2
        made = torch.empty(many, inner, dtype=both.dtype, device=both.device)
        _silu_gate[(many, triton.cdiv(inner, _NUMBERS))](both, made, inner, _NUMBERS)
        return made
