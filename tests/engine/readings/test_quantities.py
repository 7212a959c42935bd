"""Quantities that are more than digits, and the years of ranges."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.quantities import quantities, scaled_numbers
from cinnabar.engine.readings.readings import readings
from cinnabar.engine.readings.scan import scan

UNKNOWN, GERMAN = Locale(), Locale(day_first=True, decimal_comma=True)


def numbers(span: str, locale: Locale = UNKNOWN, before: str = "") -> list[str | bool]:
    return [reading.value for reading in readings(span, locale, before) if reading.kind == "number"]


@each(
    "span, number",
    [
        ("19 1/4", "19.25"), ("19 1/4 in.", "19.25"), ("3-1/2", "3.5"), ("2 and 3/8", "2.375"), ("1/2", "0.5"),
        ("12 3/16\"", "12.1875"), ("$1.2 million", "1200000"), ("3 Mio.", "3000000"), ("$5k", "5000"),
        ("€2.5bn", "2500000000"), ("4 thousand", "4000"), ("5 ft 3 in", "63"), ("5' 3\"", "63"), ("2 lbs 3 oz", "35"),
        ("ca. 1850", "1850"), ("about 1,200", "1200"), ("6 Yrs", "6"), ("16 in.", "16"),
        ("1,2 Mio. EUR", "1200000"), ("€45K", "45000"), ("45 TEUR", "45000"), ("45 T€", "45000"), ("1,2 M€", "1200000"),
        ("12 000 k€", "12000000"), ("120万円", "1200000"), ("1億2,000万円", "120000000"), ("USD 1.2M", "1200000"),
        ("Rs. 2.5 lakh", "250000"), ("3 crore", "30000000"), ("45 Tsd. EUR", "45000"), ("2,5 Md€", "2500000000"),
        ("100 K", "100"), ("3 k", "3"), ("45 T", "45"), ("$5 b", "5"), ("12 M", "12"), ("5 m", "5"), ("£2.50B", "2.50"),
    ],
)  # fmt: skip
def test_a_quantity_is_read_as_its_number(span: str, number: str) -> None:
    assert numbers(span)[0] == number


# Amounts of money as people print them, and what they mean; None where that is unsure.
AMOUNTS = {
    "$ 14 MM": "14e6", "$14MM": "14e6", "$ 1.5 m": "1.5e6", "US$ 1.5m": "1.5e6", "€1.2 mn": "1.2e6",
    "$2.2 mil": "2.2e6",
    "2½ million": "2.5e6", "2 ½ million pounds": "2.5e6", "½ million": "0.5e6", "Rs. 1.5 lac": "1.5e5",
    "Rs 3 lacs": "3e5", "$2.75\nmillion": "2.75e6", "2,4\nMio. EUR": "2.4e6", "12 hundred dollars": "1200",
    "EUR 300 k": "3e5", "GBP 300 K": "3e5", "2.5e6": "2.5e6", "1.2E+03": "1200", "1.2E-02": "0.012", "1,5e3": "1500",
    "12 cents": "0.12", "99p": "0.99", "45¢": "0.45", "50 Cent": "0.5", "5 pence": "0.05", "20 centimes": "0.2",
    "12€50": "12.5", "1.249€50": "1249.5", "$19⁹⁹": "19.99", "£249⁹⁹": "249.99", "£1,249⁵⁰": "1249.5",
    "249⁹⁹ €": "249.99", "249⁹⁰ EUR": "249.9", "1.249⁹⁰ EUR": "1249.9", "€ 7⁰⁵": "7.05", "$2 mil": None,
    "R$ 5 mil": None, "EUR 12.50 M": None, "€ 1,99 B": "1.99", "$45 Kenya Road": "45", "100 m": "100", "5 kg": "5",
    "1.4 billion yen": "1.4e9", "about 2 million people": "2e6", "1.5m EUR": "1.5e6", "$3m": "3e6",
    "-$2.2 mil": "-2.2e6",
}  # fmt: skip


@each("printed", AMOUNTS)
def test_an_amount_has_its_scale_and_its_cents_or_is_unread(printed: str) -> None:
    text, number = f"Price: {printed}\nTax: none", AMOUNTS[printed]
    found = {
        Decimal(str(next(reading.value for reading in read if reading.kind == "number")))
        for one in scan(text, UNKNOWN)
        for read in [readings(text[one.start : one.end], UNKNOWN, text[: one.start], text[one.end :])]
        if one.start < 8 + len(printed) and any(reading.kind == "number" for reading in read)
    }
    assert found == ({Decimal(number)} if number else set())


@each("printed", [one for one in AMOUNTS if AMOUNTS[one]])
def test_the_cell_of_an_amount_reads_as_in_a_text_or_not_at_all(printed: str) -> None:
    assert [Decimal(str(number)) for number in numbers(printed)[:1]] in ([], [Decimal(AMOUNTS[printed] or 0)])


def test_pence_are_those_of_english_print() -> None:
    assert numbers("99p", GERMAN) == ["99"] and numbers("99p")[:2] == ["0.99", "99"]


def test_a_scale_takes_the_decimal_comma_of_the_document() -> None:
    assert numbers("2,5 Mrd.", GERMAN)[0] == "2500000000"


@each(
    "span",
    ["9/11", "24/7", "2019/20", "7/4", "A1/2", "5 m", "3 lbs 2 in", "12/12", "01/12", "4/5", "2020-1/2", "48°51'24\"",
     "€ 1,99 B", "20 mn", "5 mil", "5\n1/2", "5' 15\"", "14 mm", "1.5 m", "300 k", "2E5", "12\nMillions of", "249⁹⁹",
     "1,234¹", "$19.99¹²", "$45¹² million", "720p", "12 € 50"],
)  # fmt: skip
def test_what_only_looks_like_a_quantity_is_none(span: str) -> None:
    assert quantities(span) == () and scaled_numbers(span, UNKNOWN, "", "") == ()


@pytest.mark.parametrize(
    ("text", "number"),
    [("-$1.2 million", "-1200000"), ("Loss: ($1.2 million)", "-1200000"), ("$1.2 million", "1200000")],
)
def test_a_loss_of_millions_keeps_its_sign(text: str, number: str) -> None:
    start = text.index("1")
    end = text.index("n", start) + 1 if "million" not in text else text.index("million") + 7
    found = readings(text[start:end], UNKNOWN, text[:start], text[end:])
    assert next(reading.value for reading in found if reading.kind == "number") == number


@given(st.decimals("0.1", "9999999", places=1), st.sampled_from(["k", "million", "bn", "trillion", "Mrd."]))
def test_a_scaled_number_of_any_size_is_read(digits: Decimal, scale: str) -> None:
    text = f"${digits} {scale}" if len(scale) > 1 else f"${digits}{scale}"
    value = scaled_numbers(text, Locale(decimal_comma=False), "", "")
    assert value and Decimal(value[0]) % 10 == 0


def test_the_second_year_of_a_range_has_the_century_of_the_first() -> None:
    assert numbers("43", before="lived 1939–")[0] == "1943"
    assert numbers("20", before="season 2019/")[-1] == "2020"
    assert "1943" in numbers("43", before="1939-")[1:]


@pytest.mark.parametrize(
    ("digits", "before"),
    [("12", "1939-"), ("31", "Mai 2024 - "), ("36", "SKU 1204-"), ("10", "Order 4500/"), ("24", "A2023-")],
)
def test_two_digits_behind_other_numbers_are_no_year(digits: str, before: str) -> None:
    found = numbers(digits, before=before)
    assert found[0] == digits and not any(len(str(value).lstrip("-")) > 2 for value in found)


@pytest.mark.parametrize("text", ["H: 19 1/4 in.", "cost $1.2 million", "is 5 ft 3 in tall"])
def test_a_quantity_in_a_text_is_a_mention_as_a_whole(text: str) -> None:
    spans = {text[mention.start : mention.end] for mention in scan(text, UNKNOWN)}
    assert {"19 1/4", "1.2 million", "5 ft 3 in"} & spans


# The forms of a scale around digits, with its power of ten.
SCALES = {
    "{} million": 6, "{}m": 6, "{}bn": 9, "{}K": 3, "{} Mio.": 6, "{} Mrd.": 9, "{} Tsd.": 3, "{} k{}": 3, "{} M{}": 6,
    "{} T{}": 3, "{} lakh": 5, "{} crore": 7, "{} millions": 6, "{} mil millones": 9, "{} miliardi": 9, "{}万": 4,
}  # fmt: skip


@given(
    st.decimals("0.1", "999", places=1),
    st.sampled_from([*SCALES]),
    st.sampled_from(["€", "$", "EUR", "CHF"]),
    st.booleans(),
)
def test_no_number_of_a_scaled_amount_lacks_its_scale(digits: Decimal, form: str, money: str, before: bool) -> None:
    if "{} T" in form or form.count("{}") == 2:
        amount = form.format(digits, money)
    else:
        amount = f"{money} {form.format(digits)}" if before or len(form) == 3 else f"{form.format(digits)} {money}"
    text = f"Total: {amount}\n"
    wanted = digits.scaleb(SCALES[form])
    mentions = [one for one in scan(text, UNKNOWN) if one.kind == "number" or text[one.start].isdigit()]
    assert mentions
    for one in mentions:
        read = readings(text[one.start : one.end], UNKNOWN, text[: one.start], text[one.end :])
        assert [Decimal(str(r.value)) for r in read if r.kind == "number"][:1] in ([wanted], []), text[
            one.start : one.end
        ]


@pytest.mark.parametrize(
    "text",
    ["between $1.2-1.5 million", "10 to 12 million people", "1,2 bis 1,5 Mio. EUR", "between $2 and $3 million",
     "between 2 and 3 million", "zwischen 2 und 3 Mio. EUR", "entre 2 et 3 millions", "entre 2 y 3 millones",
     "tra 2 e 3 milioni", "USD 2 to USD 3 million", "$2-3m"],
)  # fmt: skip
def test_the_beginning_of_a_range_has_the_scale_of_its_end(text: str) -> None:
    first = next(one for one in scan(text, UNKNOWN) if one.kind == "number")
    read = readings(text[first.start : first.end], UNKNOWN, text[: first.start], text[first.end :])
    assert next(Decimal(str(r.value)) for r in read if r.kind == "number") >= 10**6


@given(st.integers(0, 999), st.integers(1, 15))
def test_a_mixed_number_is_the_sum_of_its_parts(whole: int, above: int) -> None:
    (value,) = quantities(f"{whole} {above}/16")
    assert float(value) == pytest.approx(whole + above / 16)
