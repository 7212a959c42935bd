"""Readings: the values that a span of text may stand for."""

from __future__ import annotations

import json
from calendar import month_name
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from babel.dates import format_date
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import is_amount, json_readings, readings, strip_marks

UNKNOWN = Locale()
ENGLISH = Locale(day_first=False, decimal_comma=False, year=2020)
GERMAN = Locale(day_first=True, decimal_comma=True, year=2020)


def values(
    span: str, locale: Locale = UNKNOWN, kind: str = "", before: str = "", after: str = ""
) -> list[str | bool]:
    return [r.value for r in readings(span, locale, before, after) if kind in ("", r.kind)]


def test_the_text_itself_comes_first_with_blanks_collapsed() -> None:
    assert values("  ACME\n  GmbH ")[0] == "ACME GmbH"


def test_a_span_without_text_has_no_reading() -> None:
    assert readings(" \n ", UNKNOWN) == ()
    assert json_readings("", UNKNOWN) == ()


@pytest.mark.parametrize(
    ("span", "stripped"),
    [
        ("“ACME”,", "ACME"),
        ("(see below)", "see below"),
        ("f(x)", "f(x)"),
        ("ACME (UK) Ltd.", "ACME (UK) Ltd"),
        ("<a@b.example>", "a@b.example"),
        ("total:", "total"),
        ("x)", "x"),
        ("(a) and (b)", "(a) and (b)"),
    ],
)
def test_marks_around_a_text_are_removed_and_pairs_inside_stay(span: str, stripped: str) -> None:
    assert strip_marks(span) == stripped


@each(
    "span, locale, number",
    [
        ("1.234,56", UNKNOWN, "1234.56"),
        ("1,234.56", UNKNOWN, "1234.56"),
        ("1'234.56", UNKNOWN, "1234.56"),
        ("1 234,56", UNKNOWN, "1234.56"),
        ("1\u202f234\u202f567", UNKNOWN, "1234567"),
        ("1\u00a0234,5", UNKNOWN, "1234.5"),
        ("1,23,456.00", UNKNOWN, "123456.00"),
        ("1.234", GERMAN, "1234"),
        ("1.234", ENGLISH, "1.234"),
        ("1,234", GERMAN, "1.234"),
        ("1,234", ENGLISH, "1234"),
        ("0,125", ENGLISH, "0.125"),
        ("12,5", UNKNOWN, "12.5"),
        (".50", UNKNOWN, "0.50"),
        ("$1,234.50", UNKNOWN, "1234.50"),
        ("EUR 12,50", UNKNOWN, "12.50"),
        ("12,50 €", UNKNOWN, "12.50"),
        ("Rs. 500", UNKNOWN, "500"),
        ("RM80.90", UNKNOWN, "80.90"),
        ("-5", UNKNOWN, "-5"),
        ("− 5", UNKNOWN, "-5"),
        ("12.50-", UNKNOWN, "-12.50"),
        ("(12.50)", UNKNOWN, "-12.50"),
        ("($12)", UNKNOWN, "-12"),
        ("(2)", UNKNOWN, "2"),
        ("-$3.00", UNKNOWN, "-3.00"),
        ("19%", UNKNOWN, "19"),
        ("19,0 %", UNKNOWN, "19.0"),
        ("3rd", UNKNOWN, "3"),
        ("3.", UNKNOWN, "3"),
        ("007", UNKNOWN, "7"),
        ("30 min", UNKNOWN, "30"),
        ("Total: 12.50", UNKNOWN, "12.50"),
        ("3 ½", UNKNOWN, "3.5"),
        ("¾", UNKNOWN, "0.75"),
        ("two (2)", UNKNOWN, "2"),
        ("twenty-five", UNKNOWN, "25"),
        ("one hundred and five", UNKNOWN, "105"),
        ("two million three hundred thousand", UNKNOWN, "2300000"),
        ("Sixty-ninth", UNKNOWN, "69"),
        ("fünfundzwanzig", UNKNOWN, "25"),
        ("zweihundertdreiundzwanzig", UNKNOWN, "223"),
        ("achtzehn", UNKNOWN, "18"),
        ("drei Millionen", UNKNOWN, "3000000"),
    ],
)
def test_a_number_is_read_first_as_its_locale_writes_it(span: str, locale: Locale, number: str) -> None:
    assert values(span, locale, "number")[0] == number


@pytest.mark.parametrize("span", ["1.2.3", "12-34", "A12", "1,2345,67", "ninety twenty", "mail", "v"])
def test_text_that_is_no_number_has_no_number_reading(span: str) -> None:
    assert values(span, UNKNOWN, "number") == []


@given(
    st.integers(1, 999),
    st.integers(100, 999),
    st.sampled_from(["  ", "       ", "\t", " \t", "\n", "\r\n", " \n ", "\u00a0\u00a0", "\u202f ", "\f"]),
    st.sampled_from(["{}", "{} EUR", "${}", "{},50", "{}.5"]),
)
def test_two_cells_are_no_number(left: int, right: int, gap: str, form: str) -> None:
    assert values(form.format(f"{left}{gap}{right}"), UNKNOWN, "number") == []


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f", "\u2009"])
def test_one_blank_parts_thousands(blank: str) -> None:
    assert values(f"13{blank}121", UNKNOWN, "number") == ["13121"]


def test_a_lone_separator_before_three_digits_is_read_both_ways() -> None:
    assert values("1.234", UNKNOWN, "number") == ["1.234", "1234"]
    assert values("1,234", UNKNOWN, "number") == ["1234", "1.234"]


def test_a_sign_beside_the_span_counts() -> None:
    assert values("12.50", UNKNOWN, "number", before="balance -") == ["-12.50", "12.50"]
    assert values("12.50", UNKNOWN, "number", before="fee -$") == ["-12.50", "12.50"]
    assert values("12.50", UNKNOWN, "number", after="- EUR")[0] == "-12.50"
    assert values("12.50", UNKNOWN, "number", after=" -\n")[0] == "-12.50"
    assert values("12.50", UNKNOWN, "number", after="\n- next") == ["12.50"]
    assert values("12.50", UNKNOWN, "number", after=" DR") == ["12.50", "-12.50"]
    assert values("12", UNKNOWN, "number", before="pages 10-") == ["12"]


@each(
    "before, after, first",
    [
        ("Total: (EUR ", ")", "-12.50"),
        ("Total: ($", ")", "-12.50"),
        ("Total   (", " EUR)", "-12.50"),
        ("Total: (", ")", "-12.50"),
        ("Total: - ", " EUR", "-12.50"),
        ("Total\t- € ", "", "-12.50"),
        ("two tickets ($", ")", "12.50"),
        ("(about ", " EUR)", "12.50"),
        ("\n- ", " EUR", "12.50"),
        ("Ticket - ", " EUR", "12.50"),
        ("Rome   -   ", "", "12.50"),
        ("Rome\t-\t", "", "12.50"),
        ("Rome\t", "\t-", "12.50"),
    ],
)
def test_a_dash_or_parentheses_make_an_amount_of_its_own_negative(before: str, after: str, first: str) -> None:
    assert values("12.50", UNKNOWN, "number", before=before, after=after)[0] == first


@each(
    "span, locale, day",
    [
        ("2024-01-31", UNKNOWN, "2024-01-31"),
        ("2024/1/31", UNKNOWN, "2024-01-31"),
        ("20240131", UNKNOWN, "2024-01-31"),
        ("31012024", UNKNOWN, "2024-01-31"),
        ("04031987", UNKNOWN, "1987-03-04"),
        ("04031987", ENGLISH, "1987-04-03"),
        ("31JAN2024", UNKNOWN, "2024-01-31"),
        ("31.01.2024", UNKNOWN, "2024-01-31"),
        ("31. 1. 24", UNKNOWN, "2024-01-31"),
        ("3.4.2020", ENGLISH, "2020-04-03"),
        ("3/4/2020", ENGLISH, "2020-03-04"),
        ("3/4/2020", GERMAN, "2020-04-03"),
        ("12/28/2017", GERMAN, "2017-12-28"),
        ("1/2/69", ENGLISH, "2069-01-02"),
        ("1/2/70", ENGLISH, "1970-01-02"),
        ("3rd day of March, 2020", UNKNOWN, "2020-03-03"),
        ("third day of March, 2020", UNKNOWN, "2020-03-03"),
        ("March 3, 2020", UNKNOWN, "2020-03-03"),
        ("Mar. 3rd 2020", UNKNOWN, "2020-03-03"),
        ("Tuesday, March 3, 2020", UNKNOWN, "2020-03-03"),
        ("11-Nov-94", UNKNOWN, "1994-11-11"),
        ("3. März 2020", UNKNOWN, "2020-03-03"),
        ("Dienstag, den 3. März 2020", UNKNOWN, "2020-03-03"),
        ("1er janvier 2021", UNKNOWN, "2021-01-01"),
        ("7 de marzo de 2019", UNKNOWN, "2019-03-07"),
        ("7 marzo 2019", UNKNOWN, "2019-03-07"),
        ("7 de março de 2019", UNKNOWN, "2019-03-07"),
        ("7 mei 2019", UNKNOWN, "2019-05-07"),
        ("2019 May 7", UNKNOWN, "2019-05-07"),
        ("3. April", GERMAN, "2020-04-03"),
        ("16.01.", GERMAN, "2020-01-16"),
        ("10/03", GERMAN, "2020-03-10"),
        ("10/03", ENGLISH, "2020-10-03"),
    ],
)
def test_a_date_is_read_first_as_its_locale_writes_it(span: str, locale: Locale, day: str) -> None:
    assert values(span, locale, "date")[0] == day


@pytest.mark.parametrize(
    ("span", "month"),
    [("May 2023", "2023-05"), ("May2023", "2023-05"), ("05/2023", "2023-05"), ("2023-5", "2023-05"),
     ("Mai 2023", "2023-05"), ("mayo de 2023", "2023-05"), ("31.12.2020", "2020-12")],
)  # fmt: skip
def test_a_month_of_a_year_is_read(span: str, month: str) -> None:
    assert month in values(span, kind="text")


@pytest.mark.parametrize("span", ["March 2020", "31.02.2020", "45/45/2020", "3. April", "99999999", "may"])
def test_an_impossible_day_is_no_date(span: str) -> None:
    assert values(span, UNKNOWN, "date") == []


def test_an_ambiguous_slashed_date_is_read_both_ways() -> None:
    assert values("3/4/2020", UNKNOWN, "date") == ["2020-03-04", "2020-04-03"]


@each(
    "span, time",
    [
        ("3 pm", "15:00"),
        ("3:30 p.m.", "15:30"),
        ("3:30PM", "15:30"),
        ("12 a.m.", "00:00"),
        ("12:15 pm", "12:15"),
        ("15h30", "15:30"),
        ("15.30 Uhr", "15:30"),
        ("9 Uhr", "09:00"),
        ("noon", "12:00"),
        ("Mitternacht", "00:00"),
        ("1530", "15:30"),
        ("429 PM", "16:29"),
        ("3:30", "03:30"),
        ("15:30", "15:30"),
        ("12:41:07", "12:41:07"),
        ("10 o'clock", "10:00"),
    ],
)
def test_a_time_of_day_is_read(span: str, time: str) -> None:
    assert values(span, UNKNOWN, "time")[0] == time


def test_a_bare_hour_is_read_as_afternoon_second() -> None:
    assert values("3:30", UNKNOWN, "time")[:2] == ["03:30", "15:30"]


def test_am_or_pm_after_a_range_changes_the_order() -> None:
    assert values("3:30", UNKNOWN, "time", after=" - 5:00 pm")[:2] == ["15:30", "03:30"]
    assert values("9:30", UNKNOWN, "time", after=" to 11 a.m.")[:2] == ["09:30", "21:30"]
    assert values("3:30", UNKNOWN, "time", after=" pm, room 5")[0] == "15:30"


@each(
    "span, stamp",
    [
        ("2024-01-31T15:30:00Z", "2024-01-31T15:30:00Z"),
        ("2024-01-31 15:30", "2024-01-31T15:30:00Z"),
        ("31.01.2024 15:30:10", "2024-01-31T15:30:10Z"),
        ("140607T0800Z", "2014-06-07T08:00:00Z"),
        ("Thu, 27 Oct 1994 12:41:00 -0000", "1994-10-27T12:41:00Z"),
        ("Thu, 27 Oct 1994 12:41:00 +0200", "1994-10-27T12:41:00+02:00"),
        ("429 PM CDT FRI JUN 6 2014", "2014-06-06T16:29:00-05:00"),
        ("March 3, 2020 at 3 pm EST", "2020-03-03T15:00:00-05:00"),
        ("3. März 2020, 15.30 Uhr MEZ", "2020-03-03T15:30:00+01:00"),
        ("3 March 2020 15:30 UTC+5:30", "2020-03-03T15:30:00+05:30"),
        ("3 March 2020 15:30 (GMT-3)", "2020-03-03T15:30:00-03:00"),
        ("3 July 2020, 3:30 pm Eastern", "2020-07-03T15:30:00-04:00"),
        ("3 January 2020, 15:30 Europe/Berlin", "2020-01-03T15:30:00+01:00"),
        ("15:30 CET on 3 March 2020", "2020-03-03T15:30:00+01:00"),
    ],
)
def test_a_date_with_a_time_is_read_as_rfc_3339(span: str, stamp: str) -> None:
    assert values(span, UNKNOWN, "datetime")[0] == stamp


def test_a_time_with_a_zone_is_also_read_in_utc() -> None:
    assert "2014-06-06T21:29:00Z" in values("429 PM CDT FRI JUN 6 2014", UNKNOWN, "datetime")


def test_a_time_takes_the_day_before_it() -> None:
    found = values("11:30 a.m.", UNKNOWN, "datetime", before="Date: Jan 09, 2018\nTime: 11 a.m. to ")
    assert "2018-01-09T11:30" in found


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        ("two (2) years", ["2 years", "24 months", "P2Y"]),
        ("eighteen months", ["18 months", "P18M"]),
        ("twelve (12) months", ["12 months", "1 year", "P12M"]),
        ("one year", ["1 year", "12 months", "P1Y"]),
        ("thirty days", ["30 days", "P30D"]),
        ("drei Jahre", ["3 Jahre", "3 years", "36 months", "P3Y"]),
        ("1 h 30 min", ["1 hour 30 minutes", "PT1H30M"]),
    ],
)
def test_a_duration_is_number_and_unit(span: str, texts: list[str]) -> None:
    assert values(span, UNKNOWN, "duration") == texts


def test_a_duration_counts_its_unit_and_then_its_minutes() -> None:
    assert values("1.5 hours", UNKNOWN, "number") == ["1.5", "90"]
    assert values("1 h 30 min", UNKNOWN, "number") == ["90"]
    assert values("2 to 3:30 p.m.", UNKNOWN, "number") == ["90"]
    assert values("11 a.m. - 1 p.m.", UNKNOWN, "number") == ["120"]


@each(
    "span, code",
    [
        ("€", "EUR"),
        ("US$", "USD"),
        ("$", "USD"),
        ("Euro", "EUR"),
        ("£12", "GBP"),
        ("12,50 EUR", "EUR"),
        ("Germany", "DE"),
        ("Deutschland", "DEU"),
        ("Allemagne", "DE"),
        ("GB", "GBR"),
        ("California", "CA"),
        ("Calif.", "CA"),
        ("CA", "California"),
        ("DE12 3456 7890", "DE1234567890"),
        ("(0)171 / 12 34", "01711234"),
        ("+49 171 1234", "+491711234"),
    ],
)
def test_a_name_or_a_sign_has_its_code(span: str, code: str) -> None:
    assert code in values(span, UNKNOWN, "code")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ("<mailto:a@b.example>", "a@b.example"),
        ("mailto:a@b.example", "a@b.example"),
        ("Jane Doe <jane@b.example>", "jane@b.example"),
        ("https://b.example/x.", "https://b.example/x"),
        ("<0.27@b.example>", "0.27@b.example"),
        ("ACME", "Acme"),
        ("Acme", "ACME"),
        ("Acme", "acme"),
        ("Flood Watch", "flood_watch"),
    ],
)
def test_texts_lose_their_link_marks_and_change_their_case(span: str, text: str) -> None:
    assert text in values(span, UNKNOWN, "text")


@pytest.mark.parametrize(
    ("span", "truth"), [("Yes", True), ("[x]", True), ("nein", False), ("false.", False)]
)
def test_a_word_is_read_as_a_boolean(span: str, truth: bool) -> None:
    assert values(span, UNKNOWN, "boolean") == [truth]


def test_json_readings_are_canonical_and_the_text_leads() -> None:
    found = json_readings("12,50 €", GERMAN)
    assert found[0] == '"12,50 €"'.encode()
    assert b"12.5" in found
    assert b'"EUR"' in found
    assert len(set(found)) == len(found)
    assert b"true" in json_readings("yes", UNKNOWN)


@each("text", ["9.8", "9.8 kg", "EUR 1,234.50", "1.234,50 €", "-3", "(12.00)", "19 %", "0.5 m²",
                                  "$5", "100 USD", "12 500,00 kr", "3 pcs."])  # fmt: skip
def test_one_number_is_an_amount(text: str) -> None:
    assert is_amount(text)


@each("text", ["00123", "17 A", "A17", "2024-117", "12 ABC", "ABC 12", "3 of 5", "+49 172 1234",
                                  "1/2", "12 Main Street", "3rd of May", "", "kg", "14:05", "v1.2"])  # fmt: skip
def test_codes_and_phrases_are_no_amounts(text: str) -> None:
    assert not is_amount(text)


def test_a_lone_surrogate_has_no_json_reading() -> None:
    assert json_readings("\ud800", UNKNOWN) == ()


@given(st.text(max_size=60), st.sampled_from([UNKNOWN, ENGLISH, GERMAN]), st.text(), st.text())
def test_any_text_has_distinct_readings_that_are_json(
    span: str, locale: Locale, before: str, after: str
) -> None:
    found = json_readings(span, locale, before, after)
    assert len(set(found)) == len(found)
    for text in found:
        json.loads(text)


@given(st.dates(min_value=date(1971, 1, 1), max_value=date(2069, 12, 31)))
def test_a_date_comes_back_from_every_style(day: date) -> None:
    month = month_name[day.month]
    styles = [
        day.isoformat(),
        f"{day:%Y/%m/%d}",
        f"{day:%Y%m%d}",
        f"{day:%d.%m.%Y}",
        f"{day.day}.{day.month}.{day.year}",
        f"{day:%d-%m-%Y}",
        f"{day:%m/%d/%Y}",
        f"{day:%d/%m/%y}",
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{month[:3].upper()} {day.day} {day.year}",
        f"{day.day:02d}{month[:3].upper()}{day.year}",
        f"{day.day}-{month[:3]}-{day.year % 100:02d}",
        format_date(day, "long", locale="de"),
        format_date(day, "long", locale="fr"),
        format_date(day, "long", locale="es"),
    ]
    for style in styles:
        assert day.isoformat() in values(style, UNKNOWN, "date"), style


def grouped(number: Decimal, group: str, point: str) -> str:
    return f"{number:,}".replace(",", "\0").replace(".", point).replace("\0", group)


@given(st.decimals(min_value=0, max_value=10**9, places=2), st.sampled_from([UNKNOWN, ENGLISH, GERMAN]))
def test_a_number_comes_back_from_every_style(number: Decimal, locale: Locale) -> None:
    for group, point in [*zip(",. \u202f'", ".,,,.", strict=True), ("", "."), ("", ",")]:
        text = grouped(number, group, point)
        for style in (text, f"{text} EUR", f"$ {text}", f"€{text}", f"{text}%"):
            assert number in [Decimal(str(v)) for v in values(style, locale, "number")], style
        for style in (f"-{text}", f"{text}-", f"({text})", f"-${text}"):
            assert -number in [Decimal(str(v)) for v in values(style, locale, "number")], style


@given(st.datetimes(datetime(1971, 1, 1), datetime(2060, 1, 1)), st.integers(-12, 12))
def test_a_date_time_comes_back_in_utc(moment: datetime, hours: int) -> None:
    moment = moment.replace(microsecond=0, tzinfo=timezone(timedelta(hours=hours)))
    utc = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    zone = f"{moment:%z}"
    clock = f"{moment:%H:%M:%S} {zone}"
    styles = [moment.isoformat(), f"{moment:%d %b %Y} {clock}", f"{moment:%d.%m.%Y} {clock}"]
    for style in styles:
        assert utc in values(style, UNKNOWN), style
