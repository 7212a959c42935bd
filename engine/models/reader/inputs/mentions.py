"""The mentions of a passage that a typed slot can take: spans with a reading that its automaton accepts.

Enumerating them applies the constraint; the model decides which of them is the value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.readings import is_amount, json_readings
from cinnabar.engine.readings.scan import Mention, scan
from cinnabar.schemas.form.form import Slot

#: The characters on each side that a reading may use (a sign, a currency, "pm" after a range).
_CONTEXT = 40

Typed = tuple[int, int, bytes]
_Key = tuple[str, int | None]


class MentionReader:
    """The readings of a passage's spans, each computed once, in the locale that its text has."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.locale: Locale = document_locale(text)
        self._mentions: list[Mention] | None = None
        self._readings: dict[tuple[tuple[int, int], ...], tuple[bytes, ...]] = {}
        self._typed: dict[_Key, list[Typed]] = {}
        self._starting: dict[_Key, dict[int, list[tuple[int, bytes]]]] = {}
        self._places: dict[_Key, npt.NDArray[np.int64]] = {}

    @property
    def mentions(self) -> list[Mention]:
        """All stretches that look like a number, a date, a time or a code."""
        if self._mentions is None:
            self._mentions = scan(self.text, self.locale)
        return self._mentions

    def readings(self, *spans: tuple[int, int]) -> tuple[bytes, ...]:
        """Returns the possible readings of these spans as canonical JSON texts, the likelier first."""
        if spans not in self._readings:
            start, end = spans[0][0], spans[-1][1]
            before, after = self.text[max(0, start - _CONTEXT) : start], self.text[end : end + _CONTEXT]
            read = " ".join(self.text[a:b] for a, b in spans)
            self._readings[spans] = json_readings(read, self.locale, before, after)
        return self._readings[spans]

    def read(self, slot: Slot, *spans: tuple[int, int]) -> bytes | None:
        """Returns the first reading of these spans that the slot accepts, or None.

        For a number or a text, as Pydantic's Decimal is, the number goes first if the words are one and nothing else.
        """
        reading = next((r for r in self.readings(*spans) if r != b"null" and slot.accepts(r)), None)
        if reading is None or slot.kind != "string" or reading[:1] != b'"':
            return reading
        number = next((r for r in self.readings(*spans) if r[:1] in b"-0123456789"), None)
        if number is None or not slot.accepts(number) or not (slot.free or slot.accepts(b'"%s"' % number)):
            return reading
        return number if is_amount(" ".join(self.text[a:b] for a, b in spans)) else reading

    def typed(self, slot: Slot) -> list[Typed]:
        """Returns all mentions that the slot accepts in some reading: (start, end, canonical text), in order."""
        key = _key(slot)
        if key not in self._typed:
            readings = [(m.start, m.end, self.read(slot, (m.start, m.end))) for m in self.mentions]
            self._typed[key] = [(a, b, text) for a, b, text in readings if text is not None]
        return self._typed[key]

    def starting(self, slot: Slot, start: int) -> list[tuple[int, bytes]]:
        """Returns the accepted mentions that start at this character: (end, canonical text).

        A mention may begin with a sign or a bracket one character before its first piece, or start one character after
        it.
        """
        key = _key(slot)
        if key not in self._starting:
            # A list of thousands of rows asks thousands of times.
            by_start = self._starting[key] = {}
            for a, b, text in self.typed(slot):
                by_start.setdefault(a, []).append((b, text))
        known = self._starting[key]
        return known.get(start) or known.get(start + 1) or known.get(start - 1) or []

    def places(self, slot: Slot, pieces: Pieces) -> npt.NDArray[np.int64]:
        """Returns the pieces at which the slot's mentions start, ascending; they are computed once for all windows."""
        key = _key(slot)
        if key not in self._places:
            starts = {pieces.at(start) for start, _, _ in self.typed(slot)}
            self._places[key] = np.array(sorted(starts), np.int64)
        return self._places[key]


def _key(slot: Slot) -> _Key:
    """Returns the key of the set of texts that a slot accepts."""
    return slot.automaton.fingerprint, slot.max_length


def word_starts(case: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Returns the pieces at which a span may start, which are not within a word: [T] bool."""
    return np.asarray(case != 0)


def word_ends(case: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Returns the pieces at which a span may end, because the next one does not continue the word: [T] bool."""
    return np.append(case[1:] != 0, True)
