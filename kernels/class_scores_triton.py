"""`class_scores` in Triton: each logit is read once, in its own dtype, and reduced in float32.

A class may have one token or nearly all of them, so the tokens of each class are cut into pieces of one width. A first
kernel reduces pieces, a second one the pieces of each class; both in a fixed order, so that a position has the same
result in any batch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from cinnabar.kernels.class_scores import Reduced
from cinnabar.kernels.score_limits import FLOOR, LEAST

_FLOOR = tl.constexpr(FLOOR)
_LEAST = tl.constexpr(LEAST)
#: Tokens of a piece, pieces that a program reduces, and the tile of classes by pieces of the second kernel.
_WIDTH, _PIECES, _CLASSES, _TILE = 128, 16, 32, 32


class PieceTables:
    """The tokens of a vocabulary by class, in pieces, on a device.

    order: [V] int32, tokens by class, those of no class last. begin: [C + 1] int64, where the classes and then the
    tokens of no class begin.
    """

    def __init__(self, order: npt.NDArray[np.int64], begin: npt.NDArray[np.int64], device: torch.device) -> None:
        self.classes = len(begin) - 1
        ends = np.append(begin[1:], len(order))
        count = -(-(ends - begin) // _WIDTH)
        first = np.cumsum(count) - count
        number = np.arange(int(count.sum())) - np.repeat(first, count)
        starts = np.repeat(begin, count) + number * _WIDTH
        stops = np.minimum(starts + _WIDTH, np.repeat(ends, count))
        self.pieces = len(starts)
        self.order = torch.from_numpy(order.astype(np.int32)).to(device)
        #: [T, 2] int32, the places in `order` of each piece; [C + 2] int32, the first piece of each class.
        self.places = torch.from_numpy(np.stack([starts, stops], 1).astype(np.int32)).to(device)
        self.first = torch.from_numpy(np.append(first, len(starts)).astype(np.int32)).to(device)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _piece(  # type: ignore[no-untyped-def]
    logits, order, places, top_of, sum_of, token_of, vocabulary, pieces, WIDTH: tl.constexpr, PIECES: tl.constexpr
):
    """Some pieces at one position; the top of a piece with a NaN is infinite."""
    position = tl.program_id(0).to(tl.int64)
    piece = tl.program_id(1) * PIECES + tl.arange(0, PIECES)
    inside = piece < pieces
    begin = tl.load(places + 2 * piece, mask=inside, other=0)
    stop = tl.load(places + 2 * piece + 1, mask=inside, other=0)
    at = begin[:, None] + tl.arange(0, WIDTH)[None, :]
    on = at < stop[:, None]
    token = tl.load(order + at, mask=on, other=0)
    x = tl.load(logits + position * vocabulary + token, mask=on, other=-float("inf")).to(tl.float32)
    x = tl.where(x == x, x, float("inf"))
    top = tl.max(x, 1)
    # Where all are minus infinity or one is infinite, the sum is meaningless but still a number.
    level = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    terms = tl.where(on, tl.exp(tl.minimum(x - level[:, None], 0.0)), 0.0)
    # Within a class the tokens ascend, so the least of equals is the first.
    first = tl.min(tl.where(on & (x == top[:, None]), token, vocabulary), 1)
    out = position * pieces + piece
    tl.store(top_of + out, top, mask=inside)
    tl.store(sum_of + out, tl.sum(terms, 1), mask=inside)
    tl.store(token_of + out, first, mask=inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _subtract(scores, classes, norm, fine, CLASSES: tl.constexpr):  # type: ignore[no-untyped-def]
    """Takes the log-sum-exp of a position from its scores, in place; where it is not `fine` all are the least."""
    for block in range(0, classes, CLASSES):
        kind = block + tl.arange(0, CLASSES)
        kept = kind < classes
        x = tl.load(scores + kind, mask=kept, other=0.0) - norm
        tl.store(scores + kind, tl.where(fine, tl.maximum(x, _LEAST), _LEAST), mask=kept)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _class(  # type: ignore[no-untyped-def]
    logits, held, top_of, sum_of, token_of, first_of, total, best, token, own, finite,
    vocabulary, pieces, classes, CLASSES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """All classes at one position: from pieces to classes, then less the log-sum-exp of all tokens."""
    position = tl.program_id(0).to(tl.int64)
    source, out = position * pieces, position * classes
    whole_top = tl.max(tl.full((CLASSES,), _FLOOR, tl.float32), 0)
    whole = tl.sum(tl.zeros((CLASSES,), tl.float32), 0)
    broken = tl.sum(tl.zeros((CLASSES,), tl.int32), 0)
    # The tokens of no class are class number `classes`; they count in the sum over all tokens only.
    for block in range(0, classes + 1, CLASSES):
        kind = block + tl.arange(0, CLASSES)
        inside = kind <= classes
        begin = tl.load(first_of + kind, mask=inside, other=0)
        stop = tl.load(first_of + kind + 1, mask=inside, other=0)
        top = tl.full((CLASSES,), -float("inf"), tl.float32)
        level = tl.full((CLASSES,), _FLOOR, tl.float32)
        sums = tl.zeros((CLASSES,), tl.float32)
        first = tl.full((CLASSES,), 0, tl.int32)
        for k in range(0, tl.max(stop - begin, 0), TILE):
            at = begin[:, None] + k + tl.arange(0, TILE)[None, :]
            on = at < stop[:, None]
            x = tl.load(top_of + source + at, mask=on, other=-float("inf"))
            part = tl.load(sum_of + source + at, mask=on, other=0.0)
            one = tl.load(token_of + source + at, mask=on, other=vocabulary)
            peak = tl.max(x, 1)
            first_at = tl.min(tl.where(on & (x == peak[:, None]), one, vocabulary), 1)
            # A later piece has later tokens, so an equal one changes nothing.
            first = tl.where(peak > top, first_at, first)
            top = tl.maximum(top, peak)
            higher = tl.maximum(level, tl.where(peak == float("inf"), _FLOOR, peak))
            terms = tl.where(on, part * tl.exp(tl.minimum(x - higher[:, None], 0.0)), 0.0)
            sums = sums * tl.exp(level - higher) + tl.sum(terms, 1)
            level = higher
        some = stop > begin
        bad = some & (tl.abs(top) == float("inf"))
        broken += tl.sum(bad.to(tl.int32), 0)
        used = some & (sums > 0)
        sums = tl.where(used, tl.log(tl.where(used, sums, 1.0)) + level, _FLOOR)
        kept = kind < classes
        tl.store(total + out + kind, sums, mask=kept)
        tl.store(best + out + kind, tl.where(bad, _FLOOR, top), mask=kept)
        tl.store(token + out + kind, tl.minimum(first, vocabulary - 1), mask=kept)
        higher_all = tl.maximum(whole_top, tl.max(sums, 0))
        terms = tl.where(used, tl.exp(sums - higher_all), 0.0)
        whole = whole * tl.exp(whole_top - higher_all) + tl.sum(terms, 0)
        whole_top = higher_all
    fine = broken == 0
    norm = whole_top + tl.log(tl.where(whole > 0, whole, 1.0))
    one = tl.load(held + position)
    x = tl.load(logits + position * vocabulary + tl.maximum(one, 0)).to(tl.float32)
    x = tl.where(fine, tl.maximum(x - norm, _LEAST), _LEAST)
    tl.store(own + position, tl.where(one < 0, _FLOOR, x))
    tl.store(finite + position, fine)
    # These loops read values that other threads of this program have just written.
    tl.debug_barrier()
    _subtract(total + out, classes, norm, fine, CLASSES)
    _subtract(best + out, classes, norm, fine, CLASSES)


def class_scores_triton(logits: torch.Tensor, tables: PieceTables, held: torch.Tensor, out: Reduced) -> None:
    """Writes the scores of P positions into `out`; see `class_scores_reference`.

    logits: [P, V] float32, bfloat16 or float16, contiguous; held: [P] int64. The tensors of `out` are contiguous.
    """
    positions, vocabulary = logits.shape
    if vocabulary != len(tables.order) or not logits.is_contiguous() or not logits.dtype.is_floating_point:
        got = f"{logits.dtype} {tuple(logits.shape)} with strides {logits.stride()}"
        raise ValueError(f"logits: expected contiguous floats [P, {len(tables.order)}], got {got}")
    if not positions:
        return
    top = torch.empty(positions, tables.pieces, dtype=torch.float32, device=logits.device)
    sums, token = torch.empty_like(top), torch.empty_like(top, dtype=torch.int32)
    _piece[(positions, triton.cdiv(tables.pieces, _PIECES))](
        logits, tables.order, tables.places, top, sums, token, vocabulary, tables.pieces, WIDTH=_WIDTH, PIECES=_PIECES
    )
    _class[(positions,)](
        logits, held, top, sums, token, tables.first, out.total, out.best, out.token, out.own, out.finite,
        vocabulary, tables.pieces, tables.classes, CLASSES=_CLASSES, TILE=_TILE,
    )  # fmt: skip
