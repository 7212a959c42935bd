"""Union, intersection and difference of languages, by product construction."""

from __future__ import annotations

import numpy as np

from cinnabar.schemas.automata.automaton import Automaton, empty, from_dfa
from cinnabar.schemas.automata.minimise import MAX_RAW_STATES, join_classes
from cinnabar.schemas.errors import TooLarge


def _product(a: Automaton, b: Automaton, left: bool, right: bool, both: bool) -> Automaton:
    """The texts in `a` alone if `left`, those in `b` alone if `right`, and those in both if `both`."""
    classes, in_a, in_b = join_classes(a.byte_class, b.byte_class)
    # The last state of each table stands for "already outside".
    table_a = np.full((a.states + 1, len(in_a)), a.states, np.int64)
    table_a[: a.states] = np.where(a.transitions < 0, a.states, a.transitions)[:, in_a]
    table_b = np.full((b.states + 1, len(in_b)), b.states, np.int64)
    table_b[: b.states] = np.where(b.transitions < 0, b.states, b.transitions)[:, in_b]
    width = b.states + 1
    size = (a.states + 1) * width
    if size > 400 * MAX_RAW_STATES:
        raise TooLarge(size, 400 * MAX_RAW_STATES)
    number = np.full(size, -1, np.int32)
    # A pair is not followed when no accepting pair can be reached from it.
    if not left:
        number.reshape(-1, width)[:, b.states] = -2
    if not right:
        number.reshape(-1, width)[a.states, :] = -2
    number[size - 1] = -2
    # The start of an empty language is its "already outside", which is state 0 too.
    if number[0] == -2:
        return empty()
    frontier = np.zeros(1, np.int64)
    pairs, rows, count = [frontier], [], 1
    number[frontier] = 0
    while len(frontier):
        targets = table_a[frontier // width] * width + table_b[frontier % width]
        rows.append(targets)
        flat = targets.ravel()
        fresh = np.unique(flat[number[flat] == -1])
        number[fresh] = np.arange(count, count + len(fresh), dtype=np.int32)
        count += len(fresh)
        if count > MAX_RAW_STATES:
            raise TooLarge(count, MAX_RAW_STATES)
        pairs.append(fresh)
        frontier = fresh
    every = np.concatenate(pairs)
    table = np.maximum(number[np.concatenate(rows)], -1)
    final_a = np.append(a.accepting, False)[every // width]
    final_b = np.append(b.accepting, False)[every % width]
    final = (final_a & ~final_b & left) | (final_b & ~final_a & right) | (final_a & final_b & both)
    return from_dfa(table, classes, final)


def intersect(a: Automaton, b: Automaton) -> Automaton:
    """The automaton of the texts that both languages hold."""
    return _product(a, b, left=False, right=False, both=True)


def difference(a: Automaton, b: Automaton) -> Automaton:
    """Texts of the first language that the second does not hold."""
    return _product(a, b, left=True, right=False, both=False)


def union(*parts: Automaton) -> Automaton:
    """Texts of any of these languages."""
    queue = [part for part in parts if not part.is_empty]
    if not queue:
        return empty()
    while len(queue) > 1:
        a, b, *queue = queue
        queue.append(_product(a, b, left=True, right=True, both=True))
    return queue[0]
