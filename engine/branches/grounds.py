"""Each slot may copy this from a document: its constraint, and the value that a stretch means there.

The items of lists: which lists are asked for, their rows, and the text that each item stands in.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

from cinnabar.engine.branches.constraint import Grounded, Pair
from cinnabar.engine.branches.decoding import BranchListing
from cinnabar.engine.branches.stretches import Stretches, ValueTokens
from cinnabar.engine.model import WHOLE, Row
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.request import Passage
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.form import ArrayNode, Form, Slot, enclosing_arrays

#: Characters before a stretch in which the words of its field are looked for.
_BEFORE = 80
_WORD = re.compile(r"[^\W_]{2,}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

Value = tuple[bytes, tuple[int, int]]


class Grounds:
    """The stretches of a passage, and what they read as."""

    def __init__(self, passage: Passage, tokens: ValueTokens) -> None:
        self.passage = passage
        self.stretches = Stretches(passage.text, tokens)
        self.reader = MentionReader(passage.text, passage.locale)
        self.traces = Traces(self.reader)
        self._tokens = tokens
        self._known: dict[tuple[int, tuple[int, int] | None], Grounded | None] = {}
        self._read: dict[tuple[Slot, int, int], bytes | None] = {}

    def region(self, start: int, end: int) -> tuple[int, int]:
        """Returns the places of the characters [start, end)."""
        return self.stretches.place(start), self.stretches.end_place(end)

    def constraint(self, slot: Slot, within: tuple[int, int] | None = None) -> Grounded | None:
        """Returns what a slot may copy within these places, None if there is nothing."""
        key = slot.index, within
        if key not in self._known:
            made = self._made(slot, within)
            self._known[key] = made if made.first() else None
        return self._known[key]

    def _made(self, slot: Slot, within: tuple[int, int] | None) -> Grounded:
        if kind_of(slot) not in TYPED:
            taken = None if slot.free and slot.max_length is None else self._taken(slot)
            return Grounded(self.stretches, self._tokens, None, within, taken)
        given: dict[int, set[int]] = {}
        for start, end, _ in self.reader.typed_mentions(slot):
            begin, stop = self.stretches.place(start), self.stretches.end_place(end)
            if begin < stop and (within is None or (within[0] <= begin and stop <= within[1])):
                given.setdefault(begin, set()).add(stop)
        frozen = {begin: frozenset(ends) for begin, ends in given.items()}
        return Grounded(self.stretches, self._tokens, frozen)

    def _taken(self, slot: Slot) -> Callable[[int, int], bool]:
        return lambda begin, end: self.read(slot, begin, end) is not None

    def read(self, slot: Slot, begin: int, end: int) -> bytes | None:
        """Returns the canonical text that the stretch between these places means for the slot, None if none."""
        key = slot, begin, end
        if key not in self._read:
            self._read[key] = self.reader.read(slot, self.stretches.span(begin, end))
        return self._read[key]

    def value(self, slot: Slot, pairs: Sequence[Pair]) -> Value | None:
        """Returns the canonical text and the characters of the place, among equal ones, that has the slot's words."""
        said = _words_of(slot)
        best: tuple[int, Value] | None = None
        for begin, end in sorted(pairs):
            span = self.stretches.span(begin, end)
            text = self.read(slot, begin, end)
            if text is None:
                continue
            before = self.passage.text[max(0, span[0] - _BEFORE) : span[0]].lower()
            met = len(said.intersection(_WORD.findall(before)))
            if best is None or met > best[0]:
                best = met, (text, span)
        return None if best is None else best[1]


@lru_cache(maxsize=1024)
def _words_of(slot: Slot) -> frozenset[str]:
    name = _CAMEL.sub(" ", slot.path.rpartition("/")[2])
    return frozenset(_WORD.findall(f"{name} {slot.title} {slot.description}".lower()))


def written_option(option: str) -> bytes:
    """Returns an option (JSON) as it is written within quotes: that of a number or truth value as its text."""
    quoted = option if option.startswith('"') else json_text(option)
    return quoted[1:-1].encode()


# Whether the words, names and digits of a composed value are a document's, in print or in some reading.

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


#: What ends a sentence within a line: behind a word of three letters or a figure, as abbreviations and initials are
#: shorter, and before no small letter or figure.
_SENTENCE = re.compile(r"(?:(?<=[^\W_]{3})|(?<=[\d)\"”’%]))[.!?][\"”’)]*\s+(?![a-z\d])")


def array_levels(form: Form) -> list[list[ArrayNode]]:
    """Returns the arrays of a form whose items are looked for: those in no other one, then those in their items."""
    around, levels = enclosing_arrays(form), list[list[ArrayNode]]()
    for array in form.arrays:
        level, outer = 0, around[array.index]
        while outer >= 0:
            level, outer = level + 1, around[outer]
        levels += [[] for _ in range(level + 1 - len(levels))]
        if array.item is not None and array.binding is None:
            levels[level].append(array)
    return levels


def lists_of(arrays: Sequence[ArrayNode], rows: Sequence[Row], form: Form) -> Iterator[tuple[ArrayNode, int]]:
    """Yields each list of these arrays with the number of the row around it, -1 if there is none."""
    around = enclosing_arrays(form)
    for array in arrays:
        outer = around[array.index]
        for parent in [-1] if outer < 0 else [at for at, row in enumerate(rows) if row.array == outer]:
            yield array, parent


def item_rows(array: ArrayNode, parent: int, stretches: Stretches, listing: BranchListing) -> list[Row]:
    """Returns the items of a list in the order of their first words."""
    anchors: dict[int, float] = {}
    for item in listing.items:
        anchor = stretches.span(*min(item.pairs))[0]
        anchors.setdefault(anchor, (1 - listing.none) * item.share)
    return [Row(array.index, parent, anchor, round(chance, 4)) for anchor, chance in sorted(anchors.items())]


def item_region(rows: Sequence[Row], row: int, text: str) -> tuple[int, int]:
    """Returns the characters [start, end) of an item: from the line of its first words to that of the next item.

    Those of an item of a nested list lie within the item around it.
    """
    anchor, parent = rows[row].anchor, rows[row].parent
    is_within = parent >= 0 and rows[parent].anchor != WHOLE
    low, high = item_region(rows, parent, text) if is_within else (0, len(text))
    others = sorted({other.anchor for other in rows if other.array == rows[row].array})
    at = bisect_left(others, anchor)
    behind = others[at + 1 :]
    start = _start(text, anchor, others[at - 1] if at else -1)
    end = _start(text, behind[0], anchor) if behind else high
    return max(start, low), min(end, high)


def _start(text: str, anchor: int, before: int) -> int:
    """Returns where an item's region starts: at its line, or its sentence if the item before is of the same line."""
    line = text.rfind("\n", 0, anchor) + 1
    if line > before:
        return line
    ends = [end.end() for end in _SENTENCE.finditer(text, before, anchor)]
    return ends[-1] if ends else anchor
