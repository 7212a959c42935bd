"""The subset construction, against plain simulation: nondeterministic machines, concatenation, repetition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from small_automata import WORDS, automata, finite

from cinnabar.schemas.automaton import Automaton, empty, from_dfa
from cinnabar.schemas.boolean import difference
from cinnabar.schemas.errors import TooLarge
from cinnabar.schemas.literals import epsilon, literal, literals
from cinnabar.schemas.subsets import concat, from_nfa, optional, star


@settings(max_examples=40)
@given(finite, finite)
def test_concat_joins_every_text_with_every_text(a: frozenset[bytes], b: frozenset[bytes]) -> None:
    joined = concat(literals(a), literals(b))
    assert joined.fingerprint == literals(x + y for x in a for y in b).fingerprint


@settings(max_examples=40)
@given(automata, automata)
def test_concat_of_endless_languages_tries_every_cut(a: Automaton, b: Automaton) -> None:
    joined = concat(a, b)
    for word in WORDS:
        cuts = range(len(word) + 1)
        assert joined.accepts(word) == any(a.accepts(word[:i]) and b.accepts(word[i:]) for i in cuts)


@settings(max_examples=40)
@given(automata)
def test_star_is_what_it_is_followed_by_itself(a: Automaton) -> None:
    many = star(a)
    assert many.accepts(b"")
    try:
        again, twice = optional(concat(a, many)), star(many)
    except TooLarge:
        reject()
    assert many.fingerprint == again.fingerprint == twice.fingerprint
    assert difference(a, many).is_empty


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 2, st.sampled_from("abc")), max_size=10), st.data())
def test_a_nondeterministic_machine_is_followed_on_all_its_paths(
    moves: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    silent = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4))
    ends = data.draw(st.sets(st.integers(0, 4), max_size=2))
    automaton = from_nfa(5, [(s, ord(c), ord(c), t) for s, t, c in moves], silent, 0, ends)

    def closed(states: set[int]) -> set[int]:
        grown = states | {t for s, t in silent if s in states}
        return grown if grown == states else closed(grown)

    for word in WORDS[:121]:
        states = closed({0})
        for byte in word:
            states = closed({t for s, t, c in moves if s in states and ord(c) == byte})
        assert automaton.accepts(word) == bool(states & ends)


ends = st.integers(0, 255)
spans = st.tuples(st.integers(0, 3), ends, ends, st.integers(0, 3)).map(
    lambda e: (e[0], *sorted(e[1:3]), e[3])
)


@given(st.lists(spans, max_size=6), st.lists(st.lists(ends, max_size=4), max_size=20))
def test_edges_of_a_nondeterministic_machine_hold_all_bytes_of_their_span(
    edges: list[tuple[int, int, int, int]], words: list[list[int]]
) -> None:
    automaton = from_nfa(4, edges, [], 0, [3])
    edge_bytes = sorted({byte for _, low, high, _ in edges for byte in (low, high)} | {0, 255})
    for word in (*words, *([byte] for byte in range(256)), *product(edge_bytes, repeat=2)):
        states = {0}
        for byte in word:
            states = {t for s, low, high, t in edges if s in states and low <= byte <= high}
        assert automaton.accepts(bytes(word)) == (3 in states), word


def test_what_leads_back_to_the_start_may_be_followed_by_the_same() -> None:
    odd = from_dfa([[1], [0]], np.zeros(256), [False, True])
    pairs = concat(odd, odd)
    assert [length for length in range(9) if pairs.accepts(b"x" * length)] == [2, 4, 6, 8]
    back = concat(literal(b"a"), star(literal(b"ba")))
    assert concat(back, literal(b"b")).fingerprint == concat(literal(b"ab"), star(literal(b"ab"))).fingerprint


def test_sets_of_states_past_the_cap_are_refused() -> None:
    some_a_long_ago = [(0, 97, 98, 0), (0, 97, 97, 1), *((n, 97, 98, n + 1) for n in range(1, 30))]
    with pytest.raises(TooLarge):
        from_nfa(31, some_a_long_ago, [], 0, [30])


def test_a_byte_below_all_edges_leads_nowhere() -> None:
    high = from_nfa(2, [(0, 0x61, 0xFF, 1)], [], 0, [1])
    assert high.accepts(b"a") and high.accepts(b"\xff")
    assert not high.accepts(b"\x00") and not high.accepts(b"`")


def test_the_edge_cases_of_texts_one_after_the_other() -> None:
    a = literal(b"a")
    assert concat().fingerprint == epsilon().fingerprint == star(empty()).fingerprint
    assert concat(a, empty()).is_empty and concat(empty(), a).is_empty
