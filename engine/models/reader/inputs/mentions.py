"""The mentions of a passage that a typed slot can take: spans with a reading that its automaton accepts.

Enumerating them applies the constraint; the model decides which of them is the value.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property, lru_cache
from operator import attrgetter, itemgetter

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.readings.quantities import CENTS, COUNTED_IN, SCALED
from cinnabar.engine.readings.readings import is_amount, json_readings, surroundings
from cinnabar.engine.readings.scan import Mention, scan
from cinnabar.schemas.form.form import Slot

# The formats of which a part may read as a value too ("3:30" of "3:30 pm", "2 hours" of "2 hours 30 minutes").
_WHOLE = ("date-time", "time", "duration")
# A percentage is no amount of money, unless the field's words are about shares too.
_PERCENT = re.compile(
    r"\s?[%‰]|[ \u00a0]?(?:per\s?cento?|pct|pro[cs]ent\w*|prozent\w*|promille|v\.?\s?[HT]\.?|vom\s(?:hundert|tausend)"
    r"|pour\s?(?:cent|mille)|por\s?(?:cien|cen|mil)(?:to)?|per\s?mill?e?|процент\w*|p\.\s?c\.)(?!\w|\s?:)",
    re.IGNORECASE,
)
_TAXES = r"tax(?:es)?|vat|\w*steuer|mwst|ust|tva|impuestos?|iva|imposta"
_TAX = re.compile(rf"\b(?:{_TAXES})\b", re.IGNORECASE)
_MONEY = re.compile(
    rf"\b(?:{_TAXES}|amounts?|prices?|costs?|fees?|totals?|balance|\w*betrag|\w*summe|\w*preis|kosten|montants?|prix"
    r"|importe|precio|importo|prezzo|totale)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"%|\b(?:per\s?cent\w*|rates?|shares?|ratio|prozent\w*|\w*satz|\w*quote|anteil|taux|pourcentage|tasa|tipo|porcentaje"
    r"|tasso|aliquota|percentuale)\b",
    re.IGNORECASE,
)
_PRICE, _PER_HUNDRED = (
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for words in (
        r"prices?|\w*preise?|prix|precios?|prezz[oi]",
        r"per\s?cent\w*|prozent\w*|pourcentage|porcentaje|percentuale",
    )
)
_START = attrgetter("start")

Typed = tuple[int, int, bytes]
_Key = tuple[str, int | None, bool | None, bool, bool]
_Known = dict[tuple[bool, bool | None, tuple[tuple[int, int], ...]], tuple[bytes, ...]]


class MentionReader:
    """The readings of a passage's spans, each computed once, in the locale of its document, else that of its text."""

    def __init__(self, text: str, locale: Locale | None = None) -> None:
        self.text = text
        self.locale: Locale = locale or document_locale(text)
        self._readings: _Known = {}
        self._typed: dict[_Key, dict[int, bytes | None]] = {}
        self._pieces: npt.NDArray[np.int64] | None = None

    @cached_property
    def mentions(self) -> list[Mention]:
        """All stretches that look like a number, a date, a time or a code, in order."""
        return scan(self.text, self.locale)

    def readings(
        self, *spans: tuple[int, int], alone: bool = False, day_first: bool | None = None
    ) -> tuple[bytes, ...]:
        """Returns the possible readings of these spans as canonical JSON texts, the likelier first.

        alone: what stands beside the spans is none of their business, as in the cell of a table. day_first: the order
        of day and month in place of the locale's.
        """
        key = alone, day_first, spans
        if key not in self._readings:
            locale = self.locale.in_order(day_first)
            beside = ("", "") if alone else surroundings(self.text, spans[0][0], spans[-1][1])
            read = "\n".join(self.text[a:b] for a, b in spans)
            self._readings[key] = json_readings(read, locale, *beside)
        return self._readings[key]

    def read(self, slot: Slot, *spans: tuple[int, int], alone: bool = False) -> bytes | None:
        """Returns the first reading of these spans that the slot accepts, or None (`readings`).

        For a number or a text, as Pydantic's Decimal is, the number goes first if the words are one and nothing else.
        """
        readings = self.readings(*spans, alone=alone, day_first=slot.day_first)
        reading = next((r for r in readings if r != b"null" and slot.accepts(r)), None)
        if reading is None or slot.kind != "string" or reading[:1] != b'"':
            return reading
        number = next((r for r in readings if r[:1] in b"-0123456789"), None)
        if number is None or not slot.accepts(number) or not (slot.free or slot.accepts(b'"%s"' % number)):
            return reading
        return number if is_amount(" ".join(self.text[a:b] for a, b in spans)) else reading

    def typed_mentions(self, slot: Slot) -> list[Typed]:
        """Returns all mentions that the slot accepts in some reading: (start, end, canonical text), in order."""
        return self._taken(slot, range(len(self.mentions)))

    def mentions_at(self, slot: Slot, start: int) -> list[Typed]:
        """Returns the accepted mentions that start at this character: (start, end, canonical text).

        A mention may begin with a sign or a bracket one character before its first piece, or start one character after
        it. A date of a date-time may stand behind its time. Of times and durations the longest mention is the whole.
        """
        for begin in (start, start + 1, start - 1):
            first = bisect_left(self.mentions, begin, key=_START)
            last = bisect_right(self.mentions, begin, first, key=_START)
            behind = self._days_behind.get(begin, ()) if slot.format == "date-time" else ()
            if found := self._taken(slot, (*range(first, last), *behind)):
                return [max(found, key=itemgetter(1))] if slot.format in _WHOLE else found
        return []

    @cached_property
    def _days_behind(self) -> dict[int, list[int]]:
        """The places among the mentions of those that have a date as their second part, by where the date starts."""
        days = {mention.start for mention in self.mentions if mention.kind == "date"}
        found: dict[int, list[int]] = {}
        for at, mention in enumerate(self.mentions):
            if mention.kind == "datetime":
                for start in days.intersection(range(mention.start + 1, mention.end)):
                    found.setdefault(start, []).append(at)
        return found

    def places(self, slot: Slot, pieces: Pieces, first: int = 0, last: int | None = None) -> npt.NDArray[np.int64]:
        """Returns the pieces of [first, last) at which the slot's mentions start, or dates of a date-time, ascending.

        pieces: those of the reader's text.
        """
        if self._pieces is None:
            self._pieces = np.array([pieces.at(mention.start) for mention in self.mentions], np.int64)
        begin, end = np.searchsorted(self._pieces, (first, len(pieces) if last is None else last)).tolist()
        # A date-time may be pointed at by its date; a date without a time says that there is none.
        day, mentions = "date" if slot.format == "date-time" else "", self.mentions
        taken = [at for at in range(begin, end) if mentions[at].kind == day or self._accept(slot, at) is not None]
        return np.unique(self._pieces[taken])

    def _taken(self, slot: Slot, places: Iterable[int]) -> list[Typed]:
        """Returns what the slot accepts of the mentions at these places among them."""
        accepted = ((self.mentions[at], self._accept(slot, at)) for at in places)
        return [(mention.start, mention.end, text) for mention, text in accepted if text is not None]

    def _accept(self, slot: Slot, at: int) -> bytes | None:
        """Returns what the slot accepts of a mention. A long text has many that nobody asks for."""
        key = _key(slot)
        known = self._typed.setdefault(key, {})
        if at not in known:
            *_, is_counted_in, is_money = key
            start, end = self.mentions[at].start, self.mentions[at].end
            counted = SCALED.match(self.text, start) or CENTS.match(self.text, start) if is_counted_in else None
            if counted is not None and counted[1] and counted.end() >= end:
                known[at] = self.read(slot, counted.span(1), alone=True)
            else:
                known[at] = None if is_money and _PERCENT.match(self.text, end) else self.read(slot, (start, end))
        return known[at]


def _key(slot: Slot) -> _Key:
    """Returns the key of the set of texts that a slot accepts.

    The last two: its words tell the scale of its numbers ("in millions"), or that it is money and no percentage.
    """
    asked = _asks_number(slot.kind, slot.path, slot.title, slot.description)
    return slot.automaton.fingerprint, slot.max_length, slot.day_first, *asked


def asks_share(slot: Slot) -> bool:
    """Returns whether the words of a field ask for a percentage, and for no price."""
    words, is_number = _words_of(slot), slot.kind in ("number", "integer")
    return is_number and _PER_HUNDRED.search(words) is not None and not _PRICE.search(words)


def asks_tax(slot: Slot) -> bool:
    """Returns whether the words of a field name a tax."""
    return _TAX.search(_words_of(slot)) is not None


def _words_of(slot: Slot) -> str:
    return f"{slot.path.rpartition('/')[2].replace('_', ' ')} {slot.title} {slot.description}"


@lru_cache(maxsize=4096)
def _asks_number(kind: str, path: str, title: str, description: str) -> tuple[bool, bool]:
    if kind not in ("number", "integer"):
        return False, False
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", path.rpartition("/")[2])
    words = f"{name} {title} {description}"
    return COUNTED_IN.search(words) is not None, bool(_MONEY.search(words) and not _SHARE.search(words))


def word_starts(case: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Returns the pieces at which a span may start, which are not within a word: [T] bool."""
    return np.asarray(case != 0)


def word_ends(case: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Returns the pieces at which a span may end, because the next one does not continue the word: [T] bool."""
    return np.append(case[1:] != 0, True)
