"""A description that asks for a form is read as that form; one that tells what documents print is not."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.told import spelled
from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas.compiling.compile import compile_schema
from cinnabar.schemas.compiling.describe import fields_in_words
from cinnabar.schemas.form.told_forms import told_form

ASKED = [
    ("Due date as DD/MM/YYYY.", "DD/MM/YYYY"),
    ("Start in local time, YYYY-MM-DDThh:mm (24 hours).", "YYYY-MM-DDThh:mm"),
    ("Fälligkeit im Format TT.MM.JJJJ", "TT.MM.JJJJ"),
    ("date d'échéance au format JJ/MM/AAAA", "JJ/MM/AAAA"),
    ("scadenza nel formato GG/MM/AAAA", "GG/MM/AAAA"),
    ("Departure, %d.%m.%Y", "DD.MM.YYYY"),
    ("Clock time, h:mm AM/PM", "h:mm AM/PM"),
    ("Time of the call in 24-hour format", "24-hour HH:MM"),
    ("Not DD/MM/YYYY but YYYY-MM-DD", "YYYY-MM-DD"),
    ("Day of issue, ISO 8601", "YYYY-MM-DD"),
    ("Moment of the call, ISO 8601 with its time", "ISO 8601"),
    ("Month, MM/YYYY", "MM/YYYY"),
    ("Date of the invoice as DD/MM/YYYY", "DD/MM/YYYY"),
    ("Day printed below the letter, YYYY-MM-DD", "YYYY-MM-DD"),
    ("Begin of the period: from, DD/MM/YYYY", "DD/MM/YYYY"),
    ("ISO 4217 code of the amounts.", "currency code of 3 letters"),
    ("ISO 3166-1 alpha-3 code", "country code of 3 letters"),
    ("Country of origin, two-letter country code", "country code of 2 letters"),
    ("ISO 639-1 code of the language", "language code of 2 letters"),
    ("State, two letters", "2 letters"),
    ("Number of the contract, digits only", "digits only"),
    ("Surname, in upper case", "in upper case"),
    ("Nachname, in Großbuchstaben", "in upper case"),
]
NOT_ASKED = [
    "",
    "Due date",
    "Dates are printed as DD/MM/YYYY in the document",
    "Day of the call, which letters often write like DD/MM",
    "DD/MM/YYYY, MM/DD/YYYY and YYYY-MM-DD are seen",
    "Width in mm",
    "Their invoices have it as DD/MM/YYYY",
    "The day, for example DD/MM/YYYY",
    "Answer within 24 hours of arrival",
    "What is warned of (the two-letter code and the text say it)",
    "Kind of product by the one-letter code: W warning",
    "ISO 3166-2 code of the region",
    "Language (ISO 639) and region (ISO 3166)",
    "Length of the stay, an ISO 8601 duration",
    "The name as the page prints it, not in upper case",
    "Number without digits",
    "Name as listed (capitals may be set to normal case)",
]


@pytest.mark.parametrize(("description", "name"), ASKED)
def test_a_form_that_is_asked_for_is_read(description: str, name: str) -> None:
    form = told_form(description)
    assert form is not None
    assert form.name == name


@pytest.mark.parametrize("description", NOT_ASKED)
def test_what_documents_print_is_not_asked_for(description: str) -> None:
    assert told_form(description) is None


@pytest.mark.parametrize("description", ["YYYY-MM-DD or YYYY-MM", "24-hour HH:MM, otherwise the words of the mail"])
def test_a_form_with_an_alternative_is_open(description: str) -> None:
    form = told_form(description)
    assert form is not None
    assert form.open


DAYS = {"DD": "%d", "TT": "%d", "D": "%-d"}
MONTHS = {"MM": "%m", "M": "%-m", "MMM": "%b", "MMMM": "%B"}
WORDINGS = (
    "{}", "as {}", "Day of the call, {}.", "The day in the form {}", "Day ({})", "Day of issue. Format: {}",
    "Write the day as {}; null when not said.", "day, formatted {}", "{} of the delivery", "Tag der Lieferung als {}",
)  # fmt: skip


@given(
    moment=st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)),
    day=st.sampled_from([*DAYS]),
    month=st.sampled_from([*MONTHS]),
    year=st.sampled_from(["YYYY", "YY"]),
    mark=st.sampled_from("/.- "),
    order=st.permutations(["day", "month", "year"]),
    clock=st.sampled_from([("", ""), (" HH:MM", " %H:%M"), ("Thh:mm:ss", "T%H:%M:%S"), (" hh:mm AM/PM", " %I:%M %p")]),
    wording=st.sampled_from(WORDINGS),
)
def test_a_moment_is_spelled_in_any_form_that_is_asked_for(
    moment: datetime, day: str, month: str, year: str, mark: str, order: list[str], clock: tuple[str, str], wording: str
) -> None:
    if day == "TT" and len(month) > 2:
        month = "MM"
    runs = {"day": day, "month": month, "year": year}
    values = {"day": DAYS[day], "month": MONTHS[month], "year": "%Y" if year == "YYYY" else "%y"}
    asked, told = mark.join(runs[one] for one in order) + clock[0], mark.join(values[one] for one in order) + clock[1]
    form = told_form(wording.format(asked))
    assert form is not None, asked
    printed = moment.strftime("%Y-%m-%dT%H:%M:%S" if clock[0] else "%Y-%m-%d")
    wanted = moment.strftime(told)
    assert wanted in spelled(form, printed, Locale())
    assert form.fits(wanted)


def test_the_schema_has_the_last_word() -> None:
    described = {"type": ["string", "null"], "description": "as DD/MM/YYYY"}
    ways = {
        "asked": described,
        "dated": described | {"format": "date"},
        "off": described | {"x-cinnabar-told": False},
        "items": {"type": "array", "items": {"type": "string"}, "description": "as DD/MM/YYYY"},
    }
    form = compile_schema({"type": "object", "properties": ways}).form
    assert {slot.path for slot in form.slots if slot.told is not None} == {"/asked", "/items/*"}
    words = {field.name: field.asked for field in fields_in_words(form)}
    assert "as DD/MM/YYYY" in words["asked"].split(":")[0]
    with pytest.raises(UnsupportedSchema, match="x-cinnabar-told"):
        _ = compile_schema({"type": "string", "x-cinnabar-told": "no"}).form
