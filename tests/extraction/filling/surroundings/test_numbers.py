"""Signs, ranges, units, bases and currencies beside a number."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each
from tests.support.surrounded_values import one_value, surrounded


def number(description: str, **more: Any) -> dict[str, Any]:
    return {"type": ["number", "null"], "description": description, **more}


RENT = number("Monthly rent in euros.")
BALANCE = number("Balance of the account.")


@each(
    "text,words,value,told",
    [
        ("Rent: 800.00 - cold", "800.00", -800, "800"),
        ("Rent: 800.00-", "800.00", 800, "-800"),
        ("Rent: \u2212800.00", "800.00", 800, "-800"),
        ("Rent: \u2012 800.00", "800.00", 800, "-800"),
        ("Rent: △800", "800", 800, "-800"),
        ("Rent: minus 800", "800", 800, "-800"),
        ("Rent: 800.00 CR", "800.00", 800, "-800"),
        ("Rent: 800.00 EUR", "800.00", 800, "800"),
        ("Rent: (800.00)", "800.00", -800, "-800"),
        ("Rent (800.00)", "800.00", 800, "-800"),
        ("Rent of flat 3 (800.00)", "800.00", 800, "800"),
        ("Rent (800)", "800", 800, "800"),
        ("Rent (800.00) paid", "800.00", 800, "800"),
        ("Rent - 800.00", "800.00", 800, "800"),
        ("Rent - 800.00", "800.00", -800, "800"),
        ("Rent \u2013 800.00", "800.00", 800, "800"),
        ("Rent -800.00", "800.00", 800, "-800"),
        ("Rent    - 800.00", "800.00", 800, "-800"),
        ("- 800.00 rent", "800.00", 800, "800"),
    ],
)
def test_a_minus_is_one_in_all_its_spellings_and_no_dash_that_divides(
    text: str, words: str, value: int, told: str
) -> None:
    assert str(one_value(BALANCE, text, value, words)) == told


def test_credits_beside_debits_are_no_minus() -> None:
    assert one_value(BALANCE, "Old: 20.00 DR\nNew: 800.00 CR", 800, "800.00") == 800


@each(
    "asked,text,words,value,told",
    [
        ("Rent.", "from 700 - 900 EUR", "700", 700, "700?"),
        ("Lowest rent.", "700 - 900 EUR", "700", -700, 700),
        ("Highest rent.", "700-900 EUR", "700", 700, 900),
        ("Longest stay in nights.", "3 to 14 nights", "3", 3, 14),
        ("Rent.", "700 - 2026-05-04", "700", 700, 700),
        ("Rent.", "Flat 3-700-900", "700", 700, 700),
    ],
)
def test_an_end_of_a_range_is_the_one_that_is_asked_for(
    asked: str, text: str, words: str, value: int, told: object
) -> None:
    found = one_value(number(asked), text, value, words)
    assert found == told


@each(
    "asked,text,words,value,told",
    [
        ("Depth in metres.", "Depth: 350 cm", "350", 350, 3.5),
        ("Depth in metres.", "Depth: 3.5 m", "3.5", 3.5, 3.5),
        ("Depth in metres.", "Depth (mm): 3500", "3500", 3500, 3.5),
        ("Depth in centimetres.", "Depth: 2 ft", "2", 2, 60.96),
        ("Depth in metres.", "Depth: 3 kg", "3", 3, "3?"),
        ("Duration in minutes.", "Duration: two hours", "two", 2, 120),
        ("Duration in hours.", "Duration: 50 min", "50", 50, "50?"),
        ("Depth of the well.", "Depth: 350 cm", "350", 350, 350),
        ("Share as a number between 0 and 1.", "Share: 35 %", "35", 35, 0.35),
        ("Price per piece.", "Price: 12.50 per 100", "12.50", 12.5, 0.125),
        ("Price of the screws.", "Price: 12.50 per 100", "12.50", 12.5, "12.5?"),
        ("Price per piece.", "Price per 100: 12.50 EUR", "100", 100, 0.125),
        ("Price per piece.", "Price je 1.000: EUR 12.50", "1.000", 1000, 0.0125),
        ("Price of the screws.", "Price per 100: 12.50", "100", 100, "100?"),
        ("Price per piece.", "Price per 100", "100", 100, 100),
        ("Field en metros cuadrados.", "Field: 2 ha", "2", 2, 20000),
        ("Field in metri quadrati.", "Field: 2 m²", "2", 2, 2),
        ("Price per 100 pieces.", "Price: 12.50 per 100", "12.50", 12.5, 12.5),
        ("Price in euros.", "Price: 80 ct", "80", 80, 0.8),
        ("Revenue in euros.", "Revenue (in thousands): 80", "80", 80, 80000),
        ("Revenue in thousands of euros.", "Revenue (in thousands): 80", "80", 80, 80),
        ("Revenue in euros.", "All figures in millions.\nRevenue: 80", "80", 80, "80?"),
    ],
)
def test_a_number_has_the_unit_and_the_base_of_its_field(
    asked: str, text: str, words: str, value: float, told: object
) -> None:
    assert one_value(number(asked), text, value, words) == told


CURRENCY = {"enum": ["EUR", "USD", "NZD", "JPY", "CNY", "SEK", "NOK", None]}


@each(
    "text,words,value,told",
    [
        ("Sum: $30.00\nAll in NZD", "$30.00", "USD", "NZD"),
        ("Sum: $30.00", "$30.00", "USD", "USD"),
        ("Sum: US $30.00, that is 48 NZD, paid in USD", "$30.00", "USD", "USD"),
        ("Sum: ¥300\nCurrency: CNY", "¥300", "JPY", "CNY"),
        ("Sum: 300 kr\nValuta: NOK", "300 kr", "SEK", "NOK"),
        ("Sum: $30.00\nNZD or CAD", "$30.00", "USD", "USD?"),
        ("Sum: €30.00 SEK", "€30.00", "EUR", "SEK"),
        ("Sum: €30.00 (SEK), paid", "€30.00", "EUR", "SEK"),
        ("Sum: €30.00 SEK 340", "€30.00", "EUR", "EUR"),
        ("Sum: €30.00 NOK is next", "€30.00", "EUR", "EUR"),
        ("Sum: €30.00\nNZD accepted", "€30.00", "EUR", "EUR"),
    ],
)
def test_a_shared_sign_is_the_currency_that_the_document_states(text: str, words: str, value: str, told: str) -> None:
    assert one_value(CURRENCY, text, value, words) == told


def test_what_surroundings_correct_is_never_told_at_nine_tenths() -> None:
    _, sure, flags = surrounded({"depth": number("Depth in metres.")}, "350 cm", {"depth": 350}, {"depth": "350"})[
        "depth"
    ]
    assert sure < 0.9
    assert flags == ("other_unit",)
