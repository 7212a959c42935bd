"""`class_logits` in Triton: maximum and log-sum-exp of each class in one pass over its members."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from cinnabar.kernels.tables import FLOOR, ClassTables

_FLOOR = tl.constexpr(FLOOR)
_BLOCK = 64


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _reduce(  # type: ignore[no-untyped-def]
    scores, member, offsets, total_of, best_of, length, vocabulary, classes, BLOCK: tl.constexpr
):
    """One class at a block of positions."""
    label = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < length
    top = tl.full((BLOCK,), _FLOOR, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tl.load(offsets + label), tl.load(offsets + label + 1)):
        one = tl.load(member + k)
        row = (one // vocabulary) * length + at
        x = tl.load(scores + row * vocabulary + one % vocabulary, mask=inside, other=_FLOOR)
        higher = tl.maximum(top, x)
        total = total * tl.exp(top - higher) + tl.exp(x - higher)
        top = higher
    sums = tl.where(total > 0, top + tl.log(tl.where(total > 0, total, 1.0)), _FLOOR)
    tl.store(total_of + at * classes + label, sums, mask=inside)
    tl.store(best_of + at * classes + label, top, mask=inside)


def class_logits_triton(scores: torch.Tensor, tables: ClassTables) -> tuple[torch.Tensor, torch.Tensor]:
    """See `class_logits.class_logits`."""
    scores = scores.contiguous()
    _, length, vocabulary = scores.shape
    classes = len(tables.offsets) - 1
    # NaN fills the outputs, so a place that no program writes cannot pass for a result.
    total = scores.new_full((length, classes), float("nan"))
    best = torch.full_like(total, float("nan"))
    _reduce[(classes, triton.cdiv(length, _BLOCK))](
        scores, tables.member, tables.offsets, total, best, length, vocabulary, classes, BLOCK=_BLOCK
    )
    return total, best
