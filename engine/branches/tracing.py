"""Whether the words, names and digits of a composed value are a document's, in print or in some reading."""

from __future__ import annotations

import re
from functools import cached_property

from cinnabar.engine.models.reader.inputs.mentions import MentionReader

_PART = re.compile(r"\d+|[^\W\d_]+")


class Traces:
    """The words and digits of a passage, and the digits of the readings of its numbers, dates and times."""

    def __init__(self, reader: MentionReader) -> None:
        self._reader = reader

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(part.casefold() for part in _PART.findall(self._reader.text))

    @cached_property
    def lines(self) -> str:
        """The readings of the passage's numbers, dates and times, and its text, as lines."""
        mentions = ((mention.start, mention.end) for mention in self._reader.mentions)
        read = {reading.decode().strip('"'): None for place in mentions for reading in self._reader.readings(place)}
        return "\n".join([*read, self._reader.text])

    @cached_property
    def _digits(self) -> frozenset[str]:
        return frozenset(part.lstrip("0") for part in re.findall(r"\d+", self.lines))

    def share(self, text: str) -> float:
        """Returns the share of a text's letters and digits that the passage has; 0 if a number or a name is made up.

        A name is a word that begins with a capital; the first word of a text is none.
        """
        parts = _PART.findall(text)
        found = total = 0
        for at, part in enumerate(parts):
            total += len(part)
            known = part.lstrip("0") in self._digits if part.isdigit() else part.casefold() in self._words
            if not known and len(part) > 1 and (part.isdigit() or (at and part[0].isupper())):
                return 0.0
            found += len(part) if known else 0
        return found / total if total else 0.0

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Returns the first places of a text's parts, those beside each other as one, at most four."""
        document = self._reader.text
        places: list[tuple[int, int]] = []
        for part in _PART.findall(text):
            met = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", document, re.IGNORECASE)
            if met is not None and met.span() not in places:
                places.append(met.span())
        joined: list[tuple[int, int]] = []
        for start, end in sorted(places):
            if joined and not document[joined[-1][1] : start].strip():
                joined[-1] = joined[-1][0], end
            else:
                joined.append((start, end))
        return tuple(joined[:4])
