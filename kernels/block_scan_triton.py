"""`block_scan` in Triton: the blocks of many rows under the parts of many graphs, in five launches.

Nothing between the launches asks the device for a number, and no shape depends on one that the device computed. The
sums forward, the sums backward and the best text of a block are three programs beside each other. Each walks the
positions, with a tile of states by edges; a program reads its own block alone, so a block has the same result in any
batch. The order of edges is that of `PartTables`, so ties are broken alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from cinnabar.kernels.block_scan import Ints
from cinnabar.kernels.device_tables import DevicePart, upload
from cinnabar.kernels.score_limits import FLOOR, POSSIBLE

_FLOOR = tl.constexpr(FLOOR)
_POSSIBLE = tl.constexpr(POSSIBLE)
#: Below all sums of impossible scores.
_NONE = tl.constexpr(8 * FLOOR)
#: A tile has states (or classes) by edges; a row of edges or states is read by one program at a time.
_ROWS, _EDGES, _LANE = 32, 32, 256
#: Numbers that tell of a block and of a position; results of a position.
BLOCK_FIELDS, POSITION_FIELDS, RESULTS = 10, 4, 6


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _add_tile(top, sums, x):  # type: ignore[no-untyped-def]
    """Takes a tile of terms into running log sums: the greatest term of each row, and the sum of all relative to it."""
    higher = tl.maximum(top, tl.max(x, 1))
    return higher, sums * tl.exp(top - higher) + tl.sum(tl.exp(x - higher[:, None]), 1)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _add_row(top, sums, x):  # type: ignore[no-untyped-def]
    """Takes one row of terms into a running log sum, as `_add_tile` does for many rows."""
    higher = tl.maximum(top, tl.max(x, 0))
    return higher, sums * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _emissions(  # type: ignore[no-untyped-def]
    tables, blocks, places, total, best, free, fixed, sharp, LANE: tl.constexpr
):
    """The scores of the classes of a part at one position: as scored, with committed tokens, of the best tokens."""
    q = tl.program_id(0).to(tl.int64)
    block = blocks + 10 * tl.load(places + 4 * q)
    base, kind = tl.load(places + 4 * q + 1), tl.load(places + 4 * q + 2)
    table, classes = tables + tl.load(block), tl.load(block + 2)
    cells = tl.load(block + 8) + (q - tl.load(block + 4)) * classes
    for first in range(0, classes, LANE):
        at = first + tl.arange(0, LANE)
        inside = at < classes
        one = tl.load(table + at, mask=inside, other=0)
        scored = at < tl.where(base >= 0, classes, 0)
        x = tl.load(total + base + one, mask=scored, other=_FLOOR)
        y = tl.load(best + base + one, mask=scored, other=_FLOOR)
        # -1 is an open position; a committed token without a class, -2, leaves no text.
        committed = tl.where(one == kind, 0.0, _FLOOR)
        tl.store(free + cells + at, x, mask=inside)
        tl.store(fixed + cells + at, tl.where(kind == -1, x, committed), mask=inside)
        tl.store(sharp + cells + at, tl.where(kind == -1, y, committed), mask=inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _allowed_sums(  # type: ignore[no-untyped-def]
    tables, blocks, places, free, allowed, ROWS: tl.constexpr, EDGES: tl.constexpr
):
    """For the states at one scored position, the log sum of the scores of what may follow; 0 where nothing may."""
    q = tl.program_id(0).to(tl.int64)
    if tl.load(places + 4 * q + 1) >= 0:
        block = blocks + 10 * tl.load(places + 4 * q)
        states, classes, edges = tl.load(block + 1), tl.load(block + 2), tl.load(block + 3)
        at = q - tl.load(block + 4)
        scores = free + tl.load(block + 8) + at * classes
        out = allowed + tl.load(block + 9) + at * states
        order = tables + tl.load(block) + 2 * classes + 3 * states + 1 + 2 * edges
        begins = order + states
        label = begins + states + 1 + edges
        for first in range(0, states, ROWS):
            lane = first + tl.arange(0, ROWS)
            inside = lane < states
            state = tl.load(order + lane, mask=inside, other=0)
            begin = tl.load(begins + state, mask=inside, other=0)
            stop = tl.load(begins + state + 1, mask=inside, other=0)
            top = tl.full((ROWS,), _NONE, tl.float32)
            sums = tl.zeros((ROWS,), tl.float32)
            for k in range(0, tl.max(stop - begin, 0), EDGES):
                edge = begin[:, None] + k + tl.arange(0, EDGES)[None, :]
                on = edge < stop[:, None]
                x = tl.load(scores + tl.load(label + edge, mask=on, other=0), mask=on, other=_NONE)
                top, sums = _add_tile(top, sums, x)
            log_sum = tl.where(stop > begin, top + tl.log(tl.maximum(sums, 1e-30)), 0.0)
            tl.store(out + state, log_sum, mask=inside)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _score_ends(distance, state, inside, left):  # type: ignore[no-untyped-def]
    """0 for the states in which a block may end, as `left` tokens lead from there to the end of its text."""
    away = tl.load(distance + state, mask=inside, other=-1)
    return tl.where((away >= 0) & (away <= left), 0.0, _FLOOR)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _sum_edges(  # type: ignore[no-untyped-def]
    begins, near, label, before, emission, state, inside, ROWS: tl.constexpr, EDGES: tl.constexpr
):
    """For these states, running log sums over the edges that lead to them: what lies before, and the edge's score."""
    begin = tl.load(begins + state, mask=inside, other=0)
    stop = tl.load(begins + state + 1, mask=inside, other=0)
    top = tl.full((ROWS,), _NONE, tl.float32)
    sums = tl.zeros((ROWS,), tl.float32)
    for k in range(0, tl.max(stop - begin, 0), EDGES):
        edge = begin[:, None] + k + tl.arange(0, EDGES)[None, :]
        on = edge < stop[:, None]
        x = tl.load(before + tl.load(near + edge, mask=on, other=0), mask=on, other=_NONE)
        x += tl.load(emission + tl.load(label + edge, mask=on, other=0), mask=on, other=0.0)
        top, sums = _add_tile(top, sums, x)
    return top, sums


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _recursions(  # type: ignore[no-untyped-def]
    tables, blocks, places, fixed, sharp, allowed, trace, cells, local, ROWS: tl.constexpr, EDGES: tl.constexpr
):
    """One recursion of a block: sums forward (0), sums backward (1) or the best text (2).

    Row i of a trace is what lies before position i. The rows of forward ones are already less the share that `local`
    takes from what follows, except the last row.
    """
    block, which = blocks + 10 * tl.program_id(0), tl.program_id(1)
    states, classes, edges = tl.load(block + 1), tl.load(block + 2), tl.load(block + 3)
    first_place, length, start = tl.load(block + 4), tl.load(block + 5), tl.load(block + 6)
    left, s0 = tl.load(block + 7), tl.load(block + 9)
    distance = tables + tl.load(block) + 2 * classes
    order = distance + states
    if which == 1:
        order += 2 * states + 1 + 2 * edges
    begins = order + states
    near = begins + states + 1
    label = near + edges
    scores = fixed + tl.load(block + 8)
    if which == 2:
        scores = sharp + tl.load(block + 8)
    rows = trace + which * cells + s0
    shares = allowed + s0
    for step in range(length + 1):
        # Before the first step: the start, or the states in which the block may end.
        row = step
        if which == 1:
            row = length - step
        emission = scores + (step - 1) * classes
        before = rows + (step - 1) * states
        if which == 1:
            emission = scores + row * classes
            before = rows + (row + 1) * states
        # Only open positions are normalised: a committed token has no alternative.
        opened = 0.0
        if row < length:
            place = places + 4 * (first_place + row)
            opened = tl.where(tl.load(place + 2) == -1, local, 0.0)
        for first in range(0, states, ROWS):
            lane = first + tl.arange(0, ROWS)
            inside = lane < states
            state = tl.load(order + lane, mask=inside, other=0)
            if step == 0:
                reach = tl.where(state == start, 0.0, _FLOOR)
                if which == 1:
                    reach = _score_ends(distance, state, inside, left)
            else:
                reach, sums = _sum_edges(begins, near, label, before, emission, state, inside, ROWS, EDGES)
                if which != 2:
                    reach += tl.log(tl.maximum(sums, 1e-30))
            share = tl.load(shares + row * states + state, mask=lane < tl.where(opened != 0.0, states, 0), other=0.0)
            if which == 1:
                if step > 0:
                    reach = tl.maximum(reach - opened * share, _FLOOR)
            else:
                reach = tl.maximum(reach, _FLOOR) - opened * share
            tl.store(rows + row * states + state, reach, mask=inside)
        # The next position reads values that other threads of this program have just written.
        tl.debug_barrier()


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _trace(  # type: ignore[no-untyped-def]
    tables, blocks, sharp, trace, cells, path, complete, LANE: tl.constexpr
):
    """The best end of one block and the way back from it, as classes of the part; the first of equals wins."""
    block = blocks + 10 * tl.program_id(0)
    states, classes, edges = tl.load(block + 1), tl.load(block + 2), tl.load(block + 3)
    first_place, length = tl.load(block + 4), tl.load(block + 5)
    left, s0 = tl.load(block + 7), tl.load(block + 9)
    distance = tables + tl.load(block) + 2 * classes
    begins = distance + 2 * states
    near = begins + states + 1
    label = near + edges
    highest = trace + 2 * cells + s0
    lane = tl.arange(0, LANE)
    at = tl.min(tl.zeros((LANE,), tl.int64), 0)
    peak = tl.max(tl.full((LANE,), _NONE, tl.float32), 0)
    for first in range(0, states, LANE):
        state = first + lane
        inside = state < states
        x = tl.load(highest + length * states + state, mask=inside, other=_NONE)
        x += _score_ends(distance, state, inside, left)
        top = tl.max(x, 0)
        here = tl.min(tl.where(x == top, state, states), 0)
        at = tl.where(top > peak, here, at)
        peak = tl.maximum(top, peak)
    tl.store(complete + tl.program_id(0), (peak > _POSSIBLE).to(tl.int32))
    for step in range(length):
        i = length - 1 - step
        emission = sharp + tl.load(block + 8) + i * classes
        begin, stop = tl.load(begins + at).to(tl.int64), tl.load(begins + at + 1).to(tl.int64)
        # A state to which nothing leads: no text is possible, and the path means nothing.
        edge = tl.maximum(tl.minimum(begin, edges - 1), 0)
        peak = tl.max(tl.full((LANE,), _NONE, tl.float32), 0)
        for first in range(begin, stop, LANE):
            one = first + lane
            on = one < stop
            x = tl.load(highest + i * states + tl.load(near + one, mask=on, other=0), mask=on, other=_NONE)
            x += tl.load(emission + tl.load(label + one, mask=on, other=0), mask=on, other=0.0)
            top = tl.max(x, 0)
            here = tl.min(tl.where(x == top, one, stop), 0)
            edge = tl.where(top > peak, here, edge)
            peak = tl.maximum(top, peak)
        tl.store(path + first_place + i, tl.load(label + edge))
        at = tl.minimum(tl.load(near + edge), states - 1).to(tl.int64)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _sum_class(  # type: ignore[no-untyped-def]
    begins, classes, edges, forward, backward, shares, held, label, inside, ROWS: tl.constexpr, EDGES: tl.constexpr
):
    """For these classes, running log sums over their edges: what lies before and behind, less the `held` share."""
    near = begins + classes + 1
    far = near + edges
    begin = tl.load(begins + label, mask=inside, other=0)
    stop = tl.load(begins + label + 1, mask=inside, other=0)
    top = tl.full((ROWS,), _NONE, tl.float32)
    sums = tl.zeros((ROWS,), tl.float32)
    for k in range(0, tl.max(stop - begin, 0), EDGES):
        edge = begin[:, None] + k + tl.arange(0, EDGES)[None, :]
        on = edge < stop[:, None]
        source = tl.load(near + edge, mask=on, other=0)
        x = tl.load(forward + source, mask=on, other=_NONE)
        x += tl.load(backward + tl.load(far + edge, mask=on, other=0), mask=on, other=0.0)
        x -= held * tl.load(shares + source, mask=on, other=0.0)
        top, sums = _add_tile(top, sums, x)
    return top, sums


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _expected_share(  # type: ignore[no-untyped-def]
    forward, backward, shares, states, local, total, LANE: tl.constexpr
):
    """The log share of what may follow at an open position, expected over all texts."""
    mass = tl.sum(tl.zeros((LANE,), tl.float32), 0)
    for first in range(0, states, LANE):
        state = first + tl.arange(0, LANE)
        inside = state < states
        share = tl.load(shares + state, mask=inside, other=0.0)
        x = tl.load(forward + state, mask=inside, other=_FLOOR) + local * share
        x += tl.load(backward + state, mask=inside, other=_FLOOR) - total
        mass += tl.sum(tl.where(inside, tl.exp(tl.minimum(x, 0.0)) * share, 0.0), 0)
    return mass


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _shares(  # type: ignore[no-untyped-def]
    tables, blocks, places, free, best, token, own, finite, allowed, trace, cells, path, local, numbers, floats,
    LANE: tl.constexpr, ROWS: tl.constexpr, EDGES: tl.constexpr,
):  # fmt: skip
    """The results of one scored position: witness, choices, finite (numbers); posterior, runner-up, mass (floats)."""
    q = tl.program_id(0).to(tl.int64)
    base = tl.load(places + 4 * q + 1)
    if base >= 0:
        block = blocks + 10 * tl.load(places + 4 * q)
        kind, score = tl.load(places + 4 * q + 2), tl.load(places + 4 * q + 3)
        states, classes, edges = tl.load(block + 1), tl.load(block + 2), tl.load(block + 3)
        at, start, s0 = q - tl.load(block + 4), tl.load(block + 6), tl.load(block + 9)
        table = tables + tl.load(block)
        sizes = table + classes
        order = table + 2 * classes + 5 * states + 2 + 4 * edges
        emission = free + tl.load(block + 8) + at * classes
        forward = trace + s0 + at * states
        backward = trace + cells + s0 + (at + 1) * states
        shares = allowed + s0 + at * states
        chosen = tl.load(path + q)
        # The trace of an open position is already less its share.
        held = tl.where(kind == -1, 0.0, local)
        whole_top = tl.max(tl.full((ROWS,), _NONE, tl.float32), 0)
        whole = tl.sum(tl.zeros((ROWS,), tl.float32), 0)
        runner_up = whole_top
        witness = whole_top
        choices = tl.sum(tl.zeros((ROWS,), tl.int32), 0)
        for first in range(0, classes, ROWS):
            lane = first + tl.arange(0, ROWS)
            inside = lane < classes
            label = tl.load(order + lane, mask=inside, other=0)
            top, sums = _sum_class(
                order + classes, classes, edges, forward, backward, shares, held, label, inside, ROWS, EDGES
            )
            one = tl.load(emission + label, mask=inside, other=0.0)
            share = tl.where(inside, top + tl.log(tl.maximum(sums, 1e-30)) + one, _NONE)
            graph_class = tl.load(table + label, mask=inside, other=0)
            within = tl.load(best + base + graph_class, mask=inside, other=0.0) - one
            runner_up = tl.maximum(runner_up, tl.max(tl.where(inside, share + within, _NONE), 0))
            possible = inside & (share > _POSSIBLE)
            choices += tl.sum(tl.where(possible, tl.load(sizes + label, mask=inside, other=0), 0), 0)
            witness = tl.maximum(witness, tl.max(tl.where(inside & (label == chosen), share, _NONE), 0))
            whole_top, whole = _add_row(whole_top, whole, share)
        norm = whole_top + tl.log(tl.maximum(whole, 1e-30))
        graph_class = tl.load(table + chosen)
        scored_as = tl.load(own + score)
        if kind == -1:
            scored_as = tl.load(best + base + graph_class)
        within = scored_as - tl.load(emission + chosen)
        posterior = tl.minimum(tl.exp(tl.minimum(witness - norm, 0.0) + within), 1.0)
        mass = tl.sum(tl.zeros((LANE,), tl.float32), 0)
        if kind == -1:
            total = tl.load(trace + cells + s0 + start)
            mass = _expected_share(forward, backward - states, shares, states, local, total, LANE)
        tl.store(numbers + 6 * q, tl.load(token + base + graph_class))
        tl.store(numbers + 6 * q + 1, choices)
        tl.store(numbers + 6 * q + 2, tl.load(finite + score).to(tl.int32))
        tl.store(floats + 6 * q + 3, posterior)
        tl.store(floats + 6 * q + 4, tl.minimum(tl.exp(tl.minimum(runner_up - norm, 0.0)), 1.0))
        tl.store(floats + 6 * q + 5, mass)


@dataclass(frozen=True, slots=True)
class ScoredBlock:
    """A block of L positions to scan under a part.

    start: the part's state before it. left: how many tokens may follow it. base: [L] int64, where the scores of the
    classes of the graph begin for each position, -1 where there are none. kind: [L] int64, the graph's class of a
    committed token, -1 for an open position, -2 for a token of no class. row: [L] int64, each position's place in `own`
    and `finite`.
    """

    part: DevicePart
    start: int
    left: int
    base: Ints
    kind: Ints
    row: Ints


@dataclass(frozen=True, slots=True)
class BlockResults:
    """The results of Q positions of several blocks, one after the other; those without scores mean nothing.

    complete: [B] bool, whether a text is possible. witness: [Q] int64, the best token of the class of the best text.
    choices: [Q] int64, the possible tokens. finite: [Q] bool. posterior: [Q] float32, of the witness's token, or of the
    committed one. runner_up: [Q] float32, of the likeliest token. mass: [Q] float32, at open positions the log share of
    the tokens that may follow, expected over all texts.
    """

    complete: npt.NDArray[np.bool_]
    witness: Ints
    choices: Ints
    finite: npt.NDArray[np.bool_]
    posterior: npt.NDArray[np.float32]
    runner_up: npt.NDArray[np.float32]
    mass: npt.NDArray[np.float32]


def block_scan_triton(
    blocks: Sequence[ScoredBlock],
    total: torch.Tensor,
    best: torch.Tensor,
    token: torch.Tensor,
    own: torch.Tensor,
    finite: torch.Tensor,
    local: float,
) -> BlockResults:
    """Scans a batch of blocks; the results are copied to the host once.

    total, best: [S] float32, token: [S] int32, the scores of classes of all positions, one position after the other
    (`base` tells where each begins). own: [R] float32, finite: [R] bool. local: as for `block_scan`.
    """
    device = total.device
    _check_scores(total, best, token)
    begins, tables = _tables_of(blocks)
    many = len(blocks)
    lengths = np.array([len(block.base) for block in blocks])
    fields, emissions, cells = _block_fields(blocks, begins, lengths)
    places = _position_fields(blocks, lengths)
    positions = len(places)
    asked = upload(np.concatenate([fields.ravel(), places.ravel()]), device)
    where, at = asked[: fields.size], asked[fields.size :]
    width, room = int(emissions.sum()), int(cells.sum())
    free, fixed, sharp = torch.empty(3, width, dtype=torch.float32, device=device).unbind()
    allowed = torch.empty(room, dtype=torch.float32, device=device)
    trace = torch.empty(3 * room, dtype=torch.float32, device=device)
    path = torch.empty(positions, dtype=torch.int32, device=device)
    # One tensor, hence one copy: results of positions, then of blocks. The shares are floats in the same memory.
    numbers = torch.zeros(positions * RESULTS + many, dtype=torch.int32, device=device)
    floats, complete = numbers.view(torch.float32), numbers[positions * RESULTS :]
    _emissions[(positions,)](tables, where, at, total, best, free, fixed, sharp, LANE=_LANE)
    _allowed_sums[(positions,)](tables, where, at, free, allowed, ROWS=_ROWS, EDGES=_EDGES)
    _recursions[(many, 3)](
        tables, where, at, fixed, sharp, allowed, trace, room, local, ROWS=_ROWS, EDGES=_EDGES
    )
    _trace[(many,)](tables, where, sharp, trace, room, path, complete, LANE=_LANE)
    _shares[(positions,)](
        tables, where, at, free, best, token, own, finite, allowed, trace, room, path, local, numbers, floats,
        LANE=_LANE, ROWS=_ROWS, EDGES=_EDGES,
    )  # fmt: skip
    host = numbers.cpu().numpy()
    of_positions = host[: positions * RESULTS].reshape(positions, RESULTS)
    counts = of_positions[:, :3].astype(np.int64)
    shares = np.ascontiguousarray(of_positions[:, 3:]).view(np.float32)
    return BlockResults(
        host[positions * RESULTS :] > 0,
        counts[:, 0],
        counts[:, 1],
        counts[:, 2] > 0,
        shares[:, 0],
        shares[:, 1],
        shares[:, 2],
    )


def _check_scores(total: torch.Tensor, best: torch.Tensor, token: torch.Tensor) -> None:
    """Raises ValueError for scores of classes of another dtype or shape, or with gaps between them."""
    for name, one, dtype in (("total", total, "float32"), ("best", best, "float32"), ("token", token, "int32")):
        if str(one.dtype) != f"torch.{dtype}" or one.shape != (total.numel(),) or not one.is_contiguous():
            expected = f"contiguous {dtype} ({total.numel()},)"
            raise ValueError(f"{name}: expected {expected}, got {one.dtype} {tuple(one.shape)}")


def _tables_of(blocks: Sequence[ScoredBlock]) -> tuple[list[int], torch.Tensor]:
    """Returns where the tables of each block's part begin, and the tables of all parts, one after the other."""
    begins: dict[int, int] = {}
    packed = list[torch.Tensor]()
    filled = 0
    for block in blocks:
        if id(block.part) not in begins:
            begins[id(block.part)] = filled
            packed.append(block.part.packed)
            filled += len(block.part.packed)
    return [begins[id(block.part)] for block in blocks], packed[0] if len(packed) == 1 else torch.cat(packed)


def _block_fields(blocks: Sequence[ScoredBlock], begins: Sequence[int], lengths: Ints) -> tuple[Ints, Ints, Ints]:
    """Returns the numbers of each block, [B, BLOCK_FIELDS], and how many emissions and cells each has, [B] each.

    begins: where the tables of each block's part begin. lengths: [B], the positions of each block.
    """
    fields = np.zeros((len(blocks), BLOCK_FIELDS), np.int64)
    fields[:, 0] = begins
    fields[:, 1] = [block.part.states for block in blocks]
    fields[:, 2] = [block.part.classes for block in blocks]
    fields[:, 3] = [block.part.edges for block in blocks]
    fields[:, 4], fields[:, 5] = np.cumsum(lengths) - lengths, lengths
    fields[:, 6] = [block.start for block in blocks]
    fields[:, 7] = [block.left for block in blocks]
    emissions, cells = fields[:, 2] * lengths, fields[:, 1] * (lengths + 1)
    fields[:, 8], fields[:, 9] = np.cumsum(emissions) - emissions, np.cumsum(cells) - cells
    return fields, emissions, cells


def _position_fields(blocks: Sequence[ScoredBlock], lengths: Ints) -> Ints:
    """Returns the numbers of each position, [Q, POSITION_FIELDS]."""
    fields = np.empty((int(lengths.sum()), POSITION_FIELDS), np.int64)
    fields[:, 0] = np.repeat(np.arange(len(blocks)), lengths)
    fields[:, 1] = np.concatenate([block.base for block in blocks])
    fields[:, 2] = np.concatenate([block.kind for block in blocks])
    fields[:, 3] = np.concatenate([block.row for block in blocks])
    return fields
