"""The boxes that a page draws enter its text, and buttons of a form; cells, bullets and invisible shapes do not."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from tests.support.drawn_pages import Draw, drawn

from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.pdf.glyphs import PageWords


def text(draw: Draw) -> str:
    return parse(drawn(draw), "a.pdf").text


def question(sheet: Canvas, round_: bool = False) -> None:
    sheet.drawString(50, 700, "Do you smoke?")
    for x, answer in ((200, "Yes"), (260, "No")):
        sheet.circle(x + 5, 703, 5) if round_ else sheet.rect(x, 698, 10, 10)
        sheet.drawString(x + 15, 700, answer)


@pytest.mark.parametrize("round_", [False, True])
def test_drawn_boxes_stand_before_their_labels_with_a_box_of_their_own(round_: bool) -> None:
    def draw(sheet: Canvas) -> None:
        question(sheet, round_)
        sheet.line(201, 699, 209, 707)
        sheet.line(201, 707, 209, 699)

    document = parse(drawn(draw), "a.pdf")
    assert " ".join(document.text.split()) == "Do you smoke? ☒ Yes ☐ No"
    at = document.text.index("☒")
    number = document.words.start.tolist().index(at)
    assert np.allclose(document.words.box[number], (200, 133.9, 210, 143.9), atol=1.5)


def test_a_letter_in_a_box_ticks_it() -> None:
    def draw(sheet: Canvas) -> None:
        question(sheet)
        sheet.drawString(261, 699, "X")

    assert " ".join(text(draw).split()) == "Do you smoke? ☐ Yes ☒ No"


def test_cells_bullets_and_invisible_squares_are_no_boxes() -> None:
    def draw(sheet: Canvas) -> None:
        sheet.drawString(50, 700, "Name")
        for number in range(6):
            sheet.rect(100 + 12 * number, 698, 12, 12)
        for y in (600, 620, 640):
            sheet.rect(50, y, 7, 7, fill=1)
            sheet.drawString(65, y, "item")
        sheet.setStrokeColorRGB(1, 1, 1)
        sheet.rect(300, 698, 10, 10)

    assert not set("☐☒⍰") & set(text(draw))


def test_buttons_of_a_form_are_fields_and_boxes_beside_their_labels() -> None:
    def draw(sheet: Canvas) -> None:
        sheet.drawString(70, 700, "Newsletter")
        sheet.acroForm.checkbox(name="news", x=50, y=697, size=12, checked=True)
        sheet.drawString(70, 660, "Call me")
        sheet.acroForm.checkbox(name="call", x=50, y=657, size=12, checked=False)
        sheet.acroForm.checkbox(name="far", x=-500, y=5000, size=12, checked=True)

    assert text(draw).split()[:8] == ["☒", "Newsletter", "☐", "Call", "me", "news:", "Yes", "call:"]


def test_lines_in_one_column_are_labelled_by_what_ends_with_a_colon_before_them() -> None:
    def draw(sheet: Canvas) -> None:
        for y, label in ((700, "Signature of applicant:"), (660, "Witness:"), (620, "Total")):
            sheet.drawString(50, y, label)
            sheet.line(190, y - 2, 400, y - 2)
        sheet.bezier(210, 700, 230, 720, 250, 695, 300, 712)

    assert text(draw).split() == ["Signature", "of", "applicant:", "✍", "Witness:", "____", "Total"]


def test_of_two_lines_behind_a_label_the_first_is_its() -> None:
    def draw(sheet: Canvas) -> None:
        sheet.drawString(50, 700, "Signature:")
        sheet.line(200, 698, 290, 698)
        sheet.line(110, 698, 190, 698)
        sheet.bezier(120, 700, 140, 720, 150, 695, 180, 712)

    assert text(draw).split() == ["Signature:", "✍"]


def test_a_line_to_sign_is_blank_or_written_on_and_a_ruled_table_is_neither() -> None:
    def sign(ink: bool) -> str:
        def draw(sheet: Canvas) -> None:
            sheet.line(50, 600, 200, 600)
            sheet.drawString(52, 588, "Signature")
            if ink:
                sheet.bezier(60, 605, 90, 630, 110, 590, 150, 612)
                sheet.bezier(150, 612, 120, 600, 180, 630, 190, 606)
            for y in (400, 415, 430):
                sheet.line(50, y, 300, y)
                sheet.drawString(52, y - 11, "cell")

        return " ".join(text(draw).split())

    assert sign(False) == "____ Signature cell cell cell"
    assert sign(True) == "✍ Signature cell cell cell"


def test_pages_without_shapes_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a page was drawn")

    monkeypatch.setattr("cinnabar.extraction.documents.pdf.drawn_marks.page_pixels", fail)

    def draw(sheet: Canvas) -> None:
        sheet.drawString(50, 700, "Dear all, a line is below")
        sheet.line(50, 690, 400, 690)
        sheet.rect(50, 100, 400, 300)

    assert text(draw) == "Dear all, a line is below"


def test_the_pixels_of_a_scan_with_a_text_layer_are_searched() -> None:
    pytest.importorskip("cv2")

    def draw(sheet: Canvas) -> None:
        image = Image.new("L", (1654, 2339), 255)
        pen = ImageDraw.Draw(image)
        for x in (500, 700):
            pen.rectangle([x, 500, x + 28, 528], outline=0, width=3)
        pen.line([505, 505, 523, 523], 0, 4)
        pen.line([505, 523, 523, 505], 0, 4)
        sheet.drawImage(ImageReader(image), 0, 0, 595, 842)
        hidden = sheet.beginText(195, 652)
        hidden.setTextRenderMode(3)
        hidden.textOut("Yes")
        hidden.setTextOrigin(270, 652)
        hidden.textOut("No")
        sheet.drawText(hidden)

    assert " ".join(text(draw).split()) == "☒ Yes ☐ No"


def test_the_time_for_marks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.pdf.page_content.MARKING_SECONDS", -1.0)
    document = parse(drawn(question), "a.pdf")
    assert "☐" not in document.text and document.flags == ("marks_unsearched",)


def test_a_form_drawn_within_forms_has_its_boxes_where_they_show() -> None:
    def draw(sheet: Canvas) -> None:
        sheet.beginForm("inner")
        sheet.rect(0, 0, 10, 10)
        sheet.endForm()
        sheet.drawString(70, 700, "Agreed")
        sheet.translate(50, 698)
        sheet.doForm("inner")

    assert text(draw) == "☐ Agreed"


def test_the_page_of_a_picture_has_the_same_marks() -> None:
    pytest.importorskip("cv2")
    from cinnabar.extraction.documents.ocr.text_lines import marked_page

    image = Image.new("L", (800, 800), 255)
    ImageDraw.Draw(image).rectangle([100, 100, 130, 130], outline=0, width=3)
    none = np.zeros(1, np.int64)
    box = np.array([[150.0, 98.0, 260.0, 134.0]])
    words = PageWords(["Agreed"], box / 3, none, none > 0, none > 0, none)
    marked, boxes, sure = marked_page(words, box, np.array([0.97]), np.asarray(image), 0.0, 1 / 3)
    assert marked.text == ["Agreed", "☐"] and sure.tolist() == [0.97, 0.99]
    assert np.allclose(boxes[1], (100, 100, 130, 130), atol=3) and np.array_equal(boxes[0], box[0])
