"""The similarity of a field's name to the phrases of a page, across languages.

A phrase is up to four words that stand together. Its vector is the sum of its words' vectors; a word's vector is the
sum of those of its letter n-grams. The table of these is learned from the names and labels of concepts in several
languages (training/lexicon.py), so that "delivery point" and "Zählpunkt" have similar vectors. It is a lexical
prior for the pointers, beside that of `lexical_signals.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.reader.inputs.letter_ngrams import spelt_names
from cinnabar.engine.models.reader.inputs.tensors import Phrases
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces

#: The dimensions of a vector.
VALUES = 64
#: The most words of a phrase.
_TOGETHER = 4
#: Added to the length of a vector before the vector is divided by it: a phrase with few known letters is similar to
#: none.
_UNKNOWN = 0.3
#: The similarity that counts as 0, and the one that counts as 1.
_UNLIKE, _ALIKE = 0.3, 0.65
_Floats = npt.NDArray[np.float32]


def word_vectors(table: Tensor, spelt: Tensor) -> Tensor:
    """Returns the vectors of words, [W, VALUES], from their rows in the table, [W, RUNS]; row 0 is for nothing."""
    count = (spelt > 0).sum(-1, keepdim=True).clamp(min=1)
    summed: Tensor = F.embedding_bag(spelt, table, mode="sum", padding_idx=0)
    return summed / count.to(table.dtype).sqrt()


def _of_length(phrases: Tensor) -> Tensor:
    """Returns sums of words' vectors with lengths below one: [..., VALUES]."""
    lengths: Tensor = torch.linalg.vector_norm(phrases, dim=-1, keepdim=True)
    return phrases / (lengths + _UNKNOWN)


def name_vectors(table: Tensor, spelt: Tensor) -> Tensor:
    """Returns the vectors of names, [Q, VALUES], from their words, [Q, NAME_WORDS, RUNS]."""
    q, n, _ = spelt.shape
    return _of_length(word_vectors(table, spelt.view(q * n, -1)).view(q, n, -1).sum(1))


def vectors_of(table: _Floats, names: Sequence[str], wordpieces: WordPieces) -> _Floats:
    """Returns the vectors of names as texts: [Q, VALUES].

    In arrays: a document asks for a few short texts, and such a torch call takes ten times as long as its arithmetic.
    """
    spelt = spelt_names([wordpieces.ids(name) for name in names], wordpieces)
    known = spelt > 0
    share = 1 / np.sqrt(np.maximum(known.sum(-1, keepdims=True), 1), dtype=np.float32)
    runs = table[spelt[known]] * np.broadcast_to(share, spelt.shape)[known][:, None]
    counts = known.sum((1, 2))
    vectors = np.zeros((len(names), table.shape[1]), np.float32)
    if len(runs):
        begins = np.cumsum(counts) - counts
        vectors[counts > 0] = np.add.reduceat(runs, begins[counts > 0], axis=0)
    unit: _Floats = vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + _UNKNOWN)
    return unit


def phrase_likeness(names: _Floats, phrases: _Floats) -> _Floats:
    """Returns the similarity of names, [Q, VALUES], and phrases, [P, VALUES], 0 to 1: [Q, P]."""
    found: _Floats = ((names @ phrases.T - _UNLIKE) / (_ALIKE - _UNLIKE)).clip(0, 1)
    return found


def phrase_matches(ngrams: Tensor, asked: Tensor, slots: Tensor, phrases: Phrases) -> Tensor:
    """Returns the similarity of each slot's name to the phrases around each piece of `Sheet.above`: [N, S, C], 0 to 1.

    ngrams: [BUCKETS, VALUES]; asked: [Q, NAME_WORDS, RUNS], the names' words as rows of the table; slots: [N, S], the
    name of each slot.
    """
    names = name_vectors(ngrams, asked)[slots]
    # The vector behind the last one is that of no word.
    words = F.pad(word_vectors(ngrams, phrases.spelt), (0, 0, 0, 1))[phrases.word]
    matches = F.pad(_word_matches(names, words, phrases.run), (0, 1))
    at = torch.where(phrases.of_piece < 0, matches.shape[-1] - 1, phrases.of_piece)
    return matches.gather(2, at[:, None].expand(-1, slots.shape[1], -1))


def _word_matches(names: Tensor, words: Tensor, run: Tensor) -> Tensor:
    """Returns the similarity of S names to the best phrase around each of P words, 0 to 1: [N, S, P].

    names: [N, S, VALUES]; words: [N, P, VALUES]; run: [N, P], equal for words that stand together.
    """
    count, names = words.shape[1], names.double()
    out = torch.zeros(*names.shape[:2], count, device=words.device)
    phrases, best = words, torch.full_like(out, _UNLIKE)
    for more in range(min(_TOGETHER, count)):
        if more:
            phrases = phrases[:, :-1] + words[:, more:]
            best = torch.maximum(best[..., :-1], best[..., 1:])
        # Rounded from sums in float64, which are the same for every number of words.
        near = torch.matmul(names, _of_length(phrases).double().transpose(1, 2)).float()
        together = run[:, : count - more] == run[:, more:]
        alike = torch.where(together[:, None], near, _UNLIKE)
        # A phrase leaves out words that lower its similarity.
        better = torch.where(alike >= best, _to_similarity(alike), 0.0)
        best = torch.maximum(alike, best)
        for k in range(more + 1):
            at = out[..., k : count - more + k]
            torch.maximum(at, better, out=at)
    return out


def _to_similarity(alike: Tensor) -> Tensor:
    """Returns products of vectors as similarities, 0 to 1."""
    return ((alike - _UNLIKE) / (_ALIKE - _UNLIKE)).clamp(0, 1)
