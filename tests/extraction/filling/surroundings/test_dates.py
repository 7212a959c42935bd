"""Whose date a date is, and which it can be."""

from __future__ import annotations

from datetime import date, timedelta

from tests.support.cases import each
from tests.support.surrounded_values import one_value, surrounded

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.periods import periods_in

DAY = {"type": ["string", "null"], "format": "date"}


@each(
    "name,text,told",
    [
        ("due_date", "Issued: 7 May 2024\nDue date: on receipt", None),
        ("due_date", "Issued on 7 May 2024", None),
        ("due_date", "Due date: 7 May 2024", "2024-05-07"),
        ("due_date", "Payable by 7 May 2024", "2024-05-07"),
        ("due_date", "Datum: 7 May 2024", None),
        ("delivery_date", "Order of 7 May 2024\nDelivery: as agreed", None),
        ("order_date", "Order date: 7 May 2024", "2024-05-07"),
        ("visit", "Issued: 7 May 2024", "2024-05-07"),
        ("renewal_date", "Renewal date: 7 May 2024\nDelivery: as agreed", "2024-05-07"),
        ("opening_date", "Lease: 7 May 2024\nOpening: autumn 2025", None),
        ("opening_date", "Lease: 7 May 2024\nOpening: Q3", None),
        ("opening_date", "Lease: 7 May 2024\nOpening: TBD", None),
        ("opening_date", "Lease: 7 May 2024\nOpening: June 2025", None),
        ("warranty_end", "Bought: 7 May 2024\nWarranty: 24 months", None),
        ("contract_end", "Contract term: 24 months\nEnds: 7 May 2024", "2024-05-07"),
        ("contract_end", "Contract: lifts\nEnds: 7 May 2024", "2024-05-07"),
        ("parcel_date", "Parcel: 5512\nPosted: 7 May 2024", "2024-05-07"),
        ("warranty_end", "Warranty until: 7 May 2024\nWarranty: 24 months", "2024-05-07"),
    ],
)
def test_a_date_that_another_label_claims_is_left_out(name: str, text: str, told: str | None) -> None:
    assert one_value(DAY, text, "2024-05-07", "7 May 2024", name=name) == told


@each(
    "name,text,words,value,told",
    [
        ("birth_date", "Born 3.4.61", "3.4.61", "2061-04-03", "1961-04-03"),
        ("birth_date", "Born 3.4.2061", "3.4.2061", "2061-04-03", "2061-04-03?"),
        ("birth_date", "Born 3.4.99", "3.4.99", "1999-04-03", "1999-04-03"),
        ("renewal", "Renewed until 3.4.61", "3.4.61", "2061-04-03", "2061-04-03"),
    ],
)
def test_a_birth_lies_in_the_past(name: str, text: str, words: str, value: str, told: str) -> None:
    assert one_value(DAY, text, value, words, name=name) == told


def test_tomorrow_is_no_birth() -> None:
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    assert one_value(DAY, f"Born {tomorrow}", tomorrow, tomorrow, name="birth_date") == f"{tomorrow}?"


def test_an_end_before_its_start_is_doubted_and_the_surer_end_too_if_both_are_sure() -> None:
    text = "Start: 9 May 2024\nEnd: 2 May 2024"
    values = {"start": "2024-05-09", "end": "2024-05-02"}
    found = surrounded({"start": DAY, "end": DAY}, text, values, {"start": "9 May 2024", "end": "2 May 2024"})
    assert {flags for _, _, flags in found.values()} == {("ends_before_start",)}
    assert all(sure < 0.5 for _, sure, _ in found.values())


@each(
    "text,words,told",
    [
        ("In: 29 December 2024\nOut: 3 January", "3 January", "2025-01-03"),
        ("In: 29 December 2024\nOut: 3 January 2024", "3 January 2024", "2024-01-03"),
        ("In: 29 December 2024\nOut: 3 June", "3 June", "2024-06-03"),
        ("In: 29 May 2024\nOut: 3 January", "3 January", "2024-01-03"),
    ],
)
def test_a_day_without_a_year_behind_the_end_of_one_is_of_the_next(text: str, words: str, told: str) -> None:
    month = "06" if "June" in words else "01"
    assert one_value(DAY, text, f"2024-{month}-03", words, name="out") == told


@each(
    "text,told",
    [
        ("Valid from: 9 May 2024\nValid until: 2 May 2024", "2024-05-02?"),
        ("Valid from: 1 May 2024\nValid until: 2 May 2024", "2024-05-02"),
        ("Printed: 9 May 2024\nValid until: 2 May 2024", "2024-05-02"),
    ],
)
def test_an_end_before_the_start_that_is_printed_above_it_is_doubted(text: str, told: str) -> None:
    assert one_value(DAY, text, "2024-05-02", "2 May 2024", name="valid_until") == told


@each(
    "text,first,last",
    [
        ("closed 3-9 August 2025", "2025-08-03", "2025-08-09"),
        ("closed August 3-9, 2025", "2025-08-03", "2025-08-09"),
        ("closed 28 July to 9 August 2025", "2025-07-28", "2025-08-09"),
        ("vom 3. bis 9. August 2025", "2025-08-03", "2025-08-09"),
        ("du 28 décembre 2025 au 2 janvier", "2025-12-28", "2026-01-02"),
        ("28 December to 2 January 2026", "2025-12-28", "2026-01-02"),
        ("03.08.-09.08.2025", "2025-08-03", "2025-08-09"),
        ("1 August 2025 - 9 August 2025", "2025-08-01", "2025-08-09"),
    ],
)
def test_the_ends_of_a_period_share_what_is_printed_once(text: str, first: str, last: str) -> None:
    (period,) = periods_in(text, Locale())
    assert (period.first.isoformat(), period.last.isoformat()) == (first, last)
    found = surrounded({"start": DAY, "end": DAY}, text, {"start": None, "end": None}, {})
    assert [value for value, _, _ in found.values()] == [first, last]


@each("text", ["pages 3-9 of 2025", "a 3-9 win in August", "9 August 2025 to 3 August 2025", "12-345-678", "3 - net"])
def test_what_is_no_period_has_no_ends(text: str) -> None:
    assert not [*periods_in(text, Locale())]
