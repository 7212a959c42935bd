"""Reads quantities that are more than digits: fractions with a stroke, thousands and millions, feet and inches.

The forms of scales are those of English, German, French, Spanish and Italian print. Each form stands on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import digits_to_decimals

_GAP = r"[ \u00a0]"
_BELOW = r"2|3|4|8|16|32|64"
#: A fraction with a stroke: alone, or behind a whole number ("19 1/4", "3-1/2"). Others are rather dates, pages or
#: parts of a code.
FRACTION = re.compile(
    rf"(?<![\w.,/-])(?:(?P<whole>\d{{1,4}}(?={_GAP}|{_GAP}and{_GAP})|\d{{1,3}}(?=-))(?:{_GAP}and{_GAP}|{_GAP}|-))?"
    rf"(?P<above>[1-9]\d?)[/⁄](?P<below>{_BELOW}|(?<=\d[ -]\d[/⁄])(?:5|6|10|12))(?![\w/]|[.,]\d)"
)
_SCALES = {
    "thousand": 3, "tsd": 3, "k": 3,
    "million": 6, "millions": 6, "millionen": 6, "millones": 6, "milioni": 6, "mio": 6, "mln": 6, "m": 6,
    "billion": 9, "billions": 9, "bn": 9, "b": 9, "milliarde": 9, "milliarden": 9, "milliard": 9, "milliards": 9,
    "miliardi": 9, "mrd": 9, "trillion": 12, "trillions": 12, "tn": 12,
}  # fmt: skip
_SIGNS = "$€£¥"
_SCALE_WORDS = "|".join(sorted((word for word in _SCALES if len(word) > 1), key=len, reverse=True))
#: A number and its scale; a letter alone counts right behind the digits of an amount only ("3 m" is a length).
SCALED = re.compile(
    rf"(?<![\w.,])(?P<digits>\d+(?:[.,]\d+)*)(?:{_GAP}?(?P<scale>{_SCALE_WORDS})\b(?:(?<=io|rd|sd|ln)\.)?"
    r"|(?P<letter>[kmb])(?!\w))",
    re.IGNORECASE,
)
#: Feet and inches, or pounds and ounces.
COMPOUND = re.compile(
    rf"(?<![\w.,°])(?P<large>\d{{1,4}}){_GAP}?(?P<unit>ft\.?|feet|foot|['’′]|lbs?\.?|pounds?)(?:,?{_GAP}|{_GAP}?)"
    rf"(?P<small>\d{{1,2}}(?:\.\d+)?){_GAP}?(?P<part>in\.?|inch(?:es)?|[\"”″]|oz\.?|ounces?)(?!\w)",
    re.IGNORECASE,
)
_UNIT = re.compile(rf"(?<=\d){_GAP}?(?:[^\W\d_]{{1,6}}\.?|[\"”″])$")
_OF_A_RANGE = re.compile(r"(?<![\w./-])(?P<century>1[5-9]|20)(?P<from>\d\d)(?P<dash>[-–/])$")


def quantities(text: str, locale: Locale, before: str = "") -> tuple[str, ...]:
    """Returns the numbers, as plain decimals, that a whole text of one of these forms may mean; empty for others.

    Feet and inches are inches, then feet; pounds and ounces likewise. before: what stands before the text.
    """
    fraction = FRACTION.fullmatch(_UNIT.sub("", text))
    if fraction is not None:
        above, below = int(fraction["above"]), int(fraction["below"])
        return (_plain(int(fraction["whole"] or 0) + Decimal(above) / below),) if above < below else ()
    compound = COMPOUND.fullmatch(text)
    if compound is not None:
        parts = 16 if compound["unit"][0] in "lLpP" else 12
        small = Decimal(compound["small"])
        if (compound["part"][0] in "oO") != (parts == 16) or small >= parts:
            return ()
        whole = int(compound["large"]) * parts + small
        return _plain(whole), _plain(whole / parts)
    amount = text[:1] in _SIGNS or before.rstrip()[-1:] in tuple(_SIGNS)
    scaled = SCALED.fullmatch(text.lstrip(f"{_SIGNS} "))
    if scaled is None or (scaled["letter"] and (not amount or re.search(r"[.,]\d\d$", scaled["digits"]))):
        return ()
    scale = _SCALES[(scaled["scale"] or scaled["letter"]).lower()]
    values = digits_to_decimals(scaled["digits"], locale)
    return tuple(_plain(Decimal(value).scaleb(scale)) for value in values)


def quantity_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yields the stretches of a text that have one of these forms, amounts without the sign of their currency."""
    for pattern in (FRACTION, COMPOUND, SCALED):
        for match in pattern.finditer(text):
            if pattern is not SCALED or not match["letter"] or _is_amount(text, match.start()):
                yield match.span()


def _is_amount(text: str, start: int) -> bool:
    """Returns whether the sign of a currency stands before a place, with blanks between; no part is copied for it."""
    while start and text[start - 1] == " ":
        start -= 1
    return start > 0 and text[start - 1] in _SIGNS


def end_of_range(digits: str, before: str) -> str | None:
    """Returns the year that two digits behind a year and a dash mean: "43" behind "1939–"; None for others."""
    first = _OF_A_RANGE.search(before) if len(digits) == 2 and digits.isdigit() else None
    if first is None or first["from"] >= digits:
        return None
    if first["dash"] == "/" and int(digits) != int(first["from"]) + 1:
        return None
    return f"{first['century']}{digits}"


def _plain(value: Decimal) -> str:
    if value == value.to_integral_value():
        return format(value.quantize(Decimal(1)) if value < 10**20 else value, "f")
    return format(round(value, 12).normalize(), "f")
