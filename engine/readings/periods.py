"""Reads periods, of which one end may leave out the month or the year that the other prints: "5-12 March 2024"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from cinnabar.engine.readings.cldr import MONTH_PATTERN, mark_names
from cinnabar.engine.readings.dates import dates_in, read_date
from cinnabar.engine.readings.locale import Locale


@dataclass(frozen=True, slots=True)
class Period:
    """The first and the last day of the characters [start, end) of a text."""

    start: int
    end: int
    first: date
    last: date


_BETWEEN = re.compile(
    r"[ \u00a0]?(?:[-–—]|\b(?:to|till|until|through|bis(?: zum)?|au|al|hasta(?: el)?|tot)\b)[ \u00a0]?"
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)|['’]\d\d(?!\d)|[./-]\d\d(?!\d)(?=\W|$)")
_DAY_AND_YEAR = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)(?!\d)")
_DAY_LAST = re.compile(r"(?<![\d.,/-])(\d{1,2})(?:st|nd|rd|th|er|\.)?$")
_MONTH_LAST = re.compile(
    rf"(?<![\w])(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:{MONTH_PATTERN})\.?|(?:{MONTH_PATTERN})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?"
    r"|\d{1,2}\.\s?\d{1,2}\.?|\d{1,2}/\d{1,2})$",
    re.IGNORECASE,
)
#: The most characters of one end.
_LONGEST = 32


def periods_in(text: str, locale: Locale) -> Iterator[Period]:
    """Yields the periods of a text; an end without a year takes the other's, or the next to it over new year."""
    bare = replace(locale, year=None)
    for between in _BETWEEN.finditer(text):
        if "\n" in between[0]:
            continue
        before = text[max(0, between.start() - _LONGEST) : between.start()].rpartition("\n")[2]
        behind = text[between.end() : between.end() + _LONGEST].partition("\n")[0]
        if (found := _ends(before, behind, bare)) is not None:
            first, last, length, reach = found
            if first <= last:
                yield Period(between.start() - length, between.end() + reach, first, last)


def _ends(before: str, behind: str, locale: Locale) -> tuple[date, date, int, int] | None:
    """Returns the two days around a dash, and how many characters of either side they take."""
    if (tail := _DAY_AND_YEAR.match(behind)) is not None and (head := _month_last(before)):
        first = _day(f"{head}, {tail[2]}", locale)
        last = first and _with(first, day=int(tail[1]))
        return (first, last, len(head), tail.end()) if first and last else None
    right = next((one for one in dates_in(behind, locale) if one[0] == 0), None)
    if right is not None and _YEAR.search(behind[: right[1]]):
        last = date.fromisoformat(right[2][0])
        return _left_of(before, last, right[1], locale)
    left = next((one for one in dates_in(before, locale) if one[1] == len(before)), None)
    if left is None or not _YEAR.search(before[left[0] :]):
        return None
    first = date.fromisoformat(left[2][0])
    tail = re.match(r"[\w. ]{3,24}", behind)
    for year in (first.year, first.year + 1):
        with_year = dates_in(behind, replace(locale, year=year)) if tail else []
        if with_year and with_year[0][0] == 0:
            last = date.fromisoformat(with_year[0][2][0])
            if last >= first:
                return first, last, len(before) - left[0], with_year[0][1]
    return None


def _left_of(before: str, last: date, reach: int, locale: Locale) -> tuple[date, date, int, int] | None:
    """Returns the period that ends with a whole date, by what stands before the dash."""
    whole = next((one for one in dates_in(before, locale) if one[1] == len(before)), None)
    if whole is not None and _YEAR.search(before[whole[0] :]):
        return date.fromisoformat(whole[2][0]), last, len(before) - whole[0], reach
    if month := _month_last(before):
        mark = next((mark for mark in "./" if mark in month and not any(map(str.isalpha, month))), " ")
        for year in (last.year, last.year - 1):
            first = _day(f"{month}{'' if month.endswith(mark) else mark}{year}", locale)
            if first is not None and first <= last:
                return first, last, len(month), reach
        return None
    day = _DAY_LAST.search(before)
    first = None if day is None else _with(last, day=int(day[1]))
    return None if day is None or first is None else (first, last, len(day[0]), reach)


def _month_last(before: str) -> str:
    """Returns the day and month that end a text, "" if none do."""
    found = _MONTH_LAST.search(mark_names(before))
    return "" if found is None else before[found.start() :]


def _day(text: str, locale: Locale) -> date | None:
    read = read_date(text, locale)
    return date.fromisoformat(read[0]) if read else None


def _with(day_: date, day: int) -> date | None:
    try:
        return day_.replace(day=day)
    except ValueError:
        return None
