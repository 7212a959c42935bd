"""The network's inputs as tensors: windows, which overlap on a page, questions, and the slots to be filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.models.reader.inputs.letter_ngrams import RUNS, words_of_pieces
from cinnabar.engine.models.reader.inputs.wordpieces import CLS_ID, SEP_ID, Pieces, WordPieces

#: The kinds of slots that the network distinguishes.
KINDS = ("text", "number", "date", "time", "pattern", "choice", "boolean", "rows")
ROWS = KINDS.index("rows")
#: The states of a slot on the canvas: open, or committed with this origin.
STATES = ("open", "copied", "chosen", "absent", "written")
#: The pieces of a question that are matched with the window one by one: of its label, then of its description.
LABEL_PIECES, NOTE_PIECES = 8, 16
#: The pieces of a committed value that the decoder sees.
VALUE_PIECES = 6


@dataclass(slots=True)
class Sheet:
    """N windows of T pieces. ids: int64; mask: bool; around: [N, T, 4] int64; line: int64.

    cell: [N, T, 3] int64, left and right edge of the piece's cell and the line of the next cell above it; above: [N, C,
    8] int64, the pieces before the window and its own: id (0 for none), line, then left and right edge of the cell, of
    the word, and of the cell's room.
    """

    ids: Tensor
    mask: Tensor
    around: Tensor
    line: Tensor
    cell: Tensor
    above: Tensor


@dataclass(slots=True)
class Questions:
    """Q distinct questions; slots, arrays and options refer to them.

    ids: [Q, n] int64; mask: [Q, n] bool; label: [Q, LABEL_PIECES] and note: [Q, NOTE_PIECES] int64, the pieces of the
    name and of the description, 0 beyond their end; named: [Q, NAMED, 2] int64, the pieces [start, end) of `ids` of the
    values that the description names, (0, 0) beyond the last; spelt: [Q, NAME_WORDS, RUNS] int64, the words of the name
    (letter_ngrams.py).
    """

    ids: Tensor
    mask: Tensor
    label: Tensor
    note: Tensor
    named: Tensor
    spelt: Tensor

    def part(self, first: int, last: int) -> Questions:
        """Returns the questions [first, last)."""
        return Questions(*(getattr(self, f.name)[first:last] for f in fields(self)))


@dataclass(slots=True)
class Phrases:
    """The words of N windows and of the text before them: W distinct ones, P in a window (letter_ngrams.py).

    spelt: [W, RUNS] int64; word: [N, P] int64, the place of each among the distinct ones, -1 beyond the last; run: [N,
    P] int64, equal for words that stand together; of_piece: [N, C] int64, the word of each piece of `Sheet.above`, -1
    for none; own: [N] int64, the first of those pieces that is the window's.
    """

    spelt: Tensor
    word: Tensor
    run: Tensor
    of_piece: Tensor
    own: Tensor


@dataclass(slots=True)
class Board:
    """The slots of N windows, S each.

    question: index into Questions; mask: bool; kind: into KINDS; anchor: piece at which the slot's row begins, -1
    outside of rows; until: piece at which the next row begins; state: into STATES; span: [N, S, 2] pieces [start, end)
    of a copied value; words: [N, S, VALUE_PIECES] pieces of the committed text, 0 beyond its end.
    """

    question: Tensor
    mask: Tensor
    kind: Tensor
    anchor: Tensor
    until: Tensor
    state: Tensor
    span: Tensor
    words: Tensor

    def windows(self, chosen: Sequence[int]) -> Board:
        """Returns these windows of a board on the CPU, in this order."""
        if len(chosen) == len(self.question):
            return self
        return Board(*(torch.from_numpy(array[chosen]) for array in self.arrays().values()))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the tensors of a board on the CPU as arrays in the same memory, which are quicker to write."""
        return {f.name: getattr(self, f.name).numpy() for f in fields(self)}

    @classmethod
    def blank(cls, windows: int, slots: int, width: int) -> Board:
        """Returns a board of open slots outside of rows, all masked out, for windows of `width` pieces."""
        shape = (windows, slots)
        question, kind, state = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
        return cls(
            question=question, mask=torch.zeros(shape, dtype=torch.bool), kind=kind,
            anchor=torch.full(shape, -1), until=torch.full(shape, width), state=state,
            span=torch.zeros(*shape, 2, dtype=torch.long),
            words=torch.zeros(*shape, VALUE_PIECES, dtype=torch.long),
        )  # fmt: skip


T = TypeVar("T", Sheet, Questions, Board, Phrases)


def to_device(batch: T, device: torch.device) -> T:
    """Returns the same batch on another device."""
    return type(batch)(**{f.name: getattr(batch, f.name).to(device) for f in fields(batch)})


#: The pieces of a window, and those that neighbours share: the same in training and at inference. Trained with 300 and
#: read with 510, which the encoder can hold, F1 over eleven sets was .671, not .691.
LONGEST, OVERLAP = 300, 64
#: The pieces before a window that lexical signals use: the head of a table may be among them.
_BEFORE = 3000
#: The least gaps before the first piece of a word and of a line (`GAPS`).
_WORD_GAP, _LINE_GAP = 1, 3


@dataclass(frozen=True, slots=True)
class Window:
    """Pieces [first, last) of a passage; those in [core_first, core_last) are in no other window's core."""

    first: int
    last: int
    core_first: int
    core_last: int

    def place(self, piece: int) -> int:
        """Returns the position of a piece of the passage in the window (position 0 is [CLS])."""
        return piece - self.first + 1


def cut(pieces: Pieces, longest: int = LONGEST, overlap: int = OVERLAP) -> list[Window]:
    """Returns windows of at most `longest` pieces; each begins with a line if one is near, else with a word.

    The beginning of a window depends only on the text after the beginning of the window before it. So a text that
    begins and ends with windows of another text has the same windows (so `extraction/documents/chunking.py` cuts).
    """
    total = len(pieces)
    bounds = [0]
    while total - bounds[-1] > longest:
        reach = bounds[-1] + longest - overlap
        earliest = max(reach - overlap, bounds[-1] + 1)
        gaps = pieces.gap[earliest : reach + 1]
        lines, words = np.flatnonzero(gaps >= _LINE_GAP), np.flatnonzero(gaps >= _WORD_GAP)
        breaks = lines if len(lines) else words
        bounds.append(earliest + int(breaks[-1]) if len(breaks) else reach)
    windows: list[Window] = []
    for i, first in enumerate(bounds):
        last = min(first + longest, total)
        following = bounds[i + 1] if i + 1 < len(bounds) else total
        middle = (following + last) // 2 if following < total else total
        windows.append(Window(first, last, windows[-1].core_last if windows else 0, middle))
    return windows


def padded_length(windows: Iterable[Window], multiple: int = 32) -> int:
    """Returns the pieces of the longest window, with [CLS] and [SEP], rounded up to a multiple."""
    longest = max((w.last - w.first + 2 for w in windows), default=2)
    return -(-longest // multiple) * multiple


def pieces_above(window: Window) -> int:
    """Returns the number of pieces before a window that lexical signals use."""
    return min(window.first, _BEFORE)


def sheet(windows: Sequence[tuple[Pieces, Window]], width: int = 0, *, above: bool = True) -> Sheet:
    """Returns the windows as tensors, padded to `width` pieces, or to the longest of them if that is longer.

    Without `above` the pieces before each window, which only lexical signals use, are left out.
    """
    width = max(width, padded_length(w for _, w in windows))
    n = len(windows)
    ids, mask = np.zeros((n, width), np.int64), np.zeros((n, width), bool)
    around, line = np.zeros((n, width, 4), np.int64), np.full((n, width), -1, np.int64)
    cell = np.zeros((n, width, 3), np.int64)
    before = max((pieces_above(w) for _, w in windows), default=0)
    higher = np.zeros((n, before + width if above else 0, 8), np.int64)
    for i, (p, w) in enumerate(windows):
        size = w.last - w.first
        ids[i, 0], ids[i, size + 1] = CLS_ID, SEP_ID
        ids[i, 1 : size + 1] = p.ids[w.first : w.last]
        mask[i, : size + 2] = True
        for j, values in enumerate((p.case, p.gap, p.x, p.y)):
            around[i, 1 : size + 1, j] = values[w.first : w.last]
        line[i, 1 : size + 1] = p.line[w.first : w.last]
        cell[i, 1 : size + 1] = np.stack((p.left, p.right, p.over), 1)[w.first : w.last]
        if not above:
            continue
        known = slice(max(0, w.first - _BEFORE), w.last)
        where = np.stack([a[known] for a in (p.ids, p.line, p.left, p.right)], 1)
        higher[i, : known.stop - known.start] = np.concatenate((where, p.extents[known]), 1)
    return Sheet(*(torch.from_numpy(a) for a in (ids, mask, around, line, cell, higher)))


def phrases(windows: Sequence[tuple[Pieces, Window]], wordpieces: WordPieces) -> Phrases:
    """Returns the words of the windows and of the text before them."""
    words_of_windows = [words_of_pieces(p, max(0, w.first - _BEFORE), w.last, wordpieces) for p, w in windows]
    longest = max((len(words.word) for words in words_of_windows), default=0)
    pieces = max((len(words.of_piece) for words in words_of_windows), default=0)
    n = len(words_of_windows)
    word, run = np.full((n, longest), -1), np.full((n, longest), -1)
    of_piece = np.full((n, pieces), -1)
    own = [pieces_above(w) for _, w in windows]
    before = 0
    for i, words in enumerate(words_of_windows):
        word[i, : len(words.word)] = words.word + before
        run[i, : len(words.word)] = words.run
        of_piece[i, : len(words.of_piece)] = words.of_piece
        before += len(words.spelt)
    spelt = np.concatenate([np.zeros((0, RUNS), np.int64), *(words.spelt for words in words_of_windows)])
    return Phrases(*(torch.from_numpy(a) for a in (spelt, word, run, of_piece, np.asarray(own))))
