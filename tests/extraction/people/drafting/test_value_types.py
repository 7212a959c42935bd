"""The schema of a field from the texts of its values."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.engine.readings.locale import document_locale
from cinnabar.extraction.people.drafting.value_types import Value, text_type

TWO = {"type": "number", "x-cinnabar-decimals": 2}
CLOCK = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


@pytest.mark.parametrize(
    ("texts", "schema"),
    [
        ("1|2|30", {"type": "integer"}),
        ("1,000|2,000", {"type": "integer"}),
        ("12.50|3.00", TWO),
        ("1.234,50|2,00|7,10", TWO),
        ("(5.00)|-3.00", TWO),
        ("0.1234|2.5", {"type": "number", "x-cinnabar-decimals": 4}),
        ("€ 12.50|€3", TWO | {"description": "without the currency"}),
        ("EUR 5|EUR 6", TWO | {"description": "without the currency"}),
        ("2.4 kg|3 kg|10 kg", TWO | {"description": "in kg"}),
        ("12 %|5 %", {"type": "integer", "description": "in %"}),
        ("14 March 2026|2026-03-01", {"type": "string", "format": "date"}),
        ("14.03.2026|1.2.2026", {"type": "string", "format": "date"}),
        ("2026-03-14T10:00:00Z|3 March 2024 10:00", {"type": "string", "format": "date-time"}),
        ("14:05|9:30|2:30 pm", {"type": "string", "pattern": CLOCK}),
        ("a@b.de|c@d.com", {"type": "string", "format": "email"}),
        ("https://x.example/z|http://y.example", {"type": "string", "format": "uri"}),
        ("EUR|USD", {"type": "string", "pattern": "^[A-Z]{3}$", "description": "code of ISO 4217"}),
        ("+49 30 1234567|030 998877", {"type": "string", "description": "a telephone number"}),
        ("true|False", {"type": "boolean"}),
        ("open|paid|open|paid|open|open", {"type": "string", "enum": ["open", "paid"]}),
    ],
)
def test_values_of_one_type_are_of_that_type(texts: str, schema: dict[str, Any]) -> None:
    assert drafted(texts) == schema


@pytest.mark.parametrize(
    "texts",
    ["00123|00456", "12345678901|12345678902", "NK 7730 1182|NK 7731 1183", "1.2.3|1.2.4", "2.4 kg|3 lb", "I-1|I-2"],
)
def test_codes_stay_texts_with_examples(texts: str) -> None:
    assert drafted(texts) == {"type": "string", "examples": texts.split("|")}


@pytest.mark.parametrize("texts", ["Anna|Bert", "open|paid", "", "x" * 50 + "|a|a|a|a|a|a"])
def test_all_else_is_a_text(texts: str) -> None:
    assert drafted(texts) == {"type": "string"}


def test_one_misread_value_of_many_changes_no_type() -> None:
    assert drafted("|".join(["1.5"] * 19 + ["n/a"]))["type"] == "number"
    assert drafted("1.5|n/a")["type"] == "string"


def drafted(texts: str) -> dict[str, Any]:
    values = texts.split("|") if texts else []
    locale = document_locale("\n".join(values))
    return text_type([Value(text, locale) for text in values])
