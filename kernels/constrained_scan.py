"""Posterior and witness of many slots with different automata, in one pass over their positions.

The automata of all slots lie side by side as one sparse graph, block by block. Its edges are kept sorted, so every sum
is a reduction over a run of neighbours: in a fixed order, without atomics, with the same result in any batch.
"""

from __future__ import annotations

import torch

from cinnabar.kernels.tables import FLOOR, Backend, Edges, Scan, ScanTables


def segment_max(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The maximum of each run of neighbours along the first axis; FLOOR for an empty run."""
    return torch.segment_reduce(values, "max", offsets=offsets, unsafe=True, initial=FLOOR)


def segment_sum(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The sum of each run of neighbours along the first axis, in order."""
    return torch.segment_reduce(values, "sum", offsets=offsets, unsafe=True)


def segment_logsumexp(values: torch.Tensor, segment: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The log-sum-exp of each run of neighbours along the first axis, at least FLOOR."""
    top = segment_max(values, offsets)
    # Below -80 a term is lost in float32 anyway; results that underflow make `exp` ten times slower on a CPU.
    total = segment_sum((values - top.index_select(0, segment)).clamp_min_(-80.0).exp_(), offsets)
    return (top + total.log_()).clamp_min_(FLOOR)


def constrained_scan(
    tables: ScanTables,
    fixed: torch.Tensor,
    free: torch.Tensor,
    best: torch.Tensor,
    backend: Backend = "plain",
) -> Scan:
    """Sum-product and best text over the automata of all slots.

    fixed: [L, C] float32, log score of each class (sum over its tokens), FLOOR if a committed position rules the
        class out. free: [L, C], the same without regard to committed positions. best: [L, C], like `fixed` with the
        score of the best token of each class. L is the length of the longest slot.
    Ties are broken by the order of the edges and states.
    """
    for name, emission in (("fixed", fixed), ("free", free), ("best", best)):
        shape = (len(tables.active), len(tables.class_slot))
        if emission.shape != shape or emission.dtype != torch.float32:
            got = f"{emission.dtype} {tuple(emission.shape)}"
            raise ValueError(f"{name}: expected float32 {shape}, got {got}")
    if backend == "triton":
        from cinnabar.kernels.constrained_scan_triton import constrained_scan_triton

        return constrained_scan_triton(tables, fixed, free, best)
    return constrained_scan_reference(tables, fixed, free, best)


def constrained_scan_reference(
    tables: ScanTables, fixed: torch.Tensor, free: torch.Tensor, best: torch.Tensor
) -> Scan:
    """The definition, in plain PyTorch; see `constrained_scan`."""
    positions, slots, states = len(tables.active), len(tables.start), len(tables.final)
    alpha = fixed.new_full((positions + 1, states), FLOOR)
    alpha[0, tables.start] = 0.0
    viterbi = alpha.clone()
    beta = tables.final.expand(positions + 1, states).clone()
    to, out = tables.by_target, tables.by_source
    for i in range(positions):
        _, n, _, e = tables.active[i]
        source, label, offsets = to.source[:e], to.label[:e], to.offsets[: n + 1]
        reach = alpha[i].index_select(0, source) + fixed[i].index_select(0, label)
        alpha[i + 1, :n] = segment_logsumexp(reach, to.segment[:e], offsets)
        alpha[i + 1, n:] = alpha[i, n:]
        reach = viterbi[i].index_select(0, source) + best[i].index_select(0, label)
        viterbi[i + 1, :n] = segment_max(reach, offsets)
        viterbi[i + 1, n:] = viterbi[i, n:]

        j = positions - 1 - i
        _, n, _, e = tables.active[j]
        rest = beta[j + 1].index_select(0, out.target[:e]) + fixed[j].index_select(0, out.label[:e])
        beta[j, :n] = segment_logsumexp(rest, out.segment[:e], out.offsets[: n + 1])

    ends = viterbi[positions] + tables.final
    score = segment_max(ends, tables.state_offsets)
    state = _first_hit(ends, score, tables.state_slot, tables.state_offsets)
    path = torch.full((positions, slots), -1, dtype=torch.long, device=fixed.device)
    posterior = torch.full_like(free, FLOOR)
    for i in reversed(range(positions)):
        g, _, c, e = tables.active[i]
        at = tables.by_label
        joint = alpha[i].index_select(0, at.source[:e]) + beta[i + 1].index_select(0, at.target[:e])
        joint += free[i].index_select(0, at.label[:e])
        share = segment_logsumexp(joint, at.segment[:e], at.offsets[: c + 1])
        owner = tables.class_slot[:c]
        whole = segment_logsumexp(share, owner, tables.class_offsets[: g + 1])
        posterior[i, :c] = (share - whole.index_select(0, owner)).clamp_(FLOOR, 0.0)
        edge = _best_edges(tables.by_target, state[:g], viterbi[i], best[i])
        path[i, :g] = to.label[edge]
        state = torch.cat([to.source[edge], state[g:]])
    return Scan(beta[0].index_select(0, tables.start), posterior, path, score)


def _first_hit(
    values: torch.Tensor, top: torch.Tensor, segment: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """[K] int64, the index of the first occurrence of the maximum `top` in each segment."""
    found = (values >= top.index_select(0, segment)).nonzero().squeeze(1)
    if not len(found):
        return offsets[:-1].clone()
    owner = segment.index_select(0, found)
    every = torch.arange(len(top), device=values.device)
    at = torch.searchsorted(owner, every).clamp_max(len(found) - 1)
    hit = owner.index_select(0, at) == every
    return torch.where(hit, found.index_select(0, at), offsets[:-1])


def _best_edges(edges: Edges, state: torch.Tensor, before: torch.Tensor, best: torch.Tensor) -> torch.Tensor:
    """[G] int64, for each of these states the first incoming edge with the best score.

    Only edges into the states of the witness are read, not those into all states. A state without incoming edges (a
    slot without any complete text) gets some edge of the batch; its path is meaningless.
    """
    # `index_select` takes half the time of an index in brackets.
    begin = edges.offsets.index_select(0, state)
    count = (edges.offsets.index_select(0, state + 1) - begin).clamp_min(1)
    offsets = torch.cat([count.new_zeros(1), count.cumsum(0)])
    slot = torch.repeat_interleave(torch.arange(len(state), device=state.device), count)
    index = (begin - offsets[:-1]).index_select(0, slot) + torch.arange(len(slot), device=state.device)
    index = index.clamp_max(len(edges.source) - 1)
    score = before.index_select(0, edges.source.index_select(0, index))
    score += best.index_select(0, edges.label.index_select(0, index))
    return index.index_select(0, _first_hit(score, segment_max(score, offsets), slot, offsets))
