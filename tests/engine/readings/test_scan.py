"""The scan: stretches of a text that typed slots may point at."""

from __future__ import annotations

import time
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.readings import readings
from cinnabar.engine.readings.scan import scan

LOCALE = Locale(None, None, 2020)


def found(text: str, kind: str) -> list[str]:
    return [text[m.start : m.end] for m in scan(text, LOCALE) if m.kind == kind]


@each(
    "text, kind, spans",
    [
        ("paid €4,723.02 on 4/6/2023", "number", ["4,723.02"]),
        ("paid €4,723.02 on 4/6/2023", "date", ["4/6/2023"]),
        ("a fee of -12.50 (3%)", "number", ["-12.50", "3"]),
        ("pages 10-12", "number", ["10", "12"]),
        ("RM80.90", "number", ["80.90"]),
        ("FR.Y.0003.x", "number", ["0003"]),
        ("the Forty-first and Forty-second", "number", ["Forty-first", "Forty-second"]),
        ("two (2) years", "duration", ["two (2) years"]),
        ("within thirty days or 18 months.", "duration", ["thirty days", "18 months."]),
        ("from 2 to 3:30 p.m. in 5", "duration", ["2 to 3:30 p.m."]),
        ("talk at 3:30 pm, then 15.45 Uhr", "time", ["3:30 pm", "15.45 Uhr"]),
        ("on March 3, 2020 at 3 pm EST.", "datetime", ["March 3, 2020 at 3 pm EST"]),
        ("16.01. 17.01. Gutschrift", "date", ["16.01.", "17.01."]),
        ("write to a@b.example.", "code", ["a@b.example"]),
        ("see https://b.example/x?y=1.", "code", ["https://b.example/x?y=1"]),
        ("IBAN DE12 3456 7890 1234 5678 90", "number", []),
        ("CVE-2021-33013 in v2.3", "code", ["CVE-2021-33013", "v2.3"]),
    ],
)
def test_every_kind_of_typed_value_is_found(text: str, kind: str, spans: list[str]) -> None:
    got = found(text, kind)
    if kind == "code":
        assert set(spans) <= set(got)
    else:
        assert got == spans


def test_mentions_come_in_order_and_each_once() -> None:
    mentions = scan("On 31.01.2024 at 15:30 paid 1 234,56 EUR to DE12 3456 7890 1234 5678 90", LOCALE)
    assert mentions == sorted(set(mentions))


def test_a_number_with_blanks_is_found_whole_and_in_parts() -> None:
    assert found("sum 1 234,56 now", "number") == ["1", "1 234,56", "234,56"]


WORDS = st.lists(st.sampled_from(["paid", "to", "ACME", "net"]), min_size=1, max_size=4).map(" ".join)


@given(
    WORDS,
    st.dates(min_value=date(1971, 1, 1), max_value=date(2069, 12, 31)),
    st.decimals(min_value=0, max_value=10**7, places=2),
    WORDS,
)
def test_dates_and_numbers_are_recalled(head: str, day: date, number: Decimal, tail: str) -> None:
    text = f"{head} {day:%d.%m.%Y} {tail} {number:,} {tail}"
    got = {r.value for m in scan(text, LOCALE) for r in readings(text[m.start : m.end], LOCALE)}
    assert day.isoformat() in got
    assert str(number) in got


@given(st.text(max_size=200))
def test_any_text_is_scanned_within_its_bounds(text: str) -> None:
    for mention in scan(text, document_locale(text)):
        assert 0 <= mention.start < mention.end <= len(text)


HOSTILE = ["a", "aB3", "achtzehn", "one ", "1", "1,", "1/1/", "(", "@a", "3-", " ", "3 ", "Rs.", "2020 "]
NAMES = ["14 here ", "mweri wa ", "3rdMay"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [*HOSTILE, "5 m ", "jan 1 ", "1-jan 3:00 ", "5 and ", "1 h ½ ", "mon, ", *NAMES])
def test_a_hostile_run_takes_linear_time(unit: str) -> None:
    text = unit * (10_000 // len(unit)) + "!"
    began = time.process_time()
    scan(text, document_locale(text))
    readings(text[:110], LOCALE)
    # A second is ten times the slowest case; a quadratic pattern takes ten.
    assert time.process_time() - began < 1
