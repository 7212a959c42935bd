"""Dates as people write them, read as ISO 8601 calendar dates."""

from __future__ import annotations

import re
from datetime import date

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.months import MONTH_PATTERN, MONTHS, WEEKDAY_PATTERN
from cinnabar.engine.readings.numerals import english_number

_ORDINAL_WORDS = (
    r"(?:twenty|thirty)[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth"
    r"|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_OF = r"(?:(?:day\s+)?of\s+|de\s+|di\s+|d['’]\s*)?"
_SUFFIX = r"(?:st|nd|rd|th|er|ère|\.|º|°|ª)?"

# One pattern for every style, so that scanning and reading agree. Named groups tell the style apart.
DATE = re.compile(
    rf"""(?<![\w])(?:(?:{WEEKDAY_PATTERN})\b\.?,?\s*(?:the\s+|den\s+|le\s+|,\s*)?)?(?:
    (?P<iso_y>{_YEAR})(?P<iso_s>[-/.]|\.\s)(?P<iso_m>\d{{1,2}})(?P=iso_s)(?P<iso_d>\d{{1,2}})(?![\d])
    |(?P<a>\d{{1,2}})(?P<sep>\s?[./-]\s?|\s)(?P<b>\d{{1,2}})(?:(?P=sep)|(?<=\.)\s?)(?P<y>{_YEAR}|'?\d\d)(?!\d|[./-]\d)
    |(?P<cy>(?:19|20)\d\d)(?P<cm>0[1-9]|1[0-2])(?P<cd>0[1-9]|[12]\d|3[01])(?![\d])
    |(?P<dy>{_YEAR})[\s,./-]*(?P<dyn>{MONTH_PATTERN})\b\.?[\s-]*(?P<dyd>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)
    |(?:(?P<dm>\d{{1,2}}){_SUFFIX}|(?P<dmw>{_ORDINAL_WORDS}))[\s-]*{_OF}/?(?P<dmn>{MONTH_PATTERN})
        (?:\b\.?|(?=\d))(?:[\s,/'’-]*(?:of\s+|del?\s+|in\s+the\s+year\s+(?:of\s+)?)?
        (?P<dmy>{_YEAR}\b|(?<=['’-])\d\d\b(?!:)|(?<=\w)\d{{4}}(?!\d)|(?<=\s)\d\d\b(?![:.]\d)))?
    |(?P<mn>{MONTH_PATTERN})\b\.?[\s-]*(?:the\s+)?
        (?:(?P<md>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:/]\d)|(?P<mdw>{_ORDINAL_WORDS})\b)
        (?:[\s,'’/.-]*(?:of\s+)?(?P<my>{_YEAR}\b|(?<=['’-])\d\d\b(?!:)))?
    |(?P<pa>\d{{1,2}})\.\s?(?P<pb>\d{{1,2}})\.(?![\d])
    |(?<![/.-])(?P<qa>\d{{1,2}})/(?P<qb>\d{{2}})(?![\w/%]|[.,-]\d)
    )""",
    re.IGNORECASE | re.VERBOSE,
)

#: A month of a year, by name or number: "May 2023", "05/2023", "2023-05".
MONTH_OF_YEAR = re.compile(
    rf"(?P<name>{MONTH_PATTERN})\.?[\s,/'’-]*(?:de\s+|of\s+)?(?P<year>{_YEAR})"
    rf"|(?P<month>0?[1-9]|1[0-2])\s?[/.-]\s?(?P<after>{_YEAR})|(?P<before>{_YEAR})\s?[/.-]\s?(?P<last>0?[1-9]|1[0-2])",
    re.IGNORECASE,
)

# Without a digit or an ordinal there is no day: a cheap test before the long pattern.
_HAS_DAY = re.compile(r"\d|first|second|third|th\b", re.IGNORECASE)


def read_date(match: re.Match[str], locale: Locale) -> tuple[str, ...]:
    """The dates ("YYYY-MM-DD") that a match of `DATE` may stand for, the likelier first; empty for none.

    Years of two digits below 70 belong to 2000, the others to 1900. A date without a year takes that of the
    locale and is none where there is none.
    """
    group = match.groupdict()
    if group["iso_y"]:
        first = _iso(group["iso_y"], group["iso_m"], group["iso_d"])
        return first or _iso(group["iso_y"], group["iso_d"], group["iso_m"])
    if group["cy"]:
        return _iso(group["cy"], group["cm"], group["cd"])
    if group["a"]:
        written, one, two = _year(group["y"]), group["a"], group["b"]
        by_day, by_month = _iso(written, two, one), _iso(written, one, two)
        if "." in group["sep"]:
            return by_day or by_month
        if locale.day_first is None:
            both = by_month + by_day if "/" in group["sep"] else by_day + by_month
            return tuple(dict.fromkeys(both)) or _iso(_year(one), two, group["y"].lstrip("'"))
        return (by_day or by_month) if locale.day_first else (by_month or by_day)
    year = None if locale.year is None else str(locale.year)
    if group["pa"]:
        return _iso(year, group["pb"], group["pa"]) if year else ()
    if group["qa"]:
        if year is None:
            return ()
        by_day, by_month = _iso(year, group["qb"], group["qa"]), _iso(year, group["qa"], group["qb"])
        return (by_day or by_month) if locale.day_first else (by_month or by_day)
    if group["dyn"]:
        return _iso(group["dy"], group["dyn"], group["dyd"])
    if group["dmn"]:
        day = group["dm"] or str(english_number(group["dmw"] or ""))
        found = _year(group["dmy"]) if group["dmy"] else year
        return _iso(found, group["dmn"], day) if found else ()
    day = group["md"] or str(english_number(group["mdw"] or ""))
    found = _year(group["my"]) if group["my"] else year
    return _iso(found, group["mn"], day) if found else ()


def read_month(match: re.Match[str]) -> str:
    """The month ("YYYY-MM", ISO 8601) that a match of `MONTH_OF_YEAR` stands for."""
    if match["name"]:
        return f"{match['year']}-{MONTHS[match['name'].lower()]:02d}"
    return f"{match['after'] or match['before']}-{int(match['month'] or match['last']):02d}"


def dates_in(text: str, locale: Locale) -> list[tuple[int, int, tuple[str, ...]]]:
    """Every date in a text, as (start, end, readings), in order; only those that the calendar has."""
    if not _HAS_DAY.search(text):
        return []
    found = []
    for match in DATE.finditer(text):
        values = read_date(match, locale)
        if values:
            found.append((match.start(), match.end(), values))
    return found


def _year(text: str) -> str:
    digits = text.lstrip("'’")
    if len(digits) == 2:
        return ("20" if int(digits) < 70 else "19") + digits
    return digits


def _iso(year: str | None, month: str | None, day: str | None) -> tuple[str, ...]:
    if year is None or month is None or day is None:
        return ()
    number = MONTHS.get(month.lower()) if not month.isdigit() else int(month)
    try:
        return (date(int(year), number or 0, int(day)).isoformat(),)
    except ValueError:
        return ()
