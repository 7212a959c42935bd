"""Presentations, OpenDocument, old and encrypted office files, and rich text."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile

import docx
import msoffcrypto
import pptx
import pytest
import xlsxwriter
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from msoffcrypto.method.rc4 import _makekey
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from tests.support.cases import each
from tests.support.outlook_files import ole
from tests.support.parsed_files import code_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.office.sheet_text import SheetText


def parts(document: Document) -> list[tuple[str, str, str]]:
    return [(one.kind, one.name, document.text[one.start : one.end]) for one in document.parts]


def presentation() -> pptx.presentation.Presentation:
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.add_textbox(0, 0, 100, 100).text_frame.text = "in a box\nsecond line"
    slide.shapes.title.text = "Prices"
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(3), Inches(2)).table
    for at, text in enumerate(("Item", "Net", "A long apple", "3.50")):
        table.cell(at // 2, at % 2).text = text
    slide.notes_slide.notes_text_frame.text = "say hello"
    made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = "End"
    return made


def saved(made: pptx.presentation.Presentation) -> bytes:
    held = io.BytesIO()
    made.save(held)
    return held.getvalue()


def test_slides_are_parts_with_title_table_and_notes() -> None:
    document = parse(saved(presentation()), "a.pptx")
    assert [one for one in parts(document) if one[0] != "slide"] == [("notes", "Notes", "say hello")]
    slides = [one for one in parts(document) if one[0] == "slide"]
    assert [name for _, name, _ in slides] == ["Prices", "End"]
    assert slides[0][2].startswith("Prices\n\nin a box\nsecond line\n\nItem          Net\nA long apple  3.50")
    assert document.places.at(document.text.index("End")) == "slide 2"


def test_struck_text_of_slides_is_left_out_unless_the_settings_ask_for_it() -> None:
    made = pptx.Presentation()
    box = made.slides.add_slide(made.slide_layouts[6]).shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame
    for text, strike in (("Price: ", "noStrike"), ("30", "sngStrike"), (" 24", "")):
        run = box.paragraphs[0].add_run()
        run.text = text
        if strike:
            run.font._element.set("strike", strike)
    document = parse(saved(made), "a.pptx")
    assert (document.text, document.flags) == ("Price:  24", ("struck_text",))
    assert parse(saved(made), "a.pptx", ParserSettings(hidden=True)).text == "Price: 30 24"


def test_hidden_slides_are_left_out_unless_the_settings_ask_for_them() -> None:
    made = presentation()
    made.slides[0]._element.set("show", "0")
    document = parse(saved(made), "a.pptx")
    assert (document.text, document.flags) == ("End", ("hidden_text",))
    assert parts(parse(saved(made), "a.pptx", ParserSettings(hidden=True)))[0][:2] == ("hidden", "Prices")


def test_the_values_of_charts_are_lines() -> None:
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Sales", (1.5, 2))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data)
    assert parse(saved(made), "a.pptx").text.startswith("Sales\nEast  West\n1.5  2")


def open_document(kind: str, content: str, **members: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        inside = {"presentation": "presentation", "spreadsheet": "spreadsheet"}.get(kind, "text")
        archive.writestr(
            "content.xml", f"<document-content><body><{inside}>{content}</{inside}></body></document-content>"
        )
        for name, held in members.items():
            archive.writestr(f"{name}.xml" if name != "manifest" else "META-INF/manifest.xml", held)
    return made.getvalue()


def test_a_text_of_open_document_is_read_in_order() -> None:
    row = "<table-row><table-cell><p>{}</p></table-cell><table-cell><p>{}</p></table-cell></table-row>"
    content = "<tracked-changes><deletion><p>gone</p></deletion></tracked-changes><h>Head</h>"
    content += "<p>a<s c='3'/>b <span>c</span><line-break/>d<note><note-citation>1</note-citation>"
    content += "<note-body><p>a note</p></note-body></note></p>"
    content += f"<table>{row.format('Item', 'Net')}{row.format('A long apple', '3.50')}</table><p>End</p>"
    page = "<header><p>ACME</p></header><footer><p>Bank 1</p></footer>"
    master = f"<x><master-styles><master-page>{page}</master-page></master-styles></x>"
    document = parse(open_document("text", content, styles=master), "a.odt")
    text = "ACME\n\nHead\na   b c\nd\n\nItem          Net\nA long apple  3.50\n\nEnd\n\nBank 1"
    assert parts(document) == [("body", "", text), ("notes", "Notes", "a note")]
    assert document.places.at(document.text.index("3.50")) == "table 1, row 2"


def test_sheets_of_open_document_have_addresses_and_repeated_cells() -> None:
    cell = "<table-cell value-type='float' value='12.5'{}><p>12,50 €</p></table-cell>"
    rows = f"<table-row>{cell.format('')}{cell.format(' number-columns-repeated=' + chr(34) + '2' + chr(34))}"
    rows += "<table-cell number-columns-repeated='16000'/></table-row>"
    rows += "<table-row number-rows-repeated='1048000'><table-cell/></table-row>"
    rows += "<table-row visibility='collapse'><table-cell><p>unseen</p></table-cell></table-row>"
    data = open_document("spreadsheet", f"<table name='Prices'>{rows}</table>")
    document = parse(data, "a.ods")
    assert (document.text, document.flags) == ("12,50 €  12,50 €  12,50 €", ("hidden_text",))
    assert document.places.label[:3] == ("A1", "B1", "C1")
    assert "unseen" in parse(data, "a.ods", ParserSettings(hidden=True)).text


def test_a_sheet_that_repeats_its_cells_without_end_is_cut() -> None:
    row = "<table-row number-rows-repeated='1048576'><table-cell number-columns-repeated='16384'><p>x</p></table-cell>"
    document = parse(open_document("spreadsheet", f"<table name='x'>{row}</table-row></table>"), "a.ods")
    assert document.flags == ("truncated",) and len(document.text) < 10_000_000


def test_slides_of_open_document_have_their_titles_first_and_notes() -> None:
    content = "<page name='1'><frame><text-box><p>words</p></text-box></frame>"
    content += "<frame class='title'><text-box><p>Title</p></text-box></frame><notes><p>say it</p></notes></page>"
    document = parse(open_document("presentation", content), "a.odp")
    assert parts(document)[0] == ("slide", "Title", "Title\n\nwords\n\nsay it")
    assert parts(document)[1] == ("notes", "Notes", "say it")


def test_an_encrypted_open_document_needs_a_password() -> None:
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    assert code_of(parse, open_document("text", "<p>x</p>", manifest=manifest), "a.odt") == "password"


def encrypted(password: str) -> bytes:
    plain, made = io.BytesIO(), io.BytesIO()
    document = docx.Document()
    document.add_paragraph("secret words")
    document.save(plain)
    plain.seek(0)
    msoffcrypto.OfficeFile(plain).encrypt(password, made)
    return made.getvalue()


def test_encrypted_office_files_open_with_a_password_of_the_run() -> None:
    data = encrypted("open sesame")
    assert code_of(parse, data, "a.docx", ParserSettings(passwords=("wrong",))) == "password"
    document = parse(data, "a.docx", ParserSettings(passwords=("wrong", "open sesame")))
    assert document.text == "secret words"
    assert parse(encrypted("VelvetSweatshop"), "a.docx").text == "secret words"


def old_workbook(far: int = 0, records: bytes = b"") -> bytes:
    """Returns a workbook of Excel 97 with two rows: texts, a number and a date; and a cell `far` away.

    records: a record at its beginning.
    """

    def record(kind: int, data: bytes = b"") -> bytes:
        return struct.pack("<2H", kind, len(data)) + data

    def begin(kind: int) -> bytes:
        return record(0x809, struct.pack("<4H2L", 0x600, kind, 0x0DBB, 0x07CC, 0, 6))

    def label(row: int, column: int, text: str) -> bytes:
        return record(0x204, struct.pack("<4H", row, column, 0, len(text)) + b"\0" + text.encode())

    def number(row: int, column: int, form: int, value: float) -> bytes:
        return record(0x203, struct.pack("<3Hd", row, column, form, value))

    def sheet(at: int) -> bytes:
        return record(0x85, struct.pack("<L2B", at, 0, 0) + b"\x06\0Prices")

    head = begin(5) + records + record(0x42, struct.pack("<H", 1200))
    head += b"".join(record(0xE0, struct.pack("<3H", 0, form, 0) + bytes(14)) for form in (0, 14))
    cells = label(far, far, "far") if far else b""
    cells += label(0, 0, "Item") + label(0, 1, "Net") + label(1, 0, "Apple") + number(1, 1, 0, 12.5)
    body = begin(0x10) + cells + number(1, 2, 1, 45356) + record(0x0A)
    return head + sheet(len(head) + len(sheet(0)) + 4) + record(0x0A) + body


def test_old_workbooks_are_read() -> None:
    document = parse(ole({"Workbook": old_workbook()}), "a.xls")
    assert parts(document) == [("sheet", "Prices", "Item   Net\nApple  12.5  2024-03-05")]
    assert document.places.at(document.text.index("12.5")) == "B2"


def locked_workbook(password: str) -> bytes:
    """Returns the workbook under RC4: its bytes but for the heads of records, with a key for each kilobyte."""
    salt, verifier = bytes(range(16)), b"0123456789abcdef"

    def cipher(block: int) -> CipherContext:
        return Cipher(ARC4(_makekey(password, salt, block)), mode=None).encryptor()

    first = cipher(0)
    proof = salt + first.update(verifier) + first.update(hashlib.md5(verifier).digest())
    plain = old_workbook(records=struct.pack("<2H3H", 0x2F, 54, 1, 1, 1) + proof)
    # The library that decrypts reads on in the zeros behind, four at a time.
    filling = -len(plain) % 4
    plain += struct.pack("<2H", 0x5C, filling) + bytes(filling)
    keys = b"".join(cipher(block).update(bytes(1024)) for block in range(-(-len(plain) // 1024)))
    made, at = bytearray(plain), 0
    while at < len(plain):
        kind, size = struct.unpack_from("<2H", plain, at)
        # The place of a sheet stays readable, as do the first record of a part and this one.
        begin = at + (8 if kind == 0x85 else 4)
        for index in range(begin, at + 4 + size) if kind not in (0x809, 0x2F) else ():
            made[index] ^= keys[index]
        at += 4 + size
    return ole({"Workbook": bytes(made)})


def test_an_encrypted_old_workbook_opens_with_a_password_of_the_run() -> None:
    data = locked_workbook("open sesame")
    for passwords in ((), ("wrong",)):
        assert code_of(parse, data, "a.xls", ParserSettings(passwords=passwords)) == "password"
    document = parse(data, "a.xls", ParserSettings(passwords=("wrong", "open sesame")))
    assert parts(document) == [("sheet", "Prices", "Item   Net\nApple  12.5  2024-03-05")]


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (ole({"WordDocument": b"words"}), "save it as .docx"),
        (ole({"PowerPoint Document": b"words"}), "save it as .pptx"),
    ],
    ids=["doc", "ppt"],
)
def test_files_that_are_not_read_are_named_with_advice(data: bytes, advice: str) -> None:
    with pytest.raises(DocumentError, match=advice) as caught:
        parse(data, "a.doc")
    assert caught.value.code == "unsupported"


def test_cells_far_from_each_other_do_not_fill_the_memory() -> None:
    assert code_of(parse, ole({"Workbook": old_workbook(far=65_535)}), "a.xls") == "unpacked"


def test_damaged_old_files_have_a_code() -> None:
    whole = ole({"Workbook": old_workbook()})
    for data in (whole[:700], whole[:1600], ole({"Workbook": b"\xff" * 5000}), ole({"Book": b""})):
        assert code_of(parse, data, "a.xls") in ("broken", "unsupported", "empty")


def test_rich_text_has_paragraphs_and_rows() -> None:
    rtf = rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}Gr\'fc\'dfe, \u28450?\par \trowd Item\cell Net\cell\row A\cell 3\cell\row"
    document = parse(rtf + rb" Total{\*\secret no} 3\par}", "a.rtf")
    assert document.text == "Grüße, 漢\nItem  Net\nA     3\nTotal 3" and document.media_type == "application/rtf"
    assert document.places.at(document.text.index("Total")) == "paragraph 4"


def test_a_value_of_blanks_makes_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: SheetText, number: int, cells: object) -> bool:
        raise AssertionError(f"row {number} came with {cells}, and 999,999,998 more would follow")

    monkeypatch.setattr(SheetText, "row", refuse)
    row = '<table-row number-rows-repeated="999999999"><table-cell string-value=" "/></table-row>'
    assert code_of(parse, open_document("spreadsheet", f"<table>{row}</table>"), "a.ods") == "empty"


def test_hidden_and_deleted_text_of_rich_text_is_left_out() -> None:
    rtf = rb"{\rtf1\ansi Total: 12{\v secret} EUR \v more\v0 due{\deleted gone}\par \v old\plain new\par}"
    document = parse(rtf, "a.rtf")
    assert (document.text, document.flags) == ("Total: 12 EUR due\nnew", ("hidden_text",))
    assert parse(rb"{\rtf1\ansi Total{\v  \par}}", "a.rtf").flags == ()
    shown = parse(rtf, "a.rtf", settings=ParserSettings(hidden=True))
    assert (shown.text, shown.flags) == ("Total: 12secret EUR moredue\noldnew", ("hidden_text",))


@each(
    "rtf, text, shown",
    [
        (rb"was {\strike 12} 9", "was  9", "was 12 9"),
        (rb"was \striked1 12\striked0  9", "was  9", "was 12 9"),
        (rb"was \b\strike\fs20 12\strike0\b0  9", "was  9", "was 12 9"),
        (rb"was \strike{\i 12}\plain  9", "was  9", "was 12 9"),
        (rb"was{\strike  }12", "was 12", "was 12"),
        (rb"was {\strikeout 12} 9", "was 12 9", "was 12 9"),
        (rb"was {\strike\u49?\'32} 9", "was  9", "was 12 9"),
    ],
)
def test_struck_rich_text_is_left_out_with_a_flag(rtf: bytes, text: str, shown: str) -> None:
    data = rb"{\rtf1\ansi " + rtf + rb"\par}"
    document = parse(data, "a.rtf")
    assert (document.text, document.flags) == (text, ("struck_text",) * (text != shown))
    assert parse(data, "a.rtf", ParserSettings(hidden=True)).text == shown


def styled(content: str, *styles: tuple[str, str, str], common: str = "") -> bytes:
    """Returns a text of OpenDocument with styles (family, name, properties)."""
    held = "".join(f"<style family='{f}' name='{n}' {more}</style>" for f, n, more in styles)
    made = io.BytesIO()
    plain = io.BytesIO(open_document("text", content, styles=f"<x>{common}</x>"))
    with zipfile.ZipFile(plain) as before, zipfile.ZipFile(made, "w") as archive:
        for name in before.namelist():
            archive.writestr(name, before.read(name).decode().replace("<body>", f"{held}<body>"))
    return made.getvalue()


NONE = "<text-properties display='none'/>"
SEEN = "<p>seen 99.10</p>"
HIDING = {
    "section": f"<section display='none'><p>unseen</p><table><table-row><table-cell><p>unseen</p></table-cell>"
    f"</table-row></table></section>{SEEN}",
    "condition": f"<section display='condition' is-hidden='true'><section><p>unseen</p></section></section>{SEEN}",
    "span": "<p>seen <span style-name='S'>unseen </span>99.10</p>",
    "inherited": "<p>seen <span style-name='T'>unseen <span>unseen</span></span>99.10</p>",
    "paragraph": f"<h style-name='P'>unseen</h>{SEEN}",
    "hidden paragraph": f"<p>unseen<span><hidden-paragraph is-hidden='true'/></span></p>{SEEN}",
    "hidden text": "<p>seen <hidden-text is-hidden='true'>unseen </hidden-text>99.10</p>",
    "variable": "<p>seen <variable-set display='none'>unseen</variable-set>99.10</p>",
    "table": f"<table style-name='B'><table-row><table-cell><p>unseen</p></table-cell></table-row></table>{SEEN}",
    "covered": "<table><table-row><table-cell><p>seen 99.10</p></table-cell>"
    "<covered-table-cell><p>unseen</p></covered-table-cell></table-row></table>",
    "box": f"<p><frame><text-box><p style-name='P'>unseen</p></text-box></frame></p>{SEEN}",
    "note": "<p>seen <note><note-body><p style-name='P'>unseen</p></note-body></note>99.10</p>",
}


@each("kind", HIDING)
def test_what_open_document_does_not_display_is_left_out_with_a_flag(kind: str) -> None:
    styles = [
        ("text", "S", f">{NONE}"),
        ("text", "T", "parent-style-name='Unseen'>"),
        ("paragraph", "P", f">{NONE}"),
        ("paragraph", "S", ">"),
        ("text", "Seen", "parent-style-name='Unseen'><text-properties display='true'/>"),
        ("table", "B", "><table-properties display='false'/>"),
        ("paragraph", "around", "parent-style-name='around'>"),
    ]
    common = f"<style family='text' name='Unseen'>{NONE}</style>"
    data = styled(HIDING[kind], *styles, common=common)
    document = parse(data, "a.odt")
    assert (document.text, document.flags) == ("seen 99.10", ("hidden_text",))
    assert "unseen" in parse(data, "a.odt", ParserSettings(hidden=True)).text
    shown = "<p style-name='S'>seen <span style-name='Seen'>all</span><hidden-text is-hidden='false'/></p>"
    document = parse(styled(shown, *styles, common=common), "a.odt")
    assert (document.text, document.flags) == ("seen all", ())


LINE = "><text-properties text-line-through-style='{0}' text-line-through-type='{0}'/>"
NO_LINE = LINE.format("none")
LINE = LINE.format("single")
STRUCK = {
    "span": "<p>due <span style-name='S'>May 3 </span>May 9</p>",
    "spans within": "<p>due <span style-name='S'><span>May</span> <a>3 </a></span>May 9</p>",
    "inherited": "<p>due <span style-name='Heir'>May 3 </span>May 9</p>",
    "paragraph": "<p style-name='P'>May 3</p><p>due May 9</p>",
    "but for a span": "<p style-name='P'>May 3 <span style-name='Kept'>due May 9</span></p>",
    "cell": "<table><table-row><table-cell style-name='C'><p>May 3</p></table-cell>"
    "<table-cell><p>due May 9</p></table-cell></table-row></table>",
}


@each("kind", STRUCK)
def test_struck_text_of_open_document_is_left_out_with_a_flag(kind: str) -> None:
    styles = [
        ("text", "S", LINE),
        ("text", "Heir", "parent-style-name='S'>"),
        ("text", "Kept", NO_LINE),
        ("text", "P", NO_LINE),
        ("paragraph", "P", LINE),
        ("table-cell", "C", LINE),
    ]
    document = parse(styled(STRUCK[kind], *styles), "a.odt")
    assert (document.text.split(), document.flags) == (["due", "May", "9"], ("struck_text",))
    assert "May 3" in " ".join(parse(styled(STRUCK[kind], *styles), "a.odt", ParserSettings(hidden=True)).text.split())


def test_struck_cells_errors_and_formulas_of_open_sheets_are_told() -> None:
    cells = {
        "<table-cell><p>sum</p></table-cell>": "sum",
        "<table-cell style-name='C' value='59' value-type='float'><p>59</p></table-cell>": "",
        "<table-cell style-name='C' value='58' value-type='float'/>": "",
        "<table-cell value='57' value-type='float'><p><span style-name='S'>57</span></p></table-cell>": "",
        "<table-cell formula='of:=1/0' value-type='string' string-value=''><p>#DIV/0!</p></table-cell>": "#DIV/0!",
        "<table-cell formula='of:=1+1'/>": "####",
        "<table-cell formula='of:=T(1)' value-type='string'><p/></table-cell>": "",
    }
    held = styled(
        f"<table><table-row>{''.join(cells)}</table-row></table>", ("table-cell", "C", LINE), ("text", "S", LINE)
    )
    with zipfile.ZipFile(io.BytesIO(held)) as archive:
        content = (
            archive.read("content.xml").decode().replace("<text>", "<spreadsheet>").replace("</text>", "</spreadsheet>")
        )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    document = parse(made.getvalue(), "a.ods")
    assert document.text.split() == list(filter(None, cells.values()))
    assert document.flags == ("error_cells", "formula_without_value", "struck_text")
    assert {"59", "58", "57"} <= set(parse(made.getvalue(), "a.ods", ParserSettings(hidden=True)).text.split())


def test_page_headers_of_open_sheets_are_read_without_lines_of_page_numbers() -> None:
    page = "<header><region-left><p>Invoice RE-7</p></region-left><p><sheet-name>???</sheet-name></p></header>"
    page += "<footer><p>Page <page-number>1</page-number></p><p>IBAN DE89</p></footer>"
    page += "<footer display='false'><p>off</p></footer>"
    master = f"<x><master-styles><master-page>{page}</master-page></master-styles></x>"
    sheet = "<table><table-row><table-cell><p>a</p></table-cell></table-row></table>"
    document = parse(open_document("spreadsheet", sheet * 2, styles=master), "a.ods")
    assert document.text == "Invoice RE-7\n\na\n\nIBAN DE89\n\na"


def test_hidden_columns_and_covered_cells_of_open_sheets_are_left_out_with_a_flag() -> None:
    cell = "<table-cell><p>{}</p></table-cell>"
    columns = "<table-column number-columns-repeated='2'/><table-column visibility='collapse'/><table-column/>"
    cells = cell.format("a") + "<covered-table-cell><p>b</p></covered-table-cell>" + cell.format("c") + cell.format("d")
    data = open_document("spreadsheet", f"<table>{columns}<table-row>{cells}</table-row></table>")
    document = parse(data, "a.ods")
    assert (document.text, document.flags) == ("a  d", ("hidden_text",))
    assert parse(data, "a.ods", ParserSettings(hidden=True)).text == "a  b  c  d"


def raised(kind: str, low: str, high: str, after: str) -> bytes:
    """Returns a file of this kind with `low`, a raised `high` and `after` in one line."""
    held = io.BytesIO()
    if kind == "docx":
        word = docx.Document()
        paragraph = word.add_paragraph(low)
        paragraph.add_run(high).font.superscript = True
        paragraph.add_run(after)
        word.save(held)
    elif kind == "pptx":
        made = presentation()
        paragraph = made.slides[1].shapes.title.text_frame.paragraphs[0]
        for text in (low, high, after):
            run = paragraph.add_run()
            run.text = text
            run._r.get_or_add_rPr().set("baseline", "30000" if text is high else "0")
        made.save(held)
    elif kind == "xlsx":
        with xlsxwriter.Workbook(held) as book:
            up = book.add_format({"font_script": 1})
            book.add_worksheet().write_rich_string("A1", low, up, high, *([after] if after else [" "]))
    elif kind == "rtf":
        held.write(rf"{{\rtf1\ansi {low}{{\super\fs14 {high}}}{after}\par\up6 {high}\up0 x\par}}".encode())
    else:
        content = f"<p>{low}<span style-name='S'>{high}</span>{after}</p>"
        return styled(content, ("text", "S", "><text-properties text-position='super 58%'/>"))
    return held.getvalue()


@each("kind", ["docx", "pptx", "xlsx", "rtf", "odt"])
@each(
    "low, high, after, text",
    [
        ("Price: $19", "99", "", "Price: $19.99"),
        ("Sold 4,512", "1", " units", "Sold 4,512 ¹ units"),
        ("Sold 4,512", "2)", "", "Sold 4,512 ²)"),
        ("An area of 120 m", "2", " here", "An area of 120 m² here"),
        ("the 1", "st", " day", "the 1st day"),
    ],
)
def test_raised_digits_join_no_number(kind: str, low: str, high: str, after: str, text: str) -> None:
    assert text in parse(raised(kind, low, high, after), f"a.{kind}").text.split("\n")[-1 if kind == "pptx" else 0]
