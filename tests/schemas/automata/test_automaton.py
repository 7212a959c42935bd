"""Automata over bytes: they are minimal, one for each language, and accept exactly its texts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.small_automata import CLASSES, OTHERS, WORDS, automata, simulate, tables

from cinnabar.errors import CinnabarError, TooLarge
from cinnabar.schemas.automata.automaton import MAX_STATES, Automaton, empty, from_dfa
from cinnabar.schemas.automata.operations import concat, difference, intersect, literal, literals
from cinnabar.schemas.regex.patterns import fullmatch


@examples(40)
@given(tables())
def test_minimising_keeps_the_language(drawn: tuple[list[list[int]], list[bool]]) -> None:
    table, accepting = drawn
    automaton = from_dfa(table, CLASSES, accepting)
    for word in [*WORDS, *OTHERS]:
        assert automaton.accepts(word) == simulate(table, accepting, word)


@examples(40)
@given(automata)
def test_every_state_is_live_and_unlike_every_other(automaton: Automaton) -> None:
    words = [bytes(w) for n in range(6) for w in product(b"abcd", repeat=n)]
    tails = [
        frozenset(w for w in words if (end := automaton.run(w, s)) >= 0 and automaton.accepting[end])
        for s in range(automaton.states)
    ]
    assert all(tails)
    assert len(set(tails)) == automaton.states


@given(automata)
def test_byte_classes_are_as_few_as_can_be(automaton: Automaton) -> None:
    if automaton.is_empty:
        return
    columns = {tuple(c) for c in automaton.transitions.T.tolist()}
    assert len(columns) == automaton.transitions.shape[1] == automaton.byte_class.max() + 1
    firsts = [automaton.byte_class.tolist().index(k) for k in range(len(columns))]
    assert firsts == sorted(firsts)


@given(automata, automata)
def test_equal_languages_have_equal_fingerprints(a: Automaton, b: Automaton) -> None:
    same = difference(a, b).is_empty and difference(b, a).is_empty
    assert (a.fingerprint == b.fingerprint) == same


@examples(40)
@given(automata)
def test_the_shortest_text_is_accepted_and_none_is_shorter(automaton: Automaton) -> None:
    shortest = automaton.shortest()
    if shortest is None:
        assert automaton.is_empty
        return
    assert automaton.accepts(shortest)
    assert not any(automaton.accepts(w) for w in WORDS if len(w) < len(shortest))
    same = [w for w in WORDS if len(w) == len(shortest) and automaton.accepts(w)]
    assert shortest == min([shortest, *(w for w in same if shortest.strip(b"abc") == b"")])


@examples(40)
@given(automata)
def test_distance_is_the_length_of_the_shortest_text_from_a_state(automaton: Automaton) -> None:
    words = [bytes(w) for n in range(6) for w in product(b"abcd", repeat=n)]
    for state, distance in enumerate(automaton.distance.tolist()):
        ends = ((len(w), automaton.run(w, state)) for w in words)
        assert distance == next(n for n, end in ends if end >= 0 and automaton.accepting[end])


@examples(40)
@given(automata, st.integers(1, 12))
def test_the_shortest_texts_are_the_first_of_all_texts_by_length(automaton: Automaton, count: int) -> None:
    automaton = intersect(automaton, fullmatch("[abc]*"))
    known = [word for word in WORDS if automaton.accepts(word)]
    found = automaton.shortest_texts(count)
    assert found[: len(known)] == known[:count]
    assert found == sorted(set(found), key=lambda text: (len(text), text)) and len(found) <= count
    assert all(automaton.accepts(text) for text in found)
    assert automaton.shortest_texts(count) is found


def one_byte(members: Iterable[int]) -> Automaton:
    return literals(bytes([byte]) for byte in members)


#: The order in which a byte is chosen to stand for bytes alike: printable ones first, letters and digits before signs.
ORDER = [*range(0x30, 0x7B), *range(0x20, 0x30), *range(0x7B, 0x100), *range(0x20)]


@given(st.one_of(st.sets(st.integers(0, 255), min_size=1), st.sets(st.integers(0x1F, 0x81), min_size=1)))
@example({0x7B}).via("the first after z")
@example({0x7E, 0x7F, 0x80}).via("the last that can be printed")
@example({0x21, 0x20, 0x1F}).via("the first that can be printed")
def test_printable_bytes_stand_for_bytes_alike(bytes_: set[int]) -> None:
    one, printed = one_byte(sorted(bytes_)), sorted(bytes_ & set(range(0x21, 0x7F)))
    for count in (1, 2, 5):
        expected = printed[:count] or [min(bytes_, key=ORDER.index)]
        assert one.shortest_texts(count) == [bytes([byte]) for byte in expected]
    least = sorted(bytes_ & set(range(0x20, 0x7F))) or sorted(bytes_)
    assert one.shortest() == bytes(least[:1])


@given(automata)
def test_edges_are_the_transitions(automaton: Automaton) -> None:
    source, target, kind = automaton.edges()
    assert len(source) == (automaton.transitions >= 0).sum()
    assert (automaton.transitions[source, kind] == target).all()
    assert source.dtype == target.dtype == kind.dtype == automaton.transitions.dtype == np.int32


def test_table_columns_without_bytes_make_no_transitions() -> None:
    assert from_dfa([[-1, 1], [-1, -1]], np.zeros(256), [False, True]).is_empty


def test_the_arrays_of_an_automaton_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        literal(b"a").transitions[0, 0] = 0


def test_an_automaton_past_the_cap_is_refused() -> None:
    with pytest.raises(TooLarge) as caught:
        literal(b"x" * (MAX_STATES + 5))
    assert caught.value.limit == MAX_STATES and isinstance(caught.value, CinnabarError)


def test_an_automaton_may_reach_its_cap_but_not_exceed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = [literal(b"x" * length) for length in range(5)]
    long, longer, loop = literal(b"x" * 398), literal(b"x" * 399), fullmatch("(?:yz)*")
    # Three sets of states; minimisation unites two of them.
    many, few = fullmatch("x*"), literals([b"x", b"xx"])
    within = {"MAX_STATES": ("automaton", "operations"), "MAX_RAW_STATES": ("operations",)}
    for name, cap, make, found in (
        ("MAX_STATES", 4, lambda: from_dfa(*_table(chains[3])), None),
        # The first byte names its part, so no sets of states are built on the way.
        ("MAX_STATES", 3, lambda: concat(literal(b"x"), loop), None),
        ("MAX_STATES", 2, lambda: concat(literal(b"x"), loop), 3),
        ("MAX_STATES", 4, lambda: from_dfa(*_table(chains[4])), 5),
        ("MAX_STATES", 3, lambda: concat(many, few), None),
        ("MAX_STATES", 2, lambda: concat(many, few), 3),
        ("MAX_RAW_STATES", 4, lambda: literal(b"abc"), None),
        ("MAX_RAW_STATES", 3, lambda: literal(b"abc"), 3),
        ("MAX_RAW_STATES", 4, lambda: intersect(chains[3], chains[3]), None),
        ("MAX_RAW_STATES", 3, lambda: intersect(chains[3], chains[3]), 4),
        ("MAX_RAW_STATES", 1, lambda: intersect(empty(), long), None),
        ("MAX_RAW_STATES", 1, lambda: intersect(empty(), longer), 401),
    ):
        with monkeypatch.context() as patch:
            for module in within[name]:
                patch.setattr(f"cinnabar.schemas.automata.{module}.{name}", cap)
            if found is None:
                make()
                continue
            with pytest.raises(TooLarge) as caught:
                make()
            assert (caught.value.states, caught.value.limit) == (found, 400 if found == 401 else cap)


def _table(automaton: Automaton) -> tuple[Any, Any, Any]:
    return automaton.transitions, automaton.byte_class, automaton.accepting


@examples(20)
@given(st.integers(2, 300), st.integers(0, 300))
def test_long_chains_are_minimised_exactly(length: int, loop: int) -> None:
    table = [[n + 1] for n in range(length)] + [[min(loop, length)]]
    automaton = from_dfa(table, np.zeros(256), [n == length for n in range(length + 1)])
    assert automaton.states == length + 1
    doubled = [[n + 2] for n in range(2 * length)] + [[2 * min(loop, length)], [2 * min(loop, length) + 1]]
    again = from_dfa(doubled, np.zeros(256), [n // 2 == length for n in range(2 * length + 2)])
    assert again.fingerprint == automaton.fingerprint


def test_the_longest_text_is_counted_unless_a_loop_leads_to_longer_ones() -> None:
    assert fullmatch("a{2,4}|b|cd").longest == 4
    assert [fullmatch(loop).longest for loop in ("a*", "ab+c", "(?:ab|c)*d")] == [None] * 3


def test_the_language_without_texts_holds_none() -> None:
    assert empty().is_empty and empty().states == 0 and empty().shortest() is None and empty().longest is None
    assert not empty().accepts(b"")


def test_a_run_that_no_text_continues_ends_at_minus_one() -> None:
    assert literal(b"ab").run(b"a") >= 0
    assert literal(b"ab").run(b"b") == -1
    assert empty().run(b"") == -1
