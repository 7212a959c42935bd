"""Finds the evidence for a server's values: their spans in the text.

A value is sought as it stands, then among the readings of the text's dates, numbers and codes, then as the likest
stretch. Of several places the one nearest to the other values of its row counts, or, outside of rows, the one behind
the name of its field. The confidence is not calibrated: it separates values that stand in the text from others.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TypeVar

from cinnabar.engine.readings.align import find_value
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.readings import readings, surroundings
from cinnabar.engine.readings.scan import scan
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.form import Slot

# A changed one changes values: raise the part `replies` (engine/version.py).
#: Confidence of a value that stands in the text, of one among its readings, of one that is similar to a stretch (times
#: the similarity), of an option without words of its own, of a value that stands nowhere; and of an absent value.
STANDS, READ, LIKE, CHOSEN, NOWHERE, ABSENT = 0.9, 0.85, 0.75, 0.6, 0.3, 0.7
#: The least similarity (0 to 1) of a stretch to a value, and the least length of such a value in characters.
LEAST_LIKENESS, LEAST_LETTERS = 0.88, 5
#: Places of one value that are compared; characters before a place that may name its field.
COMPARED_PLACES, NAMED_AROUND = 60, 80
#: Places on either side of a row's anchor that are compared; characters that a line break adds to a distance.
NEAR_PLACES, LINE_DISTANCE = 4, 200
#: Texts longer than this, in characters, are not searched for similar stretches.
LONGEST_SEARCHED = 400_000

Span = tuple[int, int]
_Key = TypeVar("_Key", Decimal, str)
_Index = tuple[dict[Decimal, list[Span]], dict[str, list[Span]]]


@dataclass(frozen=True, slots=True)
class AlignedValue:
    """A value's span [start, end) in the text, None where it has none, and the confidence that follows."""

    span: Span | None
    confidence: float


@dataclass(frozen=True, slots=True)
class _Places:
    spans: Sequence[Span]
    confidence: float


class Aligner:
    """Finds values in one text, whose dates and numbers are read by its document's conventions."""

    def __init__(self, text: str, locale: Locale | None = None) -> None:
        self.text, self._locale = text, locale or document_locale(text)
        self._known: dict[tuple[str, bool, bool | None, str], _Places] = {}
        self._indices: dict[bool | None, _Index] = {}

    def place(self, values: Mapping[tuple[int, int], tuple[Slot, str]]) -> dict[tuple[int, int], AlignedValue]:
        """Returns the place of each value. `values` has a slot's canonical JSON text by (slot, row), row -1 outside."""
        rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for key in values:
            rows[key[1]].append(key)
        places_of: dict[tuple[int, int], AlignedValue] = {}
        begin = 0
        for row in sorted(rows):
            places = {key: self._places(*values[key]) for key in rows[row]}
            if row < 0:
                places_of |= {key: self._by_label(values[key][0], at) for key, at in places.items()}
                continue
            anchor = _anchor(places.values(), begin)
            begin = begin if anchor is None else anchor[0]
            places_of |= {key: self._nearest(at, anchor) for key, at in places.items()}
        return places_of

    def _places(self, slot: Slot, text: str) -> _Places:
        key = (slot.format or slot.kind, bool(slot.options), slot.day_first, text)
        if key not in self._known:
            self._known[key] = self._search(slot, text)
        return self._known[key]

    def _search(self, slot: Slot, text: str) -> _Places:
        value = parse(text)
        if value is None or isinstance(value, bool):
            return _Places((), CHOSEN)
        numbers, texts = self._index(slot.day_first)
        if not isinstance(value, str):
            spans = numbers.get(Decimal(value), [])
            return _Places(spans, READ if spans else CHOSEN if slot.options else NOWHERE)
        spans = find_value(self.text, value, "string", self._locale, [])
        if spans:
            return _Places(spans, STANDS)
        spans = texts.get(value, [])
        if not spans and re.fullmatch(r"[+-]?\d+(\.\d+)?", value):
            spans = numbers.get(Decimal(value), [])
        if spans:
            return _Places(spans, READ)
        if slot.options:
            return _Places((), CHOSEN)
        return self._like(value)

    def _like(self, value: str) -> _Places:
        if len(value) < LEAST_LETTERS or len(self.text) > LONGEST_SEARCHED or len(self._lower) != len(self.text):
            return _Places((), NOWHERE)
        # Extra: models, mercury.
        from rapidfuzz import fuzz

        best = fuzz.partial_ratio_alignment(value.lower(), self._lower, score_cutoff=100 * LEAST_LIKENESS)
        # Of a text that is shorter than the value, rapidfuzz would search the value for the text.
        if best is None or len(self.text) < len(value):
            return _Places((), NOWHERE)
        return _Places((_whole(self.text, best.dest_start, best.dest_end),), LIKE * best.score / 100)

    def _by_label(self, slot: Slot, places: _Places) -> AlignedValue:
        if len(places.spans) < 2:
            return AlignedValue(places.spans[0] if places.spans else None, places.confidence)
        # Extra: models, mercury.
        from rapidfuzz import fuzz

        label = slot.title or slot.path.rsplit("/", 1)[-1].replace("_", " ")
        named = [
            round(fuzz.partial_ratio(label.lower(), self._before(start)))
            for start, _ in places.spans[:COMPARED_PLACES]
        ]
        return AlignedValue(places.spans[named.index(max(named))], places.confidence)

    def _nearest(self, places: _Places, anchor: Span | None) -> AlignedValue:
        """Returns the place nearest to the anchor; a line break between them counts as LINE characters."""
        if not places.spans or anchor is None:
            return AlignedValue(None, places.confidence)
        start = anchor[0]
        at = bisect_left(places.spans, anchor)
        near = places.spans[max(0, at - NEAR_PLACES) : at + NEAR_PLACES]

        def far(span: Span) -> int:
            first, last = sorted((span[0], start))
            return last - first + LINE_DISTANCE * self.text.count("\n", first, last)

        return AlignedValue(min(near, key=far), places.confidence)

    def _before(self, start: int) -> str:
        return self.text[max(0, start - NAMED_AROUND) : start].lower()

    @cached_property
    def _lower(self) -> str:
        return self.text.lower()

    def _index(self, day_first: bool | None) -> _Index:
        """Returns the places of numbers and texts, with this order of day and month, else that of the locale."""
        if day_first not in self._indices:
            locale = self._locale.in_order(day_first)
            numbers, texts = self._indices[day_first] = defaultdict(list), defaultdict(list)
            for mention in scan(self.text, locale):
                start, end = span = mention.start, mention.end
                for reading in readings(self.text[start:end], locale, *surroundings(self.text, start, end)):
                    if reading.kind == "number":
                        if mention.kind in ("number", "duration"):
                            _note(numbers, Decimal(str(reading.value)), span)
                    elif isinstance(reading.value, str):
                        _note(texts, reading.value, span)
        return self._indices[day_first]


def _note(index: dict[_Key, list[Span]], key: _Key, span: Span) -> None:
    if span not in index[key][-1:]:
        index[key].append(span)


def _anchor(places: Collection[_Places], begin: int) -> Span | None:
    """Returns a row's anchor: of its value with the fewest places, the first place from `begin` on."""
    rare = sorted((at for at in places if at.spans), key=lambda at: len(at.spans))
    if not rare:
        return None
    return next((span for span in rare[0].spans if span[0] >= begin), rare[0].spans[-1])


def _whole(text: str, start: int, end: int) -> Span:
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
