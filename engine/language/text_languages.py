"""The languages of free answers: any text, and any text up to a mark that ends it.

Texts are UTF-8 without control characters, but for tabs and the ends of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from cinnabar.engine.models.language.arrays import Ints
from cinnabar.schemas.automata.automaton import Automaton, from_dfa

#: Bytes of the characters of one byte: printable ones, tab, line feed, carriage return.
_PLAIN = (0x09, 0x0A, 0x0D, *range(0x20, 0x7F))
#: First bytes of longer characters, bounds of the byte behind, and how many bytes follow that one (Unicode 3.9).
LEADS = (
    (0xC2, 0xDF, 0x80, 0xBF, 0), (0xE0, 0xE0, 0xA0, 0xBF, 1), (0xE1, 0xEC, 0x80, 0xBF, 1), (0xED, 0xED, 0x80, 0x9F, 1),
    (0xEE, 0xEF, 0x80, 0xBF, 1), (0xF0, 0xF0, 0x90, 0xBF, 2), (0xF1, 0xF3, 0x80, 0xBF, 2), (0xF4, 0xF4, 0x80, 0x8F, 2),
)  # fmt: skip


@lru_cache(maxsize=8)
def any_text(but_first: bytes = b"") -> Automaton:
    """The texts of any length, the empty one included, that begin with none of these ASCII bytes."""
    table = _table(2, lambda state, byte: -1 if not state and byte in but_first else 1, 1)
    accepting = np.zeros(len(table), np.bool_)
    accepting[:2] = True
    return from_dfa(table, np.arange(256), accepting)


@lru_cache(maxsize=32)
def text_until(mark: bytes) -> Automaton:
    """The texts that end with this mark, which is ASCII, and hold it nowhere before."""
    many = len(mark)

    def onward(state: int, byte: int) -> int:
        """The longest beginning of the mark with which the text ends behind this byte."""
        if state == many:
            return -1
        seen = mark[:state] + bytes([byte])
        return next(size for size in range(min(len(seen), many), -1, -1) if seen.endswith(mark[:size]))

    table = _table(many + 1, onward, 0)
    table[many] = -1
    accepting = np.zeros(len(table), np.bool_)
    accepting[many] = True
    return from_dfa(table, np.arange(256), accepting)


def _table(states: int, onward: Callable[[int, int], int], after_long: int) -> Ints:
    """[S, 256] int64: the states of plain characters, and those within longer ones, which lead to `after_long`."""
    inside = states
    table = np.full((states + 2 + len(LEADS), 256), -1, np.int64)
    for state in range(states):
        for byte in _PLAIN:
            table[state, byte] = onward(state, byte)
        for number, (first, last, *_) in enumerate(LEADS):
            table[state, first : last + 1] = inside + 2 + number
    # One more byte is missing, or two.
    table[inside, 0x80:0xC0] = after_long
    table[inside + 1, 0x80:0xC0] = inside
    for number, (_, _, low, high, missing) in enumerate(LEADS):
        table[inside + 2 + number, low : high + 1] = (after_long, inside, inside + 1)[missing]
    return table
