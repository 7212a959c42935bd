"""Checks of dates and times by RFC 3339 section 5.6, with the year 0000 and leap seconds.

Arrow and DuckDB can store neither, so neither is ever written.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(
    r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_DAY = 24 * 60


def is_date(text: str) -> bool:
    """Whether this is a day of the Gregorian calendar, of the years 0000 to 9999."""
    return _day(text) is not None


def is_time(text: str) -> bool:
    """Whether this is a time of day with its offset; second 60 is allowed only right before midnight of UTC."""
    return _leaps(text) is not None


def is_date_time(text: str) -> bool:
    """Whether this is a day and a time; second 60 is allowed only at the end of a month of UTC (section 5.7)."""
    day, leaps = _day(text[:10]), _leaps(text[11:])
    if text[10:11] not in ("T", "t") or day is None or leaps is None:
        return False
    return not leaps or (day + timedelta(days=leaps[0] + 1)).day == 1


def _day(text: str) -> date | None:
    parts = _DATE.fullmatch(text)
    if not parts:
        return None
    year, month, day = map(int, parts.groups())
    try:
        # The calendar repeats every 400 years, and Python's calendar has no year 0.
        return date(year % 400 + 400, month, day)
    except ValueError:
        return None


def _leaps(text: str) -> tuple[int, ...] | None:
    """For a leap second, the days that the date of UTC is ahead; () for another time, None for no time."""
    parts = _TIME.fullmatch(text)
    if not parts:
        return None
    hour, minute, second, sign, *ahead = parts.groups()
    if second != "60":
        return ()
    offset = (int(ahead[0]) * 60 + int(ahead[1])) * (-1 if sign == "-" else 1) if sign else 0
    days, of_day = divmod(int(hour) * 60 + int(minute) - offset, _DAY)
    return (days,) if of_day == _DAY - 1 else None
