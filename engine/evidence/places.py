"""Chooses the place of each value of a record among those at which its text has it, and how sure that makes a value.

Of several places the one nearest to the other values of its row counts, or, outside of rows, the one behind the name of
its field. The confidence is not calibrated: it separates values that stand in the text from others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cinnabar.engine.evidence.search import Search, Span, behind_label
from cinnabar.engine.readings.locale import Locale
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.form import Slot

# A changed one changes values: raise the part `replies` (engine/version.py).
#: Confidence of a value that stands in the text, of one among its readings, of one that is similar to a stretch (times
#: the similarity), of an option without words of its own, of a value that stands nowhere; and of an absent value.
STANDS, READ, LIKE, CHOSEN, NOWHERE, ABSENT = 0.9, 0.85, 0.75, 0.6, 0.3, 0.7
#: Places of one value that are compared.
COMPARED_PLACES = 60
#: Places on either side of a row's anchor that are compared; characters that a line break adds to a distance.
NEAR_PLACES, LINE_DISTANCE = 4, 200


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
        self._search = Search(text, locale)

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
        value = parse(text)
        found = self._search.find(value, slot.day_first)
        if found.spans:
            return _Places(found.spans, STANDS if found.printed else READ)
        if slot.options or value is None or isinstance(value, bool):
            return _Places((), CHOSEN)
        like = self._search.likest(value) if isinstance(value, str) else None
        return _Places((), NOWHERE) if like is None else _Places((like[0],), LIKE * like[1])

    def _by_label(self, slot: Slot, places: _Places) -> AlignedValue:
        if len(places.spans) < 2:
            return AlignedValue(places.spans[0] if places.spans else None, places.confidence)
        label = slot.title or slot.path.rsplit("/", 1)[-1].replace("_", " ")
        return AlignedValue(behind_label(self._search.text, places.spans[:COMPARED_PLACES], label), places.confidence)

    def _nearest(self, places: _Places, anchor: Span | None) -> AlignedValue:
        """Returns the place nearest to the anchor; a line break between them counts as LINE characters."""
        if not places.spans or anchor is None:
            return AlignedValue(None, places.confidence)
        start = anchor[0]
        at = bisect_left(places.spans, anchor)
        near = places.spans[max(0, at - NEAR_PLACES) : at + NEAR_PLACES]

        def far(span: Span) -> int:
            first, last = sorted((span[0], start))
            return last - first + LINE_DISTANCE * self._search.text.count("\n", first, last)

        return AlignedValue(min(near, key=far), places.confidence)


def _anchor(places: Collection[_Places], begin: int) -> Span | None:
    """Returns a row's anchor: of its value with the fewest places, the first place from `begin` on."""
    rare = sorted((at for at in places if at.spans), key=lambda at: len(at.spans))
    if not rare:
        return None
    return next((span for span in rare[0].spans if span[0] >= begin), rare[0].spans[-1])
