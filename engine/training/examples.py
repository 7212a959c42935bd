"""Turns labelled documents into training windows, and draws what a canvas asks and shows: slots, options, values."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.questions import (
    Question,
    form_questions,
    plain_words,
)
from cinnabar.engine.models.reader.inputs.tensors import KINDS, LONGEST, OVERLAP, STATES, Board, Window, cut
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces
from cinnabar.engine.training.labels import Labels
from cinnabar.engine.training.targets import SlotTarget, Wrapped, slot_target
from cinnabar.schemas.form.form import Form

#: The most characters of a row's line before its first known value.
BEFORE_ROW = 28


@dataclass(frozen=True, slots=True)
class RowsTarget:
    """The beginnings of an array's items, as pieces of the passage; empty if the document has none."""

    question: Question
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LabelledPassage:
    """A passage with the targets of all its slots; training draws windows from it.

    `rows` holds the slots of each row of an array, together.
    """

    text: str
    pieces: Pieces
    windows: tuple[Window, ...]
    scalars: tuple[SlotTarget, ...]
    rows: tuple[tuple[SlotTarget, ...], ...]
    arrays: tuple[RowsTarget, ...]


def labelled_passage(
    text: str, form: Form, labels: Labels, pieces: Pieces, wordpieces: WordPieces, longest: int = LONGEST
) -> LabelledPassage:
    """Returns the passage of a document with the targets of its slots."""
    reader = MentionReader(text)
    asked = form_questions(form)
    folded = plain_words(text)
    starts: dict[int, frozenset[int]] = {}
    wrapped = Wrapped(text, Columns(pieces))
    scalars: list[SlotTarget] = []
    rows: list[list[SlotTarget]] = [[] for _ in labels.rows]
    for leaf in labels.leaves:
        row = labels.rows[leaf.row] if leaf.row >= 0 else None
        if row is not None and row.anchor < 0:
            continue
        near = plain_words(text[row.anchor : row.until]) if row is not None else folded
        target = slot_target(leaf, row, asked, reader, pieces, wordpieces, near, starts, wrapped)
        if target is None:
            continue
        if row is None:
            scalars.append(target)
        else:
            rows[leaf.row].append(target)
    arrays = []
    for i, array in enumerate(form.arrays):
        mine = [r for r in labels.rows if r.array is array]
        found = [r for r in mine if r.anchor >= 0]
        if len(found) >= 0.8 * len(mine):
            arrays.append(RowsTarget(asked.arrays[i], tuple(sorted({pieces.at(r.anchor) for r in found}))))
    windows = tuple(cut(pieces, longest, min(OVERLAP, longest // 4)))
    passage = LabelledPassage(
        text, pieces, windows, tuple(scalars), tuple(tuple(r) for r in rows if r), tuple(arrays)
    )
    return rows_from_line_starts(passage)


def rows_from_line_starts(passage: LabelledPassage) -> LabelledPassage:
    """Returns the passage with rows anchored at the beginning of their line, in arrays with one row to a line.

    The first known value of an item need not be its first word (a position number or a label may precede it), and the
    known values differ from row to row. The beginning of a line is the same for all rows and visible to the model.
    """
    pieces = passage.pieces
    line_start = np.maximum.accumulate(np.where(pieces.gap >= 3, np.arange(len(pieces)), 0))
    # An item of a list of texts is its own anchor: a bullet may precede it, but no words.
    alone = {row[0].anchor for row in passage.rows if len(row) == 1}
    moved: dict[int, int] = {}
    for array in passage.arrays:
        places = np.asarray(array.places, dtype=np.int64)
        if not len(places) or len(set(pieces.line[places].tolist())) < len(places):
            continue
        starts = line_start[places]
        ends = pieces.start[places]
        before = [passage.text[a:b] for a, b in zip(pieces.start[starts], ends, strict=True)]
        listed = any(p in alone for p in array.places)
        if all(len(b) <= BEFORE_ROW and not (listed and any(map(str.isalpha, b))) for b in before):
            moved |= dict(zip(places.tolist(), starts.tolist(), strict=True))
    if not moved:
        return passage

    def move(target: SlotTarget) -> SlotTarget:
        return replace(
            target,
            anchor=moved.get(target.anchor, target.anchor),
            until=moved.get(target.until, target.until),
        )

    arrays = tuple(
        replace(a, places=tuple(sorted({moved.get(p, p) for p in a.places}))) for a in passage.arrays
    )
    rows = tuple(tuple(move(t) for t in row) for row in passage.rows)
    return replace(passage, arrays=arrays, rows=rows)


def draw_window(passage: LabelledPassage, rng: random.Random) -> Window:
    """Draws a window to train on, mostly one with values; in a long passage it is shifted a little."""
    if len(passage.windows) == 1:
        return passage.windows[0]
    weights = []
    for w in passage.windows:
        held = sum(is_held(s, w) for s in passage.scalars)
        held += sum(w.first <= p < w.last for a in passage.arrays for p in a.places[:50])
        weights.append(0.5 + held)
    return _shift(rng.choices(passage.windows, weights)[0], len(passage.pieces), rng)


def is_held(target: SlotTarget, window: Window) -> bool:
    """Returns whether a window decides a slot outside of rows: it holds a value, or says most about the choice."""
    if target.chosen:
        return window.first <= target.evident_at < window.last
    return any(window.first <= a and b < window.last for a, b in target.spans)


def _shift(window: Window, total: int, rng: random.Random) -> Window:
    """Returns the window moved by up to a fifth of its length, because the place of a cut should not matter."""
    size = window.last - window.first
    first = min(max(0, window.first + rng.randint(-size // 5, size // 5)), max(0, total - size))
    return Window(first, min(first + size, total), first, min(first + size, total))


def inside(spans: Sequence[tuple[int, int]], window: Window) -> list[tuple[int, int]]:
    """Returns the spans within a window, as places of the window."""
    return [(window.place(a), window.place(b)) for a, b in spans if window.first <= a and b < window.last]


def places_inside(pieces: Iterable[int], window: Window) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Returns the pieces within a window, as places of the window."""
    kept = [window.place(p) for p in pieces if window.first <= p < window.last]
    return np.asarray(kept, dtype=np.int64)


#: The most slots of one training window: outside of rows, arrays, rows, and slots of rows.
_SCALARS, _ARRAYS, _ROWS, _ROW_SLOTS = 14, 3, 5, 8
#: Options of a choice beside the true one.
_OPTIONS = 12
#: A target that does not count.
IGNORE = -100

#: Places of a window, (first, last), both inclusive.
Places = list[tuple[int, int]]


def draw_slots(
    passage: LabelledPassage, window: Window, rng: random.Random
) -> list[SlotTarget | RowsTarget]:
    """Draws some of the fields, some arrays, and some slots of rows that begin in the window.

    Most fields of a long document are not in the window. At most half as many of these as of the others are drawn;
    with more of them the model learns to answer that nothing is there.
    """
    held: list[SlotTarget] = []
    others: list[SlotTarget] = []
    for x in rng.sample(passage.scalars, len(passage.scalars)):
        (held if not x.absent and is_held(x, window) else others).append(x)
    held = held[: rng.randint(_SCALARS // 2, _SCALARS)]
    scalars = held + others[: max(2, len(held) // 2)]
    rng.shuffle(scalars)
    arrays = rng.sample(passage.arrays, min(len(passage.arrays), _ARRAYS))
    seen = [r for r in passage.rows if window.first <= r[0].anchor < window.last]
    picked = sorted(rng.sample(range(len(seen)), min(len(seen), _ROWS)))
    in_rows = [x for k in picked for x in rng.sample(seen[k], min(len(seen[k]), _ROW_SLOTS))]
    return [*scalars, *arrays, *in_rows]


def some_options(target: SlotTarget, rng: random.Random) -> list[int]:
    """Draws the options of a choice: the true one, those that the text names, and others up to the limit."""
    others = [o for o in range(len(target.options)) if o != target.option]
    if len(others) > _OPTIONS:
        named = [o for o in others if target.printed[o]][: _OPTIONS // 2]
        others = named + rng.sample([o for o in others if o not in named], _OPTIONS - len(named))
    return sorted([target.option, *others] if target.option >= 0 else others)


def show_value(
    board: Board, i: int, j: int, target: SlotTarget, own: Places, size: int, rng: random.Random
) -> None:
    """Puts the true value on the canvas; a tenth of the values are corrupted, so that the model learns to doubt."""
    if not target.known:
        return
    corrupted = rng.random() < 0.1
    if corrupted and not target.options and size > 4:
        first = rng.randint(1, size - 1)
        own = [(first, min(size, first + rng.randint(0, 3)))]
        board.state[i, j] = STATES.index("copied")
    elif target.absent and target.default < 0:
        board.state[i, j] = STATES.index("absent")
        return
    elif target.options or target.kind == KINDS.index("boolean"):
        board.state[i, j] = STATES.index("chosen")
    elif own:
        board.state[i, j] = STATES.index("copied")
    else:
        board.state[i, j] = STATES.index("written")
    if own:
        a, b = rng.choice(own)
        board.span[i, j] = torch.tensor((a, b + 1))
    if not corrupted and target.words:
        board.words[i, j, : len(target.words)] = torch.tensor(target.words)
