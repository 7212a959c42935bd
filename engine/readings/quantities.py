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
_POWERS = {
    "thousand": 3, "tsd": 3, "k": 3, "t": 3, "md": 9, "tausend": 3, "mille": 3, "mila": 3, "lakh": 5, "lakhs": 5,
    "million": 6, "millions": 6, "millionen": 6, "millones": 6, "millón": 6, "milioni": 6, "milione": 6, "mio": 6,
    "mln": 6, "mill": 6, "m": 6, "crore": 7, "crores": 7, "billion": 9, "billions": 9, "bn": 9, "b": 9, "milliarde": 9,
    "milliarden": 9, "milliard": 9, "milliards": 9, "miliardi": 9, "miliardo": 9, "mrd": 9, "mld": 9,
    "mil millones": 9, "trillion": 12, "trillions": 12, "tn": 12, "billionen": 12, "billones": 12,
    "千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "百万": 6, "千万": 7, "億": 8, "亿": 8, "억": 8, "兆": 12,
}  # fmt: skip
_SIGNS = "$€£¥₹"
_CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|BRL|MXN|ZAR|SGD|HKD|KRW|TRY|RUB|ILS|THB|MYR"
)
_MONEY = rf"(?:(?:[A-Z]{{1,2}})?[{_SIGNS}]|(?:{_CODES})\b|Rs\.?)"
_MONEY_BEFORE = re.compile(rf"(?<![A-Za-z]){_MONEY}{_GAP}?[-−]?$")
_MONEY_AFTER = re.compile(rf"{_GAP}?(?:(?:de |d['’])?(?:{_MONEY}|[Ee]uros?|[Dd]ollars?)|[円元원])$")
_AROUND = re.compile(rf"[-+−]?(?P<money>{_MONEY}{_GAP}?)?[-−]?")
_LONGEST_FIRST = sorted(_POWERS, key=len, reverse=True)
_SCALE_WORDS = "|".join(word for word in _LONGEST_FIRST if len(word) > 1 and word < "\u3000" and word != "md")
_HAN = "|".join(word for word in _LONGEST_FIRST if word > "\u3000")
#: A number and its scale. A letter is one right behind the digits of an amount ("3 m" is a length), or with a currency
#: behind it ("45 TEUR", "1,2 M€").
SCALED = re.compile(
    r"(?:(?<![\w.,])|(?<=\b[A-Z]{3})|(?<=\bR[Ms]))"
    r"(?P<digits>\d{1,3}(?:['’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
    rf"(?:[- \u00a0]?(?P<scale>(?i:{_SCALE_WORDS}))(?!\w)(?:(?<=[iIsSrRlL][oOdDnNlL])\.)?"
    rf"|{_GAP}?(?P<glued>[kKM]{_GAP}?|T|Mds?{_GAP}?)(?:[{_SIGNS}]|(?:{_CODES})\b)"
    rf"|(?P<letter>[kKmMbB])(?!\w)|(?P<han>{_HAN})(?P<more>(?:\d+(?:[.,]\d+)*(?:{_HAN}))*(?:\d+)?))"
)
#: The words of a field whose numbers count thousands or millions, so that the scale behind the digits is told by it.
COUNTED_IN = re.compile(
    rf"\b(?:in|en)\s(?:{_MONEY}\s?)?(?:T€|TEUR|k€|kEUR|M€|MEUR|thousands|(?i:{_SCALE_WORDS}))(?!\w)"
)
_OF_A_SCALED_RANGE = re.compile(rf"{_GAP}?(?:[-–]|to|bis|à|a){_GAP}?[{_SIGNS}]?")
#: Feet and inches, or pounds and ounces.
COMPOUND = re.compile(
    rf"(?<![\w.,°])(?P<large>\d{{1,4}}){_GAP}?(?P<unit>ft\.?|feet|foot|['’′]|lbs?\.?|pounds?)(?:,?{_GAP}|{_GAP}?)"
    rf"(?P<small>\d{{1,2}}(?:\.\d+)?){_GAP}?(?P<part>in\.?|inch(?:es)?|[\"”″]|oz\.?|ounces?)(?!\w)",
    re.IGNORECASE,
)
_UNIT = re.compile(rf"(?<=\d){_GAP}?(?:[^\W\d_]{{1,6}}\.?|[\"”″])$")
_OF_A_RANGE = re.compile(r"(?<![\w./-])(?P<century>1[5-9]|20)(?P<from>\d\d)(?P<dash>[-–/])$")


def quantities(text: str) -> tuple[str, ...]:
    """Returns the numbers, as plain decimals, that a whole text of one of these forms may mean; empty for others.

    Feet and inches are inches, then feet; pounds and ounces likewise.
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
    return ()


def scaled_numbers(text: str, locale: Locale, before: str, after: str) -> tuple[str, ...]:
    """Returns the unsigned numbers that a text with a scale, or with one behind it, may mean; empty for others.

    The beginning of a range has the scale of its end ("$1.2" of "$1.2-1.5 million").
    """
    around = _AROUND.match(text)
    bare = _MONEY_AFTER.sub("", text[around.end() :] if around else text)
    scaled = SCALED.fullmatch(text) or SCALED.fullmatch(bare)
    digits = scaled["digits"] if scaled else bare
    if scaled is None and bare[-1:].isdigit():
        ranged = _OF_A_SCALED_RANGE.match(after)
        scaled = SCALED.match(after, ranged.end()) if ranged else SCALED.match(bare + after)
        scaled = scaled if ranged or (scaled and scaled["digits"] == bare) else None
    beside = _MONEY_BEFORE.search(before) or re.match(rf"{_GAP}?{_MONEY}", after)
    money = beside is not None or (around is not None and around["money"] is not None)
    if scaled is None or (scaled["letter"] and (not money or re.search(r"[.,]\d\d[bB]$", scaled[0]))):
        return ()
    scale = scaled["scale"] or (scaled["glued"] or scaled["letter"] or scaled["han"]).strip("s \u00a0")
    values = (Decimal(value).scaleb(_POWERS[scale.lower()]) for value in digits_to_decimals(digits, locale))
    more = sum(
        Decimal(value).scaleb(_POWERS.get(power, 0))
        for count, power in re.findall(rf"([\d.,]+)({_HAN}|$)", scaled["more"] or "")
        for value in digits_to_decimals(count, locale)[:1]
    )
    return tuple(_plain(value + more) for value in values)


def quantity_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yields the stretches of a text that have one of these forms, and whether a scale ends them.

    Amounts come without the sign of a currency before them.
    """
    for pattern in (FRACTION, COMPOUND, SCALED):
        for match in pattern.finditer(text):
            before = text[max(0, match.start() - 5) : match.start()]
            if pattern is not SCALED or not match["letter"] or _MONEY_BEFORE.search(before):
                yield *match.span(), pattern is SCALED


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
