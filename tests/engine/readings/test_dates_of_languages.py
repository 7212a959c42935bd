"""Every form of a date that CLDR states for a language is read as that date."""

from __future__ import annotations

from datetime import date

import pytest
from babel import Locale as Language
from babel.dates import format_date
from tests.support.cases import each

from cinnabar.engine.readings.dates import read_date
from cinnabar.engine.readings.locale import Locale

LANGUAGES = (
    *("en", "en_GB", "de", "de_AT", "de_CH", "fr", "es", "it", "pt", "pt_BR", "nl", "sv", "da", "nb", "fi", "pl"),
    *("cs", "sk", "hu", "ro", "bg", "hr", "sl", "et", "lv", "lt", "el", "tr", "ru", "uk", "ja", "zh", "ko", "vi"),
    *("id", "ca"),
)
#: Forms that mean another date as well, or a month that is an ordinary word as well.
AMBIGUOUS = {("ko", "short"), ("hu", "medium"), ("lv", "medium")}


@each("language", LANGUAGES)
@each("form", ["full", "long", "medium", "short"])
def test_a_date_is_read_in_every_form_of_its_language(language: str, form: str) -> None:
    pattern = Language.parse(language).date_formats[form].pattern
    order = Locale(day_first=pattern.find("d") < pattern.find("M"))
    for day in (date(2023, 11, 27), date(2024, 3, 5), date(1998, 5, 31)):
        printed = format_date(day, form, locale=language)
        found = read_date(printed, order) or ()
        assert day.isoformat() in found or (language, form) in AMBIGUOUS, printed


@pytest.mark.parametrize(
    "printed", ["Friday, September 11", "Fri, 11 Sept", "11. September", "11.9.", "9月11日", "9/11"]
)
def test_a_date_without_a_year_takes_that_of_the_document(printed: str) -> None:
    assert (read_date(printed, Locale(day_first=None, year=2020)) or ("",))[0] == "2020-09-11"
    assert not read_date(printed, Locale())
