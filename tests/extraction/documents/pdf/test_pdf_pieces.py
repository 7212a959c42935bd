"""Values that a page draws in pieces: raised digits, accents apart, letters in boxes, negative sizes."""

from __future__ import annotations

import io
import random
import unicodedata

import pypdf
import pytest
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen import canvas
from tests.support.cases import each
from tests.support.drawn_pages import Draw, drawn

from cinnabar.extraction.documents.ingest import parse


def content_page(content: str, rotate: int = 0) -> bytes:
    """Returns a page with this content; /F is Helvetica."""
    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(595, 842)
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    held = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
    fonts = DictionaryObject({NameObject("/F"): held})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = StreamObject()
    stream.set_data(content.encode("cp1252"))
    page[NameObject("/Contents")] = writer._add_object(stream)
    page[NameObject("/Rotate")] = NumberObject(rotate)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def read(*pages: Draw) -> str:
    return parse(drawn(*pages), "a.pdf").text


@each("turn", [(1, 0, 0, 1), (0, 1, -1, 0), (-1, 0, 0, -1), (0, -1, 1, 0)])
@each("kind", ["size", "flip", "scale", "plain"])
@each("rotate", [0, 90, 180, 270])
def test_text_of_any_sign_of_its_size_is_read_in_its_direction(
    turn: tuple[int, int, int, int], kind: str, rotate: int
) -> None:
    a, b, c, d = turn
    lines = [(300 - 20 * c * at, 300 - 20 * d * at, text) for at, text in enumerate(("Order PO-4711", "Total 99.10"))]
    head, tail, size = "", "", 12 if kind == "plain" else -12
    if kind == "size":
        a, b, c, d = -a, -b, -c, -d
    elif kind == "scale":
        head, c, d = "-100 Tz", -c, -d
    elif kind == "flip":
        a, b, c, d = -a, b, -c, d
        head, tail = "q 1 0 0 -1 0 842 cm", "Q"
        lines = [(x, 842 - y, text) for x, y, text in lines]
    shown = " ".join(f"{a} {b} {c} {d} {x} {y} Tm ({text}) Tj" for x, y, text in lines)
    content = f"{head} BT /F {size} Tf {shown} ET {tail}"
    assert parse(content_page(content, rotate), "a.pdf").text.split("\n") == ["Order PO-4711", "Total 99.10"]


SIGNS = {"\u0308": "¨", "\u0301": "´", "\u0327": "¸", "\u0302": "^", "\u0300": "`", "\u0303": "~"}


@each("seed", range(12))
def test_accents_that_are_drawn_apart_are_joined_to_their_letters(seed: int) -> None:
    draw = random.Random(seed)
    word = "".join(draw.choice("Müllerçàéêñöxyz") for _ in range(10))
    shown, x = [], 72.0
    for one in word:
        letter, *marks = unicodedata.normalize("NFD", one)
        width = stringWidth(letter, "Helvetica", 11)
        pieces = [f"1 0 0 1 {x} 700 Tm ({letter}) Tj"]
        for sign in (SIGNS[mark] for mark in marks):
            middle = x + (width - stringWidth(sign, "Helvetica", 11)) / 2
            pieces.insert(seed % 2, f"1 0 0 1 {middle} 700 Tm ({sign}) Tj")
        shown += pieces
        x += width
    content = f"BT /F 11 Tf {' '.join(shown)} 1 0 0 1 72 680 Tm (x^2 a~b) Tj ET"
    text = parse(content_page(content), "a.pdf").text
    assert list(filter(None, text.split("\n"))) == [word, "x^2 a~b"]


def raised(low: str, high: str, after: str = "", size: float = 12, share: float = 0.6, lift: float = 0.4) -> Draw:
    def draw(sheet: canvas.Canvas) -> None:
        sheet.setFont("Helvetica", size)
        sheet.drawString(72, 700, low)
        x = 72 + stringWidth(low, "Helvetica", size)
        sheet.setFont("Helvetica", share * size)
        sheet.drawString(x, 700 + lift * size, high)
        sheet.setFont("Helvetica", size)
        sheet.drawString(x + stringWidth(high, "Helvetica", share * size), 700, after)

    return draw


@each("size", [7, 10, 12, 24])
@each("share", [0.5, 0.7])
@each("lift", [0.33, 0.5])
@each(
    "low, high, after, text",
    [
        ("Price: $19", "99", "", "Price: $19.99"),
        ("Price: € 1,249", "50", "", "Price: € 1,249.50"),
        ("Revenue 4,512", "1", " in 2024", "Revenue 4,512 ¹ in 2024"),
        ("Revenue 4,512", "3)", "", "Revenue 4,512 ³)"),
        ("Area 120 m", "2", " here", "Area 120 m² here"),
        ("Costs", "2", " 45", "Costs ² 45"),
        ("Sold ", "1", "4,512", "Sold ¹ 4,512"),
    ],
)
def test_raised_digits_of_a_page_join_no_number(
    low: str, high: str, after: str, text: str, size: float, share: float, lift: float
) -> None:
    assert read(raised(low, high, after, size, share, lift)) == text


def test_digits_of_other_sizes_on_one_line_stay_as_they_are() -> None:
    assert read(raised("No. 12", "34", "56", share=0.7, lift=0)) == "No. 123456"
    assert read(raised("12:30", "pm", "", share=0.7, lift=0.3)) == "12:30pm"


def boxes(value: str, x: float, y: float, walls: str = "box", rows: int = 1, wide: float = 17) -> Draw:
    def draw(sheet: canvas.Canvas) -> None:
        sheet.setFont("Helvetica", 11)
        for row in range(rows):
            for at, letter in enumerate(value):
                left, low = x + wide * at, y - 18 * row - 5
                if walls == "box":
                    sheet.rect(left, low, wide, 18)
                elif walls == "apart":
                    sheet.rect(left, low, wide - 3, 18)
                elif walls == "comb":
                    sheet.line(left, low, left, low + 6)
                elif walls == "table":
                    sheet.line(left, low - 100, left, low + 100)
                sheet.drawString(left + 4, y - 18 * row, letter.strip())

    return draw


@each("walls", ["box", "apart", "comb"])
@each("value", ["DE89370400440532013000", "OYELARAN", "XAVIERX", "04031987"])
def test_letters_in_boxes_of_their_own_are_one_value(value: str, walls: str) -> None:
    def page(sheet: canvas.Canvas) -> None:
        sheet.drawString(72, 760, "Value:")
        boxes(value, 120, 760, walls)(sheet)
        sheet.drawString(72, 700, "a b c d e")

    text = read(page)
    assert text.split("\n")[0].split() == ["Value:", value]
    assert "a b c d e" in text


def test_a_blank_box_parts_two_words_and_cells_of_tables_stay_apart() -> None:
    assert read(boxes("MARIA LOPEZ", 72, 700)).replace("☐", "").split() == ["MARIA", "LOPEZ"]
    assert read(boxes("12345", 72, 700, rows=3)).split() == [*"12345"] * 3
    assert read(boxes("12345", 72, 700, walls="table")).split() == [*"12345"]
    assert read(boxes("12345", 72, 700, walls="none")).split() == [*"12345"]


@pytest.mark.parametrize("value", ["DE89370400440532013000", "MARIA LOPEZ", "04031987"])
def test_a_comb_field_that_is_drawn_by_letters_has_its_value(value: str) -> None:
    drawn_letters = " ".join(f"1 0 0 1 {4 + 17 * at} 4 Tm ({one}) Tj" for at, one in enumerate(value) if one != " ")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content_page("BT /F 11 Tf 72 754 Td (Value) Tj ET")))
    look = StreamObject()
    look.set_data(f"BT /F 10 Tf {drawn_letters} ET".encode())
    look[NameObject("/Subtype")] = NameObject("/Form")
    look[NameObject("/BBox")] = ArrayObject(map(FloatObject, (0, 0, 17 * len(value), 18)))
    look[NameObject("/Resources")] = writer.pages[0]["/Resources"]
    field = DictionaryObject(
        {
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/Ff"): NumberObject(1 << 24),
            NameObject("/F"): NumberObject(4),
            NameObject("/T"): TextStringObject("value"),
            NameObject("/V"): TextStringObject(value),
            NameObject("/MaxLen"): NumberObject(len(value)),
            NameObject("/Rect"): ArrayObject(map(FloatObject, (120, 750, 120 + 17 * len(value), 768))),
            NameObject("/AP"): DictionaryObject({NameObject("/N"): writer._add_object(look)}),
        }
    )
    held = writer._add_object(field)
    writer.pages[0][NameObject("/Annots")] = ArrayObject([held])
    form = DictionaryObject({NameObject("/Fields"): ArrayObject([held])})
    writer._root_object[NameObject("/AcroForm")] = writer._add_object(form)
    made = io.BytesIO()
    writer.write(made)
    assert parse(made.getvalue(), "a.pdf").text.split() == ["Value", *value.split()]
