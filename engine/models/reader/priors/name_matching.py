"""Name matching: the similarity of a page's short cells to the names of a form's fields, objects and lists.

Headings, labels and heads of columns are such cells; the priors of these use this module.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.questions import Question, words_of
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.network.lexical_signals import phrase_likeness, vectors_of
from cinnabar.engine.models.reader.priors.config import NameMatchingConfig
from cinnabar.schemas.pointers import unescape

#: The most words of a cell, or of its beginning up to its colon, that may be a name.
NAME_WORDS = 6
#: The most characters of such a beginning, and the words before a colon that count if a longer line ends with it.
NAME_LONGEST, NAME_TAIL = 80, 2
#: The letters in which two words must agree; one may be longer by fewer letters than this.
NAME_STEM = 4
#: Words of fewer letters are similar only to themselves.
NAME_SHORTEST = 3
#: Frequent words stand first in the vocabulary: a description's words before this place say nothing.
FREQUENT_WORDS = 2200
#: The number of cells that are compared with names together: 12 MB of letters.
_CELLS_AT_ONCE = 4096
#: The least length that a vector is divided by.
_LEAST = 1e-12
_WORD = re.compile(r"[^\W_]+")
Words = tuple[str, ...]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ShortCell:
    """A cell of a few words: its number, its words in small letters, and the character behind them."""

    cell: int
    words: Words
    behind: int

    @property
    def has_figures(self) -> bool:
        """Whether its words have a figure, which makes it a value rather than a name."""
        return any(c.isdigit() for word in self.words for c in word)


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The names of a field, and the words of its description."""

    names: tuple[Words, ...]
    note: Words


def asked_for(names: Sequence[str], note: str = "") -> FieldNames:
    """Returns these names and this description as words."""
    found = dict.fromkeys(words_in(name) for name in names)
    return FieldNames(tuple(name for name in found if name), tuple(dict.fromkeys(words_in(note))))


def asked_of(path: str, question: Question) -> FieldNames:
    """Returns the names and the note of a field or list: its name in the schema, its label, and its description."""
    own = words_of(unescape(path.rpartition("/")[2]))
    return asked_for([own, question.label], question.note)


def words_in(text: str) -> Words:
    """Returns the words of a text, in small letters."""
    return tuple(_WORD.findall(text.lower()))


def short_cells(text: str, columns: Columns) -> list[ShortCell]:
    """Returns the cells that are short, or begin with a few words and a colon."""
    pieces, short = columns.pieces, []
    starts, ends = pieces.start[columns.first[:-1]].tolist(), pieces.end[columns.first[1:] - 1].tolist()
    for cell, (start, end) in enumerate(zip(starts, ends, strict=True)):
        colon = text.find(":", start, min(end, start + NAME_LONGEST))
        behind = end if colon < 0 else colon
        if behind - start < NAME_LONGEST:
            words = words_in(text[start:behind])
            # "You will be eligible for the following benefits:"
            words = words[-NAME_TAIL:] if colon == end - 1 and len(words) > NAME_WORDS else words
            if 0 < len(words) <= NAME_WORDS:
                short.append(ShortCell(cell, words, behind))
    return short


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vectors by which words are compared, as arrays: the priors are the same on every device.

    vectors: [V, H], those of the vocabulary; ngrams: those of letter n-grams (network/lexical_signals.py).
    """

    vectors: Floats
    ngrams: Floats
    wordpieces: WordPieces


@dataclass(frozen=True, slots=True)
class Page:
    """A passage that is searched for names: its cells, the short ones among them, and the vectors of words."""

    text: str
    columns: Columns
    short: list[ShortCell]
    words: WordVectors

    @classmethod
    def of(cls, text: str, columns: Columns, words: WordVectors) -> Page:
        """Returns the page of this text."""
        return cls(text, columns, short_cells(text, columns), words)

    def has_figures(self, cell: int) -> bool:
        """Returns whether a cell has a figure."""
        first, until = self.columns.first[cell : cell + 2].tolist()
        return any(map(str.isdigit, self.columns.pieces.between(first, until, self.text)))


class NameSimilarity:
    """The similarity of some names to C distinct cells, word by word and as phrases."""

    def __init__(
        self,
        names: Collection[Words],
        notes: Collection[Words],
        cells: Collection[Words],
        words: WordVectors,
        config: NameMatchingConfig,
    ) -> None:
        self._config = config
        self.cells = sorted(set(cells))
        ours = sorted({word for own in (*names, *notes) for word in own})
        theirs = sorted({word for own in self.cells for word in own})
        self._row = {word: i for i, word in enumerate(ours)}
        # A word of several pieces is not frequent.
        pieces = {word: words.wordpieces.ids(word) for word in ours}
        self._telling = {w: len(own) > 1 or (len(own) == 1 and own[0] >= FREQUENT_WORDS) for w, own in pieces.items()}
        # The last column is for words that a cell does not have.
        near = _alike(ours, theirs, words.vectors, words.wordpieces, config)
        self._near = np.pad(near, ((0, 0), (0, 1)))
        column = {word: i for i, word in enumerate(theirs)}
        most = max(map(len, self.cells), default=0)
        at = [[*(column[w] for w in own), *[len(theirs)] * (most - len(own))] for own in self.cells]
        self._words = np.asarray(at, np.int64).reshape(len(self.cells), most)
        self._count = np.asarray([len(own) for own in self.cells], np.float32)
        self._phrases = _alike_phrases(sorted(set(names)), self.cells, words.ngrams, words.wordpieces)

    def shares(self, name: Words) -> tuple[Floats, Floats]:
        """Returns the share of the name's words in each cell, and the share of the cell's in the name: [C] each."""
        near = self._near[[self._row[word] for word in name]][:, self._words]
        theirs: Floats = near.max(0).sum(-1) / self._count
        return near.max(-1).mean(0), theirs

    def as_phrases(self, name: Words) -> Floats:
        """Returns the similarity of the name and each cell as phrases, 0 to 1: [C]."""
        return self._phrases[name]

    def match_field(self, asked: FieldNames) -> Floats:
        """Returns how surely each cell names the field, by a name or by the description: [C]."""
        best = np.zeros(len(self.cells), np.float32)
        for name in asked.names:
            both = np.stack(self.shares(name))
            np.maximum(best, both.max(0) * (0.5 + 0.5 * both.min(0)), out=best)
            np.maximum(best, self.as_phrases(name), out=best)
        return np.maximum(self._config.named * best, self.match_description(asked.note)) if asked.note else best

    def match_description(self, note: Words) -> Floats:
        """Returns how surely each cell's words are those of a description: [C]. Frequent words say nothing."""
        telling = tuple(word for word in note if self._telling[word])
        if not telling:
            return np.zeros(len(self.cells), np.float32)
        return self._config.noted * self.shares(telling)[1]


def rival_factors(alike: Floats, rivals: float) -> Floats:
    """Returns a factor for each of [A, B]: less if another of A is more similar to the same of B."""
    factor: Floats = np.exp(rivals * np.minimum(0.0, alike - most_of_others(alike)))
    return factor


def claims_of(alike: Floats, rivals: float) -> Floats:
    """Returns how surely each of F fields is named by each of C cells, [F, C], given the similarity of all others.

    rivals: how fast a cell counts less for a field, the more similar it is to another field's name.
    """
    return alike * rival_factors(alike, rivals) * rival_factors(alike.T, rivals).T


def most_of_others(values: Floats) -> Floats:
    """Returns for each of [A, B] the maximum over the other A for the same B; 0 if there is none."""
    if len(values) < 2:
        return np.zeros_like(values)
    second, first = np.partition(values, len(values) - 2, axis=0)[-2:]
    most: Floats = np.where(values == first, second, first)
    return most


def _alike(
    ours: Sequence[str],
    theirs: Sequence[str],
    vectors: Floats,
    wordpieces: WordPieces,
    config: NameMatchingConfig,
) -> Floats:
    """Returns the similarity of words, 0 to 1: [A, B], for two sorted lists of them."""
    if not ours or not theirs:
        return np.zeros((len(ours), len(theirs)), np.float32)
    near = _vectors(ours, vectors, wordpieces) @ _vectors(theirs, vectors, wordpieces).T
    near = ((near - config.unlike) / (1 - config.unlike)).clip(min=0)
    long = [np.asarray([len(word) >= NAME_SHORTEST for word in words]) for words in (ours, theirs)]
    alike: Floats = near * (long[0][:, None] & long[1])
    for i, mine in enumerate(ours):
        stem = mine[: max(NAME_STEM, len(mine) - 2)]
        at = bisect_left(theirs, stem)
        while at < len(theirs) and theirs[at].startswith(stem):
            if theirs[at] == mine:
                alike[i, at] = 1.0
            elif len(mine) >= NAME_STEM and len(theirs[at]) < len(mine) + NAME_STEM:
                alike[i, at] = config.same_stem
            at += 1
    return alike


def _alike_phrases(
    names: Sequence[Words], cells: Sequence[Words], ngrams: Floats, wordpieces: WordPieces
) -> dict[Words, Floats]:
    """Returns the similarity of names and C cells as phrases, 0 to 1: [C] for each name."""
    if not names or not cells:
        return {}
    asked = vectors_of(ngrams, [" ".join(name) for name in names], wordpieces)
    near = [
        phrase_likeness(asked, vectors_of(ngrams, [" ".join(words) for words in part], wordpieces))
        for first in range(0, len(cells), _CELLS_AT_ONCE)
        if (part := cells[first : first + _CELLS_AT_ONCE])
    ]
    return dict(zip(names, np.concatenate(near, 1), strict=True))


def _vectors(words: Sequence[str], vectors: Floats, wordpieces: WordPieces) -> Floats:
    """Returns the mean vector of each word's pieces, of length one: [W, H]."""
    pieces = [wordpieces.ids(word) or (0,) for word in words]
    counts = np.asarray([len(own) for own in pieces])
    chosen = vectors[[piece for own in pieces for piece in own]]
    sums: Floats = np.add.reduceat(chosen, np.cumsum(counts) - counts, axis=0)
    # A vector of length one needs no mean: the sum has its direction.
    unit: Floats = sums / np.maximum(np.linalg.norm(sums, axis=-1, keepdims=True), _LEAST)
    return unit
