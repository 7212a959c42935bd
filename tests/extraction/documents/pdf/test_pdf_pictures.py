"""Pages without usable text become pictures for OCR, as the settings say."""

import io
from typing import Literal

import pytest
from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from tests.support.drawn_pages import Draw, drawn

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse


def scan(sheet: canvas.Canvas) -> None:
    image = Image.new("L", (400, 560), 255)
    ImageDraw.Draw(image).text((40, 40), "scanned words", fill=0)
    sheet.drawImage(ImageReader(image), 0, 0, *A4)


def text(sheet: canvas.Canvas) -> None:
    sheet.drawString(72, 700, "typed words")


def stamped_scan(sheet: canvas.Canvas) -> None:
    scan(sheet)
    sheet.drawString(72, 820, "FAX 12:30 page 1")


def ocred_scan(sheet: canvas.Canvas) -> None:
    scan(sheet)
    layer = sheet.beginText(72, 500)
    layer.setTextRenderMode(3)
    layer.textOut("scanned words")
    sheet.drawText(layer)


def blank(sheet: canvas.Canvas) -> None:
    sheet.line(0, 0, 10, 10)


def white_image(sheet: canvas.Canvas) -> None:
    sheet.drawImage(ImageReader(Image.new("L", (40, 40), 255)), 0, 0, *A4)


def settings(ocr: Literal["auto", "always", "never"]) -> ParserSettings:
    return ParserSettings(ocr=ocr)


def test_a_scan_waits_for_ocr_with_its_page_in_points() -> None:
    document = parse(drawn(scan), "a.pdf")
    (page,) = document.parts
    assert (page.kind, page.page) == ("page", 1)
    assert (page.width, page.height) == pytest.approx(A4, abs=0.01)
    (picture,) = document.pictures
    image = Image.open(io.BytesIO(picture.data))
    assert (image.format, image.mode) == ("JPEG", "L")
    assert picture.part == 0
    assert 200 / 72 <= picture.scale <= 300 / 72
    assert image.width == pytest.approx(page.width * picture.scale, abs=1)
    assert image.height == pytest.approx(page.height * picture.scale, abs=2)
    with pytest.raises(DocumentError) as caught:
        parse(drawn(scan), "a.pdf", settings("never"))
    assert caught.value.code == "image_only" and "--ocr auto" in str(caught.value)


@pytest.mark.parametrize(
    "pages, ocr, shown",
    [
        ((text, scan), "auto", [1]),
        ((text, scan), "always", [0, 1]),
        ((text, scan), "never", []),
        # An OCR layer is text; a stamp is none.
        ((ocred_scan,), "auto", []),
        ((stamped_scan,), "auto", [0]),
        # A page without anything on it is not read.
        ((text, blank, white_image), "always", [0, 1]),
        ((text, blank, white_image), "auto", []),
    ],
)
def test_the_setting_chooses_the_pages(
    pages: tuple[Draw, ...], ocr: Literal["auto", "always", "never"], shown: list[int]
) -> None:
    document = parse(drawn(*pages), "a.pdf", settings(ocr))
    assert [picture.part for picture in document.pictures] == shown
    assert ("no_text_pages" in document.flags) == (len(pages) > 1 and (ocr == "never" or blank in pages))


def test_a_page_that_is_read_from_its_picture_has_no_text_of_its_own() -> None:
    document = parse(drawn(text), "a.pdf", settings("always"))
    assert document.text == ""
    assert len(document.pictures) == 1


def test_a_text_layer_of_nonsense_counts_as_none() -> None:
    from tests.extraction.documents.pdf.test_pdf_bidi import rightward

    data = rightward("\ue012", "\ue013", "\ue014", "a")
    document = parse(data, "a.pdf")
    assert document.text == ""
    assert len(document.pictures) == 1
    # A layer without any letter is one too, other than a page of rules and dots.
    (picture,) = parse(rightward("\ue012", "\ue013", "\ue014"), "a.pdf").pictures
    assert picture.part == 0
    with pytest.raises(DocumentError) as caught:
        parse(rightward("-", "-", "."), "a.pdf")
    assert caught.value.code == "empty"
    # Without OCR it is all that there is.
    assert parse(data, "a.pdf", settings("never")).text.strip() == "\ue012\ue013\ue014a"
    assert parse(rightward(*"plain"), "a.pdf").text.strip() == "plain"


def test_pictures_stop_at_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.pdf.page_content.MAX_PAGE_PICTURES", 2)
    document = parse(drawn(scan, scan, scan), "a.pdf")
    assert len(document.pictures) == 2
    assert {"ocr_limit", "no_text_pages"} <= set(document.flags)


def test_the_pixels_of_a_huge_page_are_bounded() -> None:
    def huge(sheet: canvas.Canvas) -> None:
        sheet.setPageSize((14400, 14400))
        sheet.drawImage(ImageReader(Image.linear_gradient("L")), 0, 0, 14400, 14400)

    (picture,) = parse(drawn(huge), "a.pdf").pictures
    width, height = Image.open(io.BytesIO(picture.data)).size
    assert width * height <= 9_100_000
    assert picture.scale == pytest.approx(width / 14400)
