"""Alignment: the place of a known value in a text."""

from __future__ import annotations

from tests.support.cases import each

from cinnabar.engine.readings.align import find_value
from cinnabar.engine.readings.locale import document_locale
from cinnabar.engine.readings.scan import scan


def spans(text: str, value: str | int | float | bool, hint: str = "string") -> list[str]:
    locale = document_locale(text)
    return [text[a:b] for a, b in find_value(text, value, hint, locale, scan(text, locale))]


@each(
    "text, value, expected",
    [
        ("sold by ACME\n GmbH & Co. KG today", "Acme GmbH & Co. KG", ["ACME\n GmbH & Co. KG"]),
        ("born in Norfolk, Conn.; died", "Norfolk, Conn.", ["Norfolk, Conn."]),
        ("Artist and art", "art", ["art"]),
        ("total 1.234,56 EUR", 1234.56, ["1.234,56"]),
        ("total 12 of 112", 12, ["12"]),
        ("on 3. März 2020 and 03.03.2020", "2020-03-03", ["3. März 2020", "03.03.2020"]),
        ("starts 3:30 - 5:00 pm", "15:30", ["3:30"]),
        ("issued 429 PM CDT FRI JUN 6 2014", "2014-06-06T21:29:00Z", ["429 PM CDT FRI JUN 6 2014"]),
        ("for two (2) years", "2 years", ["two (2) years"]),
        ("for two (2) years", "24 months", ["two (2) years"]),
        ("paid 5,00 €", "EUR", ["€"]),
        ("in Germany", "DE", ["Germany"]),
        ("IBAN DE12 3456 7890 1234 5678 90", "DE12345678901234567890", ["DE12 3456 7890 1234 5678 90"]),
        ("version 1.5 is not 15", "1.5", ["1.5"]),
        ("the Sixty-ninth and next Congress", 69, ["Sixty-ninth"]),
        ("nothing here", "else", []),
        ("yes", True, []),
        ("a ß is one", "SS", ["ß"]),
    ],
)
def test_a_value_is_found_at_the_text_that_reads_as_it(
    text: str, value: str | int | float | bool, expected: list[str]
) -> None:
    assert spans(text, value) == expected


def test_an_exact_spelling_is_preferred_to_a_folded_one() -> None:
    assert spans("ACME and Acme", "Acme") == ["Acme"]
