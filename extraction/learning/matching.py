"""Decides if an extracted value is right, and if a text shows it.

A number equals a number in any spelling (integers exactly, others within a relative 1e-6), a boolean itself, and a date
or date-time in ISO form the same date. Any other text may differ only in case, blanks, punctuation and compatibility
forms (NFKC); points between digits, percent and currency signs do count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import Any

# Numbers that are not integers may differ by this share.
_TOLERANCE = 1e-6

# Longer texts (in characters) are too large for the cache of thousands.
_LONG = 4096

_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?([eE][-+]?\d{1,3})?\s*")
_DATE = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?P<time>[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(:(?P<second>\d{2})(\.\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?"
)
_DECIMAL_MARK = re.compile(r"(?<=\d)[.,](?=\d)")
_PRINTED_NUMBER = re.compile(r"\d[\d.,' \u00a0\u202f]*")
_MARK = "\0"


def says_something(value: Any) -> bool:
    """Returns True if this scalar is a value to find; null and false stand for a document that says nothing."""
    return value is not None and value is not False


@lru_cache(maxsize=1 << 14)
def fold(text: str) -> str:
    """Returns the text for comparison: folded letters, digits, decimal marks, % and currency signs."""
    marked = _DECIMAL_MARK.sub(_MARK, unicodedata.normalize("NFKC", text).casefold())
    kept = (c for c in marked if c.isalnum() or c in "%\0" or unicodedata.category(c) == "Sc")
    return "".join(kept).replace(_MARK, ".")


@lru_cache(maxsize=2)
def _fold_document(text: str) -> str:
    return fold.__wrapped__(text)


def as_number(value: Any) -> float | int | None:
    """Returns the number that this scalar is or spells; None if it is not a number."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@lru_cache(maxsize=1 << 14)
def as_date(text: str) -> tuple[date, tuple[int, int, int] | None] | None:
    """Returns the date, and the time if there is one, that this text spells in ISO form; else None."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    except ValueError:
        return None
    time = (int(match["hour"]), int(match["minute"]), int(match["second"] or 0)) if match["time"] else None
    return day, time


def is_same(truth: Any, predicted: Any) -> bool:
    """Returns True if these two scalars are equal by the rules at the top of this module."""
    if truth is None or predicted is None or isinstance(truth, bool) or isinstance(predicted, bool):
        return truth is predicted
    if isinstance(truth, int | float):
        number = as_number(predicted)
        if number is None:
            return False
        if isinstance(truth, int) or truth.is_integer():
            return number == truth
        if isinstance(number, int) and number.bit_length() > 1023:
            return False  # too large for a float, and nowhere near one
        return abs(number - truth) <= _TOLERANCE * abs(truth)
    day = as_date(truth)
    if day is not None:
        return isinstance(predicted, str) and as_date(predicted) == day
    return fold(truth) == fold(str(predicted))


def is_right(truth: Any, predicted: Any, also: Sequence[Any]) -> bool:
    """Returns True if the prediction equals the truth or one of the other right values."""
    return is_same(truth, predicted) or (predicted is not None and any(is_same(a, predicted) for a in also))


def evidence_holds(value: Any, text: str) -> bool:
    """Returns True if this text shows the value.

    A number shows by its absolute value, a date by its day and year or as eight digits, other text folded.
    """
    if isinstance(value, int | float):
        return any(_prints(value, printed) for printed in _PRINTED_NUMBER.findall(text))
    day = as_date(value)
    if day is not None:
        numbers = {int(digits) for digits in re.findall(r"\d+", text)}
        joined = re.sub(r"\D", "", text)
        year = day[0].year
        return (
            (day[0].day in numbers and bool(numbers & {year, year % 100}))
            or f"{day[0]:%Y%m%d}" in joined
            or f"{day[0]:%d%m%Y}" in joined
        )
    folded = fold(value)
    return bool(folded) and folded in (fold(text) if len(text) <= _LONG else _fold_document(text))


def _prints(value: float, printed: str) -> bool:
    """Returns True if these digits and marks spell the value, with a point or a comma before the decimals."""
    for mark in ".,":
        digits = re.sub(rf"[^\d{re.escape(mark)}]", "", printed).rstrip(mark).replace(mark, ".", 1)
        number = as_number(digits)
        if number is not None and abs(number - abs(value)) <= _TOLERANCE * abs(value):
            return True
    return False
