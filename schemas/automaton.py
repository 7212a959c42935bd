"""Deterministic finite automata over bytes, stored by byte class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Automaton:
    """A deterministic automaton over bytes.

    transitions: [S, C] int32, the next state, -1 where none. Every state is live: some text leads from it to
        acceptance. State 0 is the start; an empty language has no states.
    byte_class: [256] int32, the class of each byte; bytes of one class are alike in every state.
    accepting: [S] bool.
    """

    transitions: npt.NDArray[np.int32]
    byte_class: npt.NDArray[np.int32]
    accepting: npt.NDArray[np.bool_]

    def accepts(self, text: bytes) -> bool:
        """Whether the language holds this text."""
        raise NotImplementedError
