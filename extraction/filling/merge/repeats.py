"""Unites rows about the same thing, which a document names more than once; each mention may look like an item.

Without this, rows found twice cost bounce_email .14 of the F1 of its lists and broker_statements .04 (training/log.md).
Two rows are one if half of the values of the row with fewer were read at the same places; a place that more rows share
is that of their group. Rows of words are also one if all their common values are equal: two lines of a bill may well
be. In a short list two neighbours are one if each has values that the other lacks and the common ones are equal, as of
a heading and a foot; in tables not (broker_statements .579 to .585, 81 other sets unchanged).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from cinnabar.engine.evidence.search import fold
from cinnabar.engine.models.reader.calibration import NONE
from cinnabar.engine.request import Filled, Leaf
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import RecordRow, walk_lists, walk_record

# A changed one changes values: raise the part `merging` (engine/version.py).
#: Least share of values that were read at the same places, for two rows to be one.
SAME_PLACES = 0.5
#: A place that more rows than this share belongs to a group of rows.
OWN_PLACE_ROWS = 2
#: A list of more rows than this is a table: its rows need not complete each other.
COMPLETED_ROWS = 4
# A row is compared with at most so many rows of the same text, so that a list of thousands takes linear time.
_COMPARED = 32


def is_known(filled: Filled, facts: Collection[int]) -> bool:
    """Returns True if the record holds known values that are no facts; it then stays as it is, row for row.

    `facts` are the slots of facts.
    """
    return any(leaf.origin == "known" and leaf.slot not in facts for leaf in filled.leaves.values())


def drop_repeats(part: RecordPart, counted: frozenset[int] = frozenset()) -> RecordPart:
    """Returns the part with one row for each thing, at the anchor of its first row.

    The lists of `counted` stay as they are.
    """
    rows = {array: [_inner(row) for row in own] for array, own in part.rows.items()}
    united = {array: own if array in counted else _unite(own) for array, own in rows.items()}
    return RecordPart(dict(part.leaves), united, dict(part.lists))


def _inner(row: FoundRow) -> FoundRow:
    return FoundRow(row.anchor, row.probability, drop_repeats(row.part))


Spans = dict[int, list[tuple[int, int]]]


@dataclass(slots=True)
class RecordPart:
    """The findings of a record, or of one row without its inner rows: leaves by slot, rows by array.

    `lists` has the probability that an array's list is complete, for arrays with a known one.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    rows: dict[int, list[FoundRow]] = field(default_factory=lambda: defaultdict(list))
    lists: dict[int, float] = field(default_factory=dict)


@dataclass(slots=True)
class FoundRow:
    """A row: its anchor in characters of the document, its probability, and its findings."""

    anchor: int
    probability: float
    part: RecordPart


def part_of(form: Form, filled: Filled) -> RecordPart:
    """Returns a record taken apart; its rows leave out fillers, which have no anchor."""
    pointers = sorted(filled.leaves)

    def within(pointer: str) -> list[Leaf]:
        # Pointers below "/item/" sort between it and "/item0", since "0" is the next character. Scanning all leaves for
        # each choice took 3.8 seconds for 5,000 rows with one each; this takes 0.2.
        inner = pointers[bisect_left(pointers, f"{pointer}/") : bisect_left(pointers, f"{pointer}0")]
        return [filled.leaves[at] for at in (pointer, *inner) if at in filled.leaves]

    whole, value = RecordPart(), filled.value
    parts: dict[int, RecordPart | None] = {-1: whole}
    part_at: dict[str | None, RecordPart | None] = {None: whole}
    selectors = {choice.selector.index for choice in form.choices}
    keys = {array.key.index for array in form.arrays if array.key is not None}
    for at in walk_record(form, value):
        if isinstance(at, RecordRow):
            around, place = parts[at.parent], filled.rows.get(at.pointer)
            row = None if around is None or place is None else FoundRow(*place, RecordPart())
            parts[at.number] = part_at[at.pointer] = None if row is None else row.part
            if around is not None and row is not None:
                around.rows[at.array.index].append(row)
            continue
        part, slot = parts[at.row], at.slot.index
        if part is None:
            continue
        if slot in keys:
            part.leaves[slot] = Leaf(scalar_text(at.value), filled.rows[at.pointer][1])
        elif slot in selectors:
            if at.value is not None:
                sure = max((x.confidence for x in within(at.pointer) if rank(x) == 2), default=0.0)
                part.leaves[slot] = Leaf(scalar_text(at.value), sure, origin="chosen")
        elif at.pointer in filled.leaves:
            part.leaves[slot] = filled.leaves[at.pointer]
    for one in walk_lists(form, value) if filled.lists else ():
        around = part_at[one.parent]
        if around is not None and one.pointer in filled.lists:
            around.lists[one.array.index] = filled.lists[one.pointer]
    return whole


def joined_leaves(one: RecordPart, other: RecordPart) -> dict[int, Leaf]:
    """Returns the leaves of two parts about the same thing: the surer leaf of each slot."""
    leaves = dict(one.leaves)
    for slot, leaf in other.leaves.items():
        leaves[slot] = prefer_confident(leaves[slot], leaf) if slot in leaves else leaf
    return leaves


def prefer_confident(one: Leaf, other: Leaf) -> Leaf:
    """Returns the leaf of two that counts for one slot; the first one if they are equal."""
    mine, theirs = rank(one), rank(other)
    if mine != theirs:
        return one if mine > theirs else other
    if mine == 2 and {one.text, other.text} <= {"true", "false"}:
        return one if _yes(one) >= _yes(other) else other
    if mine:
        return one if _odds(one) >= _odds(other) else other
    return one if one.confidence <= other.confidence else other


def _yes(leaf: Leaf) -> float:
    """Returns the confidence of a yes; a no counts negative."""
    return leaf.confidence if leaf.text == "true" else -leaf.confidence


def _odds(leaf: Leaf) -> float:
    """Returns the odds of the value against absence; probabilities have four places."""
    return leaf.confidence / (leaf.absence + 1e-4)


def rank(leaf: Leaf) -> int:
    """Returns 2 for a value, 1 for a guess of a required value, 0 for an absence or its replacement."""
    return 1 if leaf.missing else 0 if leaf.origin in NONE else 2


def spans_of(part: RecordPart) -> Spans:
    """Returns the spans of the values of a row and its inner rows, by slot."""
    by_slot: Spans = defaultdict(list)
    for slot, leaf in part.leaves.items():
        by_slot[slot] += leaf.spans if rank(leaf) == 2 else ()
    for row in (row for rows in part.rows.values() for row in rows):
        for slot, spans in spans_of(row.part).items():
            by_slot[slot] += spans
    return by_slot


def shared_places(one: Spans, other: Spans) -> float:
    """Returns the share of values read at the same places, of the row with fewer values."""
    least = min(sum(map(len, one.values())), sum(map(len, other.values())))
    hits = sum(
        any(a < d and c < b for c, d in other.get(slot, ())) for slot, own in one.items() for a, b in own
    )
    return hits / least if least else 0.0


@dataclass(slots=True)
class _Read:
    """The places where a row's values were read, and the folded texts of its own values.

    `words` is true if all values are words without numbers and the row has no inner rows.
    """

    places: Spans
    texts: dict[int, str]
    words: bool

    @classmethod
    def of(cls, part: RecordPart) -> _Read:
        texts = {
            slot: leaf.text
            for slot, leaf in part.leaves.items()
            if leaf.text is not None and leaf.spans and rank(leaf) == 2
        }
        words = all(text.startswith('"') for text in texts.values())
        # A name in capitals, or without its comma, is the same name.
        same = {slot: fold(text) or text for slot, text in texts.items()}
        return cls(spans_of(part), same, words and not any(part.rows.values()))

    def marks(self) -> Iterator[Hashable]:
        """Yields the keys by which a row meets rows with the same place or text."""
        yield from self.places_marked()
        if self.words:
            yield from self.texts.items()

    def places_marked(self) -> Iterator[Hashable]:
        """Yields the keys by which a row meets rows with the same place."""
        for slot, spans in self.places.items():
            yield from ((slot, *span) for span in set(spans))

    def own(self, count: Counter[Hashable]) -> Spans:
        """Returns its places without those of its group."""
        return {
            slot: [span for span in spans if count[(slot, *span)] <= OWN_PLACE_ROWS]
            for slot, spans in self.places.items()
        }


def _unite(rows: Sequence[FoundRow]) -> list[FoundRow]:
    """Returns the rows in their order, each united with later rows about the same thing."""
    read = [_Read.of(row.part) for row in rows]
    count = Counter(mark for one in read for mark in one.marks())
    kept: list[int] = []
    united = list(rows)
    having: dict[Hashable, list[int]] = defaultdict(list)
    for at in range(len(rows)):
        # A place that so many rows have is that of their group, and tells nothing of a row; of such texts the rarest.
        places = [mark for mark in read[at].places_marked() if count[mark] <= _COMPARED]
        texts = sorted(read[at].texts.items(), key=count.__getitem__) if read[at].words else []
        marks = [*places, *([mark for mark in texts if count[mark] <= _COMPARED] or texts[:1])]
        near = dict.fromkeys(other for mark in marks for other in having[mark][:_COMPARED])
        first = next((other for other in sorted(near) if _same(read[other], read[at], count)), None)
        if first is None:
            kept.append(at)
            first = at
        else:
            united[first] = _both(united[first], rows[at])
            read[first] = _Read.of(united[first].part)
        for mark in read[first].marks():
            if first not in having[mark][-1:]:
                having[mark].append(first)
    distinct = [united[at] for at in kept]
    return _unite_neighbours(distinct) if len(rows) <= COMPLETED_ROWS else distinct


def _unite_neighbours(rows: Sequence[FoundRow]) -> list[FoundRow]:
    """Returns the rows of a short list with completing neighbours united."""
    completed: list[FoundRow] = []
    for row in rows:
        if completed and _complete(_Read.of(completed[-1].part), _Read.of(row.part)):
            completed[-1] = _both(completed[-1], row)
        else:
            completed.append(row)
    return completed


def _complete(one: _Read, other: _Read) -> bool:
    """Returns True if each row has values that the other lacks and their common values are equal."""
    mine, theirs = one.texts.keys(), other.texts.keys()
    differ = any(one.texts[slot] != other.texts[slot] for slot in mine & theirs)
    return bool(mine - theirs and theirs - mine) and not differ


def _same(one: _Read, other: _Read, count: Counter[Hashable]) -> bool:
    if one.words and other.words:
        both = one.texts.keys() & other.texts.keys()
        if both and all(one.texts[slot] == other.texts[slot] for slot in both):
            return True
    mine, theirs = one.own(count), other.own(count)
    return min(shared_places(one.places, other.places), shared_places(mine, theirs)) >= SAME_PLACES


def _both(one: FoundRow, other: FoundRow) -> FoundRow:
    """Unites two rows: the surer values, and the inner rows of both in the order of their anchors.

    An inner list is as surely complete as the less sure one of the two.
    """
    part = RecordPart(joined_leaves(one.part, other.part))
    for array in sorted({*one.part.rows, *other.part.rows}):
        within = [*one.part.rows.get(array, ()), *other.part.rows.get(array, ())]
        part.rows[array] = sorted(within, key=lambda row: row.anchor)
    part.lists = {array: min(p.get(array, 1.0) for p in (one.part.lists, other.part.lists))
                  for array in {*one.part.lists, *other.part.lists}}
    return FoundRow(min(one.anchor, other.anchor), max(one.probability, other.probability), part)
