"""Phrase vectors: the likeness of names and the phrases of a page."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from tests.support.tiny_network import wordpieces
from torch import Tensor

from cinnabar.engine.models.reader.inputs.letter_ngrams import BUCKETS, spelt_names
from cinnabar.engine.models.reader.inputs.tensors import Phrases, Window, phrases
from cinnabar.engine.models.reader.network.lexical_signals import (
    VALUES,
    phrase_likeness,
    phrase_matches,
    vectors_of,
)


@cache
def letters() -> Tensor:
    """A table in which no two letter runs are alike; its word vectors are as long as learned ones."""
    table = torch.randn(BUCKETS, VALUES, generator=torch.Generator().manual_seed(0)) * 0.15
    table[0] = 0
    return table


def _spelt(*names: str) -> Tensor:
    return torch.from_numpy(spelt_names([wordpieces().ids(name) for name in names], wordpieces()))


def _names(*names: str) -> Tensor:
    return vectors_of(letters().numpy(), names, wordpieces())


def _phrases(text: str, first: int = 0) -> Phrases:
    pieces = wordpieces().pieces(text)
    return phrases([(pieces, Window(first, len(pieces), first, len(pieces)))], wordpieces())


def _told(text: str, name: str, at: str) -> float:
    found = _phrases(text)
    (told,) = phrase_matches(letters(), _spelt(name), torch.zeros(1, 1, dtype=torch.long), found)
    return float(told[0, wordpieces().pieces(text).at(text.index(at))])


def test_a_phrase_is_like_itself_in_any_order_and_case_and_unlike_others() -> None:
    alike = phrase_likeness(_names("due date"), _names("Date due", "DUE DATE", "water paper"))
    assert alike[0, 0] == alike[0, 1] == 1.0 and alike[0, 2] < 0.2


def test_every_word_of_a_phrase_gets_its_likeness_and_no_other_word_does() -> None:
    text = "paper due date water"
    assert _told(text, "due date", "due") == _told(text, "due date", "date") == 1.0
    assert _told(text, "due date", "paper") < 0.2 > _told(text, "due date", "water")


def test_words_of_two_cells_form_no_phrase() -> None:
    assert _told("due    date", "due date", "due") < 1.0


def test_a_name_without_words_is_like_nothing() -> None:
    assert not phrase_likeness(_names("12"), _names("due date", "12")).any()


def test_letters_that_were_never_learned_are_like_nothing() -> None:
    nothing = vectors_of(np.zeros((BUCKETS, VALUES), np.float32), ["date"], wordpieces())
    assert not phrase_likeness(nothing, nothing).any()


def test_phrases_before_a_window_are_kept_with_the_windows_start() -> None:
    text = "due date\n12.03.2024"
    pieces = wordpieces().pieces(text)
    found = _phrases(text, first=pieces.at(text.index("12")))
    assert found.own.tolist() == [2] and found.of_piece[0, :2].tolist() == [0, 1]


def test_windows_without_words_give_no_likeness() -> None:
    found = _phrases("12 13 14")
    (told,) = phrase_matches(letters(), _spelt("due date"), torch.zeros(1, 1, dtype=torch.long), found)
    assert not told.any() and told.shape == (1, 3)
