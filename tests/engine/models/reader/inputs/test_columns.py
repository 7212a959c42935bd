"""Columns: a value that is broken into lines is read from its own column only."""

from __future__ import annotations

import pytest
from tests.support.tiny_network import wordpieces

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.training.targets import Wrapped

TABLE = """\
Pos  Article                 Price    Total
1    Paving of the front     20,00    40,00
     yard, with gravel       EUR      EUR
     and sand
2    Lawn                     5,00     5,00
"""


def read(text: str, first: str, last: str) -> str:
    pieces = wordpieces().pieces(text)
    begin, end = text.index(first), text.index(last) + len(last) - 1
    spans = Columns(pieces).spans(pieces.at(begin), pieces.at(end))
    return "|".join(text[a:b] for a, b in spans)


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        ("Paving", "front", "Paving of the front"),
        ("Paving", "yard", "Paving of the front|yard"),
        ("Paving", "sand", "Paving of the front|yard, with gravel|and sand"),
        ("front", "gravel", "front|yard, with gravel"),
        ("20,00", "EUR", "20,00|EUR"),
    ],
)
def test_a_wrapped_value_continues_in_its_column(first: str, last: str, wanted: str) -> None:
    assert read(TABLE, first, last) == wanted


def test_running_text_is_one_span_even_with_wide_gaps() -> None:
    text = "The tenant   of the house\npays the rent on the first day   of\neach month."
    assert read(text, "tenant", "month") == text[text.index("tenant") : -1]


def test_a_range_that_ends_in_another_column_or_skips_a_line_is_one_span() -> None:
    assert read(TABLE, "Pos", "20,00").startswith("Pos  Article")
    gap = "1    Paving of     20,00\n               EUR\n     the yard\n"
    assert read(gap, "Paving", "yard") == gap[gap.index("Paving") : -1]


def wrapped(text: str) -> Wrapped:
    return Wrapped(text, Columns(wordpieces().pieces(text)))


def found(text: str, value: str) -> list[str]:
    finder = wrapped(text)
    pieces = finder.columns.pieces
    return [text[pieces.start[a] : pieces.end[b]] for a, b in finder.find(value, 0, len(pieces))]


def test_a_known_text_is_found_where_it_is_broken_into_lines() -> None:
    (one,) = found(TABLE, "Paving of the front yard, with gravel and sand")
    assert one.startswith("Paving") and one.endswith("sand")
    (half,) = found(TABLE, "paving of the front yard")
    assert half.endswith("yard")


def test_short_absent_and_one_line_texts_are_not_found() -> None:
    assert found(TABLE, "Paving of the front") == []
    assert found(TABLE, "Paving of the front lawn") == []
    assert found(TABLE, "20 EUR") == []


def test_only_beginnings_in_the_region_count() -> None:
    finder = wrapped(TABLE)
    assert finder.find("Paving of the front yard", 12, len(finder.columns.pieces)) == []
