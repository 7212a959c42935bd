"""PDFs become text that keeps rows, columns and the place of every word."""

import io

import numpy as np
import pypdf
import pytest
from pypdf.generic import DictionaryObject, NameObject, TextStringObject
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from tests.support import parsed_files
from tests.support.drawn_pages import Draw, drawn
from tests.support.parsed_files import words_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.parse_context import DEFAULT, FLAGS, ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.plan.outcomes import UNREADABLE

SENTENCE = (
    "the quick brown fox jumps over lazy dogs while seven wizards make toxic brew for an evil queen and her "
    "jealous friends who never knew that rivers flow below the mountain of old stones near a quiet village"
)
LOREM = SENTENCE.split()


def line(text: str, x: float = 72, y: float = 700, size: float = 10) -> Draw:
    def draw(sheet: canvas.Canvas) -> None:
        sheet.setFont("Helvetica", size)
        sheet.drawString(x, y, text)

    return draw


def code_of(data: bytes, settings: ParserSettings = DEFAULT) -> str:
    code = parsed_files.code_of(parse, data, "a.pdf", settings)
    assert code in UNREADABLE
    return code


def test_words_are_slices_with_boxes_from_the_top_left() -> None:
    document = parse(drawn(line("Total due 42,50", x=100, y=A4[1] - 50)), "a.pdf")
    assert document.text == "Total due 42,50"
    assert words_of(document) == ["Total", "due", "42,50"]
    x0, top, x1, bottom = document.words.box[0]
    assert x0 == pytest.approx(100, abs=0.5)
    assert 100 < x1 < 130
    assert 38 < top < 44 and 50 <= bottom < 55
    page = document.parts[0]
    assert (page.kind, page.page, page.start, page.end) == ("page", 1, 0, len(document.text))
    assert (page.width, page.height) == pytest.approx(A4, abs=0.01)


def test_a_page_that_is_turned_is_read_as_it_is_seen() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(line("Total due", x=100, y=700))))
    upright = parse(drawn(line("Total due", x=100, y=700)), "a.pdf")
    for angle in (90, 180, 270):
        writer.pages[0].rotate(90)
        buffer = io.BytesIO()
        writer.write(buffer)
        document = parse(buffer.getvalue(), "a.pdf")
        assert document.text == "Total due", angle
        page = document.parts[0]
        size = (A4[1], A4[0]) if angle % 180 else A4
        assert (page.width, page.height) == pytest.approx(size, abs=0.01)
        x0, top, x1, bottom = (float(v) for v in document.words.box[0])
        u0, utop, u1, ubottom = (float(v) for v in upright.words.box[0])
        expected = {
            90: (A4[1] - ubottom, u0, A4[1] - utop, u1),
            180: (A4[0] - u1, A4[1] - ubottom, A4[0] - u0, A4[1] - utop),
            270: (utop, A4[0] - u1, ubottom, A4[0] - u0),
        }[angle]
        assert (x0, top, x1, bottom) == pytest.approx(expected, abs=0.05), angle


def test_rows_of_a_table_stay_on_one_line_with_columns_apart() -> None:
    rows = [("Item", "Qty", "Price"), ("Blue paint", "2", "10.00"), ("Brush", "11", "3.50")]

    def table(sheet: canvas.Canvas) -> None:
        # The content stream goes column by column, as some programs write it.
        for column, x in enumerate((72, 300, 420)):
            for number, row in enumerate(rows):
                sheet.drawString(x, 700 - 16 * number, row[column])

    lines = parse(drawn(table), "a.pdf").text.splitlines()
    assert len(lines) == len(rows)
    for text, row in zip(lines, rows, strict=True):
        cells = [cell.strip() for cell in text.split("   ") if cell.strip()]
        assert cells == list(row)


def test_a_row_keeps_its_first_word_where_cells_are_printed_over_each_other() -> None:
    def table(page: canvas.Canvas) -> None:
        page.setFont("Helvetica", 10)
        for y, cells in ((700, ("Ohio", "11", "22")), (686, ("Utah", "33", "44"))):
            page.drawString(300, y, cells[1])
            page.drawString(400, y, cells[2])
            page.drawString(500, y + 0.8, "99")
            page.drawString(396, y, "00")
            page.drawString(72, y - 0.8, cells[0])

    lines = [text.split() for text in parse(drawn(table), "a.pdf").text.splitlines() if text.strip()]
    assert [text[:2] for text in lines if len(text) > 2] == [["Ohio", "11"], ["Utah", "33"]]


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    def columns(sheet: canvas.Canvas) -> None:
        sheet.setFont("Helvetica", 10)
        sheet.drawString(72, 760, "A heading that runs over both columns of text " * 2)
        for number in range(20):
            # The content stream goes line by line across both columns: the trap.
            for side, x in (("left", 72), ("right", 320)):
                words = " ".join(LOREM[number : number + 7])
                sheet.drawString(x, 720 - 12 * number, f"{side} {number} {words}")
        sheet.drawString(72, 440, "A footer that runs below both columns of text " * 2)

    text = parse(drawn(columns), "a.pdf").text
    sides = [word for word in text.split() if word in ("left", "right")]
    assert sides == ["left"] * 20 + ["right"] * 20
    assert text.startswith("A heading") and "A footer" in text.splitlines()[-1]


def test_three_columns_of_prose_are_read_one_after_the_other() -> None:
    def columns(sheet: canvas.Canvas) -> None:
        sheet.setFont("Helvetica", 8)
        for number in range(24):
            for side, x in (("left", 40), ("middle", 220), ("right", 400)):
                words = " ".join(LOREM[number : number + 6])
                sheet.drawString(x, 720 - 10 * number, f"{side} {number} {words}")

    text = parse(drawn(columns), "a.pdf").text
    sides = [word for word in text.split() if word in ("left", "middle", "right")]
    assert sides == ["left"] * 24 + ["middle"] * 24 + ["right"] * 24


def test_paragraphs_are_set_off_by_a_blank_line() -> None:
    def page(sheet: canvas.Canvas) -> None:
        for y, text in ((700, "one"), (688, "two"), (676, "three"), (650, "four"), (638, "five")):
            sheet.drawString(72, y, text)

    assert parse(drawn(page), "a.pdf").text == "one\ntwo\nthree\n\nfour\nfive"


def test_text_on_its_side_does_not_cut_into_the_lines() -> None:
    def page(sheet: canvas.Canvas) -> None:
        for number in range(5):
            sheet.drawString(72, 700 - 12 * number, f"line number {number} of the page")
        sheet.rotate(90)
        sheet.drawString(640, -60, "printed on the side")

    text = parse(drawn(page), "a.pdf").text
    assert text.endswith("\n\nprinted on the side")
    assert "line number 2 of the page\nline number 3 of the page" in text


def test_superscripts_stay_on_their_line_and_doubled_words_come_once() -> None:
    def page(sheet: canvas.Canvas) -> None:
        sheet.setFont("Helvetica", 12)
        sheet.drawString(72, 700, "area of 20 m")
        sheet.setFont("Helvetica", 7)
        sheet.drawString(146, 704, "2")
        sheet.setFont("Helvetica", 12)
        for shift in (0, 0.3):
            sheet.drawString(72 + shift, 680, "bold by printing twice")

    lines = parse(drawn(page), "a.pdf").text.splitlines()
    assert lines[0].replace(" ", "") == "areaof20m2"
    assert lines[1:] == ["bold by printing twice"]


def test_values_filled_into_a_form_are_read() -> None:
    def page(sheet: canvas.Canvas) -> None:
        sheet.drawString(100, 700, "Name:")
        sheet.acroForm.textfield(name="n", value="Ada Lovelace", x=150, y=692, width=200, height=20)

    assert parse(drawn(page), "a.pdf").text.split() == ["Name:", "Ada", "Lovelace"]


def encrypted(user: str, owner: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(line("secret sum"))))
    writer.encrypt(user, owner, algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_an_encrypted_pdf_has_its_own_code() -> None:
    assert code_of(encrypted("unknown", "owner")) == "password"
    assert parse(encrypted("", "owner"), "a.pdf").text == "secret sum"


def test_a_pdf_without_its_end_is_truncated_or_repaired() -> None:
    data = drawn(line("first page"), line("second page"))
    assert code_of(data[:60]) == "truncated"
    document = parse(data[: data.rindex(b"xref")], "a.pdf")
    assert document.text == "first page\n\nsecond page"
    assert "repaired" in document.flags
    assert parse(data, "a.pdf").flags == ()


def test_bytes_that_are_no_pdf_have_their_own_code() -> None:
    assert code_of(b"<html><body>Not found</body></html>") == "not_pdf"
    assert code_of(b"%PDF-1.7\nnothing at all\n%%EOF\n") == "broken"


def test_scans_and_blank_pages_have_different_codes() -> None:
    from PIL import Image

    picture = ImageReader(Image.new("RGB", (20, 20), "red"))

    def scan(sheet: canvas.Canvas) -> None:
        sheet.drawImage(picture, 72, 600, 100, 100)

    def blank(sheet: canvas.Canvas) -> None:
        sheet.line(0, 0, 10, 10)

    never = ParserSettings(ocr="never")
    assert code_of(drawn(scan, scan), never) == "image_only"
    assert code_of(drawn(blank)) == "empty"
    document = parse(drawn(scan, line("some text")), "a.pdf", never)
    assert document.flags == ("no_text_pages",)
    assert [(part.page, part.start, part.end) for part in document.parts] == [(1, 0, 0), (2, 0, 9)]


def test_embedded_files_are_named_and_read_after_the_pages() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(line("visible"))))
    writer.add_attachment("answers.txt", b"the total is 5")
    writer.add_metadata({"/Title": "A title"})
    buffer = io.BytesIO()
    writer.write(buffer)
    document = parse(buffer.getvalue(), "a.pdf", ParserSettings(hidden=True))
    assert document.text == "visible\n\nthe total is 5"
    assert [(part.kind, part.name) for part in document.parts] == [("page", ""), ("attachment", "answers.txt")]
    assert document.metadata["embedded_files"] == '["answers.txt"]'
    assert document.metadata["title"] == "A title"


def test_scripts_are_flagged_and_never_run() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(line("visible"))))
    action = DictionaryObject()
    action[NameObject("/S")] = NameObject("/JavaScript")
    action[NameObject("/JS")] = TextStringObject("this.print();")
    writer.root_object[NameObject("/OpenAction")] = action
    buffer = io.BytesIO()
    writer.write(buffer)
    assert parse(buffer.getvalue(), "a.pdf").flags == ("active_content",)


def test_pages_beyond_the_limit_are_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.pdf.pages.MAX_PDF_PAGES", 2)
    document = parse(drawn(line("one"), line("two"), line("three")), "a.pdf")
    assert document.text == "one\n\ntwo"
    assert document.flags == ("truncated",)
    assert document.metadata["pages_seen"] == "3"


def test_a_flipped_byte_never_gives_an_unsound_document() -> None:
    data = drawn(line("first page"), line("second page"))
    random = np.random.default_rng(7)
    read = 0
    for _ in range(150):
        broken = bytearray(data)
        for at in random.integers(0, len(data), 8):
            broken[at] = random.integers(0, 256)
        try:
            document = parse(bytes(broken), "a.pdf")
        except DocumentError as error:
            assert error.code in UNREADABLE
            continue
        read += 1
        assert set(document.flags) <= set(FLAGS)
        assert words_of(document)
        for word in words_of(document):
            assert word.strip() == word != ""
        document.text.encode("utf-8")
    assert read > 50
