"""Small random automata over the bytes a, b, c and all others, and words to try them with."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from cinnabar.schemas.automata.automaton import Automaton, from_dfa

WORDS = [bytes(w) for n in range(6) for w in product(b"abc", repeat=n)]
OTHERS = [b"\x00", b"d", b"a\xff", b"abcd", b"abcabcabc"]


def language(automaton: Automaton) -> frozenset[bytes]:
    """The accepted short words over a, b, c and a few other texts."""
    return frozenset(w for w in [*WORDS, *OTHERS] if automaton.accepts(w))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[bool]]:
    """Any table over the classes a, b, c and other bytes, dead and unreachable states included."""
    states = draw(st.integers(1, 6))
    row = st.lists(st.integers(-1, states - 1), min_size=4, max_size=4)
    table = draw(st.lists(row, min_size=states, max_size=states))
    return table, draw(st.lists(st.booleans(), min_size=states, max_size=states))


CLASSES = np.full(256, 3, np.int32)
CLASSES[list(b"abc")] = range(3)
#: All byte strings.
ANYTHING = from_dfa([[0]], np.zeros(256), [True])
automata = tables().map(lambda t: from_dfa(t[0], CLASSES, t[1]))
finite = st.frozensets(st.sampled_from(WORDS[:40]), max_size=8)


def simulate(table: list[list[int]], accepting: list[bool], text: bytes) -> bool:
    state = 0
    for byte in text:
        state = table[state][CLASSES[byte]]
        if state < 0:
            return False
    return accepting[state]
