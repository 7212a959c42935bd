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
_ISO = {"second": "S", "minute": "M", "hour": "H", "day": "D", "week": "W", "month": "M", "year": "Y"}

_PART = (
    rf"(?:(?:{NUMBER_WORDS}|an?)(?:\s*\(\s*\d+\s*\))?|\d+(?:[.,]\d+)?(?:\s?[¼½¾⅓⅔])?|[¼½¾⅓⅔])[\s-]*"
    rf"(?:full\s+|calendar\s+|consecutive\s+)?(?:{_UNIT_PATTERN})(?:\(s\))?\b(?!['’]\w)\.?['’]?"
)
# Possessive and at most six parts: a match of "5 m 5 m 5 m ..." tries one division only.
DURATION = re.compile(
    rf"(?<![\w.,])(?>{_PART})(?:(?:,|\s|and\b|und\b|et\b){{0,8}}+(?<![\w.])(?>{_PART})){{0,5}}+",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    rf"(?P<words>(?:{NUMBER_WORDS}|an?)\b)?"
    r"(?:\s*\(?\s*(?P<digits>\d+(?:[.,]\d+)?\s?[¼½¾⅓⅔]?|[¼½¾⅓⅔])\s*\)?)?[\s-]*"
    rf"(?:full\s+|calendar\s+|consecutive\s+)?(?P<unit>{_UNIT_PATTERN})\b",
    re.IGNORECASE,
)


def read_duration(text: str, locale: Locale) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Returns (texts, ISO 8601 duration, numbers) of a text that is a duration as a whole; empty for any other text.

    texts: number and unit; a single unit in another language comes as printed ("2 Jahre") before the English texts
    ("2 years", then "24 months"). numbers: plain decimals; the count of a single unit, then the duration in minutes if
    it has no unit longer than a day.
    """
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
    return tuple(texts), _iso(parts), tuple(dict.fromkeys(numbers))


def _count(match: re.Match[str], locale: Locale) -> float | None:
    if match["digits"] is not None:
        counts = digits_to_decimals(match["digits"].strip(), locale)
        return float(counts[0]) if counts else None
    if match["words"] is None:
        return None
    word = match["words"].lower()
    value = 1 if word in ("a", "an") else number_in_words(word)
    return None if value is None else float(value)


def _say(value: float, unit: str) -> str:
    return f"{_plain(value)} {unit}" + ("" if value == 1 else "s")


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")


def _iso(parts: list[tuple[float, str]]) -> str | None:
    if any(value != int(value) for value, _ in parts):
        return None
    order = list(reversed(_ISO))
    ranks = [order.index(unit) for _, unit in parts]
    if ranks != sorted(set(ranks)):
        return None
    if any(unit == "week" for _, unit in parts):
        return f"P{int(parts[0][0])}W" if len(parts) == 1 else None
    day = "".join(f"{int(value)}{_ISO[unit]}" for value, unit in parts if unit in ("year", "month", "day"))
    clock = "".join(
        f"{int(value)}{_ISO[unit]}" for value, unit in parts if unit in ("hour", "minute", "second")
    )
    return f"P{day}" + (f"T{clock}" if clock else "")
