"""Reads numbers in words and in digits as plain decimal strings.

Descriptions that ask for numbers without their sign, such as "Fees, always positive".

A wrong sign is the costliest misreading of an amount, so the description has to say it in so many words. The network,
which should read it from the question, gave "The balance at the end." .62 in the mean and "Amount, always positive"
.62; a classifier over sentence vectors found 27 of 62 such phrases that it was not fitted on.

Reads quantities that are more than digits: fractions with a stroke, thousands and millions, feet and inches.

The forms of scales are those of English, German, French, Spanish and Italian print. Each form stands on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from cinnabar.engine.readings.locale import Locale

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINAL_UNITS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_ORDINAL_TENS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
_ENGLISH: dict[str, int] = dict(zip(_UNITS.split(), range(20), strict=True))
_ENGLISH |= {word: 10 * i for i, word in enumerate(_TENS.split(), 2)} | {"fourty": 40}
_ORDINALS: dict[str, int] = dict(zip(_ORDINAL_UNITS.split(), range(20), strict=True))
_ORDINALS |= {word: 10 * i for i, word in enumerate(_ORDINAL_TENS.split(), 2)}
_ORDINALS |= {"hundredth": 100, "thousandth": 1000}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "millions": 1_000_000}

_GERMAN_UNITS = {
    "null": 0, "ein": 1, "eins": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "zwei": 2, "zwo": 2,
    "drei": 3, "vier": 4, "fünf": 5, "fuenf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
    "elf": 11, "zwölf": 12,
    "zwoelf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "fuenfzehn": 15, "sechzehn": 16,
    "siebzehn": 17, "achtzehn": 18, "neunzehn": 19,
}  # fmt: skip
_GERMAN_TENS = {
    "zwanzig": 20, "dreißig": 30, "dreissig": 30, "vierzig": 40, "fünfzig": 50, "fuenfzig": 50, "sechzig": 60,
    "siebzig": 70, "achtzig": 80, "neunzig": 90,
}  # fmt: skip

_CARDINAL = "|".join(sorted({*_ENGLISH, *_SCALES}, key=len, reverse=True))
_ORDINAL = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_GERMAN_PART = "|".join(
    sorted(
        {*_GERMAN_UNITS, *_GERMAN_TENS, "und", "hundert", "tausend"} - {"eine", "einen", "einem", "einer"},
        key=len,
        reverse=True,
    )
)
# A run of number words for the scanner: "one hundred and five", "Sixty-ninth", "fünfundzwanzig". An ordinal ends it,
# so that "forty-first and forty-second" are two numbers.
NUMBER_WORDS = (
    rf"(?:(?:{_CARDINAL})\b(?:[\s-]+(?:and\s+)?(?:{_CARDINAL})\b){{0,12}}(?:[\s-]+(?:and\s+)?(?:{_ORDINAL}))?"
    rf"|(?:{_ORDINAL})"
    # Possessive: "achtzehn" is also "acht" and "zehn", so a match would try every division of a long run.
    rf"|(?:{_GERMAN_PART})++(?:\s+million(?:en)?(?:\s+(?:{_GERMAN_PART})++)?)?)"
)

FRACTIONS = {
    "¼": ".25", "½": ".5", "¾": ".75", "⅓": ".3333333333333333", "⅔": ".6666666666666666", "⅛": ".125",
    "⅜": ".375", "⅝": ".625", "⅞": ".875", "⅕": ".2", "⅖": ".4", "⅗": ".6", "⅘": ".8",
}  # fmt: skip

_GROUP_BLANKS = re.compile(r"(?<=\d)[ \u00a0\u202f\u2009](?=\d{3}(?!\d))")
_APOSTROPHES = re.compile(r"(?<=\d)['’](?=\d{3}(?!\d))")
_INDIAN = re.compile(r"\d{1,3}(?:,\d{2})+,\d{3}")
_THREES = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_DIGITS = re.compile(r"\d+")


def english_number(text: str) -> int | None:
    """Returns the value of an English number or ordinal in words ("one hundred and five"), else None."""
    total = current = 0
    # None before the first word; else the size below which a next plain word may be added.
    room: int | None = None
    for word in text.lower().replace("-", " ").split():
        if word == "and" and room is not None:
            continue
        if word in ("a", "an") and room is None:
            current, room = 1, 0
            continue
        value = _ENGLISH.get(word, _ORDINALS.get(word))
        if value is not None and value < 100:
            if room is not None and value >= room:
                return None
            current += value
            room = 10 if value >= 20 else 1
            continue
        scale = _SCALES.get(word, value)
        if scale is None:
            return None
        if scale == 100:
            current = (current or 1) * 100
            room = 100
        else:
            total += (current or 1) * scale
            current, room = 0, 100
    return None if room in (None, 0) else total + current


def german_number(text: str) -> int | None:
    """Returns the value of a German number in words, written together or apart ("fünfundzwanzig"), else None."""
    word = text.lower().replace("-", "").replace(" ", "")
    return _german(word) if word else None


def _german(word: str) -> int | None:
    for scale, names in ((1_000_000, ("millionen", "million")), (1000, ("tausend",)), (100, ("hundert",))):
        for name in names:
            head, joint, tail = word.partition(name)
            if not joint:
                continue
            left = _german(head) if head else 1
            right = _german(tail.removeprefix("und")) if tail else 0
            return None if left is None or right is None else left * scale + right
    if word in _GERMAN_UNITS:
        return _GERMAN_UNITS[word]
    if word in _GERMAN_TENS:
        return _GERMAN_TENS[word]
    unit, joint, ten = word.partition("und")
    if joint and ten in _GERMAN_TENS and 0 < _GERMAN_UNITS.get(unit, 0) < 10:
        return _GERMAN_TENS[ten] + _GERMAN_UNITS[unit]
    return None


@lru_cache(maxsize=4096)
def number_in_words(text: str) -> int | None:
    """Returns the value of an English or German number in words, else None."""
    value = english_number(text)
    return german_number(text) if value is None else value


def digits_to_decimals(text: str, locale: Locale) -> tuple[str, ...]:
    """Returns the unsigned numbers that digits with separators may mean, the likelier first; empty for none.

    `text` holds digits, separators (point, comma, apostrophe, blanks) and at most one vulgar fraction. A single
    separator before three digits is read both ways, first by the locale. Fraction digits are kept.
    """
    fraction = FRACTIONS.get(text[-1:], "")
    if fraction:
        whole = text[:-1].rstrip()
        return (f"{whole or '0'}{fraction}",) if not whole or _DIGITS.fullmatch(whole) else ()
    text = _APOSTROPHES.sub("", _GROUP_BLANKS.sub("", text))
    if _DIGITS.fullmatch(text):
        return (text.lstrip("0") or "0",)
    points, commas = text.count("."), text.count(",")
    if points and commas:
        mark = "." if text.rfind(".") > text.rfind(",") else ","
        whole, _, decimals = text.rpartition(mark)
        if not _DIGITS.fullmatch(decimals) or mark in whole or not _is_grouped(whole):
            return ()
        return (_decimal(re.sub(r"[.,]", "", whole), decimals),)
    if points + commas > 1:
        return (re.sub(r"[.,]", "", text).lstrip("0") or "0",) if _is_grouped(text) else ()
    mark = "." if points else ","
    whole, mark_read, decimals = text.partition(mark)
    if not mark_read or not decimals.isascii() or not (whole.isdigit() or not whole) or not decimals.isdigit():
        return ()
    as_decimal = _decimal(whole, decimals)
    if len(decimals) != 3 or not 1 <= len(whole) <= 3 or whole[0] == "0":
        return (as_decimal,)
    as_group = whole + decimals
    comma = locale.decimal_comma
    # Without evidence a single comma before three digits separates groups in most texts, a single point decimals.
    grouped_first = (mark == ",") != bool(comma) if comma is not None else mark == ","
    return (as_group, as_decimal) if grouped_first else (as_decimal, as_group)


def _is_grouped(whole: str) -> bool:
    threes = _THREES.fullmatch(whole) is not None and not ("." in whole and "," in whole)
    return threes or _INDIAN.fullmatch(whole) is not None


def _decimal(whole: str, decimals: str) -> str:
    return f"{whole.lstrip('0') or '0'}.{decimals}"


#: What says so, in the languages whose conventions the readings know.
_PHRASES = (
    r"always (?:a )?positive", r"never (?:a )?negative", r"(?:must|can|may) (?:not|never) be negative",
    r"non-?negative", r"(?:without|no|drop|omit|ignore|remove|leave out) (?:its |the |their |an? |any )?(?:minus|sign)",
    r"(?:minus|sign)(?: sign)? (?:is |are )?(?:dropped|omitted|ignored|removed|left out|not part)",
    r"regardless of (?:its |the |their )?sign", r"absolute (?:value|amount|number)",
    r"unsigned (?:value|amount|number|integer|decimal)", r"as (?:a )?positive (?:value|amount|number|figure)s?",
    r"positive also", r"also positive", r"positive (?:even )?(?:for|in) (?:both|either|all)", r"magnitude only",
    r"(?:immer|stets) positiv", r"(?:nie|niemals|nicht) negativ", r"ohne (?:das |sein |ihr )?(?:vorzeichen|minus)",
    r"vorzeichenlos", r"als positive (?:zahl|wert)", r"positiver (?:wert|betrag)", r"absolut(?:er )?(?:betrag|wert)",
    r"toujours positi(?:f|ve)", r"jamais négati(?:f|ve)", r"sans (?:le |son )?signe", r"valeur absolue",
    r"siempre positiv[oa]", r"nunca negativ[oa]", r"sin (?:el |su )?signo", r"valor absoluto",
    r"sempre positiv[oa]", r"mai negativ[oa]", r"senza (?:il )?segno", r"valore assoluto", r"sem (?:o )?sinal",
    r"altijd positief", r"nooit negatief", r"zonder (?:min)?teken", r"absolute waarde",
    r"zawsze dodatni[ae]?", r"bez znaku", r"wartość bezwzględna", r"alltid positiv", r"utan (?:minus)?tecken",
    r"altid positiv", r"uden fortegn", r"uten fortegn",
)  # fmt: skip
#: The same in scripts without blanks.
_UNSPACED = ("绝对值", "不带符号", "絶対値", "符号なし")
_ASKS = re.compile(rf"(?<!\w)(?<!not )(?<!nicht )(?:{'|'.join(_PHRASES)})|{'|'.join(_UNSPACED)}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def asks_unsigned(description: str) -> bool:
    """Returns whether a description says that a printed minus is not part of the value."""
    return _ASKS.search(description) is not None


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
