"""Reads dates as people write them into ISO 8601 calendar dates."""

from __future__ import annotations

import re
from datetime import date

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.months import COMMON, MONTH_PATTERN, OTHER, WEEKDAY_PATTERN, mark_names, months_of
from cinnabar.engine.readings.numerals import english_number

_ORDINAL_WORDS = (
    r"(?:twenty|thirty)[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth"
    r"|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_OF = r"(?:(?:day\s+)?of\s+|de\s+|di\s+|d['’]\s*)?"
_SUFFIX = r"(?:st|nd|rd|th|er|ère|\.|º|°|ª)?"

_COMMON, _OTHER, _LONG_OTHER = f"{COMMON}+", f"{OTHER}+", f"{OTHER}{{4,}}"

# One pattern for every style, so that scanning and reading agree. Named groups tell the styles apart. The pattern
# matches a marked text (engine/readings/months.py). An uncommon month name may be an ordinary word of the document's
# language ("14 here", "10 can"): it needs a day and a year of four digits beside it. If the day follows it, it also
# needs four letters, because "in 2020 any 3" and "a few 14, 2020" occur in running text.
_DATE = re.compile(
    rf"""(?<![\w])(?:(?:{WEEKDAY_PATTERN})\b\.?,?\s*(?:the\s+|den\s+|le\s+|,\s*)?)?(?:
    (?P<iso_y>{_YEAR})(?P<iso_s>[-/.]|\.\s)(?P<iso_m>\d{{1,2}})(?P=iso_s)(?P<iso_d>\d{{1,2}})(?![\d])
    |(?P<a>\d{{1,2}})(?P<sep>\s?[./-]\s?|\s)(?P<b>\d{{1,2}})(?:(?P=sep)|(?<=\.)\s?)(?P<y>{_YEAR}|'?\d\d)(?!\d|[./-]\d)
    |(?P<cy>(?:19|20)\d\d)(?P<cm>0[1-9]|1[0-2])(?P<cd>0[1-9]|[12]\d|3[01])(?![\d])
    |(?P<ra>0[1-9]|[12]\d|3[01])(?P<rb>0[1-9]|[12]\d|3[01])(?P<ry>(?:19|20)\d\d)(?![\d])
    |(?P<dy>{_YEAR})(?:\s?m\.|ko)?[\s,./-]*(?P<dyn>{_COMMON}|{_LONG_OTHER})\b\.?[\s-]*(?P<dyd>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)
    |(?:(?P<dm>\d{{1,2}}){_SUFFIX}|(?P<dmw>{_ORDINAL_WORDS}))[\s-]*{_OF}/?(?P<dmn>{_COMMON})
        (?:\b\.?|(?=\d))(?:[\s,/'’-]*(?:of\s+|del?\s+|in\s+the\s+year\s+(?:of\s+)?)?
        (?P<dmy>{_YEAR}\b|(?<=['’-])\d\d\b(?!:)|(?<=\w)\d{{4}}(?!\d)|(?<=\s)\d\d\b(?![:.]\d)))?
    |(?P<om>\d{{1,2}}){_SUFFIX}[\s-]*{_OF}/?(?P<omn>{_OTHER})(?:\b\.?|(?=\d))[\s,/'’-]*
        (?:of\s+|del?\s+)?(?P<omy>{_YEAR})(?!\d)
    |(?P<nn>{_LONG_OTHER})\b\.?[\s-]*(?P<nd>\d{{1,2}})\b,?\s+(?P<ny>{_YEAR})(?!\d)
    |(?P<ly>{_YEAR})\.?\s+gada\s+(?P<ld>\d{{1,2}})\.\s?(?P<ln>{_COMMON}|{_OTHER})\b
    |(?P<vd>\d{{1,2}})\s+(?:tháng|thg)\s+(?P<vm>\d{{1,2}}),?\s+(?:năm\s+)?(?P<vy>{_YEAR})(?!\d)
    |(?P<ey>{_YEAR})\s?[年년]\s?(?P<em>\d{{1,2}})\s?[月월]\s?(?P<ed>\d{{1,2}})\s?[日일]
    |(?<!\d)(?P<km>\d{{1,2}})\s?[月월]\s?(?P<kd>\d{{1,2}})\s?[日일]
    |(?P<mn>{_COMMON})\b\.?[\s-]*(?:the\s+)?
        (?:(?P<md>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:/]\d)|(?P<mdw>{_ORDINAL_WORDS})\b)
        (?:[\s,'’/.-]*(?:of\s+)?(?P<my>{_YEAR}\b|(?<=['’-])\d\d\b(?!:)))?
    |(?P<pd>\d{{1,2}})\.\s?(?P<pm>\d{{1,2}})\.(?![\d])
    |(?<![/.-])(?P<qa>\d{{1,2}})/(?P<qb>\d{{2}})(?![\w/%]|[.,-]\d)
    )""",
    re.IGNORECASE | re.VERBOSE,
)

# A month of a year, by name or number: "May 2023", "05/2023", "2023-05".
_MONTH_OF_YEAR = re.compile(
    rf"(?P<name>{MONTH_PATTERN})\.?[\s,/'’-]*(?:del?\s+|of\s+)?(?P<year>{_YEAR})"
    rf"|(?P<month>0?[1-9]|1[0-2])\s?[/.-]\s?(?P<after>{_YEAR})|(?P<before>{_YEAR})\s?[/.-]\s?(?P<last>0?[1-9]|1[0-2])",
    re.IGNORECASE,
)

# A text without a digit or an ordinal has no day: a cheap test before the long pattern.
_HAS_DAY = re.compile(r"\d|first|second|third|th\b", re.IGNORECASE)


# What a language puts behind a date that is no part of it: the word for year or day, the weekday, a point.
_TAIL = re.compile(
    rf"(?:\s?\b(?:г|р|d)\.|[\s,]*\(?(?:{WEEKDAY_PATTERN})\)?|(?<=[\d])\."
    r"|\s?(?:[月火水木金土日]曜日|星期[一二三四五六日天]|[월화수목금토일]요일))+$",
    re.IGNORECASE,
)


def read_date(text: str, locale: Locale) -> tuple[str, ...] | None:
    """Returns the dates ("YYYY-MM-DD") that a whole text may mean, the likelier first; None if it has no date's form.

    Two-digit years below 70 belong to 2000, the others to 1900. A date without a year takes the locale's year; without
    one it is no date. An ambiguous month name gives a date for each of its months.
    """
    if not _HAS_DAY.search(text):
        return None
    whole = mark_names(text)
    match = _DATE.fullmatch(whole)
    # Most texts are no dates, and have no such tail either.
    if match is None and (bare := _TAIL.sub("", whole)) != whole:
        match = _DATE.fullmatch(bare)
    return None if match is None else _dates(text, match, locale)


def read_month(text: str) -> tuple[str, ...]:
    """Returns the months ("YYYY-MM", ISO 8601) that a whole text may mean; empty for any other text."""
    match = _MONTH_OF_YEAR.fullmatch(mark_names(text))
    if match is None:
        return ()
    if match["name"]:
        return tuple(f"{match['year']}-{month:02d}" for month in _months(text, match, "name"))
    return (f"{match['after'] or match['before']}-{int(match['month'] or match['last']):02d}",)


def dates_in(text: str, locale: Locale) -> list[tuple[int, int, tuple[str, ...]]]:
    """Returns every date of a text that the calendar has, as (start, end, readings), in order."""
    if not _HAS_DAY.search(text):
        return []
    dates = []
    for match in _DATE.finditer(mark_names(text)):
        values = _dates(text, match, locale)
        if values:
            dates.append((match.start(), match.end(), values))
    return dates


def _months(text: str, match: re.Match[str], group: str) -> tuple[int, ...]:
    """Returns the months that the name in this group of the match may mean."""
    found = months_of(text[match.start(group) : match.end(group)])
    return () if found is None else found.numbers


def _dates(text: str, match: re.Match[str], locale: Locale) -> tuple[str, ...]:
    group = match.groupdict()
    if group["iso_y"]:
        return _either(group["iso_y"], group["iso_m"], group["iso_d"], False, False)
    if group["ra"]:
        return _either(group["ry"], group["ra"], group["rb"], locale.day_first, True)
    if group["a"]:
        written, one, two = _year(group["y"]), group["a"], group["b"]
        day_first = True if "." in group["sep"] else locale.day_first
        found = _either(written, one, two, day_first, "/" not in group["sep"])
        return found or (() if day_first is not None else _iso(_year(one), two, group["y"].lstrip("'")))
    year = None if locale.year is None else str(locale.year)
    if group["qa"]:
        return _either(year, group["qa"], group["qb"], bool(locale.day_first), False)
    for numeric in _NUMERIC:
        if group[numeric + "m"]:
            return _iso(group.get(numeric + "y", year), group[numeric + "m"], group[numeric + "d"])
    for name, written, day, word in _NAMED:
        if group[name]:
            number = group[day] or str(english_number(group[word] or ""))
            year_written = _year(group[written]) if group[written] else year
            months = _months(text, match, name)
            return tuple(value for month in months for value in _iso(year_written, str(month), number))
    return ()


# The beginnings of the groups of styles with a year, a month and a day in digits; two of them have no year.
_NUMERIC = ("c", "e", "v", "k", "p")
# Groups of the styles with a month's name: the name, the year, the day in digits, the day in words.
_NAMED = (
    ("dyn", "dy", "dyd", "dmw"),
    ("dmn", "dmy", "dm", "dmw"),
    ("omn", "omy", "om", "dmw"),
    ("nn", "ny", "nd", "dmw"),
    ("ln", "ly", "ld", "dmw"),
    ("mn", "my", "md", "mdw"),
)


def _year(text: str) -> str:
    digits = text.lstrip("'’")
    if len(digits) == 2:
        return ("20" if int(digits) < 70 else "19") + digits
    return digits


def _either(year: str | None, one: str, two: str, day_first: bool | None, usual: bool) -> tuple[str, ...]:
    """Returns the date with the day first or not, else in the other order; both if nothing tells, the `usual` first."""
    by_day, by_month = _iso(year, two, one), _iso(year, one, two)
    first, second = (by_day, by_month) if (usual if day_first is None else day_first) else (by_month, by_day)
    return first or second if day_first is not None else tuple(dict.fromkeys(first + second))


def _iso(year: str | None, month: str, day: str) -> tuple[str, ...]:
    if year is None or not (month.isdecimal() and day.isdecimal()):
        return ()
    try:
        return (date(int(year), int(month), int(day)).isoformat(),)
    except ValueError:
        return ()
