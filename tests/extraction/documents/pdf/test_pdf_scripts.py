"""Small, vertical and joined characters are read as a person reads them."""

import io

import pypdf
import pypdfium2
import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas
from tests.support.drawn_pages import Draw, drawn, glyph_pdf

from cinnabar.extraction.documents.ingest import parse

pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
pdfmetrics.registerFont(UnicodeCIDFont("HeiseiKakuGo-W5", isVertical=True))


# A page with one letter of a Japanese font that the file does not hold.
_PAGE = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F 4 0 R>>>>/Contents 6 0 R>>endobj
4 0 obj<</Type/Font/Subtype/Type0/BaseFont/Gothic/Encoding/UniJIS-UCS2-H/DescendantFonts[5 0 R]>>endobj
5 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/Gothic/DW 1000
/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>>>endobj
6 0 obj<</Length 33>>stream
BT /F 12 Tf 20 20 Td <5408> Tj ET
endstream endobj
trailer<</Root 1 0 R>>
"""


def _has_east_asian_font() -> bool:
    """Whether PDFium finds the letters of a Japanese font that a PDF does not hold.

    It drops a text whose letters have no shape, and therefore no width, unless several of them stand side by side.
    """
    with pypdfium2.PdfDocument(_PAGE) as document:
        page = document[0]
        return bool(page.get_textpage().count_chars())


# The pages of these tests hold no fonts, and PDFium drops letters without a shape.
needs_font = pytest.mark.skipif(not _has_east_asian_font(), reason="no font of this machine has Japanese letters")


def text_of(*pages: Draw) -> str:
    return parse(drawn(*pages), "a.pdf").text


def pieces(sheet: canvas.Canvas, x: float, y: float, *texts: tuple[str, float, float]) -> None:
    """Draws texts one after the other, each with its size and its rise."""
    for text, size, rise in texts:
        sheet.setFont("Helvetica", size)
        sheet.drawString(x, y + rise, text)
        x += pdfmetrics.stringWidth(text, "Helvetica", size)


@pytest.mark.parametrize("rise", [-2, -3, -4])
def test_a_subscript_belongs_to_its_word(rise: float) -> None:
    def page(sheet: canvas.Canvas) -> None:
        pieces(sheet, 72, 700, ("of H", 12, 0), ("2", 7, rise), ("O and CO", 12, 0), ("2", 7, rise), (" here", 12, 0))

    assert text_of(page) == "of H2O and CO2 here"


@pytest.mark.parametrize("rise", [3, 5, 7])
def test_a_superscript_stays_on_its_line(rise: float) -> None:
    def page(sheet: canvas.Canvas) -> None:
        pieces(sheet, 72, 700, ("on the 21", 12, 0), ("st", 7, rise), (" of May", 12, 0))
        pieces(sheet, 72, 684, ("the next line of the page", 12, 0))

    first, second = text_of(page).splitlines()
    assert first.replace(" ", "") == "onthe21stofMay"
    assert second == "the next line of the page"


@needs_font
@pytest.mark.parametrize("streamed", [(500, 480, 460), (460, 480, 500)])
def test_vertical_writing_runs_down_and_its_columns_from_right_to_left(streamed: tuple[int, ...]) -> None:
    columns = {500: "縦書きの文章は右から", 480: "左へ読むものです", 460: "終わり"}

    def page(sheet: canvas.Canvas) -> None:
        sheet.setFont("HeiseiKakuGo-W5", 12)
        for x in streamed:
            sheet.drawString(x, 700, columns[x])

    assert text_of(page).split() == list(columns.values())


@needs_font
def test_vertical_columns_stand_apart_from_the_lines_of_their_page() -> None:
    def page(sheet: canvas.Canvas) -> None:
        for y in (690, 676, 662):
            sheet.drawString(72, y, f"a line of the letter at height {y}")
        sheet.setFont("HeiseiKakuGo-W5", 12)
        sheet.drawString(480, 700, "二行目はここ")
        sheet.drawString(500, 700, "縦書きの文章")

    lines = [line for line in text_of(page).splitlines() if line]
    assert lines == [*(f"a line of the letter at height {y}" for y in (690, 676, 662)), "縦書きの文章", "二行目はここ"]


@needs_font
def test_runs_of_chinese_and_japanese_have_no_blanks_between_them() -> None:
    def page(sheet: canvas.Canvas) -> None:
        sheet.setFont("HeiseiMin-W3", 12)
        x = 72
        for run in ("東京", "都千代", "田区"):
            sheet.drawString(x, 700, run)
            x += 12 * len(run)
        for at, letter in enumerate("合計金額"):
            sheet.drawString(72 + 12 * at, 680, letter)
        sheet.drawString(72, 660, "金額：100円")
        sheet.drawString(300, 660, "日付：2024年5月1日")

    lines = [line for line in text_of(page).splitlines() if line]
    assert lines == ["東京都千代田区", "合計金額", "金額：100円        日付：2024年5月1日"]


def test_ligatures_of_a_page_are_letters() -> None:
    shown = "1 0 0 1 50 300 Tm <41424344> Tj"
    assert parse(glyph_pdf(shown, glyphs=["o", "ﬃ", "c", "e"]), "a.pdf").text == "office"


def test_a_table_is_read_in_rows_on_its_side_and_on_turned_pages() -> None:
    rows = [("Item", "Qty", "Price"), ("Paint", "2", "10.00"), ("Brush", "11", "3.50")]

    def table(sheet: canvas.Canvas) -> None:
        for column, x in enumerate((0, 200, 320)):
            for number, row in enumerate(rows):
                sheet.drawString(x, -16 * number, row[column])

    for angle in (0, 90, 180, 270):

        def page(sheet: canvas.Canvas, angle: int = angle) -> None:
            sheet.translate(300, 420)
            sheet.rotate(angle)
            sheet.translate(-180, 20)
            table(sheet)

        data = drawn(page)
        for turned in (0, 90, 180, 270):
            writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
            writer.pages[0].rotate(turned)
            buffer = io.BytesIO()
            writer.write(buffer)
            lines = parse(buffer.getvalue(), "a.pdf").text.splitlines()
            assert [tuple(line.split()) for line in lines] == rows, (angle, turned)
