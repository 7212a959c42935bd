"""Automata of given texts hold these and no others."""

from __future__ import annotations

from hypothesis import given, settings
from small_automata import finite, language

from cinnabar.schemas.literals import anything, byte_set, epsilon, literals


@settings(max_examples=40)
@given(finite)
def test_literals_hold_exactly_their_texts(texts: frozenset[bytes]) -> None:
    automaton = literals(texts)
    assert language(automaton) == texts
    assert automaton.longest == (max(map(len, texts)) if texts else None)


def test_the_edge_cases_of_given_texts() -> None:
    assert language(epsilon()) == {b""}
    assert literals([]).is_empty and byte_set([]).is_empty
    assert anything().longest is None and anything().states == 1
    assert byte_set(range(256)).accepts(b"\xff") and not byte_set(b"ab").accepts(b"c")
