"""The languages of given texts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cinnabar.schemas.automata.automaton import Automaton, empty, from_dfa
from cinnabar.schemas.automata.minimise import MAX_RAW_STATES
from cinnabar.schemas.errors import TooLarge


def literal(text: bytes) -> Automaton:
    """The language of this text alone."""
    return literals((text,))


def literals(texts: Iterable[bytes]) -> Automaton:
    """The language of exactly these texts, built as a trie."""
    texts = sorted(set(texts))
    used = sorted(set(b"".join(texts)))
    classes = np.zeros(256, np.int32)
    classes[used] = np.arange(1, len(used) + 1)
    column = classes.tolist()
    rows: list[list[int]] = [[-1] * (len(used) + 1)]
    final = [False]
    for text in texts:
        state = 0
        for byte in text:
            target = rows[state][column[byte]]
            if target < 0:
                target = rows[state][column[byte]] = len(rows)
                if target >= MAX_RAW_STATES:
                    raise TooLarge(target, MAX_RAW_STATES)
                rows.append([-1] * (len(used) + 1))
                final.append(False)
            state = target
        final[state] = True
    return from_dfa(rows, classes, final) if texts else empty()
