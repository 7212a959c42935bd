"""Windows: overlapping parts of a passage that the encoder can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cinnabar.engine.models.reader.inputs.letter_ngrams import RUNS, words_of_pieces
from cinnabar.engine.models.reader.inputs.tensors import Phrases, Sheet
from cinnabar.engine.models.reader.inputs.wordpieces import CLS_ID, SEP_ID, Pieces, WordPieces

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
