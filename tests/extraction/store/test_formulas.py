"""Texts that a spreadsheet program would run, and those that stay as they are."""

from __future__ import annotations

import csv
import io
import re

from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.extraction.store.spreadsheet import DEFUSED, FORMULA, defuse

HIDDEN = ["", " ", "\0", "\x01", "\t", "\r", "\n", "\v", "\x85", "\xa0", "\u3000", "\u200b", "\u202e", "\ufeff", "\xad"]
STARTS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66"


def restored(text: str) -> str:
    return re.sub(f"{FORMULA.pattern}{DEFUSED}", "", text)


@each("start", STARTS)
@each("before", [*HIDDEN, ";", "a;", "a\t", "a\n", "a\r\n", "a; ", 'a;"', "1;'", "-5;"])
def test_no_cell_begins_with_a_formula(before: str, start: str) -> None:
    """With commas or semicolons between cells, and with quotes that such a program takes as text."""
    text = defuse(f"{before}{start}cmd|' /C calc'!A0")
    for apart in (";", "\t", "\n", "\r", ","):
        first = text.split(",")[0] if apart == "," else text
        for cell in first.split(apart):
            bare = cell.strip("".join(HIDDEN) + '"')
            assert bare == "-5" or not bare.startswith(tuple(STARTS)) or cell.startswith("'"), (text, cell)


@each(
    "text",
    [
        "-5", "-3.50", "1;-5", "a; -5;b", "-1.5e-3", "5,- EUR", "a - b", "a;b", "x=1", "me@here", "1+1", "'t Hooft", "",
        "\u22125",
    ],
)
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert defuse(text) == text


@given(st.text(alphabet="a'=-+@5;\t\r\n .e\"\0\uff1d\u202e", max_size=12) | st.text(max_size=20))
@example("\t\t=")
@example("a;'-5;-5")
def test_the_text_can_be_restored(text: str) -> None:
    assert restored(defuse(text)) == text


def test_a_program_with_semicolons_finds_no_formula_in_a_quoted_cell() -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(["a", defuse('b,c;"=1'), defuse("d\n=2")])
    for row in csv.reader(io.StringIO(stream.getvalue(), newline=""), delimiter=";"):
        assert not any(cell.lstrip('" \n').startswith("=") for cell in row)
