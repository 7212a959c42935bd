"""Text and HTML files, and the choice of a parser for each file."""

import codecs

import pytest
from tests.support.parsed_files import code_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_TEXT_PAGES
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.plain.guessing import sample_of
from cinnabar.extraction.documents.plain.html import html_to_text, tidy
from cinnabar.extraction.plan.outcomes import UNREADABLE

TEXT = "Größe: 5 €\n漢字 und Ελληνικά"


@pytest.mark.parametrize(
    ("data", "flags"),
    [
        (TEXT.encode(), ()),
        (codecs.BOM_UTF8 + TEXT.encode(), ()),
        (TEXT.encode("utf-16"), ()),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), ()),
        (TEXT.encode("utf-32"), ()),
    ],
)
def test_byte_order_marks_name_the_charset(data: bytes, flags: tuple[str, ...]) -> None:
    document = parse(data, "a.txt")
    assert document.text == TEXT
    assert document.flags == flags


def test_charsets_other_than_utf8_are_guessed_and_flagged() -> None:
    document = parse("Größe: 5 €".encode("cp1252"), "a.txt")
    assert (document.text, document.flags) == ("Größe: 5 €", ("charset_guess",))
    document = parse("plain words".encode("utf-16-le"), "a.txt")
    assert (document.text, document.flags) == ("plain words", ("charset_guess",))


def test_control_codes_are_made_visible() -> None:
    assert parse(b"a\x1b[31mb\x07\r\nc\rd", "a.txt").text == "a\ufffd[31mb\ufffd\nc\nd"


def test_form_feeds_end_pages() -> None:
    document = parse(b"first\n\fsecond\n\f", "a.txt")
    assert [(p.kind, p.page, document.text[p.start : p.end]) for p in document.parts] == [
        ("page", 1, "first"),
        ("page", 2, "second"),
    ]


def test_html_keeps_its_tables_in_rows() -> None:
    rows = "<tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr>"
    document = parse(f"<!doctype html><title>t</title><table>{rows}</table>".encode(), "a.html")
    assert [line.split() for line in document.text.splitlines()] == [["a", "1"], ["b", "2"]]
    assert document.media_type == "text/html"


def _table(*rows: str) -> str:
    """An HTML table whose cells stand between `|`."""
    cells = ("".join(f"<td align=right>{cell}</td>" for cell in row.split("|")) for row in rows)
    return f"<table>{''.join(f'<tr>{one}</tr>' for one in cells)}</table>"


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        pytest.param(
            _table("item|price", "a long description of it|1.00", "|-----", "sum|1.00"),
            [
                "item                      price",
                "a long description of it  1.00",
                "                          -----",
                "sum                       1.00",
            ],
            id="columns of data keep their places",
        ),
        pytest.param(
            _table(f"Speed<br>fast|{_table('subtotal|1', 'tax|2')}"),
            ["Speed", "fast", "subtotal  1", "tax       2"],
            id="a table within a table does not share lines with the cell beside it",
        ),
        pytest.param(
            _table(_table(_table("total|3"))), ["total  3"], id="tables of one cell add nothing to the table within"
        ),
        pytest.param(
            _table(f"price|{_table('3')}", "tax|1"), ["price  3", "tax    1"], id="a table of one cell is a cell"
        ),
        pytest.param(
            _table("A Ltd.<br>1 Road|B Ltd.<br>2 Road<br>Town"),
            ["A Ltd.", "1 Road", "B Ltd.", "2 Road", "Town"],
            id="blocks of unequal height follow each other",
        ),
        pytest.param(
            _table("net<br>tax|1.00<br>0.20"),
            ["net  1.00", "tax  0.20"],
            id="lines of equal number stand beside each other",
        ),
        pytest.param(
            _table("<p>a</p><p>sold by b</p>|1.00"), ["a          1.00", "sold by b"], id="no blank line ends a row"
        ),
        pytest.param(
            "<table><tr><th colspan=2>both<th>c<tr><td rowspan=2>a<td>b<td>1<tr><td>d<td>2</table>",
            ["both  c", "a  b  1", "   d  2"],
            id="cells that span columns and rows leave their places",
        ),
        pytest.param(
            _table("<br>Plaintiff|", "A Ltd.|represented by", "|", "Defendant|"),
            ["Plaintiff", "A Ltd.     represented by", "", "Defendant"],
            id="empty rows set groups apart",
        ),
        pytest.param(
            "<table></table><table><tr></tr><td colspan=x rowspan=-1>a</table>", ["a"], id="empty and damaged tables"
        ),
    ],
)  # fmt: skip
def test_tables_of_html_are_read_as_they_stand(markup: str, lines: list[str]) -> None:
    assert html_to_text(markup)[0].splitlines() == lines


def test_spans_of_hostile_tables_are_bounded() -> None:
    row = "<tr>" + "<td colspan=99999999 rowspan=99999999>x" * 200
    text, _ = html_to_text(f"<table>{row * 100}</table>")
    assert text.count("x") == 20_000
    assert len(text) < 10_000_000


def test_html_names_its_charset() -> None:
    data = "<meta charset='iso-8859-2'><p>Łódź</p>".encode("iso-8859-2")
    document = parse(data, "a.htm")
    assert (document.text, document.flags) == ("Łódź", ())


@pytest.mark.parametrize(
    ("data", "path", "code"),
    [
        (b"", "a.pdf", "empty"),
        (b" \n ", "a.txt", "empty"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", "broken"),
        (b"\x89PNG\r\n\x1a\n", "a.pdf", "not_pdf"),
        (b"PK\x03\x04", "a.docx", "broken"),
        (b"some words", "a.xyz", "unsupported"),
        (b"some\x00words\x00and\x01more", "a.txt", "unsupported"),
    ],
)
def test_an_unreadable_file_has_a_code(data: bytes, path: str, code: str) -> None:
    assert code_of(parse, data, path) == code
    assert code in UNREADABLE


def test_the_content_decides_before_the_name() -> None:
    assert parse(b"From: a@b.example\nSubject: x\n\nbody\n", "mail").media_type == "message/rfc822"
    assert parse(b"<!DOCTYPE html><p>words", "page.cgi").media_type == "text/html"
    assert parse(b"From: a@b.example\nno mail\n", "a.txt").media_type == "text/plain"
    with pytest.raises(DocumentError, match=r"broken|truncated"):
        parse(b"%PDF-1.4\n", "a.txt")


def test_long_runs_of_blanks_take_linear_time() -> None:
    # In quadratic time a run of this length takes twenty minutes.
    assert tidy("a" + " " * 1_000_000 + "b \t\nc") == "a        b\nc"


def test_the_letters_that_tell_a_charset_are_found_behind_a_long_ascii_text() -> None:
    letters = b"Szanowna Pani Ma\xb3gorzato, przesy\xb3amy faktur\xea za maj, prosimy o zap\xb3at\xea do pi\xb1tku."
    assert sample_of(b"a line of a log\n" * 400_000 + letters) == letters


def test_pages_beyond_the_bound_are_one_page() -> None:
    document = parse(b"x\f" * (MAX_TEXT_PAGES + 2) + b"the end", "a.txt")
    assert len(document.parts) == MAX_TEXT_PAGES and document.text.endswith("x\nthe end")
