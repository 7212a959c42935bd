"""Reads durations in words and digits as number and unit, as ISO 8601 durations and as minutes."""

from __future__ import annotations

import re

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import NUMBER_WORDS, digits_to_decimals, number_in_words

_UNITS = {
    "second": "seconds second secs sec s sekunden sekunde sek secondes seconde segundos secondi",
    "minute": "minutes minute mins min m minuten minutos minuti",
    "hour": "hours hour hrs hr h stunden stunde std heures heure horas hora ore ora uur",
    "day": "days day d tagen tage tag jours jour días dias día dia giorni giorno dagen dag",
    "week": "weeks week wks wk wochen woche semaines semaine semanas semana settimane settimana weken",
    "month": "months month mos mo monaten monate monat mois meses mes mesi mese maanden maand",
    "year": "years year yrs yr jahren jahre jahr ans an années année años año anos ano anni anno jaar",
}
_ENGLISH = re.compile(
    r"seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|months?|mos?|years?|yrs?", re.I
)
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_UNIT_PATTERN = "|".join(sorted(_UNIT_OF, key=len, reverse=True))
_MINUTES = {"second": 1 / 60, "minute": 1.0, "hour": 60.0, "day": 1440.0}
_BELOW = (("year", "month", 12), ("day", "hour", 24), ("hour", "minute", 60), ("minute", "second", 60))
_ISO = {"second": "S", "minute": "M", "hour": "H", "day": "D", "week": "W", "month": "M", "year": "Y"}

# Small numbers in French, Spanish and Italian; of two words with one beginning the longer comes first.
_FEW = {
    "une": 1, "uno": 1, "una": 1, "un": 1, "deux": 2, "dos": 2, "due": 2, "trois": 3, "tres": 3, "tre": 3, "quatre": 4,
    "cuatro": 4, "quattro": 4, "cinque": 5, "cinq": 5, "cinco": 5, "seis": 6, "sei": 6, "sept": 7, "siete": 7,
    "sette": 7, "huit": 8, "ocho": 8, "otto": 8, "neuf": 9, "nueve": 9, "nove": 9, "dix": 10, "diez": 10, "dieci": 10,
}  # fmt: skip
_GERMAN_HALVES = {"anderthalb": 1.5, "eineinhalb": 1.5, "zweieinhalb": 2.5, "dreieinhalb": 3.5, "viereinhalb": 4.5}
_HALF = r"half\s(?:an?\s)?|(?:une\s)?demi-|(?:eine?\s)?halbe[rns]?\s|media\s|mezz['’]"
_WORDS = rf"{'|'.join(_GERMAN_HALVES)}|{NUMBER_WORDS}|{'|'.join(_FEW)}|an?"
_DIGITS = r"\d+(?:[.,]\d+)?\s?[¼½¾⅓⅔]?|[¼½¾⅓⅔]"
_HALF_MORE = r"\sand\sa\shalf(?=\s)"
_AND_HALF = r"\s(?:and\sa\shalf|et\sdemie?|y\smedia|y\smedio|e\smezz[ao])\b"
_UNIT = (
    rf"(?:full\s+|calendar\s+|consecutive\s+)?(?<![^\W\d_])(?P<unit>{_UNIT_PATTERN})(?:\(s\))?"
    r"(?:\b(?!['’]\w)|(?<=[hm])(?=\d))"
)
_NAMED_PART = (
    rf"(?:(?P<half>{_HALF})|(?:(?P<words>{_WORDS})(?:\s*\(\s*(?P<same>\d+)\s*\))?|(?P<digits>{_DIGITS}))"
    rf"(?P<more>{_HALF_MORE})?[\s-]*){_UNIT}\.?['’]?(?P<and>{_AND_HALF})?"
)
_PART = re.sub(r"\?P<\w+>", "?:", _NAMED_PART)
_CLOCK = (
    r"\d{1,3}(?:\s?h\s?|(?:\sheures?|\sStunden)\s(?=\d\d))[0-5]\d(?!\d|\s?m)"
    r"|\d{1,3}:[0-5]\d(?=\s?(?:h|hrs?|hours?|std|stunden|heures|horas|ore)\b)\s?\w+"
)
# Possessive and at most six parts: a match of "5 m 5 m 5 m ..." tries one division only.
DURATION = re.compile(
    rf"(?<![\w.,:/])(?:{_CLOCK}|(?>{_PART})(?:(?:,|\s|and\b|und\b|et\b|y\b|e\b){{0,8}}+(?<![.])(?>{_PART})){{0,5}}+)",
    re.IGNORECASE,
)
_SPLIT = re.compile(_NAMED_PART, re.IGNORECASE)


def read_duration(text: str, locale: Locale) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Returns (texts, ISO 8601 duration, numbers) of a text that is a duration as a whole; empty for any other text.

    texts: number and unit; a single unit in another language comes as printed ("2 Jahre") before the English texts
    ("2 years", then "24 months"). numbers: plain decimals; the count of a single unit, then the duration in minutes if
    it has no unit longer than a day.
    """
    if re.fullmatch(_CLOCK, text, re.IGNORECASE):
        hours, minutes = re.findall(r"\d+", text)
        text = f"{hours} h {minutes} min" if int(minutes) else f"{hours} h"
    parts: list[tuple[float, str]] = []
    for match in _SPLIT.finditer(text):
        value = _count(match, locale)
        if value is None:
            return (), None, ()
        parts.append((value, _UNIT_OF[match["unit"].lower()]))
    if not parts:
        return (), None, ()
    texts = [" ".join(_say(value, unit) for value, unit in parts)]
    numbers: list[str] = []
    if len(parts) == 1:
        value, unit = parts[0]
        printed = next(_SPLIT.finditer(text))["unit"]
        if not _ENGLISH.fullmatch(printed):
            texts.insert(0, f"{_plain(value)} {printed}")
        numbers.append(_plain(value))
        if unit == "year":
            texts.append(_say(value * 12, "month"))
        elif unit == "month" and value % 12 == 0 and value:
            texts.append(_say(value / 12, "year"))
        elif unit == "week":
            texts.append(_say(value * 7, "day"))
    if all(unit in _MINUTES for _, unit in parts):
        minutes = sum(value * _MINUTES[unit] for value, unit in parts)
        numbers.append(_plain(round(minutes, 6)))
    # "5 m" is rather a length of metres.
    iso = None if re.fullmatch(r"\S+\s?m", text, re.IGNORECASE) else _iso(parts)
    return tuple(texts), iso, tuple(dict.fromkeys(numbers))


def _count(match: re.Match[str], locale: Locale) -> float | None:
    more = 0.5 if match["more"] or match["and"] else 0.0
    if match["half"] is not None:
        return 0.5
    if digits := match["digits"] or match["same"]:
        counts = digits_to_decimals(digits.strip(), locale)
        return float(counts[0]) + more if counts else None
    word = match["words"].lower()
    known = _GERMAN_HALVES.get(word) or _FEW.get(word) or (1 if word in ("a", "an") else number_in_words(word))
    return None if known is None else float(known) + more


def _say(value: float, unit: str) -> str:
    return f"{_plain(value)} {unit}" + ("" if value == 1 else "s")


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")


def _iso(parts: list[tuple[float, str]]) -> str | None:
    """Returns the ISO 8601 duration of parts from large to small; a half of a unit counts in the next smaller ones."""
    order = list(reversed(_ISO))
    ranks = [order.index(unit) for _, unit in parts]
    if ranks != sorted(set(ranks)):
        return None
    counts = dict.fromkeys(order, 0.0) | {unit: value for value, unit in parts}
    # A week stands alone in ISO 8601.
    if counts["week"] != sum(counts.values()) or counts["week"] % 1:
        counts["day"] += 7 * counts.pop("week")
    for unit, below, size in _BELOW:
        rest = counts[unit] % 1
        counts[unit], counts[below] = counts[unit] - rest, round(counts[below] + rest * size, 6)
    if any(count % 1 for count in counts.values()):
        return None
    if counts.get("week"):
        return f"P{int(counts['week'])}W"
    day, clock = (_fill_units(counts, units) for units in (("year", "month", "day"), ("hour", "minute", "second")))
    return f"P{day}" + (f"T{clock}" if clock else "") if day or clock else "PT0S"


def _fill_units(counts: dict[str, float], units: tuple[str, ...]) -> str:
    """Returns the counts of units that follow one another, from the first to the last that is not zero."""
    there = [at for at, unit in enumerate(units) if counts[unit]]
    span = units[there[0] : there[-1] + 1] if there else ()
    return "".join(f"{int(counts[unit])}{_ISO[unit]}" for unit in span)
