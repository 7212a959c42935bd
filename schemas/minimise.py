"""Passes over the table of a deterministic automaton: numbering, distances, minimisation, byte classes.

Tables are [S, C] int32 with -1 where there is no transition. The passes are level by level in numpy, so their
cost is the number of transitions plus some 20 us a level, never a Python loop over states.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# A table may be this large before it is minimised.
MAX_RAW_STATES = 400_000


def bfs_order(table: Ints, start: int) -> Indices:
    """The reachable states in breadth-first order, transitions taken in the order of their columns."""
    seen = np.zeros(len(table) + 1, np.bool_)
    seen[-1] = True
    seen[start] = True
    frontier = np.array([start], np.int64)
    levels = []
    while len(frontier):
        levels.append(frontier)
        targets = table[frontier].ravel()
        targets = targets[~seen[targets]]
        if not len(targets):
            break
        values, first = np.unique(targets, return_index=True)
        frontier = values[np.argsort(first)].astype(np.int64)
        seen[frontier] = True
    return np.concatenate(levels)


def reverse_edges(table: Ints) -> tuple[Indices, Indices]:
    """Predecessors as (offsets [S + 1], sources [E]): those of state s at offsets[s]:offsets[s + 1]."""
    source, column = np.nonzero(table >= 0)
    target = table[source, column]
    offsets = np.zeros(len(table) + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=len(table)), out=offsets[1:])
    return offsets, source[np.argsort(target, kind="stable")]


def _predecessors(back: tuple[Indices, Indices], states: Indices) -> Indices:
    """The sources of all transitions into these states, with repetition."""
    offsets, sources = back
    starts = offsets[states]
    counts = offsets[states + 1] - starts
    total = int(counts.sum())
    if not total:
        return np.zeros(0, np.int64)
    shift = np.repeat(starts - np.cumsum(counts) + counts, counts)
    return sources[shift + np.arange(total)]


def distances(
    table: Ints, accepting: Bools, back: tuple[Indices, Indices] | None = None
) -> tuple[Ints, Ints]:
    """The fewest and the most bytes from each state to acceptance, both [S] int32.

    The first is -1 where acceptance cannot be reached, the second where there is no bound.
    The second supposes that every state is live.
    """
    back = reverse_edges(table) if back is None else back
    nearest = np.full(len(table), -1, np.int32)
    frontier, level = np.flatnonzero(accepting), 0
    while len(frontier):
        nearest[frontier] = level
        level += 1
        sources = _predecessors(back, frontier)
        frontier = np.unique(sources[nearest[sources] < 0])
    farthest = np.full(len(table), -1, np.int32)
    left = (table >= 0).sum(1)
    frontier, level = np.flatnonzero(left == 0), 0
    while len(frontier):
        farthest[frontier] = level
        level += 1
        sources = _predecessors(back, frontier)
        np.subtract.at(left, sources, 1)
        frontier = np.unique(sources[left[sources] == 0])
    return nearest, farthest


def _group(rows: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.intp], int]:
    """A number for each row, equal for equal rows, and how many numbers there are."""
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    values, inverse = np.unique(keys, return_inverse=True)
    return inverse, len(values)


def refine(table: Ints, accepting: Bools, nearest: Ints, farthest: Ints) -> tuple[Ints, int]:
    """The equivalence class of each state [S] int32 and the number of classes; all states must be live.

    States of finite languages are settled level by level from the end. The others start from classes of equal
    distance to acceptance, which equivalent states share, and are split until nothing changes (Moore): the
    distances make long chains settle in a few rounds rather than one a state.
    """
    label = np.full(len(table) + 1, -1, np.int32)
    count = 0
    columns = np.column_stack([accepting, table]).astype(np.int32)
    order = np.argsort(farthest, kind="stable")
    bounds = np.searchsorted(farthest[order], np.arange(0, int(farthest.max(initial=-1)) + 2))
    for low, high in pairwise(bounds.tolist()):
        states = order[low:high]
        rows = columns[states]
        rows[:, 1:] = label[rows[:, 1:]]
        groups, found = _group(rows)
        label[states] = count + groups
        count += found
    states = order[: bounds[0]]
    if not len(states):
        return label[:-1], count
    rows = np.column_stack([accepting[states], nearest[states]]).astype(np.int32)
    groups, found = _group(rows)
    label[states] = count + groups
    while True:
        rows = np.column_stack([label[states], label[table[states]]])
        groups, split = _group(rows)
        label[states] = count + groups
        if split == found:
            return label[:-1], count + found
        found = split


def merge_columns(table: Ints, byte_class: Ints) -> tuple[Ints, Ints]:
    """The table with equal columns merged, classes numbered by their smallest byte."""
    groups, _ = _group(np.ascontiguousarray(table.T))
    of_byte = groups[byte_class]
    _, first, inverse = np.unique(of_byte, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    byte_of = np.sort(first)
    return table[:, byte_class[byte_of]], rank[inverse].astype(np.int32)


def join_classes(a: Ints, b: Ints) -> tuple[Ints, Indices, Indices]:
    """The coarsest byte classes that refine both: (byte_class, class in `a`, class in `b`)."""
    _, first, inverse = np.unique(a.astype(np.int64) * 256 + b, return_index=True, return_inverse=True)
    return inverse.astype(np.int32), a[first].astype(np.int64), b[first].astype(np.int64)
