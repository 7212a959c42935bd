"""`paged_attention` in Triton: one program a tile and key head, with the online softmax of FlashAttention (2205.14135).

A tile's queries are those of all heads that share a key head, so that each key is read once for them. Pages that all of
its tokens see whole have no mask. The shape of a compiled kernel is that of a tile: lengths, rows, tokens and pages
are numbers that it reads.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from cinnabar.kernels.paged_attention import WARPS_OF_FLOAT32, PagedRows, Sight, tile_tokens

#: The fewest queries of a program, which products of matrices ask for.
_LEAST = 16
_SIGHTS: dict[Sight, int] = {"causal": 0, "block_causal": 1, "token_causal": 2}
#: Below all scores.
_NONE = tl.constexpr(-1e30)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _page(  # type: ignore[no-untyped-def]
    x, top, sums, made, keys, values, page, number, end, group, scale,
    PAGE: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, WIDE: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Takes the keys and values of one page into the running softmax of a tile."""
    place, dim = tl.arange(0, PAGE), tl.arange(0, WIDE)
    at = ((page * PAGE + place) * GROUPS + group)[:, None] * WIDTH + dim[None, :]
    inside = (dim < WIDTH)[None, :]
    key = tl.load(keys + at, mask=inside, other=0.0)
    scores = tl.dot(x, tl.trans(key), input_precision="tf32x3") * scale
    if MASKED:
        scores = tl.where((number * PAGE + place)[None, :] < end[:, None], scores, _NONE)
    higher = tl.maximum(top, tl.max(scores, 1))
    shares = tl.exp(scores - higher[:, None])
    kept = tl.exp(top - higher)
    value = tl.load(values + at, mask=inside, other=0.0)
    sums = sums * kept + tl.sum(shares, 1)
    made = made * kept[:, None] + tl.dot(shares.to(value.dtype), value, input_precision="tf32x3")
    return higher, sums, made


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _attend(  # type: ignore[no-untyped-def]
    q, keys, values, out, positions, tiles, pages, lengths, opened, table, scale,
    HEADS: tl.constexpr, SHARED: tl.constexpr, WIDTH: tl.constexpr, WIDE: tl.constexpr, PAGE: tl.constexpr,
    LANES: tl.constexpr, SIGHT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One tile and key head; `table` is the number of pages in a row of `pages`."""
    tile, group = tl.program_id(0), tl.program_id(1)
    first, count = tl.load(tiles + 3 * tile), tl.load(tiles + 3 * tile + 1)
    row = tl.load(tiles + 3 * tile + 2)
    if count > 0:
        lane, dim = tl.arange(0, LANES), tl.arange(0, WIDE)
        token, head = lane // SHARED, group * SHARED + lane % SHARED
        inside = token < count
        place = ((first + token) * HEADS + head)[:, None] * WIDTH + dim[None, :]
        both = inside[:, None] & (dim < WIDTH)[None, :]
        x = tl.load(q + place, mask=both, other=0.0)
        at = tl.load(positions + first + token, mask=inside, other=0)
        length, begin = tl.load(lengths + row), tl.load(opened + row)
        end = at + 1
        if SIGHT == 1:
            end = (at // BLOCK + 1) * BLOCK
        if SIGHT == 2:
            end = tl.where(at >= begin, length, end)
        end = tl.minimum(end, length)
        most = tl.max(tl.where(inside, end, 0), 0)
        whole = tl.min(tl.where(inside, end, length), 0) // PAGE
        last = (most + PAGE - 1) // PAGE
        top = tl.full((LANES,), _NONE, tl.float32)
        sums = tl.zeros((LANES,), tl.float32)
        made = tl.zeros((LANES, WIDE), tl.float32)
        for number in range(whole):
            page = tl.load(pages + row * table + number)
            top, sums, made = _page(
                x, top, sums, made, keys, values, page, number, end, group, scale, PAGE, HEADS // SHARED, WIDTH, WIDE,
                False,
            )  # fmt: skip
        for number in range(whole, last):
            page = tl.load(pages + row * table + number)
            top, sums, made = _page(
                x, top, sums, made, keys, values, page, number, end, group, scale, PAGE, HEADS // SHARED, WIDTH, WIDE,
                True,
            )  # fmt: skip
        made = made / tl.maximum(sums, 1e-30)[:, None]
        tl.store(out + place, made.to(out.dtype.element_ty), mask=both)


def paged_attention_triton(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, rows: PagedRows, page: int, sight: Sight, block: int
) -> torch.Tensor:
    """Returns what `paged_attention` returns; a tile has at most `tile_tokens` tokens, and pages a power of two places.

    The program of a kernel depends on heads, width, page, sight and block alone.
    """
    many, heads, width = q.shape
    groups = keys.shape[1]
    shared = heads // groups
    lanes = max(triton.next_power_of_2(tile_tokens(shared) * shared), _LEAST)
    made = torch.zeros_like(q)
    wide = max(triton.next_power_of_2(width), 16)
    if many and len(rows.tiles):
        _attend[(len(rows.tiles), groups)](
            q.contiguous(), keys, values, made, rows.positions, rows.tiles, rows.pages, rows.lengths, rows.opened,
            rows.pages.shape[1], width**-0.5, heads, shared, width, wide, page, lanes, _SIGHTS[sight], block,
            num_warps=WARPS_OF_FLOAT32 if q.dtype == torch.float32 else 4,
        )  # fmt: skip
    return made
