"""Word pieces: they keep their places in the text, and the letter case and gaps that the vocabulary lacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.tiny_network import VOCABULARY, wordpieces

from cinnabar.engine.models.reader.inputs.wordpieces import (
    CASES,
    CLS_ID,
    GAPS,
    PAD_ID,
    PLACES,
    SEP_ID,
    UNKNOWN_ID,
)

WORDS = VOCABULARY.read_text(encoding="utf-8").split("\n")
SPECIAL = {WORDS.index(w) for w in ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")}


@given(st.text(st.sampled_from("\n\t") | st.characters(codec="ascii", categories=["L", "N", "P", "S", "Z"])))
def test_offsets_slice_the_text_into_its_pieces(text: str) -> None:
    pieces = wordpieces().pieces(text)
    for piece, start, end in zip(pieces.ids, pieces.start, pieces.end, strict=True):
        if piece != UNKNOWN_ID:
            assert text[start:end].lower() == WORDS[piece].removeprefix("##")


@given(st.text(max_size=80))
@example("농협 은행")
def test_pieces_stand_in_order_and_cover_every_letter_and_digit(text: str) -> None:
    pieces = wordpieces().pieces(text)
    assert (pieces.start < pieces.end).all()
    assert (pieces.start[:-1] <= pieces.start[1:]).all() and (pieces.end[:-1] <= pieces.end[1:]).all()
    # A character that is read as several letters, such as a Hangul syllable, may lie in several pieces.
    assert (pieces.end[:-1] - pieces.start[1:] <= 1).all()
    assert len(pieces) == wordpieces().count(text) == len(wordpieces().ids(text))
    covered = {i for a, b in zip(pieces.start, pieces.end, strict=True) for i in range(a, b)}
    assert not any(c.isascii() and c.isalnum() for i, c in enumerate(text) if i not in covered)


def test_the_special_tokens_are_those_of_the_vocabulary() -> None:
    assert [WORDS[i] for i in (PAD_ID, UNKNOWN_ID, CLS_ID, SEP_ID)] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    assert wordpieces().size == 30522


@pytest.mark.parametrize("text", ["[MASK] [CLS] <mask>", "[SEP][PAD]", "[UNK]", "</s> <|im_start|>"])
def test_text_that_looks_like_a_special_token_is_plain_text(text: str) -> None:
    pieces = wordpieces().pieces(text)
    assert not SPECIAL & set(pieces.ids.tolist())
    spelled = "".join(text[a:b] for a, b in zip(pieces.start, pieces.end, strict=True))
    assert spelled == text.replace(" ", "")


def test_case_gap_and_line_are_kept_beside_the_pieces() -> None:
    pieces = wordpieces().pieces("Total 12 EUR\nnet  iPad,\n\nend")
    seen = {
        "".join(text): (CASES[case], GAPS[gap], int(line))
        for text, case, gap, line in zip(
            ["Total 12 EUR\nnet  iPad,\n\nend"[a:b] for a, b in zip(pieces.start, pieces.end, strict=True)],
            pieces.case, pieces.gap, pieces.line, strict=True,
        )
    }  # fmt: skip
    assert seen["Total"] == ("title", "paragraph", 0)
    assert seen["12"] == ("digits", "blank", 0)
    assert seen["net"] == ("lower", "line", 1)
    assert seen[","] == ("other", "joined", 1)
    assert seen["end"] == ("lower", "paragraph", 3)
    assert next(v for k, v in seen.items() if k[0] == "E") == ("upper", "blank", 0)
    assert next(v for k, v in seen.items() if k[0] == "i")[1] == "wide"


def test_later_pieces_of_a_word_are_marked_as_continuations() -> None:
    pieces = wordpieces().pieces("unbelievablyspelled")
    assert len(pieces) > 1
    assert (pieces.case[1:] == CASES.index("continuation")).all()
    assert pieces.case[0] != CASES.index("continuation")


def test_boxes_become_places_and_text_columns_stand_in_for_missing_ones() -> None:
    text = "left  right\nbelow"
    starts = np.array([0, 6, 12], np.int32)
    boxes = np.array([[0, 0, 0.1, 0.1], [0.999, 0.5, 1, 0.6], [np.nan] * 4], np.float32)
    pieces = wordpieces().pieces(text, starts, boxes)
    assert pieces.x.tolist() == [1, PLACES - 1, 1]
    assert pieces.y.tolist() == [1, 17, 0]
    plain = wordpieces().pieces(text)
    assert plain.x.tolist() == [1, 2, 1]
    assert not plain.y.any()


def test_places_beyond_the_page_stay_in_the_last_buckets() -> None:
    boxes = np.array([[-0.5, 7.0, 9.0, 9.0]], np.float32)
    pieces = wordpieces().pieces("x" + " " * 500 + "y", np.array([0], np.int32), boxes)
    assert (pieces.x.tolist(), pieces.y.tolist()) == ([1, 1], [PLACES - 1] * 2)
    assert int(wordpieces().pieces("x" + " " * 500 + "y").x[1]) == PLACES - 1


def test_a_character_is_found_in_its_piece_or_the_next_one() -> None:
    pieces = wordpieces().pieces("two  words")
    assert [pieces.at(i) for i in (0, 2, 3, 4, 5, 9, 99)] == [0, 0, 1, 1, 1, 1, 1]


def test_empty_text_has_no_pieces() -> None:
    assert len(wordpieces().pieces("")) == len(wordpieces().pieces(" \n\t")) == 0
