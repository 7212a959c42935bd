"""CSV, JSON and XML: rows and labelled lines, with their places."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from tests.support.cases import each

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.limits import MAX_ROW_CELLS
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.documents.plain.rows import table_lines
from cinnabar.extraction.documents.web.delimited import delimiter_of


def place(document: Document, text: str) -> str:
    return document.places.at(document.text.index(text))


def test_rows_of_csv_are_lines_with_their_columns_below_each_other() -> None:
    data = 'Item;Net\n"A long\napple";3,50\n;\n"say ""hi""";4\n'
    document = parse(data.encode("cp1252"), "a.csv")
    assert document.text == 'Item          Net\nA long apple  3,50\nsay "hi"      4'
    assert place(document, "3,50") == "row 2" and place(document, "say") == "row 4"


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),
        ("a\tb\n1,0\t2\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ("one, two\nthree\nfour\n", ""),
        ("words only", ""),
        ("", ""),
    ],
)
def test_the_delimiter_is_told_by_the_lines(text: str, delimiter: str) -> None:
    assert delimiter_of(text) == delimiter


@each(
    "cell, meant",
    [
        ('="007"', "007"),
        ('"=""04,50"""', "04,50"),
        ('"=T(""MARCH1"")"', "MARCH1"),
        ('="say ""hi"""', 'say "hi"'),
        ('=""', ""),
        ("'0080", "0080"),
        ("'12E5", "12E5"),
        ("'+49 30 1234", "+49 30 1234"),
        ("'=SUM(A1)", "=SUM(A1)"),
        ("'2024-05-06 10:00", "2024-05-06 10:00"),
        ('"6\\" pipe, \\"new\\""', '6" pipe, "new"'),
        ('"C:\\\\dir \\"x\\""', 'C:\\dir "x"'),
        # As they are spelled.
        ('"C:\\dir\\"', "C:\\dir\\"),
        ("=SUM(A1)", "=SUM(A1)"),
        ("'90s", "'90s"),
        ("'quoted'", "'quoted'"),
        ("'5'", "'5'"),
        ("O'Neil", "O'Neil"),
    ],
)
def test_cells_are_read_without_what_guards_them_from_a_spreadsheet(cell: str, meant: str) -> None:
    for delimiter in ",;":
        rows = "".join(f"{cell.replace(',', delimiter)}{delimiter}end\n" for _ in range(3))
        lines = parse(f"Code{delimiter}Note\n{rows}".encode(), "a.csv").text.split("\n")[1:]
        assert [line.removesuffix("end").strip() for line in lines] == [meant.replace(",", delimiter)] * 3


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_the_last_of_many_rows_stands_below_the_others(suffix: str) -> None:
    rows = [{"code": "A-1", "name": f"{name} of oak", "net": "3.50"} for name in ("Table", "Shelf") * 500] + [
        {"code": "A-2", "name": "Box", "net": "9.50"}
    ]
    lines = [";".join(row.values()) for row in rows]
    data = "\n".join(["code;name;net", *lines]) if suffix == "csv" else json.dumps(rows)
    found = parse(data.encode(), f"a.{suffix}").text.strip().split("\n")
    assert found[-1].index("9.50") == found[-2].index("3.50")


def test_csv_without_a_delimiter_is_plain_text() -> None:
    assert parse(b"just words\nand   more\n", "a.csv").text == "just words\nand   more"


def test_a_quotation_mark_without_its_partner_ends_at_the_bound() -> None:
    document = parse(b"a,b\n" * 60 + b'"' + b"x,y\n" * 600_000, "a.csv")
    assert document.text.startswith("a  b\n") and "truncated" in document.flags


def test_cells_beyond_the_bound_of_a_row_are_left_out_and_the_rest_is_read() -> None:
    wide = "a,b\n" + "1," * 3_000_000 + '\n"x,y"' + "," * 20_000 + "\nlast,row\n"
    document = parse(wide.encode(), "a.csv")
    assert document.flags == ("truncated",)
    assert document.text.endswith("\nx,y\nlast  row")
    assert document.text.count("1") == MAX_ROW_CELLS
    assert place(document, "last") == "row 4"


def test_json_with_too_many_values_is_plain_text() -> None:
    assert parse(b"[" + b"[]," * 2_000_001 + b"1]", "a.json").text.startswith("[[],[],")


def test_values_of_json_lines_are_bounded_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.documents.web.json.MAX_JSON_VALUES", 40)
    assert parse(b'{"a": 1}\n' * 20, "a.jsonl").text == "\n".join(["a", *["1"] * 20])
    assert parse(b'{"a": 1}\n' * 21, "a.jsonl").text.startswith('{"a": 1}\n{"a": 1}')


def test_rows_of_many_small_cells_are_laid_out_like_others() -> None:
    rows = [["a", "", "c"], ["bb", "1", ""], ["", "", ""], ["", "22", "d"]]
    aligned = ["a       c", "bb  1", "", "    22  d"]
    assert [line for (line,) in table_lines(rows)] == aligned
    assert list(table_lines([*rows, ["x\ny", "3", "%s"]]))[-1] == ["x   3   %s", "y"]
    assert [line for (line,) in table_lines([*rows, ["ragged"]])][1] == "bb      1"


def test_an_element_with_too_many_attributes_is_plain_text() -> None:
    attributes = b" ".join(b'x%d="1"' % number for number in range(200_000))
    assert parse(b"<a " + attributes + b"/>", "a.xml").text.startswith('<a x0="1"')
    assert parse(b'<a b="' + b"=" * 100_000 + b'">word</a>', "a.xml").text.startswith("a: word  b: =")


def test_json_has_names_as_labels_rows_of_flat_objects_and_pointers() -> None:
    held = {
        "invoice": {"no": "17", "paid": True, "note": None, "tags": ["a", "b"]},
        "lines": [{"item": "Apple", "net": 3}, {"item": "Pear", "x/y": "z"}],
    }
    data = json.dumps(held).replace('"net": 3', '"net": 3.50').encode()
    document = parse(data, "a.json")
    assert document.text.split("\n") == [
        "invoice:", "  no: 17", "  paid: true", "  note: ", "  tags: a, b", "lines:", "",
        "  item   net   x/y", "  Apple  3.50", "  Pear         z",
    ]  # fmt: skip
    assert place(document, "17") == "/invoice/no" and place(document, "3.50") == "/lines/0"


def test_repeated_names_and_long_numbers_of_json_are_kept() -> None:
    text = parse(b'{"a": 1, "a": 2, "b": 12345678901234567890.10, "c~/d": "x\\ny"}', "a.json").text
    assert text == "a: 1\na: 2\nb: 12345678901234567890.10\nc~/d: x\n  y"


def test_damaged_and_deep_json_is_plain_text_or_flagged() -> None:
    assert parse(b'{"a": 1,', "a.json").text == '{"a": 1,'
    assert parse(b"[" * 100_000, "a.json").text == "[" * 100_000
    document = parse(b'{"a":' * 80 + b'"x"' + b"}" * 80, "a.json")
    assert document.flags == ("depth_limit",)


def test_json_lines_are_rows_and_bad_lines_stay() -> None:
    document = parse(b'{"a": 1, "b": "x"}\n{"a": 22, "b": "y"}\n', "a.jsonl")
    assert document.text == "a   b\n1   x\n22  y" and place(document, "22") == "/1"
    assert parse(b'{"a": 1}\nbad\n{"a": 2}', "a.jsonl").text == "a: 1\nbad\n\na: 2"
    assert parse(b"no json\nat all", "a.jsonl").text == "no json\nat all"


def test_xml_has_labels_attributes_rows_and_paths() -> None:
    rows = "<Line><Item>Apple</Item><Net>3.50</Net></Line><Line><Item>Pear</Item></Line>"
    data = f'<?xml version="1.0"?><i:Invoice xmlns:i="u"><Id>17</Id><Total cur="EUR">3.50</Total><Lines>{rows}</Lines>'
    document = parse(f"{data}<Note>See <b>this</b> page</Note><Empty/></i:Invoice>".encode(), "a.xml")
    assert document.text.split("\n") == [
        "Invoice:", "  Id: 17", "  Total: 3.50  cur: EUR", "  Lines:", "    Item   Net", "    Apple  3.50", "    Pear",
        "  Note: See this page",
    ]  # fmt: skip
    assert place(document, "Pear") == "/Invoice/Lines/Line[2]" and place(document, "EUR") == "/Invoice/Total"


def test_entities_of_xml_are_neither_expanded_nor_fetched() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    kind = f'<!DOCTYPE x [<!ENTITY l0 "ha"><!ENTITY f SYSTEM "file:///etc/passwd">{laughs}]>'
    text = parse(f"<?xml version='1.0'?>{kind}<x>a &l9; &f;</x>".encode(), "a.xml").text
    assert "root:" not in text and len(text) < 200


def test_damaged_deep_and_huge_xml_ends() -> None:
    assert "repaired" in parse(b"<a><b>words</b><c>", "a.xml").flags
    assert parse(b"no markup at all", "a.xml").text == "no markup at all"
    deep = parse(b"<a>" * 200 + b"x" + b"</a>" * 200, "a.xml")
    assert "depth_limit" in deep.flags and "x" in deep.text
    parse(b"<a>" * 100_000 + b"words", "a.xml")


def test_xhtml_is_html_and_content_without_a_suffix_is_told() -> None:
    page = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>words</p></body></html>'
    assert parse(page, "a.xml").text == "words"
    assert parse(b'<?xml version="1.0"?><a>x</a>', "noname").text == "a: x"


def book(**members: str) -> bytes:
    made = io.BytesIO()
    opf = '<package><metadata><title>A book</title></metadata><manifest><item id="b" href="b.xhtml"/>'
    opf += '<item id="a" href="a%20x.xhtml"/><item id="c" href="gone.xhtml"/></manifest>'
    opf += '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", '<c><rootfiles><rootfile full-path="O/c.opf"/></rootfiles></c>')
        archive.writestr("O/c.opf", opf)
        archive.writestr("O/a x.xhtml", "<html><body><h1>One</h1></body></html>")
        archive.writestr("O/b.xhtml", "<html><body><p>two</p></body></html>")
        for name, held in members.items():
            archive.writestr(f"META-INF/{name}.xml", held)
    return made.getvalue()


def test_chapters_of_a_book_come_in_reading_order() -> None:
    document = parse(book(), "a.epub")
    assert document.text == "One\n\ntwo" and document.metadata["title"] == "A book"
    assert place(document, "two") == "chapter 2"


def test_a_protected_book_needs_a_password() -> None:
    with pytest.raises(DocumentError) as caught:
        parse(book(rights="<x/>"), "a.epub")
    assert caught.value.code == "password"
