"""Words of a PDF under a line are left out; lines of tables, below words and beside them strike nothing."""

import io

import pypdf
from pypdf.annotations import Highlight
from pypdf.generic import ArrayObject, FloatObject, NameObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas
from tests.support.cases import each

from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse

# "Fee 450 now 390" in Helvetica 12 at (72, 700): the 450 begins at 96 and ends at 116.
WORDS, Y = "Fee 450 now 390", 700.0


def page(*lines: tuple[float, float, float], thick: float = 0.6, filled: bool = False) -> bytes:
    """Returns a page with the words and lines, each from x to x at a height above the base line."""
    buffer = io.BytesIO()
    sheet = canvas.Canvas(buffer, pagesize=A4, invariant=1)
    sheet.setFont("Helvetica", 12)
    sheet.drawString(72, Y, WORDS)
    sheet.setLineWidth(thick)
    for left, right, up in lines:
        if filled:
            sheet.rect(left, Y + up - thick / 2, right - left, thick, fill=1, stroke=0)
        else:
            sheet.line(left, Y + up, right, Y + up)
    sheet.save()
    return buffer.getvalue()


def annotated(kind: str, hidden: bool = False) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(page()))
    corners = (96, 710, 116, 710, 96, 696, 116, 698)
    quads = ArrayObject(FloatObject(side) for side in corners)
    note = Highlight(rect=(96, 696, 116, 710), quad_points=quads)
    note[NameObject("/Subtype")] = NameObject(kind)
    note[NameObject("/F")] = FloatObject(2 if hidden else 4)
    writer.add_annotation(0, note)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


@each(
    "data",
    [
        page((96, 116, 3)),
        page((96, 120, 4), thick=1.2),
        page((96, 116, 3.5), filled=True),
        page((96, 116, 2.4), (96, 116, 4.4)),
        page((96, 108, 3), (108, 116, 3)),
        annotated("/StrikeOut"),
    ],
)
def test_struck_words_of_a_page_are_left_out_unless_the_settings_ask_for_them(data: bytes) -> None:
    document = parse(data, "a.pdf")
    assert document.text.split() == ["Fee", "now", "390"] and document.flags == ("struck_text",)
    assert "450" in parse(data, "a.pdf", ParserSettings(hidden=True)).text


@each(
    "data",
    [
        page((96, 116, -1.5)),
        page((96, 116, 0)),
        page((96, 116, 9)),
        page((20, 116, 3)),
        page((96, 400, 3)),
        page((0, 595, 3)),
        page((96, 104, 3)),
        page((119, 122, 3)),
        page((72, 160, -3.5), (72, 160, 11)),
        annotated("/Underline"),
        annotated("/Highlight"),
        annotated("/StrikeOut", hidden=True),
    ],
)
def test_lines_of_tables_and_below_words_strike_nothing(data: bytes) -> None:
    document = parse(data, "a.pdf")
    assert document.text.split() == WORDS.split() and "struck_text" not in document.flags


def test_a_line_through_all_words_of_a_line_strikes_them() -> None:
    assert parse(page((72, 161, 3.2)), "a.pdf").flags == ("struck_text",)
