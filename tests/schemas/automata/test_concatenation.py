"""Concatenation of languages, against every way to cut a text."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.small_automata import WORDS, automata, finite

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.automaton import Automaton, empty, from_dfa
from cinnabar.schemas.automata.operations import concat, literal, literals
from cinnabar.schemas.regex.patterns import fullmatch


@examples(40)
@given(finite, finite)
def test_concat_joins_every_text_with_every_text(a: frozenset[bytes], b: frozenset[bytes]) -> None:
    joined = concat(literals(a), literals(b))
    assert joined.fingerprint == literals(x + y for x in a for y in b).fingerprint


@examples(40)
@given(automata, automata)
def test_concat_of_endless_languages_tries_every_cut(a: Automaton, b: Automaton) -> None:
    joined = concat(a, b)
    for word in WORDS:
        cuts = range(len(word) + 1)
        assert joined.accepts(word) == any(a.accepts(word[:i]) and b.accepts(word[i:]) for i in cuts)


ends = st.integers(0, 255)
spans = st.lists(st.tuples(ends, ends).map(lambda e: (min(e), max(e))), min_size=1, max_size=2)


@given(spans, spans, spans, st.lists(st.lists(ends, max_size=4), max_size=20))
def test_bytes_of_both_languages_are_told_apart(
    first: list[tuple[int, int]],
    second: list[tuple[int, int]],
    third: list[tuple[int, int]],
    words: list[list[int]],
) -> None:
    """One or more bytes of the first spans, one of the second, any number of the third."""

    def inside(spans: list[tuple[int, int]], *rows: list[int], ends: list[bool]) -> Automaton:
        classes = np.zeros(256, np.int32)
        for low, high in spans:
            classes[low : high + 1] = 1
        return from_dfa(rows, classes, ends)

    def written(spans: list[tuple[int, int]]) -> bytes:
        return b"[" + b"".join(b"\\x%02x-\\x%02x" % span for span in spans) + b"]"

    automaton = concat(
        inside(first, [-1, 1], [-1, 1], ends=[False, True]),
        inside(second, [-1, 1], [-1, -1], ends=[False, True]),
        inside(third, [-1, 0], ends=[True]),
    )
    known = re.compile(written(first) + b"+" + written(second) + written(third) + b"*", re.DOTALL)
    edge_bytes = sorted({byte for span in (*first, *second, *third) for byte in span} | {0, 255})
    for word in (*words, *([byte] for byte in range(256)), *product(edge_bytes, repeat=2)):
        assert automaton.accepts(bytes(word)) == (known.fullmatch(bytes(word)) is not None), word


def test_sets_of_states_past_the_cap_are_refused() -> None:
    with pytest.raises(TooLarge):
        concat(fullmatch("[ab]*"), fullmatch("a[ab]{29}"))


def test_the_edge_cases_of_texts_one_after_the_other() -> None:
    a, nothing = literal(b"a"), literal(b"")
    assert concat(a).fingerprint == concat(a, nothing).fingerprint == concat(nothing, a).fingerprint
    assert concat(a).fingerprint == a.fingerprint
    assert concat(a, empty()).is_empty and concat(empty(), a).is_empty
