"""Locale: a document's own dates and numbers show how it writes them."""

from __future__ import annotations

import pytest

from cinnabar.engine.readings import locale as module
from cinnabar.engine.readings.locale import Locale, document_locale


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("", Locale(None, None, None)),
        ("nothing to tell 5 or 3/4/2020", Locale(None, None, 2020)),
        ("due 31/12/2019, paid 3/1/2020 and 5/1/2020", Locale(True, None, 2020)),
        ("12/31/2019", Locale(False, None, 2019)),
        ("Summe 1.234,56 EUR", Locale(None, True, None)),
        ("total 1,234.56", Locale(None, False, None)),
        ("12,50 und 7,20, dazu v1.2", Locale(None, True, None)),
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
    monkeypatch.setattr(module, "marked", lambda _: pytest.fail("the text was searched again"))
    assert document_locale(text) is found
