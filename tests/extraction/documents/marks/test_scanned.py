"""Boxes and lines are found on the pixels of a page, and letters, cells and bullets are none."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import ImageDraw, ImageFont

pytest.importorskip("cv2")

from tests.support.drawn_boxes import SCALE, Page, box, page

from cinnabar.extraction.documents.marks.boxes_and_lines import BLANK, DOUBTFUL, EMPTY, TICKED, WRITTEN
from cinnabar.extraction.documents.marks.scanned import scanned_marks

NONE = np.empty((0, 4))


def signs(grey: Page, words: np.ndarray = NONE) -> list[str]:
    marks = scanned_marks(grey, SCALE, words, words)
    return [mark.sign for mark in sorted(marks, key=lambda mark: mark.box[0])]


@pytest.mark.parametrize("lean", [-3.0, 0.0, 1.5, 3.0])
@pytest.mark.parametrize("round_", [False, True])
def test_boxes_are_empty_or_ticked_on_a_page_that_leans_and_has_grain(lean: float, round_: bool) -> None:
    def draw(pen: ImageDraw.ImageDraw) -> None:
        for number, tick in enumerate(("", "x", "", "hand")):
            box(pen, 60 + 70 * number, 150, tick, round_=round_)

    assert signs(page(draw, lean, grain=6.0)) == [EMPTY, TICKED, EMPTY, TICKED]


def test_the_more_ink_is_in_a_box_the_less_it_is_empty() -> None:
    def draw(pen: ImageDraw.ImageDraw) -> None:
        for number in range(8):
            box(pen, 40 + 40 * number, 100)
            x, y = (45 + 40 * number) * SCALE, 105 * SCALE
            pen.rectangle([x, y, x + number, y + 1], fill=110)

    found = signs(page(draw))
    states = [EMPTY, DOUBTFUL, TICKED]
    assert found[0] == EMPTY and found[-1] == TICKED and DOUBTFUL in found
    assert found == sorted(found, key=states.index)


def test_a_solid_square_is_ticked_beside_an_empty_one_and_else_a_bullet() -> None:
    assert signs(page(lambda pen: (box(pen, 60, 100, "full"), box(pen, 60, 130)))) in ([TICKED, EMPTY], [EMPTY, TICKED])
    assert signs(page(lambda pen: box(pen, 60, 100, "full"))) == []


def test_letters_and_cells_are_no_boxes() -> None:
    words = []

    def draw(pen: ImageDraw.ImageDraw) -> None:
        for number, size in enumerate((24, 30, 40)):
            font, x = ImageFont.load_default(size=size), 80.0
            for word in ("DOB", "HEED", "0800", "Boden", "B8"):
                pen.text((x, 60 + 130 * number), word, 0, font)
                words.append([side / SCALE for side in pen.textbbox((x, 60 + 130 * number), word, font)])
                x += pen.textlength(word + " ", font)
        for number in range(8):  # one cell for each letter of a name
            x = (60 + 14 * number) * SCALE
            pen.rectangle([x, 230 * SCALE, x + 14 * SCALE, 244 * SCALE], outline=0, width=2)

    grey = page(draw)
    assert signs(grey, np.array(words)) == []


@pytest.mark.parametrize("lean", [-3.0, 0.0, 3.0])
@pytest.mark.parametrize("ink", [True, False])
def test_a_line_with_a_label_below_is_written_on_or_blank(lean: float, ink: bool) -> None:
    def draw(pen: ImageDraw.ImageDraw) -> None:
        pen.line([100 * SCALE, 150 * SCALE, 260 * SCALE, 150 * SCALE], 0, 2)
        if ink:
            wave = [(110 * SCALE + 4 * n, (142 + 7 * np.sin(n)) * SCALE) for n in range(60)]
            pen.line(wave, 20, 3)

    words = np.array([[110.0, 156.0, 160.0, 166.0]])
    marks = scanned_marks(page(draw, lean, grain=4.0), SCALE, words, words)
    assert [(mark.sign, mark.place) for mark in marks] == [(WRITTEN if ink else BLANK, (106.0, 156.0, 109.0, 166.0))]


def test_a_line_without_a_label_or_with_print_on_it_or_in_a_table_is_none() -> None:
    def draw(pen: ImageDraw.ImageDraw) -> None:
        for y in (60, 150, 165, 180):
            pen.line([100 * SCALE, y * SCALE, 260 * SCALE, y * SCALE], 0, 2)

    label, print_ = [110.0, 64.0, 160.0, 74.0], [110.0, 48.0, 160.0, 59.0]
    rows = [[110.0, y, 160.0, y + 10] for y in (152.0, 167.0, 182.0)]
    assert scanned_marks(page(draw), SCALE, NONE, NONE) == []
    assert scanned_marks(page(draw), SCALE, np.array([label, print_]), np.array([label, print_])) == []
    assert scanned_marks(page(draw), SCALE, np.array(rows), np.array(rows)) == []
