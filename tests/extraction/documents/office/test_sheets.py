"""Workbooks: values as a person reads them, at the addresses of their cells."""

from __future__ import annotations

import datetime
import io
import random
import zipfile
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from openpyxl.comments import Comment
from tests.support.cases import each
from tests.support.parsed_files import code_of

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.office import excel, sheet_text
from cinnabar.extraction.documents.office.sheet_text import read_format


def saved(book: openpyxl.Workbook) -> bytes:
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def book_of(*rows: list[Any]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return book


def places(document: Document) -> dict[str, str]:
    """Returns the words that begin at each place."""
    bounds = [*document.places.start, len(document.text)]
    return {
        label: document.text[start:end].strip()
        for label, start, end in zip(document.places.label, bounds, bounds[1:], strict=False)
        if label
    }


@each(
    "number, code, text",
    [
        (0.19, "0%", "19%"),
        (1234.5, "#,##0.00", "1234.50"),
        (1234.5, '#,##0.00 "€"', "1234.50 €"),
        (1234.5, "[$$-409]#,##0.00", "$1234.50"),
        (-3, "[$$-409]#,##0.00;[Red]([$$-409]#,##0.00)", "-$3.00"),
        (12, "_-* #,##0.00\\ [$EUR]_-;-* #,##0.00\\ [$EUR]_-", "12.00 EUR"),
        (12, '"USD" 0', "USD 12"),
        (12, '0 "kg"', "12 kg"),
        (0.1 + 0.2, "General", "0.3"),
        (1e20, "General", "100000000000000000000"),
        (-0.001, "0.00", "0.00"),
        (45356, "yyyy-mm-dd", "2024-03-05"),
        (45356, "mmmm", "2024-03-05"),
        (45356.604166666664, "m/d/yy h:mm", "2024-03-05 14:30"),
        (0.604166666664, "h:mm", "14:30"),
        (1.25, "[h]:mm:ss", "30:00:00"),
        (1, "d/m/yy", "1900-01-01"),
        (1e9, "yyyy-mm-dd", "1000000000"),
        (5, "@", "5"),
        (0.5, "# ?/?", "0.5"),
        (1200, "0.00E+00", "1200"),
        (1200.25, "0.00 g", "1200.25"),
        (0.000361, "mm:ss.0", "00:00:31"),
        (1234, "0000000", "0001234"),
        (7, '"A"00"-B"', "A07-B"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234567, "[<=9999999]000-0000;(000) 000-0000", "(555) 123-4567"),
        (10203, '00"."00\\.00', "01.02.03"),
        (491701234567, "+00 000 0000000", "+49 170 1234567"),
        (1234567, '#,##0,"k"', "1235 thousand"),
        (-12345678, "0.0,,\\M", "-12.3 million"),
        (950, '[>=1000000]0.0,,"M";[>=1000]0,"k";0', "950"),
        (2500000, '[>=1000000]0.0,,"M";[>=1000]0,"k";0', "2.5 million"),
        (0, '[=1]"yes";[=0]"no";General', "no"),
        (-5, '[<0]"loss "0;0', "loss 5"),
        (-50, '0.00;0.00" CR"', "50.00 CR"),
        (-50, '0.00" EUR";[Red]0.00" EUR"', "-50.00 EUR"),
        (-7, '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', "-$7.00"),
        (0, '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', "$0.00"),
        (0, '0;-0;"none"', "none"),
        (0, "0;-0;;@", ""),
        (777, ";;;", ""),
        (777, ";;;@", ""),
        (12.5, "0.##", "12.5"),
        (0.125, "0.00", "0.13"),
        (999999999999999, "0", "999999999999999"),
        (0.5, "+0%;-0%", "+50%"),
        (19.5, '0.0"%"', "19.5%"),
        (5, "[>=x]0", "5"),
        (4500000, '0.00,,"M"', "4.50 million"),
        (2.5e9, '0.0,,,"B"', "2.5 billion"),
        (4500, '0.0" M"', "4500.0 M"),
        (4500000, '0.0,,"M€"', "4.5 M€"),
        (1234567890123456.0, "0", "1234567890123456"),
        (8934071100123456789, "General", "8934071100123456789"),
        (8934071100123456789, "0.00", "8934071100123456789.00"),
    ],
)
def test_numbers_are_written_as_their_format_says(number: float, code: str, text: str) -> None:
    assert read_format(code).write(number) == text


@each("seed", range(60))
def test_a_code_shows_all_digits_in_its_places_between_its_literals(seed: int) -> None:
    draw = random.Random(seed)
    code, shown, digits = "", "", ""
    for _ in range(draw.randint(2, 5)):
        literal = draw.choice(("-", " ", "/", ".", "A", "RE-", "x1"))
        literal = literal if digits or literal[0].isalpha() else ""
        code += draw.choice((f'"{literal}"', "".join(f"\\{one}" for one in literal))) if literal else ""
        group = "".join(draw.choices("0123456789", k=draw.randint(1, 4)))
        code, shown, digits = code + "0" * len(group), shown + literal + group, digits + group
    if len(digits) < 16:
        assert read_format(code).write(int(digits)) == shown, code


@pytest.mark.parametrize("digits", [12, 15, 16, 17, 19, 23])
def test_whole_numbers_keep_the_digits_that_the_file_has(digits: int) -> None:
    number = int("12345678901234567890123"[:digits])
    data = changed(saved(book_of(["Serial", 7])), "xl/worksheets/sheet1.xml", b"<v>7</v>", b"<v>%d</v>" % number)
    assert parse(data, "a.xlsx").text.split() == ["Serial", str(number)]


def test_texts_have_a_section_of_their_own_and_hidden_cells_are_flagged() -> None:
    book = book_of(["a", "b", 3, "d", 0])
    for cell, code in zip(book.active[1], (";;;", '"No. "@', ";;;", "0;0;0;", "0;-0;"), strict=True):
        cell.number_format = code
    document = parse(saved(book), "a.xlsx")
    assert (document.text, document.flags) == ("No. b", ("hidden_text",))
    assert parse(saved(book), "a.xlsx", ParserSettings(hidden=True)).text == "a  No. b  3  d"
    book = book_of(["a", 0])
    book.active["B1"].number_format = "0;-0;;@"
    assert parse(saved(book), "a.xlsx").flags == ()


HEADER = '&L&"Arial,Bold"&14Invoice RE-7&C&K01+034A && B&RPage &P of &N'


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        (HEADER, ["Invoice RE-7", "A & B"]),
        ("&8IBAN DE89 3704\nBIC COBADEFF&R&D", ["IBAN DE89 3704", "BIC COBADEFF"]),
        ('&C&KFF0000&"Times,Regular"&12 2024-17 &U&A', ["2024-17"]),
        ('&C&"Times New Roman,Regular"&12&A', []),
        ("&CRE-2024-771 Page &P", ["RE-2024-771 Page"]),
    ],
)
def test_page_headers_and_footers_stand_around_the_rows_without_their_codes(header: str, lines: list[str]) -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet()
        sheet.write("A1", "first")
        sheet.set_header(header)
        sheet.set_footer(header.replace("RE", "F"))
    document = parse(made.getvalue(), "a.xlsx")
    footer = [line.replace("RE", "F") for line in lines]
    assert [line for line in document.text.split("\n") if line] == [*lines, "first", *footer]
    data = changed(made.getvalue(), "xl/worksheets/sheet1.xml", b"oddHeader", b"evenHeader")
    assert [line for line in parse(data, "a.xlsx").text.split("\n") if line] == ["first", *footer]
    data = changed(data, "xl/worksheets/sheet1.xml", b"<headerFooter", b'<headerFooter differentOddEven="1"')
    assert [line for line in parse(data, "a.xlsx").text.split("\n") if line] == [*lines, "first", *footer]


def test_a_line_for_each_row_and_an_address_for_each_cell() -> None:
    book = book_of(["Item", "Net", "VAT", "Day"], ["Apple", 1234.5, 0.19, datetime.date(2024, 3, 5)])
    sheet = book.active
    sheet.title = "Prices"
    sheet["B2"].number_format, sheet["C2"].number_format = '#,##0.00 "€"', "0%"
    sheet["B4"], sheet["C4"] = True, datetime.time(8, 5)
    document = parse(saved(book), "a.xlsx")
    assert document.text.split("\n") == [
        "Item   Net        VAT    Day",
        "Apple  1234.50 €  19%    2024-03-05",
        "",
        "       TRUE       08:05",
    ]
    assert places(document) | {"A2": "Apple", "B2": "1234.50 €", "C4": "08:05"} == places(document)
    assert [(one.kind, one.name) for one in document.parts] == [("sheet", "Prices")]


def test_formulas_give_their_stored_values_and_others_are_flagged() -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet()
        sheet.write_formula("A1", "=1+1", None, 2)
        sheet.write_formula("A2", '=""&"x"', None, "x")
    document = parse(made.getvalue(), "a.xlsx")
    assert (document.text, document.flags) == ("2\nx", ())
    document = parse(saved(book_of(["sum", "=1+1"])), "a.xlsx")
    assert (document.text, document.flags) == ("sum  ####", ("formula_without_value",))
    # Formulas alone, such as those that wait below a table, are no rows.
    document = parse(saved(book_of(["sum", "=1+1"], [None, "=1+1"], ["=1"])), "a.xlsx")
    assert (document.text, document.flags) == ("sum  ####", ("formula_without_value",))


@each(
    "shown, error",
    [
        ("#DIV/0!", True),
        ("#N/A", True),
        ("#NAME?", True),
        ("#GETTING_DATA", True),
        ("#WERT!", True),
        ("Err:502", True),
        ("#1", False),
        ("#SALE!", False),
        ("Err:404", False),
        ("Error: 502", False),
        ("see #N/A", False),
    ],
)
def test_cells_with_an_error_are_flagged(shown: str, error: bool) -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet()
        sheet.write_string("A1", "sum")
        sheet.write_formula("B1", "=1/A9", None, shown)
    document = parse(made.getvalue(), "a.xlsx")
    assert (document.text, document.flags) == (f"sum  {shown}", ("error_cells",) * error)


def test_struck_runs_and_cells_are_left_out_with_a_flag_and_read_if_asked_for() -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet()
        line, plain = book.add_format({"font_strikeout": True}), book.add_format({"bold": True})
        sheet.write_row("A1", ["Rent", 700])
        sheet.write("C1", 650, line)
        sheet.write_row("A2", ["Deposit", True], line)
        sheet.write("A3", "Heat")
        sheet.write_rich_string("B3", line, "90 EUR", plain, " 80 EUR")
        # The runs of a struck cell have fonts of their own.
        sheet.write_rich_string("C3", line, "at once", plain, " later", line)
        sheet.write_blank("D3", None, line)
    document = parse(made.getvalue(), "a.xlsx")
    assert document.text.split() == ["Rent", "700", "Heat", "80", "EUR", "later"]
    assert document.flags == ("struck_text",) and places(document)["B1"] == "700"
    whole = parse(made.getvalue(), "a.xlsx", ParserSettings(hidden=True))
    assert " ".join(whole.text.split()) == "Rent 700 650 Deposit TRUE Heat 90 EUR 80 EUR at once later"
    plain_book = changed(made.getvalue(), "xl/styles.xml", b"<strike/>", b'<strike val="0"/>')
    assert "650" in parse(plain_book, "a.xlsx").text


def test_hidden_sheets_rows_and_columns_are_left_out_unless_the_settings_ask_for_them() -> None:
    book = book_of(["a", "b"], ["c", "d"])
    book.active.row_dimensions[2].hidden = True
    book.active.column_dimensions["B"].hidden = True
    book.create_sheet("secret").append(["x"])
    book["secret"].sheet_state = "hidden"
    document = parse(saved(book), "a.xlsx")
    assert (document.text, document.flags) == ("a", ("hidden_text",))
    document = parse(saved(book), "a.xlsx", ParserSettings(hidden=True))
    assert document.text == "a  b\nc  d\n\nx"
    assert [one.kind for one in document.parts] == ["sheet", "hidden"]


def test_comments_are_notes_at_their_cells() -> None:
    book = book_of(["Apple"])
    book.active["A1"].comment = Comment("fresh", "Kim")
    document = parse(saved(book), "a.xlsx")
    note = document.parts[1]
    assert (note.kind, document.text[note.start : note.end]) == ("notes", "Kim: fresh")
    assert document.places.at(note.start) == "A1"
    # An author that a comment names itself is not repeated.
    book.active["A1"].comment = Comment("Kim:\nfresh", "Kim")
    assert parse(saved(book), "a.xlsx").text == "Apple\n\nKim:\nfresh"


def test_cells_at_the_far_end_cost_nothing() -> None:
    book = book_of(["first"])
    book.active["XFD1048576"] = "last"
    document = parse(saved(book), "a.xlsx")
    assert document.text == "first\n\n       last"
    assert places(document)["XFD1048576"] == "last"


def test_merged_cells_stand_at_their_first_address() -> None:
    book = book_of(["wide", None, "next"])
    book.active.merge_cells("A1:B1")
    assert parse(saved(book), "a.xlsx").text == "wide  next"


def test_many_cells_have_the_address_of_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_text, "MAX_ADDRESSES", 10)
    document = parse(saved(book_of(*[[number, "x"] for number in range(20)])), "a.xlsx")
    assert places(document)["row 20"] == "19  x"


def test_cells_beyond_the_bound_are_left_out_with_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_text, "MAX_CELLS", 10)
    document = parse(saved(book_of(*[[number] for number in range(20)])), "a.xlsx")
    assert document.flags == ("truncated",) and "19" not in document.text


def test_strings_with_several_fonts_are_whole_and_sounds_are_left_out() -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet()
        sheet.write_rich_string("A1", "plain ", book.add_format({"bold": True}), "bold")
        sheet.write_string("A2", "x")
    data = changed(made.getvalue(), "xl/sharedStrings.xml", b"<t>x</t>", b"<t>x</t><rPh><t>eks</t></rPh>")
    assert parse(data, "a.xlsx").text == "plain bold\nx"


def changed(data: bytes, member: str, old: bytes, new: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in before.namelist():
            held = before.read(name)
            assert name != member or old in held
            archive.writestr(name, held.replace(old, new) if name == member else held)
    return made.getvalue()


def test_a_damaged_sheet_keeps_its_first_rows() -> None:
    data = saved(book_of(*[[f"row {number}"] for number in range(5)]))
    broken = changed(data, "xl/worksheets/sheet1.xml", b'<row r="4"', b'<row r="4" <<<')
    document = parse(broken, "a.xlsx")
    assert document.text.startswith("row 0\nrow 1\nrow 2") and "repaired" in document.flags


def test_dates_of_the_other_epoch_are_right() -> None:
    book = book_of([datetime.date(2024, 3, 5)])
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    assert parse(saved(book), "a.xlsx").text == "2024-03-05"


def test_a_workbook_without_sheets_is_broken() -> None:
    data = saved(book_of(["x"])).replace(b"xl/workbook.xml", b"xl/wOrkless.xml")
    assert code_of(parse, data, "a.xlsx") == "broken"


def test_strings_beyond_the_table_are_empty_and_false_numbers_are_text() -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        book.add_worksheet().write_row("A1", ["a", 5])
    data, member = made.getvalue(), "xl/worksheets/sheet1.xml"
    assert parse(changed(data, member, b"<v>0</v>", b"<v>77</v>"), "a.xlsx").text == "5"
    assert parse(changed(data, member, b"<v>5</v>", b"<v>5x</v>"), "a.xlsx").text == "a  5x"


def test_hidden_columns_before_the_first_one_are_none() -> None:
    assert excel.columns_between("-3000000", "2") == range(1, 3)
    assert excel.columns_between("3", "99999999") == range(3, 16_385)
