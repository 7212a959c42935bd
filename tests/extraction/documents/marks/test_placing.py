"""Marks stand beside the words of their line, and no word changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.extraction.documents.marks.ink import EMPTY, TICKED, WRITTEN, Mark
from cinnabar.extraction.documents.marks.placing import placed

TEXT = ["Smoker?", "Yes", "No", "Date"]
GAPS = ["", "    ", "   ", "\n"]
BOX = np.array([[50, 100, 100, 110], [150, 100, 170, 110], [220, 100, 235, 110], [50, 120, 80, 130]], np.float32)


def text_of(marks: list[Mark], box: np.ndarray = BOX) -> str:
    text, gaps, _, _ = placed(TEXT, GAPS, box, marks)
    return "".join(gap + word for gap, word in zip(gaps, text, strict=True))


def test_a_mark_stands_before_the_word_on_its_right_else_behind_that_on_its_left() -> None:
    right = [Mark((136, 100, 146, 110), TICKED), Mark((206, 100, 216, 110), EMPTY)]
    assert text_of(right) == "Smoker?     ☒ Yes     ☐ No\nDate"
    left = [Mark((174, 100, 184, 110), TICKED), Mark((240, 100, 250, 110), EMPTY)]
    assert text_of(left) == "Smoker?      Yes ☒     No ☐\nDate".replace("      Yes", "    Yes")


def test_a_mark_on_no_line_stands_before_the_words_below_it_or_at_the_end() -> None:
    assert text_of([Mark((50, 60, 60, 70), EMPTY)]).startswith("☐\nSmoker?")
    assert text_of([Mark((50, 200, 60, 210), EMPTY)]).endswith("Date\n☐")


def test_a_line_stands_before_its_label() -> None:
    assert text_of([Mark((40, 100, 200, 118), WRITTEN, before=3)]).endswith("\n✍ Date")


def test_a_page_on_its_side_has_its_marks_beside_the_same_words() -> None:
    def turned(box: np.ndarray) -> np.ndarray:
        x0, y0, x1, y1 = box.T
        return np.stack([300 - y1, x0, 300 - y0, x1], axis=1).astype(np.float32)

    upright = np.array([[136, 100, 146, 110]], np.float32)
    place = tuple(turned(upright)[0].tolist())
    assert text_of([Mark(place, TICKED)], turned(BOX)) == text_of([Mark((136, 100, 146, 110), TICKED)])


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.sampled_from([EMPTY, TICKED])), max_size=6))
def test_words_stay_in_their_order_with_their_boxes(drawn: list[tuple[int, int, str]]) -> None:
    marks = [Mark((x, y, x + 10.0, y + 10.0), sign) for x, y, sign in drawn]
    text, gaps, box, source = placed(TEXT, GAPS, BOX, marks)
    kept = [at for at, one in enumerate(source) if one >= 0]
    assert [text[at] for at in kept] == TEXT and [source[at] for at in kept] == [0, 1, 2, 3]
    assert np.array_equal(box[kept], BOX) and len(text) == len(gaps) == len(box) == len(TEXT) + len(marks)
    assert gaps[0] == "" or source[0] == -1
    assert all(not gap.strip(" \n") and (gap or at == 0) for at, gap in enumerate(gaps))
