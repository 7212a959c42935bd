"""Word pieces with their places in the text, the features that they lose (case, gaps, lines), and the cells of a page.

Cells are those of tables, and labels over their values. A value may continue below itself, in a cell whose text is
broken into lines, with parts of the neighbouring cells between them in the text. The pointers give the first and the
last word; `Columns` decides which words in between belong to the value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

from cinnabar.engine.tables.lines import ACROSS, CHARACTER

#: The lines above a cell that are searched for the next cell over it; a cell farther up is no neighbour.
LINES_ABOVE = 12
#: The most cells that are searched for it: no page has so many on these lines, but a text without pages may.
CELLS_ABOVE = 2000
#: The least share of the narrower of two cells that must lie under the other cell, for that one to be above it.
UNDER_SHARE = 0.3
PAD_ID, UNKNOWN_ID, CLS_ID, SEP_ID = 0, 100, 101, 102

#: The case of a piece in the text (the vocabulary is lower-cased).
CASES = ("continuation", "lower", "title", "upper", "mixed", "digits", "other")
#: The gap before a piece: nothing, one blank, a wide gap (two blanks or a tab), a line's beginning, a paragraph's
#: beginning (after an empty line).
GAPS = ("joined", "blank", "wide", "line", "paragraph")
#: The buckets of a horizontal or vertical position; the first one is for unknown positions.
PLACES = 33


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a text, T of them.

    ids: [T] int32. start, end: [T] int32, characters. case, gap: [T] int8 into CASES, GAPS. line: [T] int32, the line
    that a piece stands on. x, y: [T] int8, buckets of the place on the page. left, right: [T] int16, the edges of the
    piece's cell; over: [T] int32, the line of the next cell above it, -1 if there is none. extents: [T, 4] int32, the
    edges of its word, then of its cell's room.
    """

    ids: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    case: npt.NDArray[np.int8]
    gap: npt.NDArray[np.int8]
    line: npt.NDArray[np.int32]
    x: npt.NDArray[np.int8]
    y: npt.NDArray[np.int8]
    left: npt.NDArray[np.int16]
    right: npt.NDArray[np.int16]
    over: npt.NDArray[np.int32]
    extents: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, character: int) -> int:
        """Returns the piece that holds this character, or the next one after it."""
        i = int(np.searchsorted(self.start, character, side="right")) - 1
        if i >= 0 and self.end[i] > character:
            return i
        return min(i + 1, len(self.ids) - 1)

    def between(self, first: int, until: int, text: str) -> str:
        """Returns the text from a piece up to another one, or to the text's end if there are fewer pieces."""
        end = int(self.start[until]) if until < len(self.ids) else len(text)
        return text[int(self.start[first]) : end]


class WordPieces:
    """The lower-cased English word pieces of BERT. Text that looks like a special token is ordinary text."""

    def __init__(self, vocabulary: Path) -> None:
        words = vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        self.size = len(words)
        self._words = words
        #: For each piece of the vocabulary, [V]: whether it continues a word, begins with a letter, or is a sign.
        self.continues = np.asarray([w.startswith("##") for w in words])
        self.lettered = np.asarray([w.removeprefix("##")[:1].isalpha() for w in words])
        self.signs = np.asarray([len(w) == 1 and not w.isalnum() for w in words])
        tokenizer = Tokenizer(WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        self._tokenizer = tokenizer
        self.ids = lru_cache(maxsize=16384)(self._ids)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def letters_of(self, ids: Iterable[int]) -> str:
        """Returns the letters of these pieces."""
        return "".join(self._words[i].removeprefix("##") for i in ids)

    def count(self, text: str) -> int:
        """Returns the number of word pieces of this text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def pieces(
        self,
        text: str,
        word_start: npt.NDArray[np.int32] | None = None,
        word_box: npt.NDArray[np.float32] | None = None,
    ) -> Pieces:
        """Returns the pieces of a text; boxes are shares of the page, [W, 4], NaN for words without one."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int32)
        places = np.asarray(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        start, end = places[:, 0].copy(), places[:, 1].copy()
        breaks = [i for i, c in enumerate(text) if c == "\n"]
        line = np.searchsorted(np.asarray(breaks, dtype=np.int64), start, side="left").astype(np.int32)
        case, gap = _surroundings(text, start, end)
        line_start = np.asarray([0, *(b + 1 for b in breaks)], dtype=np.int64)
        x, y = _places(start, line, line_start, word_start, word_box)
        left, right, over = cells_of(start, end, gap, line, line_start, word_start, word_box)
        extents = extents_of(start, end, gap, line, left, right)
        return Pieces(ids, start, end, case, gap, line, x, y, left, right, over, extents)


def _surroundings(
    text: str, start: npt.NDArray[np.int32], end: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    case, gap = np.zeros(len(start), np.int8), np.zeros(len(start), np.int8)
    before = 0
    for i, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        between, word = text[before:a], text[a:b]
        joined = not between and i > 0
        if between.count("\n") > 1 or i == 0:
            gap[i] = 4
        elif "\n" in between:
            gap[i] = 3
        elif len(between) > 1 or "\t" in between:
            gap[i] = 2
        else:
            gap[i] = 1 if between else 0
        if joined and word.isalpha() and text[a - 1].isalpha():
            case[i] = 0
        elif word.isdigit():
            case[i] = 5
        elif word.islower():
            case[i] = 1
        elif word.isupper():
            case[i] = 3
        elif word.istitle():
            case[i] = 2
        else:
            case[i] = 4 if word.isalnum() else 6
        before = b
    return case, gap


def _places(
    start: npt.NDArray[np.int32],
    line: npt.NDArray[np.int32],
    line_start: npt.NDArray[np.int64],
    word_start: npt.NDArray[np.int32] | None,
    word_box: npt.NDArray[np.float32] | None,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Returns places from the boxes; without a box the column of the text is the place across."""
    x = (np.minimum((start - line_start[line]) // 4, PLACES - 2) + 1).astype(np.int8)
    y = np.zeros(len(start), np.int8)
    if word_start is not None and word_box is not None and len(word_start) and len(start):
        word = np.clip(np.searchsorted(word_start, start, side="right") - 1, 0, len(word_start) - 1)
        box = word_box[word]
        known = ~np.isnan(box[:, 0])
        share = np.nan_to_num(np.clip(box[:, :2], 0.0, 0.999))
        x = np.where(known, (share[:, 0] * (PLACES - 1)).astype(np.int8) + 1, x)
        y = np.where(known, (share[:, 1] * (PLACES - 1)).astype(np.int8) + 1, y)
    return x, y


#: The least gap before a cell's first piece: a wide gap, or the beginning of a line or paragraph (`GAPS`).
CELL_GAP = 2

_Ints = npt.NDArray[np.int32]


def cells_of(
    start: _Ints,
    end: _Ints,
    gap: npt.NDArray[np.int8],
    line: _Ints,
    line_start: npt.NDArray[np.int64],
    word_start: _Ints | None,
    word_box: npt.NDArray[np.float32] | None,
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], _Ints]:
    """Returns the left and right edge of each piece's cell, and the line of the next cell above, -1 if none is near.

    A cell is a part of a line between wide gaps. Edges are thousandths of the page's width if words have boxes, else
    columns of the text. Everything is [T], for T pieces; start, end: characters; gap: the gap before a piece;
    line_start: the first character of each line.
    """
    left = (start - line_start[line]) * CHARACTER
    right = (end - line_start[line]) * CHARACTER
    if word_start is not None and word_box is not None and len(word_start) and len(start):
        box = word_box[np.clip(np.searchsorted(word_start, start, side="right") - 1, 0, len(word_start) - 1)]
        known = ~np.isnan(box[:, 0])
        share = np.nan_to_num(np.clip(box, 0.0, 1.0)) * ACROSS
        left, right = np.where(known, share[:, 0], left), np.where(known, share[:, 2], right)
    if not len(start):
        none = np.zeros(0, np.int16)
        return none, none, np.zeros(0, np.int32)
    first = _begins_cell(gap)
    begins, cell = np.flatnonzero(first), np.cumsum(first) - 1
    limit = np.iinfo(np.int16).max
    lefts = np.minimum(np.minimum.reduceat(left, begins), limit).astype(np.int16)
    rights = np.minimum(np.maximum.reduceat(right, begins), limit).astype(np.int16)
    rights = np.maximum(rights, np.minimum(lefts, limit - 1) + 1).astype(np.int16)
    over = _next_above(lefts.astype(np.int32), rights.astype(np.int32), line[begins])
    return lefts[cell], rights[cell], over[cell]


def extents_of(
    start: _Ints,
    end: _Ints,
    gap: npt.NDArray[np.int8],
    line: _Ints,
    left: npt.NDArray[np.int16],
    right: npt.NDArray[np.int16],
) -> _Ints:
    """Returns the left and right edge of each piece's word, then of its cell's room on its line: [T, 4].

    A word's share of its cell's width is its share of the cell's characters. A cell's room reaches halfway to its
    neighbours: the head of a group of columns stands over their middle.
    """
    if not len(start):
        return np.zeros((0, 4), np.int32)
    first = _begins_cell(gap)
    cell = np.cumsum(first) - 1
    begins = np.flatnonzero(first)
    opened = start[begins]
    closed = np.maximum(np.maximum.reduceat(end, begins), opened + 1)
    cell_left, cell_right = left[begins].astype(np.float64), right[begins].astype(np.float64)
    scale = (cell_right - cell_left) / (closed - opened)
    word = np.flatnonzero((gap > 0) | first)
    of_word = np.cumsum((gap > 0) | first) - 1
    word_left = cell_left[cell] + (start[word][of_word] - opened[cell]) * scale[cell]
    word_right = cell_left[cell] + (np.maximum.reduceat(end, word)[of_word] - opened[cell]) * scale[cell]
    on = line[begins]
    same = np.append(on[1:] == on[:-1], False)
    halfway = np.append((cell_right[:-1] + cell_left[1:]) / 2, 0.0)
    room_right = np.where(same, halfway, cell_right)
    room_left = np.where(np.append(False, same[:-1]), np.append(0.0, halfway[:-1]), cell_left)
    return np.stack((word_left, word_right, room_left[cell], room_right[cell]), 1).astype(np.int32)


def _begins_cell(gap: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Returns whether each of T pieces, at least one, is the first piece of its cell."""
    first = gap >= CELL_GAP
    first[0] = True
    return first


def _next_above(left: _Ints, right: _Ints, line: _Ints) -> _Ints:
    """Returns for each cell the line of the next cell above it."""
    over = np.full(len(left), -1, np.int32)
    first_of: dict[int, int] = {}
    for i, on in enumerate(line.tolist()):
        first_of.setdefault(on, i)
    for i, on in enumerate(line.tolist()):
        first = next((first_of[k] for k in range(max(0, on - LINES_ABOVE), on) if k in first_of), i)
        first = max(first, first_of[on] - CELLS_ABOVE)
        upper = slice(first, first_of[on])
        shared = np.minimum(right[upper], right[i]) - np.maximum(left[upper], left[i])
        narrow = np.minimum(right[upper] - left[upper], right[i] - left[i])
        covered = np.flatnonzero(shared >= UNDER_SHARE * narrow)
        if len(covered):
            over[i] = line[first + int(covered[-1])]
    return over


Span = tuple[int, int]


class Columns:
    """The cells of a passage's lines: the parts of a line between wide gaps."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        begins = (pieces.gap >= CELL_GAP) | (np.diff(pieces.line, prepend=-1) > 0)
        #: The cell of each piece, [T], and the first piece of each cell, followed by the number of pieces.
        self.cell = np.cumsum(begins) - 1
        self.first = np.append(np.flatnonzero(begins), len(pieces))
        self.line = pieces.line[self.first[:-1]]
        self.left = pieces.left[self.first[:-1]].astype(np.int32)
        self.right = pieces.right[self.first[:-1]].astype(np.int32)

    def spans(self, first: int, last: int) -> tuple[Span, ...]:
        """Returns the characters of a value from piece `first` to piece `last`, both inclusive: one or several spans.

        There are several if the text covers several lines and some of it stands beside the column in which the value
        begins: then only the cells of that column count. Running text, even with wide gaps in it, is one span.
        """
        start, end = self.pieces.start, self.pieces.end
        whole = ((int(start[first]), int(end[last])),)
        begin, until = int(self.cell[first]), int(self.cell[last])
        if self.line[begin] == self.line[until]:
            return whole
        kept, left, right = [begin], self.left[begin], self.right[begin]
        beside: list[int] = []
        for cell in range(begin + 1, until + 1):
            if self.line[cell] > self.line[begin] and self._under(cell, left, right):
                kept.append(cell)
                left, right = min(left, self.left[cell]), max(right, self.right[cell])
            else:
                beside.append(cell)
        through = set(self.line[begin : until + 1].tolist()) == set(self.line[kept].tolist())
        if not beside or not through or kept[-1] != until or any(self._under(c, left, right) for c in beside):
            return whole
        return tuple(
            (int(start[max(first, self.first[cell])]), int(end[min(last, self.first[cell + 1] - 1)]))
            for cell in kept
        )

    def below(self, cell: int) -> list[int]:
        """Returns the cells of the next line that stand under this one, from left to right."""
        line = self.line[cell]
        after = int(np.searchsorted(self.line, line, side="right"))
        if after == len(self.line):
            return []
        until = int(np.searchsorted(self.line, self.line[after], side="right"))
        return [c for c in range(after, until) if self._under(c, self.left[cell], self.right[cell])]

    def _under(self, cell: int, left: int, right: int) -> bool:
        shared = min(self.right[cell], right) - max(self.left[cell], left)
        return bool(shared >= UNDER_SHARE * min(self.right[cell] - self.left[cell], right - left))
