"""How alike a field's name and the phrases of a page are, in whatever language either is written.

A phrase is up to four words that stand together; its vector is the sum of its words', a word's that of its
runs of letters. The table of these is learned from the names and labels of concepts in several languages
(engine/training/lexicon.py), so that "delivery point" and "Zählpunkt" have like vectors. A lexical prior for
the pointers, beside that of `matching.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.reader.inputs.letter_ngrams import spelt_names
from cinnabar.engine.models.reader.inputs.tensors import Phrases
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces

#: Values of a vector.
VALUES = 64
#: Most words of a phrase.
_TOGETHER = 4
#: Added to the length of a vector before it is divided by it: the less is known of a phrase's letters, the
#: less is it like any.
_UNKNOWN = 0.3
#: Likeness that says nothing, and likeness that says all.
_UNLIKE, _ALIKE = 0.3, 0.65


def word_vectors(table: Tensor, spelt: Tensor) -> Tensor:
    """The vectors of words, [W, VALUES], from the rows that they are made of, [W, RUNS]; 0 for none."""
    count = (spelt > 0).sum(-1, keepdim=True).clamp(min=1)
    summed: Tensor = F.embedding_bag(spelt, table, mode="sum", padding_idx=0)
    return summed / count.to(table.dtype).sqrt()


def _of_length(phrases: Tensor) -> Tensor:
    """Sums of words' vectors with lengths below one: [..., VALUES]."""
    lengths: Tensor = torch.linalg.vector_norm(phrases, dim=-1, keepdim=True)
    return phrases / (lengths + _UNKNOWN)


def name_vectors(table: Tensor, spelt: Tensor) -> Tensor:
    """The vectors of names, [Q, VALUES], from their words, [Q, NAME_WORDS, RUNS]."""
    q, n, _ = spelt.shape
    return _of_length(word_vectors(table, spelt.view(q * n, -1)).view(q, n, -1).sum(1))


def vectors_of(table: Tensor, names: Sequence[str], wordpieces: WordPieces) -> Tensor:
    """The vectors of names as texts: [Q, VALUES]."""
    spelt = spelt_names([wordpieces.ids(name) for name in names], wordpieces)
    return name_vectors(table, torch.from_numpy(spelt).to(table.device))


def phrase_likeness(names: Tensor, phrases: Tensor) -> Tensor:
    """How alike names, [Q, VALUES], and phrases, [P, VALUES], are, 0 to 1: [Q, P]."""
    return _scaled(names @ phrases.T)


def phrase_matches(letters: Tensor, asked: Tensor, phrases: Phrases) -> list[Tensor]:
    """How alike the phrases around each piece of `Sheet.above` are to Q names, 0 to 1: N of [Q, C].

    letters: [BUCKETS, VALUES]; asked: [Q, NAME_WORDS, RUNS], the names as they are spelt.
    """
    names, words = name_vectors(letters, asked), word_vectors(letters, phrases.spelt)
    matches = []
    for word, run, of_piece in zip(phrases.word, phrases.run, phrases.of_piece, strict=True):
        known = word >= 0
        found = _word_matches(names, words[word[known]], run[known])
        matches.append(F.pad(found, (0, 1))[:, of_piece])
    return matches


def _word_matches(names: Tensor, words: Tensor, run: Tensor) -> Tensor:
    """How alike the likest phrase around each of P words is to Q names, 0 to 1: [Q, P].

    names: [Q, VALUES]; words: [P, VALUES]; run: [P], equal for words that stand together.
    """
    count = len(words)
    out = torch.zeros(len(names), count, device=words.device)
    phrases, best = words, torch.full_like(out, _UNLIKE)
    for more in range(min(_TOGETHER, count)):
        if more:
            phrases = phrases[:-1] + words[more:]
            best = torch.maximum(best[:, :-1], best[:, 1:])
        alike = torch.where(run[: count - more] == run[more:], names @ _of_length(phrases).T, _UNLIKE)
        # Words that a phrase could be without are not part of it.
        telling = torch.where(alike >= best, _scaled(alike), 0.0)
        best = torch.maximum(alike, best)
        for k in range(more + 1):
            at = out[:, k : count - more + k]
            torch.maximum(at, telling, out=at)
    return out


def _scaled(alike: Tensor) -> Tensor:
    """Products of vectors as likeness, 0 to 1."""
    return ((alike - _UNLIKE) / (_ALIKE - _UNLIKE)).clamp(0, 1)
