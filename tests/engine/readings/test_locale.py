"""Locale: a document's own dates and numbers show how it writes them."""

from __future__ import annotations

import pytest
from tests.support.cases import each

from cinnabar.engine.readings import locale as module
from cinnabar.engine.readings.locale import Locale, document_locale


@each(
    "text, locale",
    [
        ("", Locale(None, None, None)),
        ("nothing to tell 5 or 3/4/2020", Locale(None, None, 2020)),
        ("due 31/12/2019, paid 3/1/2020 and 5/1/2020", Locale(True, None, 2020)),
        ("12/31/2019", Locale(False, None, 2019)),
        ("Summe 1.234,56 EUR", Locale(True, True, None)),
        ("total 1,234.56", Locale(None, False, None)),
        ("12,50 und 7,20, dazu v1.2", Locale(True, True, None)),
        ("12.5 and 1,234,567", Locale(None, False, None)),
        ("am 3. März 2020", Locale(True, True, 2020)),
        ("March 3, 2021", Locale(False, None, 2021)),
        ("3 May 2021", Locale(True, None, 2021)),
        ("2018-05-01 2018-06-01 2017-01-01", Locale(None, None, 2018)),
    ],
)
def test_unambiguous_values_decide_the_locale(text: str, locale: Locale) -> None:
    assert document_locale(text) == locale


def test_most_votes_win_and_a_tie_decides_nothing() -> None:
    assert document_locale("13/1/2020 14/1/2020 1/13/2020").day_first is True
    assert document_locale("13/1/2020 1/13/2020").day_first is None


def test_the_numbers_of_one_document_share_its_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "1.234,50 und 17.3.2026"
    found = document_locale(text)
    monkeypatch.setattr(module, "mark_names", lambda _: pytest.fail("the text was searched again"))
    assert document_locale(text) is found


@each(
    "language, text, day_first",
    [
        ("de", "Rechnung vom 05/03/2024", True),
        ("en", "Invoice of 05/03/2024", None),
        ("ja", "05/03/2024", None),
        ("en", "05/03/2024, total £45", True),
        ("en", "05/03/2024, total INR 45", True),
        ("en", "05/03/2024, total 45,00 EUR", True),
        ("en", "05/03/2024, total $45", None),
        ("en", "05/03/2024\nAcme Inc., total $45", False),
        ("en", "05/03/2024\n14 Main St, Austin, TX 78701", False),
        ("en", "05/03/2024\n14 High Street, Leeds LS1 4AB", True),
        ("en", "05/03/2024\n3 Jalan Ampang", True),
        ("en", "05/03/2024\n3 Old Road, Accra, Ghana", True),
        ("en", "05/03/2024\nwww.shop.example.co.uk", True),
        ("en", "05/03/2024\nmail@shop.example.com", None),
        ("en", "05/03/2024\nhttps://events.example.gov/2024", False),
        ("en", "05/03/2024\nwww.example.gov.au", True),
        ("en", "05/03/2024\ncall +44 113 496 0102", True),
        ("en", "05/03/2024\ncall +1 512 555 0147", False),
        ("en", "05/03/2024\nGST NO: 001335787520", None),
        ("en", "05/03/2024, paid to DE89 3704 0044 0532 0130 00", True),
        # Signs that are at odds, and a country that writes both orders.
        ("en", "05/03/2024\n14 High Street, Leeds LS1 4AB\n14 Main St, Austin, TX 78701", None),
        ("en", "05/03/2024\n31 King Street, Toronto ON M5H 1A1, total $45, Acme Inc.", None),
        ("fr", "Facture du 05/03/2024\n31 rue King, Montréal H2Y 1C6", True),
        ("en", "05/03/2024, total AUF 24, ALL items", None),
        # The order of a mail's header is no choice of its writer.
        ("en", "Date: Tue, 2 Jul 2024 10:00:00 +0000\n\nthe invoice of 05/03/2024", None),
        ("en", "Date: Tue, 5 Mar 2024 10:00:00 +0000\n\nthe invoice of 05/03/2024", True),
        ("en", "Date: Mon, 6 May 2024 10:00:00 +0000\n\nthe invoice of 05/03/24", False),
        ("en", "Date: Tue, 31 Feb 2024 10:00:00 +0000\n\nthe invoice of 05/03/24", None),
        # A document's own dates win.
        ("de", "Rechnung vom 05/03/2024 an Acme GmbH, due 03/25/2024", False),
    ],
)
def test_signs_of_a_country_decide_the_order_of_dates(language: str, text: str, day_first: bool | None) -> None:
    assert document_locale(text, language).day_first is day_first


@pytest.mark.parametrize(
    ("language", "text", "decimal_comma"),
    [
        ("de", "Gesamtbetrag: 1.234 EUR", True),
        ("nl", "Totaalbedrag: € 1.234", True),
        ("de", "Gesamtbetrag: 1.234 EUR nach Version 2.0", True),
        ("en", "Total: 1.234", False),
        ("en", "Total: 1.234 EUR", None),
        ("", "Total: 1.234", None),
        ("", "Salary: 2,500 EUR", None),
        ("en", "Rent: 2,500\nDK-2100 Ravnsborg", None),
        ("de", "Betrag: 1.234 CHF", None),
        ("de", "Betrag 12.34, dazu 1.50 und 7.25", False),
        ("de", "3  a.example.de  0.967 ms  0.961 ms  1.085 ms", False),
        ("en", "Weights: 0,125 kg, 0,250 kg, 1,500 kg", True),
    ],
)
def test_signs_of_a_country_decide_the_decimal_mark(language: str, text: str, decimal_comma: bool | None) -> None:
    assert document_locale(text, language).decimal_comma is decimal_comma
