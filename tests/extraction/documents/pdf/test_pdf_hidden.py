"""Text that no reader of a page sees is flagged and left out; an OCR layer and white letters on a dark ground count."""

import ctypes
import io
from collections.abc import Callable

import pypdf
import pypdfium2 as pdfium2
import pypdfium2.raw as pdfium
import pytest
from PIL import Image
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from tests.support.cases import each

from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.pdf.visibility import _on_layer

Draw = Callable[[canvas.Canvas], None]


def page(draw: Draw) -> bytes:
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, pagesize=A4, invariant=1)
    sheet.drawString(72, 780, "plainly visible words")
    draw(sheet)
    sheet.save()
    return buffer.getvalue()


def picture(grey: int, stripes: bool = False) -> ImageReader:
    image = Image.new("L", (60, 60), grey)
    if stripes:
        for at in range(0, 60, 6):
            image.paste(0, (0, at, 60, at + 2))
    return ImageReader(image.convert("RGB"))


def white(sheet: canvas.Canvas) -> None:
    sheet.setFillGray(1)
    sheet.drawString(72, 700, "pay 9,000")


def nearly_white(sheet: canvas.Canvas) -> None:
    sheet.setFillColorRGB(0.97, 0.98, 0.97)
    sheet.drawString(72, 700, "pay 9,000")


def transparent(sheet: canvas.Canvas) -> None:
    sheet.setFillAlpha(0.02)
    sheet.drawString(72, 700, "pay 9,000")


def off_the_page(sheet: canvas.Canvas) -> None:
    sheet.drawString(-200, 700, "pay 9,000")


def tiny(sheet: canvas.Canvas) -> None:
    sheet.setFont("Helvetica", 0.2)
    sheet.drawString(72, 700, "pay 9,000")


def invisible(sheet: canvas.Canvas) -> None:
    text = sheet.beginText(72, 700)
    text.setTextRenderMode(3)
    text.textOut("pay 9,000")
    sheet.drawText(text)


def under_an_image(sheet: canvas.Canvas) -> None:
    sheet.drawString(72, 700, "pay 9,000")
    sheet.drawImage(picture(200, stripes=True), 60, 680, 150, 50)


def under_a_shape(sheet: canvas.Canvas) -> None:
    sheet.drawString(72, 700, "pay 9,000")
    sheet.rect(60, 690, 150, 30, fill=1)


@pytest.mark.parametrize(
    "draw",
    [white, nearly_white, transparent, off_the_page, tiny, invisible, under_an_image, under_a_shape],
    ids=lambda draw: draw.__name__,
)
def test_text_that_nobody_sees_is_left_out_and_flagged(draw: Draw) -> None:
    document = parse(page(draw), "a.pdf")
    assert document.text == "plainly visible words"
    assert document.flags == ("hidden_text",)
    asked = parse(page(draw), "a.pdf", ParserSettings(hidden=True))
    hidden = next(part for part in asked.parts if part.kind == "hidden")
    assert asked.text[hidden.start : hidden.end] == "pay 9,000"
    assert hidden.page == 1


def test_white_letters_on_a_dark_ground_are_read() -> None:
    def draw(sheet: canvas.Canvas) -> None:
        sheet.rect(60, 690, 150, 30, fill=1)
        white(sheet)

    document = parse(page(draw), "a.pdf")
    assert document.text.split()[-2:] == ["pay", "9,000"]
    assert document.flags == ()


def test_the_ocr_layer_of_a_scan_is_read_above_and_below_the_image() -> None:
    def above(sheet: canvas.Canvas) -> None:
        sheet.drawImage(picture(230, stripes=True), 0, 0, *A4)
        invisible(sheet)

    def below(sheet: canvas.Canvas) -> None:
        sheet.drawString(72, 700, "pay 9,000")
        sheet.drawImage(picture(230, stripes=True), 0, 0, *A4)

    for draw in (above, below):
        document = parse(page(draw), "a.pdf")
        assert document.text.split()[-2:] == ["pay", "9,000"], draw
        assert document.flags == ()


def rule(sheet: canvas.Canvas) -> None:
    sheet.line(60, 704, 300, 704)


def other_words(sheet: canvas.Canvas) -> None:
    sheet.drawString(60, 702, "in the matter of the estate")


def emblem(sheet: canvas.Canvas) -> None:
    sheet.drawImage(picture(200, stripes=True), 60, 680, 150, 50)


def outlines(sheet: canvas.Canvas) -> None:
    for x in range(72, 130, 4):
        sheet.rect(x, 700, 2, 8, fill=1)


def strips(sheet: canvas.Canvas) -> None:
    for at in range(9):
        sheet.drawImage(picture(230, stripes=True), 0, at * A4[1] / 10, A4[0], A4[1] / 10)


def within_a_form(draw: Draw) -> Draw:
    def drawn(sheet: canvas.Canvas) -> None:
        sheet.beginForm("all", 0, 0, *A4)
        sheet.rect(0, 0, *A4)
        draw(sheet)
        sheet.endForm()
        sheet.doForm("all")

    return drawn


@each(
    "ink, words, read",
    [
        (rule, True, False),
        (other_words, True, False),
        (emblem, True, False),
        (outlines, True, False),
        (within_a_form(outlines), True, False),
        (outlines, False, True),
        (strips, True, True),
        (within_a_form(strips), True, True),
    ],
)
def test_invisible_text_over_ink_counts_at_scans_and_beside_no_other_words(ink: Draw, words: bool, read: bool) -> None:
    def draw(sheet: canvas.Canvas) -> None:
        if not words:
            sheet._code.clear()
        ink(sheet)
        invisible(sheet)

    document = parse(page(draw), "a.pdf")
    assert ("9,000" in document.text, "hidden_text" in document.flags) == (read, not read)


def test_text_on_a_layer_that_is_off_is_left_out() -> None:
    def draw(sheet: canvas.Canvas) -> None:
        sheet._code.append("/OC /Layer BDC")
        sheet.drawString(72, 700, "pay 9,000")
        sheet._code.append("EMC")

    def layered(off: bool) -> bytes:
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(page(draw)))
        layer = DictionaryObject({NameObject("/Type"): NameObject("/OCG"), NameObject("/Name"): TextStringObject("L")})
        reference = writer._add_object(layer)
        resources = writer.pages[0]["/Resources"].get_object()
        assert isinstance(resources, DictionaryObject)
        resources[NameObject("/Properties")] = DictionaryObject({NameObject("/Layer"): reference})
        state = DictionaryObject({NameObject("/OFF" if off else "/ON"): ArrayObject([reference])})
        layers = DictionaryObject({NameObject("/OCGs"): ArrayObject([reference]), NameObject("/D"): state})
        writer.root_object[NameObject("/OCProperties")] = layers
        buffer = io.BytesIO()
        writer.write(buffer)
        return buffer.getvalue()

    assert parse(layered(off=False), "a.pdf").text.split()[-2:] == ["pay", "9,000"]
    document = parse(layered(off=True), "a.pdf")
    assert document.text == "plainly visible words"
    assert document.flags == ("hidden_text",)


@pytest.mark.parametrize("off", [True, False])
def test_a_drawing_on_a_layer_that_is_off_is_left_out(off: bool) -> None:
    def draw(sheet: canvas.Canvas) -> None:
        sheet.beginForm("stamp")
        sheet.drawString(72, 600, "pay 9,000")
        sheet.endForm()
        sheet.doForm("stamp")

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(page(draw)))
    layer = DictionaryObject({NameObject("/Type"): NameObject("/OCG"), NameObject("/Name"): TextStringObject("L")})
    reference = writer._add_object(layer)
    (drawing,) = writer.pages[0]["/Resources"]["/XObject"].values()  # type: ignore[index]
    drawing.get_object()[NameObject("/OC")] = reference
    state = DictionaryObject({NameObject("/OFF" if off else "/ON"): ArrayObject([reference])})
    layers = DictionaryObject({NameObject("/OCGs"): ArrayObject([reference]), NameObject("/D"): state})
    writer.root_object[NameObject("/OCProperties")] = layers
    buffer = io.BytesIO()
    writer.write(buffer)
    document = parse(buffer.getvalue(), "a.pdf")
    assert ("9,000" in document.text) == (not off)
    assert document.flags == (("hidden_text",) if off else ())
    assert "9,000" in parse(buffer.getvalue(), "a.pdf", ParserSettings(hidden=True)).text


def mixed(sheet: canvas.Canvas) -> None:
    for draw in (white, invisible, under_an_image):
        draw(sheet)


@pytest.mark.parametrize("bound", ["MAX_SEARCHED_WORDS", "MAX_SEARCHED_OBJECTS", "MAX_SEARCHED_PAIRS"])
def test_a_page_beyond_the_bounds_of_the_search_is_read_whole_and_flagged(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"cinnabar.extraction.documents.pdf.visibility.{bound}", 2)
    document = parse(page(mixed), "a.pdf")
    assert document.text.split() == ["plainly", "visible", "words", "pay", "9,000"]
    assert document.flags == ("hidden_unsearched",)


def test_pages_after_the_time_of_the_search_are_read_whole_and_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.pdf.page_content.HIDDEN_SEARCH_SECONDS", -1.0)
    assert parse(page(white), "a.pdf").flags == ("hidden_unsearched",)


def test_many_shapes_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(sheet: canvas.Canvas) -> None:
        under_a_shape(sheet)
        for x in range(300, 320):
            sheet.rect(x, 100, 5, 5, fill=1)
        sheet.drawString(72, 600, "last")
        sheet.rect(60, 590, 150, 30, fill=1)

    monkeypatch.setattr("cinnabar.extraction.documents.pdf.visibility._PAIRS", 7)
    assert parse(page(draw), "a.pdf").text == "plainly visible words"


def test_layers_are_found_below_other_marks() -> None:
    def draw(sheet: canvas.Canvas) -> None:
        for number in range(3):
            sheet._code.append(f"/Span << /MCID {number} >> BDC")
        sheet._code.append("/OC << /Type /OCG >> BDC")
        sheet.drawString(72, 700, "pay 9,000")
        sheet._code += ["EMC"] * 4

    handle = pdfium2.PdfDocument(page(draw))
    opened = handle[0]
    text = [one.raw for one in opened.get_objects() if one.type == pdfium.FPDF_PAGEOBJ_TEXT]
    addresses = [ctypes.cast(one, ctypes.c_void_p).value or 0 for one in text]
    assert _on_layer(addresses).tolist() == [False, True]
