"""Finds the mentions of a text: the stretches that a typed slot may point at."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal

from cinnabar.engine.readings.dates import DURATION, dates_in
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import FRACTIONS, NUMBER_WORDS, digits_to_decimals
from cinnabar.engine.readings.quantities import SCALED, quantity_spans
from cinnabar.engine.readings.times import RANGE, STAMP, TIME, end_of_zone, is_beside

MentionKind = Literal["number", "date", "time", "datetime", "duration", "code"]


@dataclass(frozen=True, slots=True, order=True)
class Mention:
    """A stretch [start, end) in characters that looks like a value of this kind."""

    start: int
    end: int
    kind: MentionKind


_FRACTION = "".join(FRACTIONS)
# An adjacent minus belongs to a number if no word or number touches it.
_NUMBER = re.compile(
    rf"(?:(?<![\w.,)])[-−–](?=[.,]?\d))?(?:\d+(?:[.,'’]\d+)*|(?<![\w.,])[.,]\d+)(?:\s?[{_FRACTION}])?"
    rf"|[{_FRACTION}]"
)
_UNLIKELY = re.compile(r"0\d+[.,]|\d{4,}[.,]\d{3,}")
_DIGITS = re.compile(r"\d+")
_SPACED_NUMBER = re.compile(r"(?<![\d.,'])[-−]?\d{1,3}(?:[ \u00a0\u202f\u2009]\d{3})+(?:[.,]\d{1,4})?(?![\d])")
_ORDINAL = re.compile(r"(?<![\w.,])\d{1,4}(?:st|nd|rd|th)\b")
_WORDS = re.compile(rf"\b(?:{NUMBER_WORDS})\b(?:\s*\(\s*\d+\s*\))?", re.IGNORECASE)
_LOOKS_LIKE_WORD = re.compile(
    r"(?i)one|two|three|four|fi|six|seven|eigh|nin|ten|eleven|twel|thir|twent|hundred|thousand|million"
    r"|ein|zwei|drei|vier|fünf|sech|sieb|acht|neun|zehn|elf|zwölf|dreiß|tausend|first|second"
)
# Bounded as in RFC 5321, and it begins only where a word begins: a long run of letters costs one attempt.
_ADDRESS = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_URL = re.compile(r"(?:https?://|ftp://|www\.)[^\s<>\"'|]+[^\s<>\"'|.,;:!?)\]}]|\bdoi:\s?10\.\S+", re.IGNORECASE)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){2,7}(?:\s?[A-Z0-9]{1,4})?\b")
# Letters or digits joined by the marks of codes; kept if there is a digit or if all letters are capitals.
_TOKEN = re.compile(r"[A-Za-zÀ-ÿ0-9][A-Za-zÀ-ÿ0-9]*(?:[-./_+:@#=*][A-Za-zÀ-ÿ0-9]+)*|[<>=~^]=?\s?\d[\w.]*")
_CODE_TOKEN = re.compile(
    r"(?=.*\d)(?=.*[A-Za-z\-./_:@]).{2,}|[A-Z]{2,}\d*|.*[a-z][.]\w.*|(?=.*[-_/.])[A-Z0-9][\w./-]*|\d{5,}"
    r"|[<>=~^].*",
    re.DOTALL,
)


def scan(text: str, locale: Locale) -> list[Mention]:
    """Returns the numbers, dates, times, date-times, durations and code-like tokens of a text, in order.

    Kinds overlap, because the model chooses among them; only numbers strictly inside of a date, a time, an account
    number, an address or a link are left out. Numbers keep an adjacent minus, but not their currency.
    """
    out: set[Mention] = set()
    covers = _add_covers(text, locale, out)
    for match in chain(DURATION.finditer(text), RANGE.finditer(text)):
        # "0.1 M€" is no 0.1 minutes.
        scaled = SCALED.match(text, match.start())
        if scaled is None or not scaled["glued"]:
            out.add(Mention(*match.span(), "duration"))
    out |= {Mention(*token.span(), "code") for token in _TOKEN.finditer(text) if _CODE_TOKEN.fullmatch(token[0])}
    _add_numbers(text, locale, _Cover(covers), out)
    return sorted(out)


def _add_covers(text: str, locale: Locale, out: set[Mention]) -> list[tuple[int, int]]:
    """Adds dates, times, date-times and long codes; returns the intervals that hide the numbers inside of them."""
    covers: list[tuple[int, int]] = []
    dates = dates_in(text, locale)
    for start, end, _ in dates:
        end = start + len(text[start:end].rstrip(" \t\r\n,"))
        out.add(Mention(start, end, "date"))
        covers.append((start, end))
    times = [match.span() for match in TIME.finditer(text)]
    for start, end in times:
        out.add(Mention(start, end, "time"))
        if ":" in text[start:end]:
            covers.append((start, end))
    for match in STAMP.finditer(text):
        out.add(Mention(match.start(), end_of_zone(text, match.end()), "datetime"))
        covers.append(match.span())
    _pair(text, [(start, end) for start, end, _ in dates], times, out)
    codes = [match.span() for pattern in (_ADDRESS, _URL, _IBAN) for match in pattern.finditer(text)]
    out |= {Mention(start, end, "code") for start, end in codes}
    return covers + codes


def _add_numbers(text: str, locale: Locale, inside: _Cover, out: set[Mention]) -> None:
    """Adds the numbers that no interval hides, in figures and in words."""
    quantities = list(quantity_spans(text))
    # The digits before a scale are no number of their own.
    scaled = _Cover([(start, end) for start, end, scale in quantities if scale])
    for pattern in (_NUMBER, _SPACED_NUMBER, _ORDINAL):
        for match in pattern.finditer(text):
            start, end = match.span()
            if not inside.strictly(start, end) and not scaled.strictly(start, end):
                out.add(Mention(start, end, "number"))
                if _is_run_together(match[0], locale):
                    # "0003.140607" and "1.2.3" are no numbers; their parts may be.
                    out |= {Mention(*part.span(), "number") for part in _DIGITS.finditer(text, start, end)}
    out |= {Mention(start, end, "number") for start, end, _ in quantities if not inside.strictly(start, end)}
    if _LOOKS_LIKE_WORD.search(text):
        words = (match.span() for match in _WORDS.finditer(text))
        out |= {Mention(start, end, "number") for start, end in words if not scaled.strictly(start, end)}


def _is_run_together(token: str, locale: Locale) -> bool:
    """Returns whether digits with separators are more likely several numbers, or a version, than one number."""
    if token.isdigit():
        return False
    return _UNLIKELY.match(token) is not None or not digits_to_decimals(token.lstrip("-−–"), locale)


def _pair(text: str, dates: list[tuple[int, int]], times: list[tuple[int, int]], out: set[Mention]) -> None:
    """Adds the stretches of a date and its time, with the zone behind them; each belongs to its nearest neighbour."""
    order = sorted([*((*day, True) for day in dates), *((*clock, False) for clock in times)])
    pairs = []
    for (start, end, is_date), (begin, until, is_other) in pairwise(order):
        gap = text[end if is_date else end_of_zone(text, end) : begin]
        clock, behind = (text[begin:until], text[until : until + 24]) if is_date else (text[start:end], "")
        if is_date != is_other and end <= begin and is_beside(gap, clock, is_date, behind):
            pairs.append((len(gap), start, begin, until))
    taken: set[int] = set()
    for _, start, begin, until in sorted(pairs):
        if not taken & {start, begin}:
            taken |= {start, begin}
            out.add(Mention(start, end_of_zone(text, until), "datetime"))


class _Cover:
    """Intervals that hide numbers strictly inside of them."""

    def __init__(self, intervals: list[tuple[int, int]]) -> None:
        self._intervals = sorted(intervals)
        self._starts = [start for start, _ in self._intervals]
        # The furthest end of all intervals up to each one, so that one comparison decides.
        self._reach: list[int] = []
        furthest = 0
        for _, end in self._intervals:
            furthest = max(furthest, end)
            self._reach.append(furthest)

    def strictly(self, start: int, end: int) -> bool:
        """Returns whether [start, end) lies in an interval and is shorter than it."""
        at = bisect_right(self._starts, start) - 1
        if at < 0 or self._reach[at] < end:
            return False
        return self._intervals[at] != (start, end)
