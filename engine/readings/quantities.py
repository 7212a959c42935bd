"""Reads quantities that are more than digits: fractions with a stroke, thousands and millions, feet and inches.

The forms of scales are those of English, German, French, Spanish and Italian print. Each form stands on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import FRACTIONS, digits_to_decimals

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
    "lac": 5, "lacs": 5, "hundred": 2, "mn": 6, "mil": 6, "mm": 6,
    "million": 6, "millions": 6, "millionen": 6, "millones": 6, "millón": 6, "milioni": 6, "milione": 6, "mio": 6,
    "mln": 6, "mill": 6, "m": 6, "crore": 7, "crores": 7, "billion": 9, "billions": 9, "bn": 9, "b": 9, "milliarde": 9,
    "milliarden": 9, "milliard": 9, "milliards": 9, "miliardi": 9, "miliardo": 9, "mrd": 9, "mld": 9,
    "mil millones": 9, "trillion": 12, "trillions": 12, "tn": 12, "billionen": 12, "billones": 12,
    "千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "百万": 6, "千万": 7, "億": 8, "亿": 8, "억": 8, "兆": 12,
}  # fmt: skip
_SIGNS = "$€£¥₹"
_CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|BRL|MXN|ZAR|SGD|HKD|KRW|TRY|RUB|ILS|THB|MYR"
_MONEY = rf"(?:(?:[A-Z]{{1,2}})?[{_SIGNS}]|(?:{_CODES})\b|Rs\.?)"
_MONEY_BEFORE = re.compile(rf"(?<![A-Za-z]){_MONEY}{_GAP}?[-−]?$")
# The whole scale may stand on the next line; a sentence or a cell that begins there is no scale.
_BEFORE_SCALE = r"(?:[- \u00a0]|[ \u00a0]?\n[ \u00a0]*(?=[a-z]{5}|M(?:io|rd|illionen|illiarden?)\b|Tsd))?"
_SOLD = re.compile(rf"{_GAP}?(?:(?:de |d['’])?(?:{_MONEY}|[Ee]uros?|[Dd]ollars?)|[円元원])")
_MONEY_AFTER = re.compile(rf"{_SOLD.pattern}$")
_AROUND = re.compile(rf"[-+−]?(?P<money>{_MONEY}{_GAP}?)?[-−]?")
_LONGEST_FIRST = sorted(_POWERS, key=len, reverse=True)
_NO_WORDS = ("k", "t", "m", "b", "md", "mn", "mil", "mm")
_SCALE_WORDS = "|".join(word for word in _LONGEST_FIRST if word < "\u3000" and word not in _NO_WORDS)
_HAN = "|".join(word for word in _LONGEST_FIRST if word > "\u3000")
#: A number and its scale. A letter is one behind the digits of an amount ("3 m" is a length), or with a currency behind
#: it ("45 TEUR", "1,2 M€").
SCALED = re.compile(
    r"(?:(?<![\w.,])|(?<=\b[A-Z]{3})|(?<=\bR[Ms]))"
    r"(?P<digits>\d{1,3}(?:['’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?"
    rf"|\d+(?:[.,]\d+)*(?:{_GAP}?[{''.join(FRACTIONS)}])?|[{''.join(FRACTIONS)}])"
    rf"(?:{_BEFORE_SCALE}(?P<scale>(?i:{_SCALE_WORDS}))(?!\w)(?:(?<=[iIsSrRlL][oOdDnNlL])\.)?"
    rf"|{_GAP}?(?P<glued>[kKM]{_GAP}?|T|Mds?{_GAP}?)(?:[{_SIGNS}]|(?:{_CODES})\b)"
    rf"|(?P<letter>[kKmMbB]|{_GAP}?(?:[mM]{{2}}|[mM][nN]|[mM]il)|{_GAP}[kKmM])(?!\w)"
    rf"|(?P<han>{_HAN})(?P<more>(?:\d+(?:[.,]\d+)*(?:{_HAN}))*(?:\d+)?))"
)
# A letter behind cents may be a tax class, and "mil" is a thousand in other languages.
_TAX_CLASS = re.compile(r"[.,]\d\d[bB]$")
_UNSURE = re.compile(rf"[.,]\d\d{_GAP}[KM]$|(?<!\.\d)(?<!\.\d\d)(?<!{_GAP}){_GAP}?[mM]il$")
#: Cents behind a price without decimals, raised or behind the sign of the currency, and alone.
CENTS = re.compile(
    rf"(?<![\w.,])(?:(?P<minor>\d{{1,2}})(?:{_GAP}?(?:¢|(?i:cents?|pence|centimes?|céntimos?|centavos?|centesim[io]))|p)"
    r"|(?P<whole>\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+|\d+)"
    rf"(?:(?P<raised>[⁰¹²³⁴-⁹]{{2}})(?!{_GAP}?(?i:{_SCALE_WORDS}|[km])\b)|[€$£](?P<part>\d\d)))(?![.,]?\w)"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
#: A number with its power of ten; without a point or a sign it is rather a code.
SCIENTIFIC = re.compile(r"(?<![\w.,])(?:\d+[.,]\d+[eE][+−-]?|\d+[eE][+−-])\d{1,2}(?!\w|[.,]\d)")
#: The words of a field whose numbers count thousands or millions, so that the scale behind the digits is told by it.
COUNTED_IN = re.compile(
    rf"\b(?:in|en)\s(?:{_MONEY}\s?)?(?:T€|TEUR|k€|kEUR|M€|MEUR|thousands|cents|pence|centimes|(?i:{_SCALE_WORDS}))(?!\w)"
)
_OF_A_SCALED_RANGE = re.compile(rf"{_GAP}?(?:[-–]|(?:to|bis|à|a)\b){_GAP}?(?:{_MONEY}{_GAP}?)?")
_BETWEEN = re.compile(rf"\b(?:between|zwischen|entre|tra|fra){_GAP}(?:{_MONEY}{_GAP}?)?$", re.IGNORECASE)
_OF_TWO = re.compile(rf"{_GAP}(?:and|und|et|y|e){_GAP}(?:{_MONEY}{_GAP}?)?")
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
    if SCIENTIFIC.fullmatch(text):
        return (format(Decimal(text.replace(",", ".").replace("−", "-")), "f"),)
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


def scaled_numbers(text: str, locale: Locale, before: str, after: str) -> tuple[str, ...] | None:
    """Returns the unsigned numbers that a text with a scale or cents, or a scale behind it, may mean; empty for others.

    The beginning of a range has the scale of its end ("$1.2" of "$1.2-1.5 million"). None for a scale that is unsure.
    """
    around = _AROUND.match(text)
    inner = text[around.end() :] if around else text
    bare = _MONEY_AFTER.sub("", inner)
    first = _MONEY_BEFORE.search(before) is not None or (around is not None and around["money"] is not None)
    cents = CENTS.fullmatch(bare) or CENTS.match(inner + after)
    if cents is not None and (cents.end() == len(bare) or cents["whole"] == bare):
        part = cents["part"] or cents["raised"]
        if part and (cents["part"] or first or _SOLD.match((inner + after)[cents.end() :])):
            return (f"{re.sub(r'[^0-9]', '', cents['whole'])}.{part.translate(_RAISED)}",)
        if cents["minor"]:
            # In other languages than English "12p" are pages.
            british = bare[-1] != "p" or not locale.decimal_comma
            return (f"0.{cents['minor']:0>2}",) * british + (cents["minor"],)
    scaled = SCALED.fullmatch(text) or SCALED.fullmatch(bare) or _within(bare)
    digits = scaled["digits"] if scaled else bare
    ranged = None
    if scaled is None and (bare[-1:].isdecimal() or bare[-1:] in FRACTIONS):
        ranged = _OF_A_SCALED_RANGE.match(after) or (_BETWEEN.search(before) and _OF_TWO.match(after))
        scaled = SCALED.match(after, ranged.end()) if ranged else SCALED.match(bare + after)
        scaled = scaled if ranged or (scaled and scaled["digits"] == bare) else None
    if scaled is None:
        return ()
    if letter := scaled["letter"]:
        behind = (after if ranged else inner + after)[scaled.end() :]
        money = first or (letter.strip() == letter and _SOLD.match(behind))
        if not money or _TAX_CLASS.search(scaled[0]):
            return ()
        if _UNSURE.search(scaled[0]):
            return None
    scale = scaled["scale"] or (scaled["glued"] or letter or scaled["han"]).strip("s \u00a0")
    values = (Decimal(value).scaleb(_POWERS[scale.lower()]) for value in digits_to_decimals(digits, locale))
    more = sum(
        Decimal(value).scaleb(_POWERS.get(power, 0))
        for count, power in re.findall(rf"([\d.,]+)({_HAN}|$)", scaled["more"] or "")
        for value in digits_to_decimals(count, locale)[:1]
    )
    return tuple(_plain(value + more) for value in values)


def _within(text: str) -> re.Match[str] | None:
    """Returns the number with a scale in words that is the only one of a text ("about 2 million people")."""
    found = SCALED.search(text)
    if found is None or not found["scale"] or re.search(r"\d", text[: found.start()] + text[found.end() :]):
        return None
    return found


def quantity_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yields the stretches of a text that have one of these forms, and whether their digits are no number without it.

    Amounts come without the sign of a currency before them.
    """
    for pattern in (FRACTION, COMPOUND, SCALED, CENTS, SCIENTIFIC):
        for match in pattern.finditer(text):
            before = text[max(0, match.start() - 5) : match.start()]
            sold = pattern is CENTS and _SOLD.match(text, match.end()) is not None
            needs = match.lastgroup == "letter" or (pattern is CENTS and match["raised"])
            if not needs or sold or _MONEY_BEFORE.search(before):
                yield *match.span(), pattern in (SCALED, CENTS, SCIENTIFIC)


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
