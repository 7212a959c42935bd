"""Right-to-left text comes out in reading order, however the file holds it."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawn_pages import glyph_pdf

from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.pdf.bidi import read_line, read_word, split_ligatures

SHALOM, OLAM, HABIBI = "שלום", "עולם", "حَبيبي"


def rightward(*texts: str) -> bytes:
    """Glyphs from left to right, as they are seen."""
    codes = "".join(f"{0x41 + at:02X}" for at in range(len(texts)))
    return glyph_pdf("1 0 0 1 50 300 Tm", f"<{codes}> Tj", glyphs=list(texts))


def leftward(text: str) -> bytes:
    """Glyphs in reading order, each of which steps back over two."""
    steps = " 1200 ".join(f"<{0x41 + at:02X}>" for at in range(len(text)))
    return glyph_pdf("1 0 0 1 300 300 Tm", f"[{steps}] TJ", glyphs=list(text))


def text_of(data: bytes) -> str:
    return parse(data, "a.pdf").text.strip()


@pytest.mark.parametrize("text", [SHALOM, HABIBI, "حبيبي"])
def test_a_word_is_read_from_the_right_in_either_order_of_the_file(text: str) -> None:
    assert text_of(rightward(*text[::-1])) == text
    assert text_of(leftward(text)) == text


def test_words_of_both_directions_keep_their_places_in_a_line() -> None:
    both = f"{SHALOM} {OLAM}"[::-1]
    assert text_of(rightward(*"abc ", *both, *" def")) == f"abc {SHALOM} {OLAM} def"
    assert text_of(rightward(*"4,50 ", *both)) == f"{SHALOM} {OLAM} 4,50"
    assert text_of(rightward(*both, *" 4,50")) == f"4,50 {SHALOM} {OLAM}"
    assert text_of(rightward(*"Ann Lee ", *f"{both} ", *SHALOM[::-1])) == f"{SHALOM} {SHALOM} {OLAM} Ann Lee"


def test_a_number_within_a_word_runs_to_the_right() -> None:
    found = read_word("בי-42", [40, 30, 20, 0, 10], [50, 40, 30, 10, 20])
    assert found == "בי-42"


def test_a_mark_joins_the_nearest_letter_and_between_two_the_right_one() -> None:
    assert read_word("שמ\u05b8\u05b4", [20, 0, 14, 3], [30, 10, 16, 5]) == "ש\u05b8מ\u05b4"


def test_a_word_of_many_marks_takes_no_longer_than_its_length_allows() -> None:
    count = 60_000
    began = time.process_time()
    found = read_word("ש\u05b8" * count, list(range(2 * count)), list(range(1, 2 * count + 1)))
    assert len(found) == 2 * count
    # The search of all letters for each mark took an hour.
    assert time.process_time() - began < 10


def test_letters_of_one_glyph_come_in_reading_order() -> None:
    assert text_of(rightward("ﬁ", *"nd")) == "find"
    assert text_of(rightward("\ufedd", "لا")) == "لال"
    assert text_of(rightward("\ufedd", "\ufefb")) == "لال"
    assert text_of(rightward("ם", "שׁ")) == "שׁם"


def test_ligatures_become_their_letters_and_other_signs_stay() -> None:
    assert split_ligatures("oﬃce aﬀairs ﬅ") == "office affairs st"
    assert split_ligatures("x² ½ № Ａ") == "x² ½ № Ａ"


@given(st.lists(st.sampled_from(["abc", "7", SHALOM, OLAM, "-"]), max_size=12))
def test_a_line_of_words_keeps_each_word_once(words: list[str]) -> None:
    rtl = [word in (SHALOM, OLAM) for word in words]
    order = read_line(rtl, words)
    assert sorted(order) == list(range(len(words)))
    if not any(rtl):
        assert order == sorted(order)
    if all(rtl):
        assert order == sorted(order, reverse=True)


@given(st.text(alphabet="שלוםحبي\u064e12a.-", min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_a_word_keeps_its_letters_in_any_order_of_the_file(word: str, shuffler: random.Random) -> None:
    places = [10.0 * at for at in range(len(word))]
    letters = list(zip(word, places, strict=True))
    shuffler.shuffle(letters)
    shuffled = "".join(letter for letter, _ in letters)
    left = [place for _, place in letters]
    found = read_word(shuffled, left, [place + 9 for place in left])
    assert sorted(found) == sorted(word)
