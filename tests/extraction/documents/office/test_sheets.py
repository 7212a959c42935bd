"""Workbooks: values as a person reads them, at the addresses of their cells."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from openpyxl.comments import Comment

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.settings import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.office import excel, sheet_text
from cinnabar.extraction.documents.office.number_formats import read_format
from cinnabar.schemas.errors import DocumentError


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


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (0.19, "0%", "19%"),
        (0.195, "0.0%", "19.5%"),
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
        (45356, "dd.mm.yyyy", "2024-03-05"),
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
    ],
)
def test_numbers_are_written_as_their_format_says(number: float, code: str, text: str) -> None:
    assert read_format(code).write(number) == text


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
    assert (document.text, document.flags) == ("sum", ("formula_without_value",))


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


def test_an_author_that_a_comment_names_itself_is_not_repeated() -> None:
    book = book_of(["Apple"])
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
    monkeypatch.setattr(sheet_text, "_MAX_ADDRESSES", 10)
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
    data = saved(book_of(["x"]))
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(made, "w") as archive:
        for name in before.namelist():
            if name != "xl/workbook.xml":
                archive.writestr(name, before.read(name))
    with pytest.raises(DocumentError) as caught:
        parse(made.getvalue(), "a.xlsx")
    assert caught.value.code == "broken"


def test_strings_beyond_the_table_are_empty_and_false_numbers_are_text() -> None:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        book.add_worksheet().write_row("A1", ["a", 5])
    data, member = made.getvalue(), "xl/worksheets/sheet1.xml"
    assert parse(changed(data, member, b"<v>0</v>", b"<v>77</v>"), "a.xlsx").text == "5"
    assert parse(changed(data, member, b"<v>5</v>", b"<v>5x</v>"), "a.xlsx").text == "a  5x"


def test_damaged_old_workbooks_have_a_code() -> None:
    for data in (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), b"\xd0\xcf\x11\xe0"):
        with pytest.raises(DocumentError) as caught:
            parse(data, "a.xls")
        assert caught.value.code in ("broken", "unsupported", "empty")


def test_numbers_have_no_grouping_in_any_format() -> None:
    assert not re.search(",", read_format("#,##0.00").write(1234567.5))


def test_hidden_columns_before_the_first_one_are_none() -> None:
    assert excel.columns_between("-3000000", "2") == range(1, 3)
    assert excel.columns_between("3", "99999999") == range(3, 16_385)
