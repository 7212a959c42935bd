"""Letter n-grams: words as the letters that they are made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import wordpieces

from cinnabar.engine.models.reader.inputs.letter_ngrams import (
    BUCKETS,
    NAME_WORDS,
    RUNS,
    runs_of,
    spelt,
    spelt_names,
    words_of_pieces,
)

words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=40)


@given(words)
def test_a_word_has_rows_other_than_the_padding_row(word: str) -> None:
    runs = runs_of(word)
    assert 0 < len(runs) <= RUNS and all(0 < row < BUCKETS for row in runs)


parts = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=8)


@given(parts, parts)
def test_a_compound_shares_rows_with_both_of_its_parts(one: str, other: str) -> None:
    whole = set(runs_of(one + other))
    assert whole & set(runs_of(one)[1:]) and whole & set(runs_of(other)[1:])


def test_words_are_whole_and_numbers_and_signs_are_no_words() -> None:
    text = "Rechnungsdatum: 12.03.2024 (fällig)"
    pieces = wordpieces().pieces(text)
    words = words_of_pieces(pieces, 0, len(pieces), wordpieces())
    assert np.array_equal(words.spelt[words.word], spelt(["rechnungsdatum", "fallig"]))
    within = [words.of_piece[pieces.at(text.index(part))] for part in ("Rech", "datum", "12", ":", "fällig")]
    assert within == [0, 0, -1, -1, 1]


def test_words_of_a_cell_form_one_run_until_a_number() -> None:
    text = "net-amount due  tax 7 total\nsum"
    pieces = wordpieces().pieces(text)
    run = words_of_pieces(pieces, 0, len(pieces), wordpieces()).run.tolist()
    net, amount, due, tax, total, last = run
    assert net == amount == due and len({due, tax, total, last}) == 4


def test_repeated_words_are_kept_once() -> None:
    pieces = wordpieces().pieces("water paper water paper water")
    words = words_of_pieces(pieces, 0, len(pieces), wordpieces())
    assert len(words.spelt) == 2 and len(words.word) == 5 and len(set(words.word[::2].tolist())) == 1


def test_a_stretch_may_begin_within_a_word_and_may_be_empty() -> None:
    pieces = wordpieces().pieces("Rechnungsdatum")
    words = words_of_pieces(pieces, 1, len(pieces), wordpieces())
    assert words.of_piece.tolist() == [0] * (len(pieces) - 1) and len(words.spelt) == 1
    assert not len(words_of_pieces(pieces, 0, 0, wordpieces()).word)


def test_names_are_spelt_as_the_words_of_a_page_are() -> None:
    ids = wordpieces().ids("due date 2")
    rows = spelt_names([ids, ()], wordpieces())
    assert rows.shape == (2, NAME_WORDS, RUNS) and not rows[1].any() and not rows[0, 2:].any()
    assert np.array_equal(rows[0, :2], spelt(["due", "date"]))


def test_text_outside_the_vocabulary_is_no_word() -> None:
    text = "⠿⠿ due " + "x" * 300 + " date"
    pieces = wordpieces().pieces(text)
    words = words_of_pieces(pieces, 0, len(pieces), wordpieces())
    known = [words.of_piece[pieces.at(text.index(part))] for part in ("⠿", "due", "xx", "date")]
    assert known[0] == known[2] == -1 and known[1] >= 0 <= known[3]
