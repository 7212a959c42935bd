"""Automata of given texts: they accept exactly these texts."""

from __future__ import annotations

from hypothesis import given
from tests.support.effort import examples
from tests.support.small_automata import finite, language

from cinnabar.schemas.automata.operations import literal, literals


@examples(40)
@given(finite)
def test_literals_hold_exactly_their_texts(texts: frozenset[bytes]) -> None:
    automaton = literals(texts)
    assert language(automaton) == texts
    assert automaton.longest == (max(map(len, texts)) if texts else None)


def test_the_edge_cases_of_given_texts() -> None:
    assert language(literal(b"")) == {b""}
    assert literals([]).is_empty
    every_byte = literals(bytes([byte]) for byte in range(256))
    assert every_byte.states == 2 and every_byte.accepts(b"\x00") and every_byte.accepts(b"\xff")
