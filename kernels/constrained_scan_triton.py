"""`constrained_scan` in Triton: one program for each slot walks its positions, its states side by side.

The sums and maxima run over the same sorted edges as the reference, one edge of every state at a time, so
there are no atomics and the result does not depend on the batch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from cinnabar.kernels.tables import FLOOR, Scan, ScanTables

_FLOOR = tl.constexpr(FLOOR)
_BLOCK = 64


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _passes(  # type: ignore[no-untyped-def]
    fixed, best, alpha, viterbi, beta,
    in_source, in_label, in_offsets, out_target, out_label, out_offsets,
    state_offsets, length, states, classes, BLOCK: tl.constexpr,
):  # fmt: skip
    """Computes alpha and viterbi forward and beta backward for one slot."""
    slot = tl.program_id(0)
    first, end = tl.load(state_offsets + slot), tl.load(state_offsets + slot + 1)
    positions = tl.load(length + slot)
    for i in range(positions):
        for block in range(first, end, BLOCK):
            state = block + tl.arange(0, BLOCK)
            inside = state < end
            begin = tl.load(in_offsets + state, mask=inside, other=0)
            stop = tl.load(in_offsets + state + 1, mask=inside, other=0)
            top = tl.full((BLOCK,), _FLOOR, tl.float32)
            total = tl.zeros((BLOCK,), tl.float32)
            peak = tl.full((BLOCK,), _FLOOR, tl.float32)
            for k in range(tl.max(stop - begin, 0)):
                on = begin + k < stop
                source = tl.load(in_source + begin + k, mask=on, other=0)
                label = tl.load(in_label + begin + k, mask=on, other=0)
                x = tl.load(alpha + i * states + source, mask=on, other=_FLOOR)
                x += tl.load(fixed + i * classes + label, mask=on, other=_FLOOR)
                higher = tl.maximum(top, x)
                total = total * tl.exp(top - higher) + tl.where(on, tl.exp(x - higher), 0.0)
                top = higher
                y = tl.load(viterbi + i * states + source, mask=on, other=_FLOOR)
                peak = tl.maximum(peak, y + tl.load(best + i * classes + label, mask=on, other=_FLOOR))
            reach = tl.where(
                total > 0, tl.maximum(top + tl.log(tl.where(total > 0, total, 1.0)), _FLOOR), _FLOOR
            )
            tl.store(alpha + (i + 1) * states + state, reach, mask=inside)
            tl.store(viterbi + (i + 1) * states + state, peak, mask=inside)

        j = positions - 1 - i
        for block in range(first, end, BLOCK):
            state = block + tl.arange(0, BLOCK)
            inside = state < end
            begin = tl.load(out_offsets + state, mask=inside, other=0)
            stop = tl.load(out_offsets + state + 1, mask=inside, other=0)
            top = tl.full((BLOCK,), _FLOOR, tl.float32)
            total = tl.zeros((BLOCK,), tl.float32)
            for k in range(tl.max(stop - begin, 0)):
                on = begin + k < stop
                target = tl.load(out_target + begin + k, mask=on, other=0)
                label = tl.load(out_label + begin + k, mask=on, other=0)
                x = tl.load(beta + (j + 1) * states + target, mask=on, other=_FLOOR)
                x += tl.load(fixed + j * classes + label, mask=on, other=_FLOOR)
                higher = tl.maximum(top, x)
                total = total * tl.exp(top - higher) + tl.where(on, tl.exp(x - higher), 0.0)
                top = higher
            rest = tl.where(
                total > 0, tl.maximum(top + tl.log(tl.where(total > 0, total, 1.0)), _FLOOR), _FLOOR
            )
            tl.store(beta + j * states + state, rest, mask=inside)
        # The next position reads values that other threads of this program have just written.
        tl.debug_barrier()


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _shares(  # type: ignore[no-untyped-def]
    free, alpha, beta, posterior, source_of, target_of, offsets,
    class_offsets, length, states, classes, BLOCK: tl.constexpr,
):  # fmt: skip
    """Computes the posterior of the classes of one slot at one position."""
    slot, i = tl.program_id(0), tl.program_id(1)
    if i < tl.load(length + slot):
        first, end = tl.load(class_offsets + slot), tl.load(class_offsets + slot + 1)
        whole_top = tl.max(tl.full((BLOCK,), _FLOOR, tl.float32), 0)
        whole = tl.sum(tl.zeros((BLOCK,), tl.float32), 0)
        for block in range(first, end, BLOCK):
            label = block + tl.arange(0, BLOCK)
            inside = label < end
            begin = tl.load(offsets + label, mask=inside, other=0)
            stop = tl.load(offsets + label + 1, mask=inside, other=0)
            emission = tl.load(free + i * classes + label, mask=inside, other=_FLOOR)
            top = tl.full((BLOCK,), _FLOOR, tl.float32)
            total = tl.zeros((BLOCK,), tl.float32)
            for k in range(tl.max(stop - begin, 0)):
                on = begin + k < stop
                source = tl.load(source_of + begin + k, mask=on, other=0)
                target = tl.load(target_of + begin + k, mask=on, other=0)
                x = tl.load(alpha + i * states + source, mask=on, other=_FLOOR)
                x += tl.load(beta + (i + 1) * states + target, mask=on, other=_FLOOR)
                x += emission
                higher = tl.maximum(top, x)
                total = total * tl.exp(top - higher) + tl.where(on, tl.exp(x - higher), 0.0)
                top = higher
            share = tl.where(
                total > 0, tl.maximum(top + tl.log(tl.where(total > 0, total, 1.0)), _FLOOR), _FLOOR
            )
            tl.store(posterior + i * classes + label, share, mask=inside)
            higher_all = tl.maximum(whole_top, tl.max(share, 0))
            terms = tl.where(inside, tl.exp(share - higher_all), 0.0)
            whole = whole * tl.exp(whole_top - higher_all) + tl.sum(terms, 0)
            whole_top = higher_all
        tl.debug_barrier()
        norm = whole_top + tl.log(whole)
        for block in range(first, end, BLOCK):
            label = block + tl.arange(0, BLOCK)
            inside = label < end
            share = tl.load(posterior + i * classes + label, mask=inside, other=_FLOOR)
            tl.store(
                posterior + i * classes + label,
                tl.minimum(tl.maximum(share - norm, _FLOOR), 0.0),
                mask=inside,
            )


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _trace(  # type: ignore[no-untyped-def]
    best, viterbi, final, path, score, source_of, label_of, offsets,
    state_offsets, length, slots, states, classes, edges, BLOCK: tl.constexpr,
):  # fmt: skip
    """Finds the best end of one slot and the path back from it; the first of equals wins."""
    slot = tl.program_id(0)
    first, end = tl.load(state_offsets + slot), tl.load(state_offsets + slot + 1)
    positions = tl.load(length + slot)
    lane = tl.arange(0, BLOCK)
    at = first
    highest = tl.max(tl.full((BLOCK,), 4 * _FLOOR, tl.float32), 0)
    for block in range(first, end, BLOCK):
        inside = block + lane < end
        x = tl.load(viterbi + positions * states + block + lane, mask=inside, other=2 * _FLOOR)
        x = tl.where(inside, x + tl.load(final + block + lane, mask=inside, other=2 * _FLOOR), 4 * _FLOOR)
        top = tl.max(x, 0)
        here = block + tl.min(tl.where(x == top, lane, BLOCK), 0)
        at = tl.where(top > highest, here, at)
        highest = tl.maximum(top, highest)
    tl.store(score + slot, tl.maximum(highest, _FLOOR))
    for back in range(positions):
        i = positions - 1 - back
        begin, stop = tl.load(offsets + at), tl.load(offsets + at + 1)
        edge = tl.minimum(begin, edges - 1)
        highest = tl.max(tl.full((BLOCK,), 4 * _FLOOR, tl.float32), 0)
        for block in range(begin, stop, BLOCK):
            inside = block + lane < stop
            source = tl.load(source_of + block + lane, mask=inside, other=0)
            label = tl.load(label_of + block + lane, mask=inside, other=0)
            x = tl.load(viterbi + i * states + source, mask=inside, other=_FLOOR)
            x += tl.load(best + i * classes + label, mask=inside, other=_FLOOR)
            x = tl.where(inside, x, 4 * _FLOOR)
            top = tl.max(x, 0)
            here = block + tl.min(tl.where(x == top, lane, BLOCK), 0)
            edge = tl.where(top > highest, here, edge)
            highest = tl.maximum(top, highest)
        tl.store(path + i * slots + slot, tl.load(label_of + edge))
        at = tl.load(source_of + edge)


def constrained_scan_triton(
    tables: ScanTables, fixed: torch.Tensor, free: torch.Tensor, best: torch.Tensor
) -> Scan:
    """See `constrained_scan.constrained_scan`; the emissions must be contiguous."""
    positions, classes = fixed.shape
    slots, states = len(tables.start), len(tables.final)
    alpha = fixed.new_full((positions + 1, states), FLOOR)
    alpha[0, tables.start] = 0.0
    viterbi = alpha.clone()
    beta = tables.final.expand(positions + 1, states).clone()
    to, out, at = tables.by_target, tables.by_source, tables.by_label
    _passes[(slots,)](
        fixed, best, alpha, viterbi, beta,
        to.source, to.label, to.offsets, out.target, out.label, out.offsets,
        tables.state_offsets, tables.length, states, classes, BLOCK=_BLOCK,
    )  # fmt: skip
    posterior = torch.full_like(free, FLOOR)
    _shares[(slots, positions)](
        free, alpha, beta, posterior, at.source, at.target, at.offsets,
        tables.class_offsets, tables.length, states, classes, BLOCK=_BLOCK,
    )  # fmt: skip
    path = torch.full((positions, slots), -1, dtype=torch.long, device=fixed.device)
    score = fixed.new_full((slots,), FLOOR)
    _trace[(slots,)](
        best, viterbi, tables.final, path, score, to.source, to.label, to.offsets,
        tables.state_offsets, tables.length, slots, states, classes, len(to.source), BLOCK=_BLOCK,
    )  # fmt: skip
    return Scan(beta[0].index_select(0, tables.start), posterior, path, score)
