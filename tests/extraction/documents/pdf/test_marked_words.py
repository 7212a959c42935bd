"""Marks stand beside the words of their line; a letter that is a box goes, and no other letter does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.documents.marks.boxes_and_lines import EMPTY, TICKED, WRITTEN, Mark
from cinnabar.extraction.documents.pdf.drawn_marks import put_marks
from cinnabar.extraction.documents.pdf.glyphs import PageWords
from cinnabar.extraction.documents.pdf.layout import linearise

TEXT = ["Smoker?", "Yes", "No", "Date"]
BOX = [[50, 100, 100, 110], [150, 100, 170, 110], [220, 100, 235, 110], [50, 120, 80, 130]]


def words(text: list[str], box: list[list[int]]) -> PageWords:
    none = np.zeros(len(text), np.int64)
    return PageWords(text, np.array(box, np.float64), none, none > 0, none > 0, np.arange(len(text)))


def text_of(marks: list[Mark], text: list[str] = TEXT, box: list[list[int]] = BOX) -> str:
    page = put_marks(words(text, box), marks)
    order, gaps = linearise(page)
    return "".join(gap + page.text[at] for at, gap in zip(order, gaps, strict=True))


def test_a_mark_stands_on_the_line_of_the_words_beside_it() -> None:
    marks = [Mark((136, 100, 146, 110), TICKED), Mark((206, 100, 216, 110), EMPTY)]
    assert text_of(marks) == "Smoker?     ☒ Yes     ☐ No\n\nDate"
    assert text_of([Mark((50, 60, 60, 70), EMPTY)]).startswith("☐\n")


def test_a_line_stands_where_it_is_read() -> None:
    assert text_of([Mark((40, 100, 200, 118), WRITTEN, (46, 120, 49, 130))]).endswith("\n✍ Date")


def test_a_letter_in_a_box_goes_and_a_box_within_a_word_is_a_letter() -> None:
    box = Mark((50, 100, 60, 110), EMPTY)
    assert text_of([box], ["O", "Agreed"], [[51, 100, 59, 110], [64, 100, 110, 110]]) == "☐ Agreed"
    assert text_of([box], ["OAgreed"], [[50, 100, 113, 110]]) == "☐ Agreed"
    assert text_of([box], ["Declined"], [[50, 100, 113, 110]]) == "Declined"


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.sampled_from([EMPTY, TICKED])), max_size=6))
def test_no_word_is_lost_and_each_mark_knows_its_number(drawn: list[tuple[int, int, str]]) -> None:
    marks = [Mark((x, y, x + 10.0, y + 10.0), sign) for x, y, sign in drawn]
    page = put_marks(words(TEXT, BOX), marks)
    assert [word.strip("?") for word in page.text[:4]] == ["Smoker", *TEXT[1:]]
    assert page.first[:4].tolist() == [0, 1, 2, 3]
    assert all(marks[number].sign == text for text, number in zip(page.text[4:], page.first[4:], strict=True))
