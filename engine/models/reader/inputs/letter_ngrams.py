"""Letter n-grams of words, by which the vectors of phrases are looked up.

The word pieces are English; they break a word of another language into meaningless pieces. Letter n-grams that words
share have a meaning in any alphabetic language (Bojanowski et al. 2017, arXiv 1607.04606).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.cells import CELL_GAP
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces

#: The rows of the table that letter n-grams are hashed into; row 0 is for nothing.
BUCKETS = 65536
#: The letters of an n-gram, and the most n-grams of a word that are looked up: all of a word of twenty letters.
_SHORTEST, _LONGEST, RUNS = 3, 5, 60
#: The words of a field's name that are read.
NAME_WORDS = 8

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PieceWords:
    """The words of a stretch of T pieces: P words, W of them distinct. Numbers and signs are no words.

    spelt: [W, RUNS], rows of the table, 0 beyond a word's last. word: [P], the place of each word among the distinct
    ones. run: [P], the same number for words that stand together: in one cell, with only signs between them. of_piece:
    [T], the word that a piece belongs to, -1 for none.
    """

    spelt: _Ints
    word: _Ints
    run: _Ints
    of_piece: _Ints


def words_of_pieces(pieces: Pieces, first: int, last: int, wordpieces: WordPieces) -> PieceWords:
    """Returns the words of the pieces [first, last)."""
    ids, gap = pieces.ids[first:last].astype(np.int64), pieces.gap[first:last]
    if not len(ids):
        return PieceWords(np.zeros((0, RUNS), np.int64), *(np.zeros(0, np.int64) for _ in range(3)))
    begins = ~wordpieces.continues[ids]
    begins[0] = True
    start = np.flatnonzero(begins)
    whole = np.cumsum(begins) - 1
    # A number or another script ends a run of words, a sign does not.
    lettered, signs = wordpieces.lettered[ids[start]], wordpieces.signs[ids[start]]
    run = np.cumsum((gap[start] >= CELL_GAP) | ~(lettered | signs))
    place = np.minimum(np.arange(len(ids)) - start[whole], len(_POWERS) - 1)
    key = np.add.reduceat(ids * _POWERS[place], start)
    kept = np.flatnonzero(lettered)
    _, at, word = np.unique(key[kept], return_index=True, return_inverse=True)
    ends = np.append(start[1:], len(ids))
    texts = [wordpieces.letters_of(ids[start[k] : ends[k]].tolist()) for k in kept[at].tolist()]
    number = np.full(len(start), -1)
    number[kept] = np.arange(len(kept))
    return PieceWords(spelt(texts), word.astype(np.int64), run[kept].astype(np.int64), number[whole])


def spelt_names(names: Sequence[Sequence[int]], wordpieces: WordPieces) -> _Ints:
    """Returns the words of Q names, given as their pieces: [Q, NAME_WORDS, RUNS], 0 beyond the last word."""
    out = np.zeros((len(names), NAME_WORDS, RUNS), np.int64)
    for i, ids in enumerate(names):
        starts = [k for k, one in enumerate(ids) if k == 0 or not wordpieces.continues[one]]
        whole = [ids[a:b] for a, b in pairwise([*starts, len(ids)])]
        words = [wordpieces.letters_of(word) for word in whole if wordpieces.lettered[word[0]]]
        out[i, : len(words[:NAME_WORDS])] = spelt(words[:NAME_WORDS])
    return out


def spelt(words: Sequence[str]) -> _Ints:
    """Returns the rows of the table for each word: [W, RUNS], 0 beyond the last."""
    out = np.zeros((len(words), RUNS), np.int64)
    for i, word in enumerate(words):
        own = runs_of(word)
        out[i, : len(own)] = own
    return out


@lru_cache(maxsize=65536)
def runs_of(word: str) -> tuple[int, ...]:
    """Returns the rows for a word in small letters: the word and its letter n-grams, with its ends marked."""
    marked = f"<{word}>"
    lengths = range(_SHORTEST, _LONGEST + 1)
    runs = dict.fromkeys(marked[i : i + n] for n in lengths for i in range(len(marked) - n + 1))
    return tuple(1 + crc32(run.encode()) % (BUCKETS - 1) for run in ({marked: None} | runs))[:RUNS]


#: The factors of a 64-bit hash of a word's pieces.
_POWERS = np.cumprod(np.full(24, 1_000_003, np.int64))
