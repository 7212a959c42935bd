"""Finds a known value in a text: the spans that have it among their readings."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from cinnabar.engine.readings.codes import names_of
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import Kind, readings, surroundings
from cinnabar.engine.readings.scan import Mention

#: The characters before a value that are searched for words of its field's name, and the letters of a word that must
#: agree.
NAME_NEAR, NAME_STEM = 60, 5
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d\d:\d\d(?::\d\d)?")
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*")
_DURATION = re.compile(r"P(?:\d|T).*|\d+(?:\.\d+)? (?:second|minute|hour|day|week|month|year)s?")


def find_value(
    text: str, value: str | int | float | bool, kind_hint: str, locale: Locale, mentions: list[Mention]
) -> list[tuple[int, int]]:
    """Returns the spans [start, end) of `text` that have `value` among their readings, in order; booleans have none.

    A string is searched folded (NFKC, without case, white space and punctuation; separate digits stay separate) and
    ends at word boundaries. A number, date, time or duration is compared with the readings of `mentions`
    (`scan(text, locale)`). `kind_hint` is a JSON type or format ("number", "date", ...); a string that looks like a
    date, a time or a duration is treated as one whatever the hint.
    """
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return _find_number(text, str(value), locale, mentions)
    spans = _find_typed(text, value, kind_hint, locale, mentions)
    if spans:
        return spans
    spans = _find_folded(text, value)
    if not spans:
        lowered = text.lower()
        for name in names_of(value):
            # A cheap test before the search, because a country has two hundred names.
            if name.lower() in lowered:
                spans += _find_name(text, name)
    if not spans and any(map(str.isdigit, value)):
        spans = [(m.start, m.end) for m in mentions if _has_text(_read(text, m, locale), value)] or _find_joined(
            text, value
        )
        if not spans and kind_hint in ("number", "integer"):
            spans = _find_number(text, value, locale, mentions)
    return sorted(set(spans))


def _read(text: str, mention: Mention, locale: Locale) -> tuple[tuple[str | bool, Kind], ...]:
    return _pairs(text[mention.start : mention.end], locale, *surroundings(text, mention.start, mention.end))


@lru_cache(maxsize=8192)
def _pairs(span: str, locale: Locale, before: str, after: str) -> tuple[tuple[str | bool, Kind], ...]:
    return tuple((r.value, r.kind) for r in readings(span, locale, before, after))


def _has_text(pairs: tuple[tuple[str | bool, Kind], ...], value: str) -> bool:
    return any(found == value for found, kind in pairs if kind not in ("number", "boolean"))


@lru_cache(maxsize=8192)
def _numbers(span: str, locale: Locale, before: str, after: str) -> frozenset[Decimal]:
    return frozenset(Decimal(str(v)) for v, kind in _pairs(span, locale, before, after) if kind == "number")


def _find_number(text: str, value: str, locale: Locale, mentions: list[Mention]) -> list[tuple[int, int]]:
    try:
        wanted = Decimal(value)
    except InvalidOperation:
        return []
    exact: set[tuple[int, int]] = set()
    for mention in mentions:
        if mention.kind not in ("number", "duration"):
            continue
        start, end = mention.start, mention.end
        if wanted in _numbers(text[start:end], locale, *surroundings(text, start, end)):
            exact.add((start, end))
    # A number and its duration ("2" in "2 years") are one place: the shorter span is kept.
    ordered = sorted(exact, key=lambda span: (span[0], -span[1]))
    end = len(text) + 1
    following = [*ordered[1:], (end, end)][: len(ordered)]
    return [span for span, behind in zip(ordered, following, strict=True) if behind[1] > span[1]]


def _find_typed(
    text: str, value: str, kind_hint: str, locale: Locale, mentions: list[Mention]
) -> list[tuple[int, int]]:
    kinds: tuple[str, ...]
    if _DATE.fullmatch(value):
        kinds = ("date",)
    elif _TIME.fullmatch(value):
        kinds = ("time", "number")
    elif _DATETIME.fullmatch(value):
        kinds = ("datetime", "time")
    elif _DURATION.fullmatch(value) or kind_hint == "duration":
        kinds = ("duration",)
    else:
        return []
    spans = [(m.start, m.end) for m in mentions if m.kind in kinds and _has_text(_read(text, m, locale), value)]
    if not spans and kinds == ("date",):
        stamps = [mention for mention in mentions if mention.kind == "datetime"]
        spans = [(m.start, m.end) for m in stamps if _has_text(_read(text, m, locale), value)]
    return sorted(set(spans))


@lru_cache(maxsize=8)
def _fold_text(text: str) -> tuple[str, tuple[int, ...]]:
    return _fold(text)


def fold(text: str) -> str:
    """Returns the letters and digits of a text in folded form, for comparison."""
    return _fold(text)[0]


def _fold(text: str) -> tuple[str, tuple[int, ...]]:
    """Returns the letters and digits of a text in folded form, and the place in the text of each.

    A run of other characters between two digits becomes one blank, because 1.5 is not 15.
    """
    out: list[str] = []
    places: list[int] = []
    gap = False
    for at, character in enumerate(text):
        if character.isascii():
            folded = character.lower() if character.isalnum() else ""
        else:
            folded = "".join(c for c in unicodedata.normalize("NFKC", character).casefold() if c.isalnum())
        if not folded:
            gap = True
            continue
        if gap and out and out[-1].isdigit() and folded[0].isdigit():
            out.append(" ")
            places.append(at)
        gap = False
        for c in folded:
            out.append(c)
            places.append(at)
    return "".join(out), tuple(places)


def _find_folded(text: str, value: str) -> list[tuple[int, int]]:
    folded, places = _fold_text(text)
    needle, _ = _fold(value)
    if not needle:
        return _find_verbatim(text, value)
    return _matches(text, folded, places, needle, value)


def _find_joined(text: str, value: str) -> list[tuple[int, int]]:
    """Returns the spans with the letters and digits of the value: "DE12 3456" for "DE123456"."""
    folded, places = _fold_text(text)
    needle = _fold(value)[0].replace(" ", "")
    if len(needle) < 6:
        return []
    kept = [i for i, c in enumerate(folded) if c != " "]
    joined = "".join(folded[i] for i in kept)
    return _matches(text, joined, tuple(places[i] for i in kept), needle, value)


def _matches(text: str, folded: str, places: tuple[int, ...], needle: str, value: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    at = folded.find(needle)
    while at >= 0:
        start, last = places[at], places[at + len(needle) - 1]
        after = last + 1
        # Both ends are at word boundaries, and the folding cuts no character of the text.
        opens = start == 0 or not text[start - 1].isalnum() or not text[start].isalnum()
        closes = after >= len(text) or not text[after].isalnum()
        if opens and closes:
            out.append(_with_marks(text, start, after, value))
        at = folded.find(needle, at + 1)
    exact = [span for span in out if " ".join(text[span[0] : span[1]].split()) == value]
    return exact or out


def _with_marks(text: str, start: int, end: int, value: str) -> tuple[int, int]:
    """Returns the span with the punctuation at the value's ends added, if the text has it too."""
    tail = len(value)
    while tail and not value[tail - 1].isalnum():
        tail -= 1
    for mark in value[tail:]:
        if end < len(text) and text[end] == mark:
            end += 1
    head = 0
    while head < len(value) and not value[head].isalnum():
        head += 1
    for mark in reversed(value[:head]):
        if start and text[start - 1] == mark:
            start -= 1
    return start, end


def _find_verbatim(text: str, value: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(re.escape(value), text)] if value.strip() else []


def _find_name(text: str, name: str) -> list[tuple[int, int]]:
    if not any(map(str.isalnum, name)):
        return _find_verbatim(text, name)
    if len(name) <= 2:
        # In running text two letters are more often a word than a code.
        return [m.span() for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    pattern = rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
