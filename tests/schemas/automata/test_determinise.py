"""The subset construction over silent edges agrees with a plain simulation of all states at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.small_automata import CLASSES, OTHERS, WORDS, tables

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata import operations as module
from cinnabar.schemas.automata.operations import determinise

Silent = dict[int, list[int]]


def simulated(
    table: Sequence[Sequence[int]], final: Sequence[bool], silent: Mapping[int, Sequence[int]], text: bytes
) -> bool:
    """Whether some way through the table and the silent edges reads the text."""
    here = closed({0}, silent)
    for byte in text:
        here = closed({table[s][CLASSES[byte]] for s in here} - {-1}, silent)
    return any(final[s] for s in here)


def closed(states: set[int], silent: Mapping[int, Sequence[int]]) -> set[int]:
    found = set(states)
    while more := {t for s in found for t in silent.get(s, ())} - found:
        found |= more
    return found


@st.composite
def machines(draw: st.DrawFn) -> tuple[list[list[int]], list[bool], Silent]:
    table, final = draw(tables())
    state = st.integers(0, len(table) - 1)
    return table, final, draw(st.dictionaries(state, st.lists(state, max_size=3), max_size=4))


@examples(300)
@given(machines())
def test_a_text_is_accepted_if_any_way_reads_it(machine: tuple[list[list[int]], list[bool], Silent]) -> None:
    table, final, silent = machine
    made = determinise(np.array(table, np.int32), CLASSES, np.array(final), silent)
    for text in [*WORDS, *OTHERS]:
        assert made.accepts(text) == simulated(table, final, silent, text), text


def test_too_many_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Any text with an a three bytes before its end: the automaton remembers the last three bytes.
    table = np.array([[0, 0, 0, 0], [2, -1, -1, -1], [3] * 4, [4] * 4, [-1] * 4], np.int32)
    final, silent = np.arange(5) == 4, {0: [1]}
    assert determinise(table, CLASSES, final, silent).states == 8
    monkeypatch.setattr(module, "MAX_STATES", 6)
    with pytest.raises(TooLarge):
        determinise(table, CLASSES, final, silent)
