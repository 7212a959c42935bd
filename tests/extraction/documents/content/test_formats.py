"""Each format has its reader, and the content of a file goes before its name."""

import pytest
from tests.support.cases import each

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import INPUT_FORMATS
from cinnabar.extraction.documents.ingest import parse


def test_each_format_has_its_reader() -> None:
    assert all(callable(one.reader()) for one in INPUT_FORMATS)


_PAGE = "<table><tr><td>Order number</td><td>PO-4711</td></tr><tr><td>Größe</td><td>99.10</td></tr></table>"
_MHTML = (
    "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=B\n\n--B\nContent-Type: text/html; charset=utf-8\n\n"
    f"<html>{_PAGE}</html>\n--B--\n"
)
_WORKBOOK = (
    '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
    'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="S"><Table>'
    "<Row><Cell><Data>Order number</Data></Cell><Cell><Data>PO-4711</Data></Cell></Row>"
    '<Row ss:Index="4"><Cell><Data>Größe</Data></Cell><Cell ss:Index="2"><Data>99.10</Data></Cell></Row>'
    '<Row ss:Hidden="1"><Cell><Data>hidden</Data></Cell></Row></Table></Worksheet></Workbook>'
)
_TEXTS = {
    "page": f"<html><body>{_PAGE}</body></html>",
    "doctype": f"\n<!DOCTYPE html>\n{_PAGE}",
    "piece": _PAGE,
    "styled piece": f"<style>td {{color: red}}</style>{_PAGE}",
    "web archive": _MHTML,
    "mail": "From: a@x.example\nSubject: Order\n\nOrder number: PO-4711\nGröße: 99.10\n",
    "workbook": _WORKBOOK,
    "semicolons": "Order number;PO-4711\nGröße;99.10\n",
    "tabs": "Order number\tPO-4711\nGröße\t99.10\n",
    "plain": "Order number: PO-4711\nGröße: 99.10\n",
}


_SUFFIXES = (".xls", ".xlsx", ".docx", ".ods", ".msg", ".rtf", ".gz", ".zip", ".epub")
_CHARSETS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
#: Every pair of a kind, a suffix and a charset stands in one of them.
_PAIRS = [
    (suffix, kind, _CHARSETS[(i + j) % len(_CHARSETS)])
    for i, suffix in enumerate(_SUFFIXES)
    for j, kind in enumerate(_TEXTS)
]
# They name another charset themselves.
_OTHERWISE = {("workbook", "cp1252"), ("web archive", "cp1252")}


@each("suffix, kind, charset", [case for case in _PAIRS if case[1:] not in _OTHERWISE])
def test_text_under_a_suffix_of_another_format_is_read_by_its_content(suffix: str, kind: str, charset: str) -> None:
    text = parse(_TEXTS[kind].encode(charset), f"a{suffix}").text
    words = " ".join(text.replace(";", " ").replace(":", "").split())
    assert words.endswith("Order number PO-4711 Größe 99.10")
    assert "hidden" not in words and "<" not in words


def test_damaged_binary_files_stay_damaged() -> None:
    for suffix in (".xls", ".xlsx", ".msg", ".gz", ".png"):
        with pytest.raises(DocumentError, match=r"damaged|cannot|truncated|broken|image"):
            parse(bytes(range(256)) * 4, f"a{suffix}")


def test_a_page_under_the_suffix_of_rows_is_a_page() -> None:
    assert parse(f"<html>{_PAGE}</html>".encode(), "a.csv").text.split()[:3] == ["Order", "number", "PO-4711"]
    assert parse(b"<html> is a word", "a.txt").text == "<html> is a word"
