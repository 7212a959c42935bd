"""Concatenation of languages, by the subset construction or, if the next byte decides, by joining the tables."""

from __future__ import annotations

from functools import reduce

import numpy as np

from cinnabar.schemas.automata.automaton import Automaton, empty, from_dfa
from cinnabar.schemas.automata.determinise import determinise
from cinnabar.schemas.automata.minimise import join_classes


def concat(first: Automaton, *others: Automaton) -> Automaton:
    """The texts that are a text of the first language, then one of the second, and so on.

    Raises TooLarge if an automaton has more than `MAX_STATES` states.
    """
    joined = reduce(_concatenate, others, first)
    return from_dfa(joined.transitions, joined.byte_class, joined.accepting)


def _concatenate(a: Automaton, b: Automaton) -> Automaton:
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
    table = np.concatenate([table_a, table_b])
    final = np.concatenate([np.zeros(a.states, np.bool_), b.accepting])
    return determinise(table, classes, final, dict.fromkeys(ends.tolist(), (a.states,)))
