"""A description that asks for a form is read as that form; one that tells what documents print is not."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.told_spelling import spelled
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
    ("Nom du navire, en majuscules", "in upper case"),
    ("Name of the item. It must be all lowercase.", "in lower case"),
    ("ISO 8601 / RFC 3339", "ISO 8601"),
    ("Date of release in ISO 8601 (Example: 2010-02-07T14:04:00-05:00)", "ISO 8601"),
    ("three-letter country code (ISO 3166-1)", "country code of 3 letters"),
    ("Language of the text, ISO 639", "language code of 2 or 3 letters"),
    ("Land, zwei Buchstaben", "2 letters"),
    ("Beginn im 24-Stunden-Format", "24-hour HH:MM"),
    ("Año, AAAA", "AAAA"),
    ("Signed on, DD Mon YYYY", "DD MMM YYYY"),
    ("Day of signing in the form Month D, YYYY", "MMMM D, YYYY"),
    ("Currency of the fee as ISO code", "currency code of 3 letters"),
    ("codice del paese di due lettere", "2 letters"),
    ("Name of the vessel (all caps)", "in upper case"),
    ("Tag der Lieferung, T.M.JJJJ", "T.M.JJJJ"),
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
    "How long a route takes at most; the default is 24 hours",
    "The most calls in one day (24 hours)",
    "A time span expressed in hh:mm:ss",
    "Kind of the record: A, AAAA or MX",
    "Date of birth, in YYYY, YYYY-MM, or YYYY-MM-DD format",
    "In one of these forms: YYYY-MM-DD, hh:mm:ss, or YYYY-MM-DDThh:mm:ss",
    "Offset of the form [-]CCYY-MM-DD[(+|-)hh:mm]",
    "Name of the list in the pattern {ISO 3166-1 alpha-2}-{system}",
    "A two-letter language code followed by that of the country",
    "Name, also in other languages, in which case the language should be represented as two-letter ISO 639 code",
    "Path (e.g. lower case, dash separated)",
    "Pattern of the labels. Default value: `'%b %d, %Y'`",
    "Region (typically ISO 3166-1 alpha-2)",
    "Which language, see [names](https://example.org/iso-639-1)",
    "A country should have a 2-letter country code",
]


@pytest.mark.parametrize(("description", "name"), ASKED)
def test_a_form_that_is_asked_for_is_read(description: str, name: str) -> None:
    form = told_form(description)
    assert form is not None
    assert form.name == name


@pytest.mark.parametrize("description", NOT_ASKED)
def test_what_documents_print_is_not_asked_for(description: str) -> None:
    assert told_form(description) is None


@pytest.mark.parametrize(
    ("description", "is_open"),
    [
        ("YYYY-MM-DD or YYYY-MM", True),
        ("24-hour HH:MM, otherwise the words of the mail", True),
        ('Day on which the term ends, ISO 8601, or "perpetual"', True),
        ("The 2-letter country code (ISO 3166-1) or that of its region", True),
        ("Name of the country or the two-letter country code", True),
        ("Day as DD/MM/YYYY, or null if it is not told", False),
    ],
)
def test_a_form_with_an_alternative_is_open(description: str, is_open: bool) -> None:
    form = told_form(description)
    assert form is not None
    assert form.open is is_open


#: The letters of day, month and year in a language, with frames in which it asks for a form.
FRAMES = {
    "DMY": (
        "{}", "as {}", "Day of the call, {}.", "The day in the form {}", "Day ({})", "Day of issue. Format: {}",
        "{} only", "Write the day as {}; null when not said.", "day, formatted {}", "{} of the delivery",
        "It must be given as {}", "Pages have YYYY.M.D; write {}", "The day (e.g. the first one), {}",
        "Always {}, or null if there is none",
        "Day, {} (not YYYY.M.D)", "Day of the call in {} format. Null if it is the same as the day of issue.",
    ),
    "TMJ": ("{}", "Tag der Lieferung als {}", "im Format {}", "Fällig am ({})", "Tag, {}; null, wenn er fehlt"),
    "JMA": ("{}", "date d'échéance au format {}", "Jour de la livraison : {}", "le jour ({}), null si absent"),
    "DMA": ("{}", "Fecha en formato {}", "Día de entrega, {}.", "fecha ({}); null si no consta"),
    "GMA": ("{}", "scadenza nel formato {}", "Giorno della consegna: {}", "data ({}), null se manca"),
    "DMJ": ("{}", "Datum als {}", "Dag van levering in het formaat {}", "datum ({}), null als die ontbreekt"),
}  # fmt: skip
CLOCKS = {"": "", " HH:MM": " %H:%M", "Thh:mm:ss": "T%H:%M:%S", " hh:mm AM/PM": " %I:%M %p", ", HH:MM": ", %H:%M"}


@given(
    moment=st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)),
    letters=st.sampled_from([*FRAMES]),
    day=st.sampled_from(["%d", "%-d"]),
    month=st.sampled_from(["%m", "%-m", "%b", "%B"]),
    year=st.sampled_from(["%Y", "%y"]),
    mark=st.sampled_from("/.- "),
    order=st.permutations([0, 1, 2]),
    clock=st.sampled_from([*CLOCKS]),
    frame=st.integers(0, 99),
)
def test_a_moment_is_spelled_in_any_form_that_is_asked_for(
    moment: datetime, letters: str, day: str, month: str, year: str, mark: str, order: list[int],
    clock: str, frame: int,
) -> None:  # fmt: skip
    lengths = {"%d": 2, "%-d": 1, "%m": 2, "%-m": 1, "%b": 3, "%B": 4, "%Y": 4, "%y": 2}
    if letters == "TMJ" and clock[:1] == "T":
        day = "%d"  # "TThh" is two letters of the day
    ways = [day, "%m" if letters != "DMY" and lengths[month] > 2 else month, year]
    asked = mark.join(letters[at] * lengths[ways[at]] for at in order) + clock
    told = mark.join(ways[at] for at in order) + CLOCKS[clock]
    frames = FRAMES[letters]
    form = told_form(frames[frame % len(frames)].format(asked))
    assert form is not None
    assert not form.open
    printed = moment.strftime("%Y-%m-%dT%H:%M:%S" if clock else "%Y-%m-%d")
    wanted = moment.strftime(told)
    assert wanted in spelled(form, printed, Locale())
    assert form.fits(wanted)


#: Ways to ask for a code, a time of the day or a way of writing, with what documents print and what is told of it.
NAMED = [
    ("ISO 4217|ISO 4217 code|ISO-4217-Code|code ISO 4217|código ISO 4217|three-letter currency code", "€=EUR|CHF=CHF"),
    ("ISO 3166-1 alpha-2|ISO 3166|two-letter country code|ISO country code|2-letter country code (ISO 3166-1)",
     "Germany=DE|Österreich=AT|Espagne=ES"),
    ("ISO 3166-1 alpha-2 code, lower case|ISO code of the country, in lower case", "Germany=de"),
    ("ISO 3166-1 alpha-3|three-letter country code|ISO 3166 code, alpha-3|3-letter ISO country code", "Germany=DEU"),
    ("ISO 639-1|ISO 639-1 code|two-letter language code|ISO 639|ISO language code", "Spanish=es|German=de"),
    ("two letters|2 letters|zwei Buchstaben|deux lettres|dos letras|due lettere|twee letters|two capital letters",
     "Oregon=OR|OR=OR"),
    ("24-hour HH:MM|24-hour format|in 24-hour time|24-hour clock|im 24-Stunden-Format|au format 24 h|HH:MM|hh:mm",
     "6:30 pm=18:30|07:05=07:05"),
    ("h:mm AM/PM", "18:30=6:30 PM|00:05=12:05 AM"),
    ("in upper case|upper case|all capitals|in Großbuchstaben|en majuscules|en mayúsculas|in maiuscole|in hoofdletters"
     "|uppercase only", "Mia Öz=MIA ÖZ|A-1=A-1"),
    ("in lower case|lower-case letters|all lowercase|in Kleinbuchstaben|en minuscules|en minúsculas|in minuscole",
     "Mia Öz=mia öz"),
    ("digits only|only digits|only the digits|nur Ziffern|uniquement les chiffres|sólo dígitos|solo cifre"
     "|alleen cijfers", "12-34 / 5=12345|No. 7=7"),
]  # fmt: skip
AROUND = (
    "{}", "Of the parcel, {}", "Of the parcel ({}).", "Of the parcel. {}", "{}; null if not stated", "{}, or null",
    "Of the parcel: {}. Null when the page does not say it.", "Of the parcel, {}, e.g. X", "Of the parcel; {}",
)  # fmt: skip


@given(named=st.sampled_from(NAMED), way=st.integers(0, 99), value=st.integers(0, 99), around=st.sampled_from(AROUND))
def test_what_is_asked_for_by_name_is_spelled(named: tuple[str, str], way: int, value: int, around: str) -> None:
    ways, values = (part.split("|") for part in named)
    printed, _, wanted = values[value % len(values)].partition("=")
    form = told_form(around.format(ways[way % len(ways)]))
    assert form is not None
    assert not form.open
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
