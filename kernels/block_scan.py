"""Posterior and best text of one block under the part of a graph that it can reach, on a CPU.

Its definition is `block_scan_reference`. The sequential part of a scan takes some 60 operations a position; torch needs
3 µs to start one, which for a small model is more than its pass. Here sums forward, sums backward and the best text run
side by side in one reduction a position, and the posterior of all positions is one more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.kernels.score_limits import FLOOR

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

#: Below this a term of a sum is lost in float32 anyway; results that underflow make `exp` slow.
_LOST = np.float32(-80.0)
_FLOOR = np.float32(FLOOR)
#: Cells of the table of positions by edges that are computed at a time.
_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Runs:
    """Edges in an order that makes neighbours of those with the same key.

    keys: [K] int64, the keys that occur, ascending. begin: [K] int64, the first edge of each. which: [E] int64, the run
    of each edge.
    """

    keys: Ints
    begin: Ints
    which: Ints


@dataclass(frozen=True, slots=True)
class PartTables:
    """The edges of a part with N states and C classes, in the orders that the scan needs.

    source, label: [E] int64 by target, with `first` [N + 1] the first edge into each state. labelled_source,
    labelled_target: [E] int64 by label. left_by: [E] int64, the labels by source; leaving: the states with edges.
    `from_state`, `emission`, `begin`, `which`, `into`: of the three recursions
    side by side, whose states are numbered 0 to 3N - 1 and whose classes 0 to 3C - 1.
    """

    states: int
    classes: int
    source: Ints
    label: Ints
    first: Ints
    labelled_source: Ints
    labelled_target: Ints
    by_label: Runs
    left_by: Ints
    by_source: Runs
    leaving: Ints
    from_state: Ints
    emission: Ints
    begin: Ints
    which: Ints
    into: Ints
    sums: int


@dataclass(frozen=True, slots=True)
class BlockScan:
    """The result for L positions.

    log_mass: log of the sum over all allowed texts. allowed: the log share of the tokens that may follow, expected over
    these texts and summed over the open positions. best: the score of the best text, at most POSSIBLE if there is
    none. path: [L] int64, its classes. posterior: [K, C] float32, for the K judged positions the log share of each
    class given the fixed tokens at all other positions.
    """

    log_mass: float
    allowed: float
    best: float
    path: Ints
    posterior: Floats


def _runs(key: Ints) -> tuple[Ints, Runs]:
    """Returns (the order of the edges, their runs in it)."""
    order = np.argsort(key, kind="stable")
    placed = key[order]
    starts = np.flatnonzero(np.diff(placed, prepend=-1))
    which = np.zeros(len(key), np.int64)
    which[starts] = 1
    return order, Runs(placed[starts], starts.astype(np.int64), np.cumsum(which) - 1)


def part_tables(states: int, classes: int, source: Ints, target: Ints, label: Ints) -> PartTables:
    """Returns the tables of a part; source, target, label: [E] int64, its edges in any order."""
    (by_target, into), (by_source, out), (by_label, labelled) = _runs(target), _runs(source), _runs(label)
    edges, n, c = len(source), states, classes
    came, read = source[by_target], label[by_target]
    return PartTables(
        states=states,
        classes=classes,
        source=came,
        label=read,
        first=np.searchsorted(target[by_target], np.arange(states + 1)),
        labelled_source=source[by_label],
        labelled_target=target[by_label],
        by_label=labelled,
        left_by=label[by_source],
        by_source=out,
        leaving=out.keys,
        from_state=np.concatenate([came, target[by_source] + n, came + 2 * n]),
        emission=np.concatenate([read, label[by_source] + c, read + 2 * c]),
        begin=np.concatenate([into.begin, out.begin + edges, into.begin + 2 * edges]),
        which=np.concatenate([into.which, out.which + len(into.keys)]),
        into=np.concatenate([into.keys, out.keys + n, into.keys + 2 * n]),
        sums=len(into.keys) + len(out.keys),
    )


def block_scan(
    tables: PartTables,
    start: int,
    final: Floats,
    fixed: Floats,
    free: Floats,
    best: Floats,
    judged: Ints,
    opened: Bools,
    local: float = 0.0,
) -> BlockScan:
    """Returns the sum-product and the best text of a block of L positions that begins in state `start`.

    final: [N], 0 for a state in which the block may end, else FLOOR. fixed: [L, C], log score of each class, FLOOR if
    a committed token rules the class out. best: [L, C], the same with the score of the best token of each class.
    judged: [K] int64, the positions that need a posterior. free: [K, C], their scores without regard to committed
    tokens. opened: [K] bool, which of them are not committed. local: from 0 to 1, how much of the log mass that the
    graph allows in a state is taken from the scores of what follows the state. With 0 a text weighs as much as the
    product of its tokens' scores; with 1 each token weighs as much as its share of those that are allowed behind the
    text before it, and forced tokens cost nothing. Ties are broken by the order of the edges and states.
    """
    positions, n, e2 = len(fixed), tables.states, 2 * len(tables.source)
    scores = np.concatenate([fixed, fixed[::-1], best], 1)
    allowed = _allowed_sums(tables, free)
    norm = np.zeros((positions, n), np.float32)
    norm[judged[opened]] = local * allowed[opened]
    shift = np.concatenate([norm, np.zeros_like(norm), norm], 1)
    left = norm[:, tables.leaving]
    entering = len(tables.into) - tables.sums
    trace = np.full((positions + 1, 3 * n), _FLOOR, np.float32)
    trace[0, start] = trace[0, 2 * n + start] = 0.0
    trace[0, n : 2 * n] = final
    begin, sums = tables.begin, tables.sums
    for i in range(positions):
        reach = (trace[i] - shift[i]).take(tables.from_state)
        reach += scores[i].take(tables.emission)
        top = np.maximum.reduceat(reach, begin)
        terms = reach[:e2]
        terms -= top.take(tables.which)
        np.maximum(terms, _LOST, out=terms)
        np.exp(terms, out=terms)
        top[:sums] += np.log(np.add.reduceat(terms, begin[:sums]))
        top[entering:sums] -= left[positions - 1 - i]
        np.maximum(top, _FLOOR, out=top)
        trace[i + 1, tables.into] = top
    forward, backward, highest = trace[:, :n], trace[::-1, n : 2 * n], trace[:, 2 * n :]
    ends = highest[positions] + final
    state = int(ends.argmax())
    path, score = _best_path(tables, state, highest, norm, best), float(ends[state])
    posterior = _posterior(tables, forward[judged] - local * allowed, backward[judged + 1], free)
    total = float(backward[0, start])
    at = judged[opened]
    share = np.exp(np.clip(forward[at] + backward[at] - total, _LOST, 0.0))
    return BlockScan(total, float((share * allowed[opened]).sum()), score, path, posterior)


def _best_path(tables: PartTables, state: int, highest: Floats, norm: Floats, best: Floats) -> Ints:
    """[L] int64, the classes of the best text that ends in this state."""
    path = np.empty(len(best), np.int64)
    for i in reversed(range(len(best))):
        a, b = tables.first[state], tables.first[state + 1]
        if a == b:  # Nothing leads here: no text is possible, and the path means nothing.
            path[i] = 0
            continue
        sources, labels = tables.source[a:b], tables.label[a:b]
        edge = ((highest[i] - norm[i]).take(sources) + best[i].take(labels)).argmax()
        path[i], state = labels[edge], sources[edge]
    return path


def _allowed_sums(tables: PartTables, free: Floats) -> Floats:
    """[K, N], the log sum of the scores of the tokens that may follow each state; 0 where none may."""
    sums = np.zeros((len(free), tables.states), np.float32)
    step = max(1, _CELLS // max(len(tables.source), 1))
    for low in range(0, len(free), step):
        terms = free[low : low + step].take(tables.left_by, 1)
        sums[low : low + step, tables.leaving] = _sums(terms, tables.by_source)
    return sums


def _sums(terms: Floats, runs: Runs) -> Floats:
    """[K, R], the log-sum-exp of each run of [K, E] terms, which are overwritten."""
    top = np.maximum.reduceat(terms, runs.begin, axis=1)
    terms -= top.take(runs.which, 1)
    np.maximum(terms, _LOST, out=terms)
    np.exp(terms, out=terms)
    sums: Floats = top + np.log(np.add.reduceat(terms, runs.begin, axis=1))
    return sums


def _posterior(tables: PartTables, forward: Floats, backward: Floats, free: Floats) -> Floats:
    """forward, backward: [K, N], the sums up to each judged position and from the next one on."""
    joint_sums = np.full((len(free), tables.classes), _FLOOR, np.float32)
    runs = tables.by_label
    step = max(1, _CELLS // max(len(tables.source), 1))
    for low in range(0, len(free), step):
        joint = forward[low : low + step].take(tables.labelled_source, 1)
        joint += backward[low : low + step].take(tables.labelled_target, 1)
        joint_sums[low : low + step, runs.keys] = _sums(joint, runs)
    joint_sums += free
    top = joint_sums.max(1, keepdims=True)
    whole = top + np.log(np.exp(np.maximum(joint_sums - top, _LOST)).sum(1, keepdims=True))
    shares: Floats = np.clip(joint_sums - whole, _FLOOR, 0.0, dtype=np.float32)
    return shares
