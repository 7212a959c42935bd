"""Reads dates as people write them into ISO 8601 calendar dates, and durations in words and digits as number and unit,
as ISO 8601 durations and as minutes.
"""

from __future__ import annotations

import re
from datetime import date

from cinnabar.engine.readings.cldr import COMMON, MONTH_PATTERN, OTHER, WEEKDAY_PATTERN, mark_names, months_of
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import NUMBER_WORDS, digits_to_decimals, english_number, number_in_words

_ORDINAL_WORDS = (
    r"(?:twenty|thirty)[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth"
    r"|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_OF = r"(?:(?:day\s+)?of\s+|de\s+|di\s+|d['’]\s*)?"
_SUFFIX = r"(?:st|nd|rd|th|er|ère|\.|º|°|ª)?"

_COMMON, _OTHER, _LONG_OTHER = f"{COMMON}+", f"{OTHER}+", f"{OTHER}{{4,}}"

# One pattern for every style, so that scanning and reading agree. Named groups tell the styles apart. The pattern
# matches a marked text (engine/readings/cldr.py). An uncommon month name may be an ordinary word of the document's
# language ("14 here", "10 can"): it needs a day and a year of four digits beside it. If the day follows it, it also
# needs four letters, because "in 2020 any 3" and "a few 14, 2020" occur in running text.
_DATE = re.compile(
    rf"""(?<![\w])(?:(?:{WEEKDAY_PATTERN})\b\.?,?\s*(?:the\s+|den\s+|le\s+|,\s*)?)?(?:
    (?P<iso_y>{_YEAR})(?P<iso_s>[-/.]|\.\s)(?P<iso_m>\d{{1,2}})(?P=iso_s)(?P<iso_d>\d{{1,2}})(?![\d])
    |(?P<a>\d{{1,2}})(?P<sep>\s?[./-]\s?|\s)(?P<b>\d{{1,2}})(?:(?P=sep)|(?<=\.)\s?)(?P<y>{_YEAR}|'?\d\d)(?!\d|[./-]\d)
    |(?P<cy>(?:19|20)\d\d)(?P<cm>0[1-9]|1[0-2])(?P<cd>0[1-9]|[12]\d|3[01])(?![\d])
    |(?P<ra>0[1-9]|[12]\d|3[01])(?P<rb>0[1-9]|[12]\d|3[01])(?P<ry>(?:19|20)\d\d)(?![\d])
    |(?P<dy>{_YEAR})(?:\s?m\.|ko)?[\s,./-]*(?P<dyn>{_COMMON}|{_LONG_OTHER})\b\.?[\s-]*(?P<dyd>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)
    |(?:(?P<dm>\d{{1,2}}){_SUFFIX}|(?P<dmw>{_ORDINAL_WORDS}))[\s-]*{_OF}/?(?P<dmn>{_COMMON})
        (?:\b\.?|(?=\d))(?:[\s,/'’-]*(?:of\s+|del?\s+|in\s+the\s+year\s+(?:of\s+)?)?
        (?P<dmy>{_YEAR}\b|(?<=['’-])\d\d\b(?!:)|(?<=\w)\d{{4}}(?!\d)|(?<=\s)\d\d\b(?![:.]\d)))?
    |(?P<om>\d{{1,2}}){_SUFFIX}[\s-]*{_OF}/?(?P<omn>{_OTHER})(?:\b\.?|(?=\d))[\s,/'’-]*
        (?:of\s+|del?\s+)?(?P<omy>{_YEAR})(?!\d)
    |(?P<nn>{_LONG_OTHER})\b\.?[\s-]*(?P<nd>\d{{1,2}})\b,?\s+(?P<ny>{_YEAR})(?!\d)
    |(?P<ly>{_YEAR})\.?\s+gada\s+(?P<ld>\d{{1,2}})\.\s?(?P<ln>{_COMMON}|{_OTHER})\b
    |(?P<vd>\d{{1,2}})\s+(?:tháng|thg)\s+(?P<vm>\d{{1,2}}),?\s+(?:năm\s+)?(?P<vy>{_YEAR})(?!\d)
    |(?P<ey>{_YEAR})\s?[年년]\s?(?P<em>\d{{1,2}})\s?[月월]\s?(?P<ed>\d{{1,2}})\s?[日일]
    |(?<!\d)(?P<km>\d{{1,2}})\s?[月월]\s?(?P<kd>\d{{1,2}})\s?[日일]
    |(?P<mn>{_COMMON})\b\.?[\s-]*(?:the\s+)?
        (?:(?P<md>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:/]\d)|(?P<mdw>{_ORDINAL_WORDS})\b)
        (?:[\s,'’/.-]*(?:of\s+)?(?P<my>{_YEAR}\b|(?<=['’-])\d\d\b(?!:)))?
    |(?P<pd>\d{{1,2}})\.\s?(?P<pm>\d{{1,2}})\.(?![\d])
    |(?<![/.-])(?P<qa>\d{{1,2}})/(?P<qb>\d{{2}})(?![\w/%]|[.,-]\d)
    )""",
    re.IGNORECASE | re.VERBOSE,
)

# A month of a year, by name or number: "May 2023", "05/2023", "2023-05".
_MONTH_OF_YEAR = re.compile(
    rf"(?P<name>{MONTH_PATTERN})\.?[\s,/'’-]*(?:del?\s+|of\s+)?(?P<year>{_YEAR})"
    rf"|(?P<month>0?[1-9]|1[0-2])\s?[/.-]\s?(?P<after>{_YEAR})|(?P<before>{_YEAR})\s?[/.-]\s?(?P<last>0?[1-9]|1[0-2])",
    re.IGNORECASE,
)

# A text without a digit or an ordinal has no day: a cheap test before the long pattern.
_HAS_DAY = re.compile(r"\d|first|second|third|th\b", re.IGNORECASE)


# What a language puts behind a date that is no part of it: the word for year or day, the weekday, a point.
_TAIL = re.compile(
    rf"(?:\s?\b(?:г|р|d)\.|[\s,]*\(?(?:{WEEKDAY_PATTERN})\)?|(?<=[\d])\."
    r"|\s?(?:[月火水木金土日]曜日|星期[一二三四五六日天]|[월화수목금토일]요일))+$",
    re.IGNORECASE,
)


def read_date(text: str, locale: Locale) -> tuple[str, ...] | None:
    """Returns the dates ("YYYY-MM-DD") that a whole text may mean, the likelier first; None if it has no date's form.

    Two-digit years below 70 belong to 2000, the others to 1900. A date without a year takes the locale's year; without
    one it is no date. An ambiguous month name gives a date for each of its months.
    """
    if not _HAS_DAY.search(text):
        return None
    whole = mark_names(text)
    match = _DATE.fullmatch(whole)
    # Most texts are no dates, and have no such tail either.
    if match is None and (bare := _TAIL.sub("", whole)) != whole:
        match = _DATE.fullmatch(bare)
    return None if match is None else _dates(text, match, locale)


def read_month(text: str) -> tuple[str, ...]:
    """Returns the months ("YYYY-MM", ISO 8601) that a whole text may mean; empty for any other text."""
    match = _MONTH_OF_YEAR.fullmatch(mark_names(text))
    if match is None:
        return ()
    if match["name"]:
        return tuple(f"{match['year']}-{month:02d}" for month in _months(text, match, "name"))
    return (f"{match['after'] or match['before']}-{int(match['month'] or match['last']):02d}",)


def dates_in(text: str, locale: Locale) -> list[tuple[int, int, tuple[str, ...]]]:
    """Returns every date of a text that the calendar has, as (start, end, readings), in order."""
    if not _HAS_DAY.search(text):
        return []
    dates = []
    for match in _DATE.finditer(mark_names(text)):
        values = _dates(text, match, locale)
        if values:
            dates.append((match.start(), match.end(), values))
    return dates


def _months(text: str, match: re.Match[str], group: str) -> tuple[int, ...]:
    """Returns the months that the name in this group of the match may mean."""
    found = months_of(text[match.start(group) : match.end(group)])
    return () if found is None else found.numbers


def _dates(text: str, match: re.Match[str], locale: Locale) -> tuple[str, ...]:
    group = match.groupdict()
    if group["iso_y"]:
        return _either(group["iso_y"], group["iso_m"], group["iso_d"], False, False)
    if group["ra"]:
        return _either(group["ry"], group["ra"], group["rb"], locale.day_first, True)
    if group["a"]:
        written, one, two = _year(group["y"]), group["a"], group["b"]
        day_first = True if "." in group["sep"] else locale.day_first
        found = _either(written, one, two, day_first, "/" not in group["sep"])
        return found or (() if day_first is not None else _iso(_year(one), two, group["y"].lstrip("'")))
    year = None if locale.year is None else str(locale.year)
    if group["qa"]:
        return _either(year, group["qa"], group["qb"], bool(locale.day_first), False)
    for numeric in _NUMERIC:
        if group[numeric + "m"]:
            return _iso(group.get(numeric + "y", year), group[numeric + "m"], group[numeric + "d"])
    for name, written, day, word in _NAMED:
        if group[name]:
            number = group[day] or str(english_number(group[word] or ""))
            year_written = _year(group[written]) if group[written] else year
            months = _months(text, match, name)
            return tuple(value for month in months for value in _iso(year_written, str(month), number))
    return ()


# The beginnings of the groups of styles with a year, a month and a day in digits; two of them have no year.
_NUMERIC = ("c", "e", "v", "k", "p")
# Groups of the styles with a month's name: the name, the year, the day in digits, the day in words.
_NAMED = (
    ("dyn", "dy", "dyd", "dmw"),
    ("dmn", "dmy", "dm", "dmw"),
    ("omn", "omy", "om", "dmw"),
    ("nn", "ny", "nd", "dmw"),
    ("ln", "ly", "ld", "dmw"),
    ("mn", "my", "md", "mdw"),
)


def _year(text: str) -> str:
    digits = text.lstrip("'’")
    if len(digits) == 2:
        return ("20" if int(digits) < 70 else "19") + digits
    return digits


def _either(year: str | None, one: str, two: str, day_first: bool | None, usual: bool) -> tuple[str, ...]:
    """Returns the date with the day first or not, else in the other order; both if nothing tells, the `usual` first."""
    by_day, by_month = _iso(year, two, one), _iso(year, one, two)
    first, second = (by_day, by_month) if (usual if day_first is None else day_first) else (by_month, by_day)
    return first or second if day_first is not None else tuple(dict.fromkeys(first + second))


def _iso(year: str | None, month: str, day: str) -> tuple[str, ...]:
    if year is None or not (month.isdecimal() and day.isdecimal()):
        return ()
    try:
        return (date(int(year), int(month), int(day)).isoformat(),)
    except ValueError:
        return ()


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
    iso = None if re.fullmatch(r"\S+\s?m", text, re.IGNORECASE) else _iso_of_durations(parts)
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


def _iso_of_durations(parts: list[tuple[float, str]]) -> str | None:
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
