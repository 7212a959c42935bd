"""Dates: the label beside a date says whose date it is, a birth lies in the past, an end is not before its start."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from cinnabar.engine.readings.dates import dates_in, read_month
from cinnabar.engine.readings.periods import periods_in
from cinnabar.engine.readings.stems import stems
from cinnabar.extraction.filling.surroundings.beside import (
    AGREED,
    CORRECTED,
    DOUBTED,
    LONGEST_REGION,
    Beside,
    Effect,
    Kind,
    label_texts,
)
from cinnabar.extraction.filling.surroundings.empties import is_shown, nothing
from cinnabar.extraction.filling.surroundings.flags import ENDS_BEFORE_START, IN_THE_FUTURE, OF_PERIOD, OTHER_LABEL
from cinnabar.extraction.filling.surroundings.words import WORDS

# What a date is of, by words of its label in several languages.
_ROLE_WORDS = {
    name.removeprefix("date "): re.compile(words, re.IGNORECASE)
    for name, words in WORDS.items()
    if name.startswith("date ")
}
# A date of no particular kind, which is none of these.
_BARE_LABEL = re.compile(r"(?:^|\n)\W*(?:date|datum|data|fecha)\s*[:.]?\s*$", re.IGNORECASE)
_NAMED = frozenset(("due", "birth", "founded", "joined", "delivered"))
#: Roles of what has happened when a document tells it.
_PAST = frozenset(("birth", "founded", "joined", "signed"))
# Words of a label that every date may have; a label with what stands behind it, and times without a day.
_ANY_DATE = stems("date day time datum tag termin fecha fin start from begin end until beginn ende début")
_LABEL = re.compile(r"^[ \t]*(\w[^\n:\d]{0,40}):[ \t]*(.*)", re.MULTILINE)
_VAGUE = re.compile(
    r"(?:ca\.? |about |approx\.? |early |mid-?|late |end of |in )*(?:[QHT][1-4]\b|\d+\. (?:quart|trim|halb)|kw ?\d"
    r"|spring|summer|autumn|fall\b|winter|frühjahr|frühling|sommer|herbst|printemps|été|automne|hiver"
    r"|\d+(?:-| bis | to )?\d* ?(?:days?|weeks?|months?|years?|tagen?|wochen?|monaten?|jahren?|jours|mois|ans)\b"
    r"|upon|after|within|nach\b|innerhalb|open\b|offen\b|immediately|sofort|as soon|see\b|siehe\b|voir\b)",
    re.IGNORECASE,
)
#: How many characters before a day another one may tell its year; months at the begin and at the end of one.
_NEAR, _FIRST_MONTHS, _LAST_MONTHS = 120, 3, "09"
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)|\d\W\d+\W\d|['’]\d\d\b")
_WHOLE_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def _label(one: Beside) -> Effect | None:
    """A date that another label claims is not that of this field: nothing in its place, or in doubt."""
    if not _is_date(one) or not one.spans:
        return None
    # A field's own label claims nothing against it, whatever its words are.
    # Its label on the line, without other dates and cells before it.
    beside = re.split(r"\t| {3,}|\||;|\d", one.before)[-1][-60:]
    named = _roles(one.asked.label)
    own, claimed = named or _roles(one.slot.description), _roles(beside)
    if set() < stems(one.asked.label) <= stems(beside):
        return None
    if not own or {"start", "end", *own} & claimed:
        return None
    other = claimed or _is_told_elsewhere(one, named & _NAMED) or (named & _NAMED and _BARE_LABEL.search(beside))
    return nothing(one, OTHER_LABEL) if other else None


def _told_without_day(one: Beside) -> Effect | None:
    """A field whose own label tells a quarter, a month or a term has not the date of another label."""
    own = stems(one.asked.label) - _ANY_DATE
    if not _is_date(one) or not one.spans or not own or own & stems(one.before) or not _LABEL.match(one.before):
        return None
    if _roles(one.asked.label) & _roles(one.before):
        return None
    begin, stop = one.region[0], min(one.region[1], one.region[0] + LONGEST_REGION)
    texts = [stems(text) - _ANY_DATE for text in label_texts(one.asked.label, one.slot.path)]
    for told in _LABEL.finditer(one.document.text, begin, stop):
        said = told[2].strip(" .")
        no_day = _VAGUE.match(said) or read_month(said) or not is_shown(said)
        if no_day and any(text and text <= stems(told[1]) for text in texts):
            return nothing(one, OTHER_LABEL)
    return None


def _is_told_elsewhere(one: Beside, own: frozenset[str]) -> bool:
    """Returns whether a label of the field's own kind stands in the document without this date beside or below it."""
    text, at, told = one.document.text, one.spans[0][0], False
    begin, stop = one.region[0], min(one.region[1], one.region[0] + LONGEST_REGION)
    for found in chain.from_iterable(_ROLE_WORDS[role].finditer(text, begin, stop) for role in own):
        start, end = one.line_of(*found.span())
        below = one.line_of(end, min(len(text), end + 1))
        if start <= at < below[1]:
            return False
        labelled = re.match(r"[^:\n]{0,24}:", text[found.end() : end])
        told = told or (labelled is not None and not dates_in(text[found.end() : end], one.locale))
    return told


def _birth(one: Beside) -> Effect | None:
    """What has happened lies in the past: a year of two digits is of the last century, another one is in doubt."""
    day = _day(one)
    if day is None or day <= datetime.date.today() or not _PAST & _roles(one.asked.label):
        return None
    if one.spans and not _WHOLE_YEAR.search(one.printed):
        text = f"{day.year - 100}{one.value[4:]}"
        return Effect(IN_THE_FUTURE, json.dumps(text), one.spans, CORRECTED)
    return Effect(IN_THE_FUTURE, most=DOUBTED)


def _period(one: Beside) -> Effect | None:
    """An end before its start is in the next year if its words tell no year, and in doubt if they do."""
    day, roles = _day(one), _roles(one.asked.label)
    if day is None or not {"start", "end"} & roles:
        return None
    ends = "end" in roles
    for other, sure in _partners(one, "start" if ends else "end"):
        if sure < min(DOUBTED, one.leaf.confidence):
            continue
        first, last = (other, day) if ends else (day, other)
        if last >= first:
            continue
        if ends and one.spans and not _WHOLE_YEAR.search(one.printed) and last.replace(year=last.year + 1) >= first:
            return Effect(ENDS_BEFORE_START, json.dumps(f"{last.year + 1}{one.value[4:]}"), one.spans, CORRECTED)
        return Effect(ENDS_BEFORE_START, most=DOUBTED)
    return None


def _turned_year(one: Beside) -> Effect | None:
    """A day without a year that follows one at the end of a year is of the next year."""
    day = _day(one)
    if day is None or not one.spans or day.month > _FIRST_MONTHS or _YEAR.search(one.printed):
        return None
    at = one.spans[0][0]
    start = max(one.region[0], at - _NEAR)
    before = one.document.text[start:at]
    for begin, end, (last, *_) in dates_in(before, one.locale)[-1:]:
        if _WHOLE_YEAR.search(before[begin:end]) and last[5:7] > _LAST_MONTHS:
            text = f"{int(last[:4]) + 1}{one.value[4:]}"
            return Effect(OF_PERIOD, json.dumps(text), one.spans, CORRECTED) if text != one.value else None
    return None


def _told_start(one: Beside) -> Effect | None:
    """An end before a start that the lines above it tell is in doubt."""
    day = _day(one)
    if day is None or not one.spans or "end" not in _roles(one.asked.label):
        return None
    above = one.document.text[max(one.region[0], one.line[0] - _NEAR) : one.line[0]]
    for begin, _, (first, *_) in dates_in(above, one.locale):
        label = above[:begin].rpartition("\n")[2]
        if re.search(r":\s*$", label) and _roles(label) == {"start"} and first[:10] > one.value[:10]:
            return Effect(ENDS_BEFORE_START, most=DOUBTED)
    return None


def _within_period(one: Beside) -> Effect | None:
    """An end of the one period of a field's region is its first or its last day, whichever the field asks for."""
    roles = _roles(one.asked.label)
    if one.slot.format != "date" or len({"start", "end"} & roles) != 1 or one.leaf.origin == "generated":
        return None
    start, end = one.region
    text = one.document.text[start : min(end, start + LONGEST_REGION)]
    found = list(periods_in(text, one.locale)) if _MAY_BE_PERIOD.search(text) else []
    if len({(period.first, period.last) for period in found}) != 1:
        return None
    period = found[0]
    span = (start + period.start, start + period.end)
    if one.spans and not (span[0] <= one.spans[0][0] and one.spans[-1][1] <= span[1]):
        return None
    told = json.dumps((period.last if "end" in roles else period.first).isoformat())
    return Effect(OF_PERIOD, told, (span,), AGREED if told == one.leaf.text else CORRECTED)


# A cheap look before the search: a dash or a word between digits or months.
_MAY_BE_PERIOD = re.compile(r"[\d.\w]\s?(?:[-–—]|to|till|until|through|bis|au|al|hasta|tot)\s?[\w\d]", re.IGNORECASE)


def _partners(one: Beside, role: str) -> Iterator[tuple[datetime.date, float]]:
    """Yields the dates of this role beside a field, in the same object, with their confidence."""
    for pointer, leaf in one.siblings():
        if 0 <= leaf.slot < len(one.form.slots):
            other = replace(one, pointer=pointer, leaf=leaf)
            if _is_date(other) and role in _roles(other.asked.label) and (day := _day(other)) is not None:
                yield day, leaf.confidence


def _is_date(one: Beside) -> bool:
    return one.slot.format in ("date", "date-time") and isinstance(one.value, str)


def _day(one: Beside) -> datetime.date | None:
    if not _is_date(one):
        return None
    try:
        return datetime.date.fromisoformat(one.value[:10])
    except ValueError:
        return None


def _roles(words: str) -> frozenset[str]:
    return frozenset(role for role, pattern in _ROLE_WORDS.items() if pattern.search(words.replace("_", " ")))


DATES: tuple[Kind, ...] = (_within_period, _label, _told_without_day, _birth, _period, _turned_year, _told_start)
