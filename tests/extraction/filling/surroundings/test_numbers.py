"""Signs, ranges, units, bases and currencies beside a number."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each
from tests.support.surrounded_values import one_value, surrounded


def number(description: str, **more: Any) -> dict[str, Any]:
    return {"type": ["number", "null"], "description": description, **more}


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
        ("Rent: 800.00 EUR CR", "800.00", 800, "-800"),
        ("Rent: €\u2014800.00", "800.00", 800, "-800"),
        ("Rent: EUR \u2212 800.00", "800.00", 800, "-800"),
        ("Rent: \uff0d800.00", "800.00", 800, "-800"),
        ("Rent: negative 800.00", "800.00", 800, "-800"),
        ("Rent: may - 800.00", "800.00", 800, "800"),
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
        ("Obergrenze der Miete.", "700 bis 900 EUR", "700", 700, 900),
        ("Hoogste huur.", "700 tot 900 EUR", "700", 700, 900),
        ("Loyer le plus élevé.", "700 à 900 EUR", "700", 700, 900),
        ("Rent, taken from the advert.", "700 - 900 EUR", "700", 700, "700?"),
        ("Longest stay in days.", "2 to 3 weeks", "2", 2, 21),
        ("Shortest stay in days.", "2 to 3 weeks", "2", 2, 14),
        ("Stay in days.", "2 to 3 weeks", "2", 2, "14?"),
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
        ("Term in dagen.", "Term: 3 weken", "3", 3, 21),
        ("Weight in kilograms.", "Weight: 2 stone", "2", 2, 12.70058636),
        ("Weight in kilograms.", "Weight: 2,500 g", "2,500", 2.5, 2.5),
        ("Tank in litres.", "Tank: 9 gallons", "9", 9, "9?"),
        ("Room in degrees Celsius.", "Room: 68 °F", "68", 68, "68?"),
        ("Speed in km/h.", "Speed: 50 mph", "50", 50, 80.4672),
        ("Pages in an issue.", "Pages: 5 days", "5", 5, 5),
        ("Weight in kilograms.", "item  weight_g\nbolt  850", "850", 850, 0.85),
        ("Weight in kilograms.", "item  weight (g)  price\nnut   7           2\nbolt  850         3", "850", 850, 0.85),
        ("Weight in kilograms.", "item  weight  price (g)\nbolt  850     3", "850", 850, 850),
        ("Weight in kilograms.", "List (g)\nbolt  850", "850", 850, 850),
        ("Weight in kilograms.", "item  weight  unit\nbolt  850     g", "850", 850, 0.85),
        ("Weight in kilograms.", "item  weight  sex\nbolt  850     m", "850", 850, 850),
        ("Weight in kilograms.", "weight:\n  value: 850\n  unit: g", "850", 850, 0.85),
        ("Share in percent.", "Share: 0.35", "0.35", 0.35, "0.35?"),
        ("Share in percent.", "Share: 0.35 %", "0.35", 0.35, 0.35),
        ("Share as a number between 0 and 1.", "Share: 35", "35", 35, 0.35),
        ("Price per piece.", "Price: 24.00 a dozen", "24.00", 24, 2),
        ("Price per piece.", "Price per thousand: 8.00", "8.00", 8, 0.008),
        ("Price per piece.", "Price: 8.00 (PE 100)", "8.00", 8, 0.08),
        ("Points of the run.", "Points: 85 / 100", "85", 85, 85),
        ("Prix en euros.", "Prix : 12,00 le 10 mai", "12,00", 12, 12),
        ("Part in percent.", "Part: 12 per cent", "12", 12, 12),
        ("Rent per year.", "Rent: 500 EUR per month", "500", 500, 6000),
        ("Rent per month.", "Rent: 600 EUR jährlich", "600", 600, 50),
        ("Rate per hour.", "Rate: 400 EUR per day", "400", 400, "400?"),
        ("Rent per month.", "Monthly rent: 500 EUR (per year 6000)", "500", 500, 500),
        ("Price in euros.", "Price: 12.00 CHF", "12.00", 12, "12?"),
        ("Price in euros.", "Price: £12.00", "12.00", 12, "12?"),
        ("Price in euros.", "Price: 12.00 EUR", "12.00", 12, 12),
        ("Price in dollars.", "Price: $12.00", "12.00", 12, 12),
        ("Price in euros.", "OVERALL 12.00", "12.00", 12, 12),
        ("Revenue in euros.", "Revenue in Tsd. EUR: 80", "80", 80, 80000),
        ("Revenue in euros.", "Revenue: 80 miljoen", "80", 80, 80000000),
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
        ("Sum: NZ$30.00", "$30.00", "USD", "NZD"),
        ("Sum: ¥300 RMB", "¥300", "JPY", "CNY"),
        ("Summe: 300 kr\nin norwegischen Kronen", "300 kr", "SEK", "NOK"),
        ("Sum: 300 kr\nin Norwegian kroner", "300 kr", "SEK", "NOK"),
    ],
)
def test_a_shared_sign_is_the_currency_that_the_document_states(text: str, words: str, value: str, told: str) -> None:
    assert one_value(CURRENCY, text, value, words) == told


@each(
    "text,value,told",
    [
        ("Sum: €30.00\nCurrency: SEK", "EUR", "SEK"),
        ("Sum: €30.00\nCurrency: SEK", None, "SEK"),
        ("Sum    Currency\n€30.00  SEK", "EUR", "SEK"),
        ("Sum: €30.00\nCurrency: CHF", "EUR", "EUR?"),
        ("Sum: €30.00\nCurrency: SEK or NOK", "EUR", "EUR?"),
        ("Sum: €30.00\nCurrency: SEK for us", "EUR", "EUR"),
    ],
)
def test_a_code_behind_the_label_counts_before_a_sign(text: str, value: str | None, told: str) -> None:
    assert one_value(CURRENCY, text, value, "€30.00" if value else "", name="currency") == told


def test_a_field_whose_name_is_a_unit_has_that_of_its_title() -> None:
    for name, title, told in (("w", "Width in metres", 3.5), ("h", "Height (m)", 3.5), ("m", "Depth", 3.5)):
        field = {"type": ["number", "null"], "title": title}
        assert one_value(field, f"{title.split()[0]}: 350 cm", 350, "350", name=name) == told


def test_what_surroundings_correct_is_never_told_at_nine_tenths() -> None:
    _, sure, flags = surrounded({"depth": number("Depth in metres.")}, "350 cm", {"depth": 350}, {"depth": "350"})[
        "depth"
    ]
    assert sure < 0.9
    assert flags == ("other_unit",)


@each(
    "text,words,told",
    [
        ("Net  900.00\nVAT 20 %  150.00\nVAT 5 %  7.50\nTotal  1,057.50", "7.50", "None?"),
        ("Netto  900,00\nUSt 19 %  142,50\nUSt 7 %  10,50", "142,50", "None?"),
        ("Code  Rate  Net  Tax\n1  20  750.00  150.00\n2  5  150.00  7.50", "7.50", "None?"),
        ("VAT 5 % of 150.00: 7.50\nVAT 20 % of 750.00: 150.00", "7.50", "None?"),
        ("Net  900.00\nVAT 20 %  180.00\nTotal  1,080.00", "180.00", 180),
        ("Discount 3 %  27.00\nVAT 20 %  174.60", "174.60", 174.6),
        ("VAT 20 %  150.00\nVAT 0 %  0.00", "150.00", 150),
        ("VAT 20 %  150.00\nVAT 5 %  7.50\nTaxes  157.50", "157.50", 157.5),
    ],
)
def test_the_tax_of_one_of_several_rates_is_not_their_sum(text: str, words: str, told: object) -> None:
    value = float(words.replace(",", "."))
    assert one_value(number("Sum of all taxes."), text, value, words) == told
    assert one_value(number("Tax at the lower rate."), text, value, words) == value
    assert one_value({"type": "number", "description": "Total tax."}, text, value, words) in (told, f"{value}?")
