"""Which short cells of a page go by the names of a form: their words, and how alike these are to names'."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.phrases import likeness, vectors_of
from cinnabar.engine.models.default.wordpieces import WordPieces

#: Most words of a cell, or of its beginning up to its colon, that may be a name.
WORDS = 6
#: Characters of such a beginning, and the words before a colon that count where a whole line ends with it.
LONGEST, TAIL = 80, 2
#: Likeness of two words' vectors that says nothing.
UNLIKE = 0.55
#: Cells that are compared with names together: 12 MB of letters.
CELLS_AT_ONCE = 4096
#: Letters in which two words have to agree, and by which the longer one is longer at most.
STEM = 4
_WORD = re.compile(r"[^\W_]+")
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Short:
    """A cell of a few words: its number, its words in small letters, and the character behind them."""

    cell: int
    words: Words
    behind: int


def words_in(text: str) -> Words:
    """The words of a text."""
    return tuple(_WORD.findall(text))


def short_cells(text: str, columns: Columns) -> list[Short]:
    """The cells that are short, or begin with a few words and a colon."""
    pieces, found = columns.pieces, []
    starts, ends = pieces.start[columns.first[:-1]].tolist(), pieces.end[columns.first[1:] - 1].tolist()
    for cell, (start, end) in enumerate(zip(starts, ends, strict=True)):
        behind = text.find(":", start, min(end, start + LONGEST))
        alone = behind == end - 1
        behind = end if behind < 0 else behind
        if behind - start < LONGEST:
            words = tuple(word.lower() for word in _WORD.findall(text, start, behind))
            # "You will be eligible for the following benefits:"
            words = words[-TAIL:] if alone and len(words) > WORDS else words
            if 0 < len(words) <= WORDS:
                found.append(Short(cell, words, behind))
    return found


class Naming:
    """How alike some names and some cells' words are, each word by itself and all of them as a phrase.

    vectors: [V, H], those of the vocabulary; letters: those of runs of letters (phrases.py).
    """

    def __init__(
        self,
        names: Collection[Words],
        cells: Collection[Words],
        vectors: Tensor,
        letters: Tensor,
        wordpieces: WordPieces,
    ) -> None:
        self.words = _alike_words(names, cells, vectors, wordpieces)
        self.phrases = _alike_phrases(names, cells, letters, wordpieces)

    def shares(self, name: Words, cell: Words) -> tuple[float, float]:
        """Which share of the name's words the cell has, and which share of the cell's the name."""
        near = self.words
        mine = sum(max(near.get((n, w), 0.0) for w in cell) for n in name) / len(name)
        theirs = sum(max(near.get((n, w), 0.0) for n in name) for w in cell) / len(cell)
        return mine, theirs

    def as_phrases(self, name: Words, cell: Words) -> float:
        """How alike they are as phrases, 0 to 1."""
        return self.phrases.get((name, cell), 0.0)


def _alike_words(
    names: Collection[Words], cells: Collection[Words], vectors: Tensor, wordpieces: WordPieces
) -> Mapping[tuple[str, str], float]:
    """How alike the words of names and of cells are, 0 to 1, for those that are at all."""
    ours, theirs = (sorted({word for own in every for word in own}) for every in (names, cells))
    near = _vectors(ours, vectors, wordpieces) @ _vectors(theirs, vectors, wordpieces).T
    near = ((near - UNLIKE) / (1 - UNLIKE)).clamp(min=0)
    found: dict[tuple[str, str], float] = {}
    for i, j in near.nonzero().tolist():
        if len(ours[i]) > 2 and len(theirs[j]) > 2:
            found[ours[i], theirs[j]] = float(near[i, j])
    for mine in ours:
        stem = mine[: max(STEM, len(mine) - 2)]
        for word in theirs:
            if mine == word:
                found[mine, word] = 1.0
            elif len(mine) >= STEM and word.startswith(stem) and len(word) < len(mine) + STEM:
                found[mine, word] = 0.95
    return found


def _alike_phrases(
    names: Collection[Words], cells: Collection[Words], letters: Tensor, wordpieces: WordPieces
) -> Mapping[tuple[Words, Words], float]:
    """How alike names and cells are as phrases, 0 to 1, for those that are at all."""
    ours, theirs = sorted(names), sorted(set(cells))
    asked = vectors_of(letters, [" ".join(name) for name in ours], wordpieces)
    found: dict[tuple[Words, Words], float] = {}
    for first in range(0, len(theirs), CELLS_AT_ONCE):
        part = theirs[first : first + CELLS_AT_ONCE]
        near = likeness(asked, vectors_of(letters, [" ".join(words) for words in part], wordpieces))
        found |= {(ours[i], part[j]): float(near[i, j]) for i, j in near.nonzero().tolist()}
    return found


def _vectors(words: Sequence[str], vectors: Tensor, wordpieces: WordPieces) -> Tensor:
    """The words' vectors, those of their pieces in the mean, of length one: [W, H]."""
    means = [vectors[list(wordpieces.ids(word)) or [0]].float().mean(0) for word in words]
    return F.normalize(torch.stack(means), dim=-1)
