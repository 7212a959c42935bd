"""Finds the words behind a value in a text: the spans that print it, and those that read as it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import get_args

from cinnabar.engine.readings.codes import names_of
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.readings import readings, surroundings
from cinnabar.engine.readings.scan import Mention, MentionKind, scan
from cinnabar.engine.readings.stems import NAME_NEAR, stems

# A changed one changes values: raise the part `replies` (engine/version.py).
#: Names of options with fewer letters are whole words: "no" is not printed in "November".
WHOLE_WORD = 4
#: The fewest letters and digits of a text that is sought without the gaps between its digits.
JOINED = 6
#: The least similarity (0 to 1) of a stretch to a value, and the least length of such a value in characters.
LEAST_LIKENESS, LEAST_LETTERS = 0.88, 5
#: Texts longer than this, in characters, are not searched for similar stretches.
LONGEST_SEARCHED = 400_000
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
# The texts that are sought among the readings of these mentions first.
_TYPED: tuple[tuple[re.Pattern[str], tuple[MentionKind, ...]], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d"), ("date",)),
    (re.compile(r"\d\d:\d\d(?::\d\d)?"), ("time",)),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*"), ("datetime", "time")),
    (re.compile(r"P(?:\d|T).*|\d+(?:\.\d+)? (?:second|minute|hour|day|week|month|year)s?"), ("duration",)),
)
_KINDS: tuple[MentionKind, ...] = get_args(MentionKind)

Span = tuple[int, int]
_Folded = tuple[str, tuple[int, ...]]
Value = str | int | float | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class FoundSpans:
    """The spans [start, end) of a value in a text, in order, and whether one of them prints it as it is."""

    spans: tuple[Span, ...] = ()
    printed: bool = False


@dataclass(frozen=True, slots=True)
class _Index:
    """The mentions that read as a number, and those that read as a text."""

    numbers: dict[Decimal, list[Mention]]
    texts: dict[str, list[Mention]]


class Search:
    """Finds values in one text, whose dates and numbers are read by its document's conventions, else by its own."""

    def __init__(self, text: str, locale: Locale | None = None) -> None:
        self.text, self._known_locale = text, locale
        self._found: dict[tuple[str, bool | None], FoundSpans] = {}
        self._indices: dict[bool | None, _Index] = {}

    def find(self, value: Value, day_first: bool | None = None) -> FoundSpans:
        """Returns the places of a value; booleans and nothing have none.

        A number, and a text that spells a date, a time or a duration, is sought among the readings of what looks like
        one, in this order of day and month, else in that of the document. Any other text is sought as it stands, by the
        other names of a code, and among all readings.
        """
        key = repr(value), day_first
        if key not in self._found:
            self._found[key] = self._find(value, day_first)
        return self._found[key]

    def _find(self, value: Value, day_first: bool | None) -> FoundSpans:
        if value is None or isinstance(value, bool):
            return FoundSpans()
        if not isinstance(value, str):
            return FoundSpans(self._numbers(Decimal(str(value)), day_first))
        kinds = next((kinds for pattern, kinds in _TYPED if pattern.fullmatch(value)), ())
        if spans := self._read(value, day_first, kinds):
            own = fold(value)
            return FoundSpans(spans, any(fold(self.text[start:end]) == own for start, end in spans))
        if spans := self.printed(value) or self._named(value):
            return FoundSpans(spans, printed=True)
        if spans := self._read(value, day_first):
            return FoundSpans(spans)
        return FoundSpans(self._numbers(Decimal(value), day_first) if _NUMBER.fullmatch(value) else ())

    def printed(self, value: str, region: Span | None = None, name: bool = False) -> tuple[Span, ...]:
        """Returns the places of a text, folded (`fold`) and between word boundaries: those that agree to the letter.

        If there are none, the gaps between its digits do not count: "DE12 3456" is "DE123456". region: the characters
        [start, end) that are searched, all without one. name: the text is no copy but names an option, so any letter
        case is as good, and a word of the text may go on behind it: "claim" is in "claims".
        """
        needle = fold(value)
        if not needle:
            return () if name else self._verbatim(value)
        joined = needle.replace(" ", "")
        found = self._matches(self._folded, needle, value, region, name)
        if found or not any(map(str.isdigit, joined)) or not (name or len(joined) >= JOINED):
            return found
        return self._matches(self._without_gaps, joined, value, region, name)

    def likest(self, value: str) -> tuple[Span, float] | None:
        """Returns the whole words that are likest to a text, and how like (0 to 1); None for no such words."""
        if len(value) < LEAST_LETTERS or len(self.text) > LONGEST_SEARCHED or len(self._lower) != len(self.text):
            return None
        # Extra: models, mercury.
        from rapidfuzz import fuzz

        best = fuzz.partial_ratio_alignment(value.lower(), self._lower, score_cutoff=100 * LEAST_LIKENESS)
        # Of a text that is shorter than the value, rapidfuzz would search the value for the text.
        if best is None or len(self.text) < len(value):
            return None
        return _whole_words(self.text, best.dest_start, best.dest_end), best.score / 100

    def _numbers(self, value: Decimal, day_first: bool | None) -> tuple[Span, ...]:
        """Returns the places of a number. A number and its duration ("2" in "2 years") are one: the shorter span."""
        found = {(one.start, one.end) for one in self._index(day_first).numbers.get(value, ())}
        ordered = sorted(found, key=lambda span: (span[0], -span[1]))
        following = [*ordered[1:], (len(self.text) + 1,) * 2]
        return tuple(span for span, behind in zip(ordered, following, strict=False) if behind[1] > span[1])

    def _read(self, value: str, day_first: bool | None, kinds: Collection[MentionKind] = _KINDS) -> tuple[Span, ...]:
        """Returns the mentions of these kinds that read as a text."""
        found = self._index(day_first).texts.get(value, ()) if kinds else ()
        return tuple(dict.fromkeys((one.start, one.end) for one in found if one.kind in kinds))

    def _named(self, value: str) -> tuple[Span, ...]:
        """Returns the places of the other names of a code."""
        # A cheap test before the search, because a country has two hundred names.
        names = [name for name in names_of(value) if name.lower() in self._lower]
        return tuple(sorted({span for name in names for span in self._name(name)}))

    def _name(self, name: str) -> tuple[Span, ...]:
        if not any(map(str.isalnum, name)):
            return self._verbatim(name)
        # In running text two letters are more often a word than a code.
        edge, flags = (r"\w", re.NOFLAG) if len(name) <= 2 else (r"[^\W_]", re.IGNORECASE)
        pattern = rf"(?<!{edge}){re.escape(name)}(?!{edge})"
        return tuple(match.span() for match in re.finditer(pattern, self.text, flags))

    def _verbatim(self, value: str) -> tuple[Span, ...]:
        return tuple(match.span() for match in re.finditer(re.escape(value), self.text)) if value.strip() else ()

    def _matches(
        self, where: _Folded, needle: str, value: str, region: Span | None, name: bool
    ) -> tuple[Span, ...]:
        text, (folded, places) = self.text, where
        begin, end = (0, len(folded)) if region is None else (bisect_left(places, at) for at in region)
        goes_on = name and len(needle) >= WHOLE_WORD and not needle.replace(" ", "").isdecimal()
        found = list[Span]()
        at = folded.find(needle, begin, end)
        while at >= 0:
            start, after = places[at], places[at + len(needle) - 1] + 1
            # Both ends are at word boundaries, and the folding cuts no character of the text.
            opens = start == 0 or not text[start - 1].isalnum() or not text[start].isalnum()
            if opens and (goes_on or after >= len(text) or not text[after].isalnum()):
                found.append(_with_marks(text, start, after, value))
            at = folded.find(needle, at + 1, end)
        exact = [(start, end) for start, end in found if " ".join(text[start:end].split()) == value]
        return tuple(found if name else exact or found)

    def _index(self, day_first: bool | None) -> _Index:
        """Returns the places of numbers and texts, with this order of day and month, else that of the locale."""
        if day_first not in self._indices:
            locale = self._locale.in_order(day_first)
            index = self._indices[day_first] = _Index(defaultdict(list), defaultdict(list))
            for one in scan(self.text, locale):
                start, end = one.start, one.end
                for reading in readings(self.text[start:end], locale, *surroundings(self.text, start, end)):
                    if reading.kind == "number" and one.kind in ("number", "duration"):
                        index.numbers[Decimal(str(reading.value))].append(one)
                    elif reading.kind != "number" and isinstance(reading.value, str):
                        index.texts[reading.value].append(one)
        return self._indices[day_first]

    @cached_property
    def _locale(self) -> Locale:
        return self._known_locale or document_locale(self.text)

    @cached_property
    def _lower(self) -> str:
        return self.text.lower()

    @cached_property
    def _folded(self) -> _Folded:
        return _fold(self.text)

    @cached_property
    def _without_gaps(self) -> _Folded:
        """The folded text without the gaps between digits."""
        folded, places = self._folded
        kept = [at for at, character in enumerate(folded) if character != " "]
        return "".join(folded[at] for at in kept), tuple(places[at] for at in kept)


@lru_cache(maxsize=2)
def search_in(text: str) -> Search:
    """Returns the search in a text by its own conventions; those of the last texts are kept."""
    return Search(text)


def behind_label(text: str, spans: Sequence[Span], label: str) -> Span:
    """Returns the span right before which most words of a field's label stand, the first of equal ones.

    A text may shorten a word ("min" of "Minimum") or go on behind a longer one ("dates" of "Date").
    """
    wanted = stems(label)

    def met(span: Span) -> int:
        before = stems(text[max(0, span[0] - NAME_NEAR) : span[0]])
        return sum(any(one.startswith(word) or _goes_on(word, one) for word in before) for one in wanted)

    return max(spans, key=met) if wanted else spans[0]


def _goes_on(word: str, name: str) -> bool:
    """Returns whether a word begins with a name that is long enough for that."""
    return len(name) >= WHOLE_WORD and word.startswith(name)


def fold(text: str) -> str:
    """Returns the letters and digits of a text in folded form, for comparison."""
    return _fold(text)[0]


def _fold(text: str) -> _Folded:
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


def _with_marks(text: str, start: int, end: int, value: str) -> Span:
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


def _whole_words(text: str, start: int, end: int) -> Span:
    """Returns the stretch widened to whole words, without blanks at its ends."""
    while start and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
