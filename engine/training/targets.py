"""The target of one slot: the spans of its value, wrapped ones too, its option, or what stands for absence."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cinnabar.engine.evidence.search import fold
from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader, word_ends, word_starts
from cinnabar.engine.models.reader.inputs.questions import FormQuestions, Question, is_printed, kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS, VALUE_PIECES
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces
from cinnabar.engine.models.reader.network.network import BOOLEANS, LONGEST_SPAN
from cinnabar.engine.training.labels import LabelledLeaf, LabelledRow


@dataclass(frozen=True, slots=True)
class SlotTarget:
    """One slot of a training window and its truth.

    anchor, until: pieces of the passage, -1 outside of rows. spans: (first, last) pieces of the passage, both
    inclusive. allowed: pieces at which a typed slot's values start, None for slots that take any words. option: index
    of the true option, -1 if there is none. absent: whether the document has no value. known: whether the truth was
    found at all. evident_at: for an option outside of rows, the piece around which the passage says most about it
    (engine/training/pool.py). default: for an absent value, or for one that is also printed at `spans`, the
    number of the question's named value that stands for it, -1 for none. unsigned: whether the printed number's minus
    sign is not part of the value; None without a sign.
    """

    question: Question
    kind: int
    anchor: int
    until: int
    absent: bool
    known: bool
    spans: tuple[tuple[int, int], ...] = ()
    allowed: frozenset[int] | None = None
    options: tuple[Question, ...] = ()
    printed: tuple[bool, ...] = ()
    option: int = -1
    words: tuple[int, ...] = ()
    evident_at: int = 0
    default: int = -1
    unsigned: bool | None = None

    @property
    def chosen(self) -> bool:
        """Whether the slot has options, which need not be printed."""
        return bool(self.options) or self.kind == KINDS.index("boolean")


def slot_target(
    leaf: LabelledLeaf,
    row: LabelledRow | None,
    asked: FormQuestions,
    reader: MentionReader,
    pieces: Pieces,
    wordpieces: WordPieces,
    near: str,
    starts: dict[int, frozenset[int]],
    wrapped: Wrapped,
) -> SlotTarget | None:
    """Returns the target of a known leaf; None if its option is not among the slot's.

    near: the words of the leaf's row, or of the whole text, in which options are searched. starts: the pieces at
    which typed values may start, by the slot's automaton; changed in place.
    """
    slot, value = leaf.slot, leaf.value
    kind = kind_of(slot)
    anchor = pieces.at(row.anchor) if row is not None else -1
    until = pieces.at(row.until) if row is not None and row.until < len(reader.text) else len(pieces)
    base = SlotTarget(
        asked.slots[slot.index], kind, anchor, until if row is not None else -1, value is None, True
    )
    if slot.options:
        return _chosen(base, leaf, asked.options[slot.index], near, wordpieces)
    if kind in (KINDS.index("number"), KINDS.index("date"), KINDS.index("time")):
        if (key := id(slot.automaton)) not in starts:
            starts[key] = frozenset(reader.places(slot, pieces).tolist())
        base = replace(base, allowed=starts[key])
    if value is None:
        return base
    shown = value if isinstance(value, str) else json.dumps(value)
    words = wordpieces.ids(shown)[:VALUE_PIECES]
    spans = []
    for start, end in leaf.spans:
        first, last = pieces.at(start), pieces.at(max(start, end - 1))
        if last - first < LONGEST_SPAN and pieces.start[first] <= start + 1:
            spans.append((first, last))
    if base.allowed is not None:
        spans = [s for s in spans if s[0] in base.allowed]
    else:
        spans = [s for s in spans if pieces.line[s[0]] == pieces.line[s[1]] or wrapped.reads(*s, shown)]
        if not spans:
            region = (anchor, until) if row is not None else (0, len(pieces))
            spans = [s for s in wrapped.find(shown, *region) if s[1] - s[0] < LONGEST_SPAN]
    default = _default(base.question, value)
    return replace(
        base,
        absent=default >= 0 and not spans,
        spans=tuple(dict.fromkeys(spans)),
        known=bool(spans) or default >= 0,
        words=words,
        default=default,
        unsigned=_drops_sign(leaf, reader) if kind == KINDS.index("number") else None,
    )


def _chosen(
    base: SlotTarget, leaf: LabelledLeaf, notes: tuple[Question, ...], near: str, wordpieces: WordPieces
) -> SlotTarget | None:
    """Returns the target of a leaf with options, whose questions are `notes`; None if its own is not among them."""
    slot, value = leaf.slot, leaf.value
    printed = tuple(is_printed(o, near) for o in notes)
    base = replace(base, options=notes if base.kind == KINDS.index("choice") else (), printed=printed)
    if value is None:
        return base
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text not in slot.options:
        return None
    words = wordpieces.ids(_plain(text))[:VALUE_PIECES]
    answers = BOOLEANS if base.kind == KINDS.index("boolean") else slot.options
    return replace(base, option=answers.index(text), words=words)


def _default(question: Question, value: Any) -> int:
    """Returns the number of this value among the question's named values, the last of several; -1 for none."""
    named = [json.loads(n.text) for n in question.named]
    same = [i for i, n in enumerate(named) if n == value and isinstance(n, str) == isinstance(value, str)]
    return same[-1] if same else -1


def _drops_sign(leaf: LabelledLeaf, reader: MentionReader) -> bool | None:
    """Returns whether a printed number's minus sign is not part of the value; None if the signs do not show it."""
    read = [reader.read(leaf.slot, span) for span in leaf.spans]
    if not read or not all(text is not None and text.startswith(b"-") for text in read):
        return None
    return bool(leaf.value > 0) if leaf.value else None


def _plain(option: str) -> str:
    value = json.loads(option)
    return str(value).lower()


#: Shorter texts are not searched: parts of them occur everywhere.
SHORTEST = 8


class Wrapped:
    """Finds wrapped texts in one passage."""

    def __init__(self, text: str, columns: Columns) -> None:
        self.text, self.columns = text, columns
        self._starts = word_starts(columns.pieces.case)
        self._ends = word_ends(columns.pieces.case)
        self._initials = np.array([fold(text[at])[:1] for at in columns.pieces.start.tolist()])

    def find(self, value: str, first: int, until: int) -> list[tuple[int, int]]:
        """Returns the (first, last) pieces, both inclusive, of the wrapped text that begins in [first, until)."""
        wanted = fold(value)
        if len(wanted) < SHORTEST or not value.strip().count(" "):
            return []
        places = np.flatnonzero((self._initials == wanted[0]) & self._starts)
        reached = []
        for place in places[(places >= first) & (places < until)].tolist():
            last = self._last(place, wanted)
            if last is not None and self.reads(place, last, value):
                reached.append((place, last))
        return reached

    def reads(self, first: int, last: int, value: str) -> bool:
        """Returns whether the pieces from `first` to `last` read as this text."""
        spans = self.columns.spans(first, last)
        return fold(" ".join(self.text[a:b] for a, b in spans)) == fold(value)

    def _last(self, first: int, wanted: str) -> int | None:
        """Returns the last piece of the text that begins with `first` and continues on the lines below."""
        cell = int(self.columns.cell[first])
        read = self._read(first, int(self.columns.first[cell + 1]) - 1)
        while read and wanted.startswith(fold(read)):
            under = self.columns.below(cell)
            if not under:
                return None
            begin, end = int(self.columns.first[under[0]]), int(self.columns.first[under[-1] + 1]) - 1
            for last in range(begin, end + 1):
                if self._ends[last] and fold(f"{read} {self._read(begin, last)}") == wanted:
                    return last
            cell, read = under[0], f"{read} {self._read(begin, end)}"
        return None

    def _read(self, first: int, last: int) -> str:
        pieces = self.columns.pieces
        return self.text[int(pieces.start[first]) : int(pieces.end[last])]
