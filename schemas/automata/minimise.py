"""Passes over the table of a deterministic automaton: numbering, distances, minimisation, byte classes.

Tables are [S, C] int32 with -1 for no transition. Walks along the transitions are plain loops over lists, some 80 ns
a transition: the automata are deep and narrow (a bounded string has some ten states a level), and a numpy call for
each level costs more. The other passes are numpy.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Back = tuple[list[int], list[int]]

# The most states of a table before it is minimised.
MAX_RAW_STATES = 400_000


def bfs_order(table: Ints, start: int) -> Indices:
    """The reachable states in breadth-first order, transitions taken in the order of their columns."""
    source, column = np.nonzero(table >= 0)
    offsets = np.searchsorted(source, np.arange(len(table) + 1)).tolist()
    targets = table[source, column].tolist()
    seen = [False] * len(table)
    seen[start] = True
    order = [start]
    for state in order:
        for target in targets[offsets[state] : offsets[state + 1]]:
            if not seen[target]:
                seen[target] = True
                order.append(target)
    return np.array(order, np.int64)


def reverse_edges(table: Ints) -> Back:
    """Predecessors as (offsets [S + 1], sources [E]); those of state s are sources[offsets[s]:offsets[s + 1]]."""
    source, column = np.nonzero(table >= 0)
    target = table[source, column]
    offsets = np.zeros(len(table) + 1, np.int64)
    np.cumsum(np.bincount(target, minlength=len(table)), out=offsets[1:])
    return offsets.tolist(), source[np.argsort(target, kind="stable")].tolist()


def nearest(accepting: Bools, back: Back) -> Ints:
    """The fewest bytes from each state to acceptance, [S] int32, -1 if the state does not reach acceptance."""
    offsets, sources = back
    distance = np.where(accepting, 0, -1).tolist()
    queue = np.flatnonzero(accepting).tolist()
    for state in queue:
        for source in sources[offsets[state] : offsets[state + 1]]:
            if distance[source] < 0:
                distance[source] = distance[state] + 1
                queue.append(source)
    return np.array(distance, np.int32)


def farthest(table: Ints, back: Back) -> Ints:
    """The most bytes from each state to acceptance, [S] int32, -1 if there is no bound.

    Every state must be live, so that texts end in the states without transitions.
    """
    offsets, sources = back
    left = (table >= 0).sum(1)
    distance = np.where(left == 0, 0, -1).tolist()
    queue = np.flatnonzero(left == 0).tolist()
    left = left.tolist()
    for state in queue:
        for source in sources[offsets[state] : offsets[state + 1]]:
            left[source] -= 1
            if not left[source]:
                # The last successor to be settled is the farthest from the end.
                distance[source] = distance[state] + 1
                queue.append(source)
    return np.array(distance, np.int32)


def _group(rows: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.intp], int]:
    """A number for each row, equal for equal rows, and the count of numbers."""
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    values, inverse = np.unique(keys, return_inverse=True)
    return inverse, len(values)


def refine(table: Ints, accepting: Bools, least: Ints, most: Ints) -> tuple[Ints, int]:
    """The equivalence class of each state [S] int32 and the number of classes; all states must be live.

    `least` and `most` are the distances to acceptance, which equivalent states share. Classes start from them and
    are split until nothing changes (Moore); with this start, chains settle in few rounds rather than one a state.
    If texts are short in bytes beside the number of states (an enum), the states with a `most` are settled level by
    level from the end instead, each of them once.
    """
    label = np.full(len(table) + 1, -1, np.int32)
    count = 0
    levels = int(most.max()) + 1
    order = np.argsort(most, kind="stable")
    if levels * 16 < len(table):
        bounds = np.searchsorted(most[order], np.arange(levels + 1))
        columns = np.column_stack([accepting, table]).astype(np.int32)
        for low, high in pairwise(bounds.tolist()):
            states = order[low:high]
            rows = columns[states]
            rows[:, 1:] = label[rows[:, 1:]]
            groups, number = _group(rows)
            label[states] = count + groups
            count += number
        order = order[: bounds[0]]
    if not len(order):
        return label[:-1], count
    groups, number = _group(np.column_stack([accepting, least, most])[order].astype(np.int32))
    label[order] = count + groups
    while True:
        groups, split = _group(np.column_stack([label[order], label[table[order]]]))
        label[order] = count + groups
        if split == number:
            return label[:-1], count + number
        number = split


def merge_columns(table: Ints, byte_class: Ints) -> tuple[Ints, Ints]:
    """The table with equal columns merged, classes numbered by their smallest byte."""
    groups, _ = _group(np.ascontiguousarray(table.T))
    of_byte = groups[byte_class]
    _, first, inverse = np.unique(of_byte, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    byte_of = np.sort(first)
    return table[:, byte_class[byte_of]], rank[inverse].astype(np.int32)


def join_classes(a: Ints, b: Ints) -> tuple[Ints, Indices, Indices]:
    """The coarsest byte classes that refine both, as (byte_class, class in `a`, class in `b`)."""
    _, first, inverse = np.unique(a.astype(np.int64) * 256 + b, return_index=True, return_inverse=True)
    return inverse.astype(np.int32), a[first].astype(np.int64), b[first].astype(np.int64)
