"""Which reading of its words a slot takes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.support.cases import each

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.schemas import compile_schema

NUMBER, TEXT = {"type": "number"}, {"type": "string"}
PATTERN = {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}


class Parcel(BaseModel):
    weight: Decimal | None = Field(description="Weight")


UNIONS: list[Any] = [
    {"anyOf": [NUMBER, TEXT, {"type": "null"}]},
    {"anyOf": [TEXT, NUMBER]},
    {"type": ["number", "string"]},
    {"anyOf": [NUMBER, PATTERN, {"type": "null"}]},  # Decimal of some versions of Pydantic
    Parcel.model_json_schema()["properties"]["weight"],
]


def read(schema: Any, words: str) -> bytes | None:
    (slot,) = compile_schema({"type": "object", "properties": {"value": schema}, "required": ["value"]}).form.slots
    text = f"Value: {words}\n"
    return MentionReader(text).read(slot, (7, 7 + len(words)))


@each("schema", UNIONS)
@each("words, number", [("9.8 kg", b"9.8"), ("EUR 1,234.50", b"1234.5"), ("17", b"17")])
def test_a_number_or_a_text_is_the_number_if_the_words_are_one(schema: Any, words: str, number: bytes) -> None:
    assert read(schema, words) == number


@pytest.mark.parametrize("words", ["17 A", "00123", "Room 5", "2024-117", "3 of 5 parcels"])
def test_a_number_or_a_text_is_the_text_if_the_words_are_a_code_or_a_phrase(words: str) -> None:
    assert read(UNIONS[0], words) == b'"%s"' % words.encode()


def test_other_slots_take_what_they_took() -> None:
    assert read(TEXT, "9.8 kg") == b'"9.8 kg"' and read(NUMBER, "9.8 kg") == b"9.8"
    assert read({"anyOf": [{"type": "integer"}, TEXT]}, "9.8 kg") == b'"9.8 kg"'
    assert read({"anyOf": [{"type": "string", "format": "date"}, NUMBER]}, "2026-05-03") == b'"2026-05-03"'
    assert read({"enum": ["9.8 kg", 9.8]}, "9.8 kg") == b'"9.8 kg"'


def typed(schema: Any, text: str) -> list[bytes]:
    (slot,) = compile_schema({"type": "object", "properties": {"value": schema}, "required": ["value"]}).form.slots
    return list(dict.fromkeys(read for _, _, read in MentionReader(text).typed_mentions(slot)))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ({"description": "Amount of the tax"}, [b"120"]),
        ({"title": "Steuerbetrag"}, [b"120"]),
        ({"description": "Tax rate or amount"}, [b"14.5", b"120"]),
        ({"description": "Share of women"}, [b"14.5", b"120"]),
        ({}, [b"14.5", b"120"]),
    ],
)
def test_a_percentage_is_no_money(words: dict[str, str], found: list[bytes]) -> None:
    assert typed(NUMBER | words, "VAT 14.50% 120.00\n") == found
    for share in (" %", "‰", " percent", " per cent", " pct", " pct.", " Percent", " Prozent", " v. H.", " vH",
                  " v.H.", " vom Hundert", " Promille", " pour cent", " por ciento", " por cento", " per cento",
                  " procent", " prosent", " процентов", " p. c.", " per mille"):  # fmt: skip
        assert typed(NUMBER | words, f"VAT 14.50{share} 120.00\n") == found, share


@pytest.mark.parametrize(
    "unit",
    [" people", "\nProzent: 19", " Percent: 19", " pc", " per centner", " pctx", " Personen", " v. Chr.", " EUR", ""],
)
def test_other_words_behind_an_amount_are_no_share(unit: str) -> None:
    assert typed(NUMBER | {"description": "Amount of the tax"}, f"VAT 14.50{unit}\n")[0] == b"14.5"


@pytest.mark.parametrize("printed", ["12 cents", "12¢"])
def test_cents_are_counted_by_a_field_in_cents(printed: str) -> None:
    assert typed(NUMBER | {"description": "Price in cents"}, f"Price: {printed}\n") == [b"12"]
    assert typed(NUMBER | {"description": "Price"}, f"Price: {printed}\n") == [b"0.12"]


@pytest.mark.parametrize(
    ("words", "number"),
    [("Revenue", b"1200000"), ("Revenue in millions", b"1.2"), ("Umsatz in Mio. EUR", b"1.2")],
)
def test_a_field_that_counts_in_millions_takes_the_digits_alone(words: str, number: bytes) -> None:
    assert typed(NUMBER | {"description": words}, "Revenue: $1.2 million\n") == [number]


@pytest.mark.parametrize("digits", ["1234567890123456789", "9876543210987654321", "12345678901234567890123"])
def test_an_integer_has_all_of_its_digits(digits: str) -> None:
    assert digits.encode() in typed({"type": "integer"}, f"Number: {digits}\n")
