"""The flags of dates and amounts whose meaning no sign tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Leaf
from cinnabar.errors import UnsupportedSchema
from cinnabar.extraction.documents.content.document import Document, Evidence, Fact, Part, Span, Words
from cinnabar.extraction.filling.evidence.ambiguity import ambiguities
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.schemas.compiling.compile import compile_schema
from cinnabar.schemas.facts import LANGUAGE
from cinnabar.schemas.parsing.schema_object import DAY_FIRST

DATE = {"type": "string", "format": "date"}
MOMENT = {"type": "string", "format": "date-time"}


def flags(words: str, value: str, field: dict[str, Any], locale: Locale, **root: Any) -> tuple[str, ...]:
    schema = {"type": "object", "properties": {"value": field}, "required": ["value"], **root}
    span = Span(7, 7 + len(words))
    leaf = Leaf(value, 0.95, ((span.start, span.end),), slot=0)
    return ambiguities(compile_schema(schema).form, leaf, Evidence((span,), words), locale)


@pytest.mark.parametrize(
    ("words", "value", "field"),
    [
        ("03/04/2026", '"2026-03-04"', DATE),
        ("03/04/2026", '"2026-04-03"', DATE),
        ("3-4-26", '"2026-04-03"', DATE),
        ("03/04", '"2026-03-04"', DATE),
        ("03/04/2026 14:05", '"2026-03-04T14:05:00Z"', MOMENT),
    ],
)
def test_a_date_of_two_meanings_is_flagged_unless_its_order_is_known(
    words: str, value: str, field: dict[str, Any]
) -> None:
    assert flags(words, value, field, Locale(year=2026)) == ("ambiguous_date",)
    assert flags(words, value, field, Locale(day_first=True, year=2026)) == ()
    assert flags(words, value, field, Locale(year=2026), **{DAY_FIRST: False}) == ()
    assert flags(words, value, field | {DAY_FIRST: True}, Locale(year=2026)) == ()


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("05/05/2024", '"2024-05-05"'),
        ("25/03/2024", '"2024-03-25"'),
        ("03/25/2024", '"2024-03-25"'),
        ("2024-03-05", '"2024-03-05"'),
        ("05.03.2024", '"2024-03-05"'),
        ("5 March 2024", '"2024-03-05"'),
    ],
)
def test_a_date_of_one_meaning_is_not_flagged(words: str, value: str) -> None:
    assert flags(words, value, DATE, Locale()) == ()


def test_the_words_of_a_text_are_what_they_are() -> None:
    assert flags("03/04/2026", '"03/04/2026"', {"type": "string"}, Locale()) == ()


@pytest.mark.parametrize(("words", "value"), [("1.234", "1.234"), ("1.234", "1234"), ("12,500", "12500")])
def test_an_amount_of_two_meanings_is_flagged(words: str, value: str) -> None:
    assert flags(words, value, {"type": "number"}, Locale()) == ("ambiguous_number",)
    assert flags(words, value, {"type": "number"}, Locale(decimal_comma=False)) == ()


@pytest.mark.parametrize(("words", "value"), [("1.234,50", "1234.5"), ("1.2345", "1.2345"), ("1234", "1234")])
def test_an_amount_of_one_meaning_is_not_flagged(words: str, value: str) -> None:
    assert flags(words, value, {"type": "number"}, Locale()) == ()


def test_the_order_of_a_schema_is_true_or_false() -> None:
    with pytest.raises(UnsupportedSchema, match="expected true or false, got 'yes'"):
        _ = compile_schema({"type": "object", "properties": {"day": DATE | {DAY_FIRST: "yes"}}}).form


def test_the_data_of_an_invoice_have_a_decimal_point_and_its_pages_their_own() -> None:
    pages, data = "Rechnung über 3.600 EUR, netto 45,00\n", "BT-112 total: 3.600\n"
    parts = (Part("page", 0, len(pages)), Part("invoice", len(pages), len(pages + data)))
    none = Words(*(np.zeros(0, np.int32),) * 2, np.zeros((0, 4), np.float32), np.zeros(0, np.int32))
    document = Document("d", "a.pdf", "application/pdf", 9, pages + data, parts, none, facts={LANGUAGE: Fact("de")})
    for start, end, decimal_comma in ((0, len(pages), True), (len(pages), None, False)):
        locale = passage_of(document, start, end).locale
        assert locale is not None
        assert locale.decimal_comma is decimal_comma
