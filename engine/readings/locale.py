"""Infers a document's conventions for dates and numbers from the unambiguous ones among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cinnabar.engine.readings.months import COMMON, OTHER, is_english_month, marked, months_of


@dataclass(frozen=True, slots=True)
class Locale:
    """The conventions of one document; None where it gives no evidence.

    `day_first`: 3/4/2020 is the third of April. `decimal_comma`: 1.234 is more than a thousand. `year`: the most
    likely year of a date without one.
    """

    day_first: bool | None = None
    decimal_comma: bool | None = None
    year: int | None = None


_NUMERIC_DATE = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])")
_ISO_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-./]\d{1,2}[-./]\d{1,2}(?!\d)")
# For marked texts. An uncommon month name needs a day and a year, as in the pattern of dates.
_BEHIND_DAY = r"(?:st|nd|rd|th|er|\.|º)?[\s-]*(?:de\s+|of\s+)?"
_BEFORE_YEAR = r",?[\s-]*(?:de\s+|del\s+|of\s+)?"
_MONTH_DATE = re.compile(
    rf"(?:\b(?P<d>\d{{1,2}}){_BEHIND_DAY})?\b(?P<m>{COMMON}+)\b\.?"
    rf"(?:[\s-]*(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:{_BEFORE_YEAR}(?P<y>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<od>\d{{1,2}}){_BEHIND_DAY}\b(?P<om>{OTHER}+)\b\.?{_BEFORE_YEAR}(?P<oy>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"(?<![\d.,:/-])\d{1,3}(?:([.,'’])\d{3})*([.,])(\d{1,2}|\d{4,})(?![\d:/-]|[.,]\d)")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:([.,])\d{3}){2,}(?![\d]|[.,]\d)")


# Each number of a document with a sign beside it asks again: a log of 16K tokens spent a twentieth of its time here.
@lru_cache(maxsize=2)
def document_locale(text: str) -> Locale:
    """Returns the conventions of a whole document by majority vote of its unambiguous dates and numbers.

    A date votes if one part exceeds twelve; a number votes if it has two kinds of separators, repeated groups, or not
    three digits after its only separator. Non-English month names vote last: for the day first, and for the decimal
    comma if most languages with the name write it.
    """
    years: Counter[int] = Counter()
    dates = list(_NUMERIC_DATE.finditer(text))
    order = _majority(_votes_of_numeric_dates(dates, years))
    for match in _ISO_DATE.finditer(text):
        years[int(match[1])] += 1
    months = _votes_of_month_names(text, years)
    comma = _majority(_votes_of_numbers(text, {date.start() for date in dates}))
    english = months.english_day_first + months.english_month_first
    if order is None and months.foreign + months.english_day_first != months.english_month_first:
        order = months.foreign + months.english_day_first > months.english_month_first
    if comma is None and months.foreign_comma > english:
        comma = True
    return Locale(order, comma, years.most_common(1)[0][0] if years else None)


def _votes_of_numeric_dates(dates: Sequence[re.Match[str]], years: Counter[int]) -> Counter[bool]:
    """Returns the votes for the day first; adds the dates' years to `years`."""
    day_first: Counter[bool] = Counter()
    for match in dates:
        first, second, year = int(match[1]), int(match[3]), match[4]
        if first > 31 or second > 31 or max(first, second) == 0:
            continue
        if first > 12 >= second:
            day_first[True] += 1
        elif second > 12 >= first:
            day_first[False] += 1
        elif first > 12:
            continue
        if len(year) == 4 and 1900 <= int(year) <= 2100:
            years[int(year)] += 1
    return day_first


@dataclass(slots=True)
class _MonthNames:
    """The dates with a month name: not English ones, those of them with a decimal comma, and English ones by order."""

    foreign: int = 0
    foreign_comma: int = 0
    english_day_first: int = 0
    english_month_first: int = 0


def _votes_of_month_names(text: str, years: Counter[int]) -> _MonthNames:
    """Returns the counts of dates with a month name; adds their years to `years`."""
    votes = _MonthNames()
    for match in _MONTH_DATE.finditer(marked(text)):
        if match["d"] is None and match["d2"] is None and match["od"] is None:
            continue
        year = match["y"] or match["oy"]
        if year is not None:
            years[int(year)] += 1
        group = "m" if match["m"] is not None else "om"
        name = text[match.start(group) : match.end(group)]
        if not is_english_month(name):
            votes.foreign += 1
            month = months_of(name)
            votes.foreign_comma += month is not None and month.decimal_comma
        elif match["d"] is not None:
            votes.english_day_first += 1
        else:
            votes.english_month_first += 1
    return votes


def _votes_of_numbers(text: str, dates: Collection[int]) -> Counter[bool]:
    """Returns the votes for the decimal comma; a number at which a date begins, `dates`, has none."""
    decimal_comma: Counter[bool] = Counter()
    for match in _DECIMAL.finditer(text):
        if match.start() in dates:
            continue
        group, point = match[1], match[2]
        if group == point:
            continue
        # A number with both separators is unambiguous; with one separator it may be a version or a section.
        decimal_comma[point == ","] += 2 if group else 1
    for match in _GROUPED.finditer(text):
        decimal_comma[match[1] == "."] += 1
    return decimal_comma


def _majority(votes: Counter[bool]) -> bool | None:
    """Returns the side with more votes; None for a tie."""
    return None if votes[True] == votes[False] else votes[True] > votes[False]
