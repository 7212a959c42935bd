"""Rows that are about the same thing are one row.

A document names a thing more than once: a list above and the sentence about it, the mail that bounced and the
report on it. Each mention may look like the beginning of an item, and what is read around it is then partly
the same. Without this, rows found twice cost bounce_email .14 of the F1 of its lists and broker_statements
.04 (docs/model/log.md).

Two rows are one where half of the values of the one that has fewer were read at the same places as the
other's. A place that more than two rows share belongs to their group, as a date above a table does, and says
nothing. Rows of words alone, without numbers, are one as well where all that both have is the same, wherever
it stands and however it is written: to name a thing twice makes no second one, while two lines of a bill may
well be equal.

And where there are but a few rows, two that follow one another are one if each has what the other lacks and
both have the same otherwise: a settlement may name the shares in its heading and the sum in its foot. Longer
lists are tables, in which a row may well leave out what the next one has (broker_statements .579 to .585, 81
other sets as they were).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from cinnabar.engine.readings.align import folded
from cinnabar.engine.request import Filled
from cinnabar.extraction.records.parts import FoundRow, RecordPart, Spans, joined_leaves, rank, shared, spans_of

# Least share of values that were read at the same places.
_SAME_PLACES = 0.5
# A place that more rows share than this is the place of a group of rows.
_OWN = 2
# Lists of more rows than this are tables: their rows need not complete each other.
_FEW = 4
# Rows with one text are compared with so many others that have it: a list of thousands takes linear time.
_COMPARED = 32


def is_known(filled: Filled) -> bool:
    """Whether anything in this record was known before: what is known stays as it is, row for row."""
    return any(leaf.origin == "known" for leaf in filled.leaves.values())


def without_repeats(part: RecordPart) -> RecordPart:
    """The same with one row for rows that are about the same thing, at the anchor of the first."""
    rows = {array: [_inner(row) for row in own] for array, own in part.rows.items()}
    return RecordPart(dict(part.leaves), {array: _united(own) for array, own in rows.items()})


def _inner(row: FoundRow) -> FoundRow:
    return FoundRow(row.anchor, row.probability, without_repeats(row.part))


@dataclass(slots=True)
class _Read:
    """Where the values of a row were read, and the folded texts of those that stand in the row itself.

    `words`: it has nothing but words, and no rows within it.
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
        same = {slot: folded(text) or text for slot, text in texts.items()}
        return cls(spans_of(part), same, words and not any(part.rows.values()))

    def marks(self) -> Iterator[Hashable]:
        """What another row has to have in common with this one."""
        for slot, spans in self.places.items():
            yield from ((slot, *span) for span in set(spans))
        if self.words:
            yield from self.texts.items()

    def own(self, count: Counter[Hashable]) -> Spans:
        """Its places without those of its group."""
        return {
            slot: [span for span in spans if count[(slot, *span)] <= _OWN]
            for slot, spans in self.places.items()
        }


def _united(rows: Sequence[FoundRow]) -> list[FoundRow]:
    """The rows in their order, each with what later ones say of the same thing."""
    read = [_Read.of(row.part) for row in rows]
    count = Counter(mark for one in read for mark in one.marks())
    kept: list[int] = []
    united = list(rows)
    having: dict[Hashable, list[int]] = defaultdict(list)
    for at in range(len(rows)):
        near = dict.fromkeys(other for mark in read[at].marks() for other in having[mark][:_COMPARED])
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
    found = [united[at] for at in kept]
    return _completed(found) if len(rows) <= _FEW else found


def _completed(rows: Sequence[FoundRow]) -> list[FoundRow]:
    """The rows of a short list, one for those that complete each other."""
    found: list[FoundRow] = []
    for row in rows:
        if found and _complete(_Read.of(found[-1].part), _Read.of(row.part)):
            found[-1] = _both(found[-1], row)
        else:
            found.append(row)
    return found


def _complete(one: _Read, other: _Read) -> bool:
    """Whether each has what the other lacks, and what both have is the same."""
    mine, theirs = one.texts.keys(), other.texts.keys()
    differ = any(one.texts[slot] != other.texts[slot] for slot in mine & theirs)
    return bool(mine - theirs and theirs - mine) and not differ


def _same(one: _Read, other: _Read, count: Counter[Hashable]) -> bool:
    if one.words and other.words:
        both = one.texts.keys() & other.texts.keys()
        if both and all(one.texts[slot] == other.texts[slot] for slot in both):
            return True
    mine, theirs = one.own(count), other.own(count)
    return min(shared(one.places, other.places), shared(mine, theirs)) >= _SAME_PLACES


def _both(one: FoundRow, other: FoundRow) -> FoundRow:
    """One row of two, its values those that count, the rows within both in the order of anchors."""
    part = RecordPart(joined_leaves(one.part, other.part))
    for array in sorted({*one.part.rows, *other.part.rows}):
        within = [*one.part.rows.get(array, ()), *other.part.rows.get(array, ())]
        part.rows[array] = sorted(within, key=lambda row: row.anchor)
    return FoundRow(min(one.anchor, other.anchor), max(one.probability, other.probability), part)
