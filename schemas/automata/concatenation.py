"""Concatenation of languages, by the subset construction or, if the next byte decides, by joining the tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton, empty, from_dfa
from cinnabar.schemas.automata.minimise import Ints, join_classes
from cinnabar.schemas.errors import TooLarge


def concat(first: Automaton, *others: Automaton) -> Automaton:
    """The texts that are a text of the first language, then one of the second, and so on.

    Raises TooLarge if an automaton has more than `MAX_STATES` states.
    """
    joined = reduce(_joined, others, first)
    return from_dfa(joined.transitions, joined.byte_class, joined.accepting)


def _joined(a: Automaton, b: Automaton) -> Automaton:
    """The concatenation of two languages; not minimised. `a` may have dead states."""
    if a.is_empty or b.is_empty:
        return empty()
    classes, in_a, in_b = join_classes(a.byte_class, b.byte_class)
    table_a = a.transitions[:, in_a]
    table_b = np.where(b.transitions < 0, -1, b.transitions + a.states)[:, in_b]
    ends = np.flatnonzero(a.accepting)
    if not ((table_a[ends] >= 0) & (table_b[0] >= 0)).any():
        # The first byte after a text of `a` tells whether `b` has begun, so the joined table is deterministic.
        table = np.concatenate([table_a, table_b])
        table[ends] = np.maximum(table[ends], table_b[0])
        final = np.concatenate([a.accepting & b.accepting[0], b.accepting])
        return Automaton(table, classes, final)
    start_b = 1 << a.states
    closed = [(1 << s) | (start_b if end else 0) for s, end in enumerate(a.accepting.tolist())]
    closed += [1 << (a.states + s) for s in range(b.states)]
    table_rows = [[closed[t] if t >= 0 else 0 for t in row] for row in [*table_a.tolist(), *table_b.tolist()]]
    marks = [False] * a.states + b.accepting.tolist()
    return _subsets(table_rows, classes, closed[0], sum(1 << s for s, end in enumerate(marks) if end))


def _subsets(table: Sequence[Sequence[int]], classes: Ints, start: int, final: int) -> Automaton:
    """The subset construction; a set of states is a bit mask, and `table[state][class]` is such a mask."""
    number, queue, rows = {start: 0}, [start], []
    for mask in queue:
        row = [0] * len(table[0])
        while mask:
            low = mask & -mask
            row = [a | b for a, b in zip(row, table[low.bit_length() - 1], strict=True)]
            mask ^= low
        targets = []
        for target in row:
            if target and target not in number:
                number[target] = len(queue)
                queue.append(target)
                if len(queue) > MAX_STATES:
                    raise TooLarge(len(queue), MAX_STATES)
            targets.append(number[target] if target else -1)
        rows.append(targets)
    return from_dfa(rows, classes, [bool(mask & final) for mask in queue])
