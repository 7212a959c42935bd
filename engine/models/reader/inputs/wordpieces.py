"""Word pieces with their places in the text, and the features that pieces lose: case, gaps and lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

from cinnabar.engine.models.reader.inputs.cells import cells_of, extents_of

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
