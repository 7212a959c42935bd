"""Reads numbers in words and in digits as plain decimal strings."""

from __future__ import annotations

import re
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
