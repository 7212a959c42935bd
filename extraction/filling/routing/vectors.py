"""Turns documents and kinds into the vectors that routing compares: of sentences, and of phrases across languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import torch
from safetensors.numpy import load_file

from cinnabar.engine.models.identity import SHIPPED, about
from cinnabar.engine.models.reader.inputs.letter_ngrams import spelt_names
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.network.lexical_signals import vectors_of, word_vectors
from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.engine.models.weights import checked_tensors, restore
from cinnabar.extraction.filling.routing.likeness import (
    VECTORS,
    Floats,
    Kind,
    Kinds,
    PageVectors,
    common_kinds,
    words_of_heading,
)

#: Words of a passage, and the passages of a document's beginning that are read.
WORDS, PASSAGES = 90, 3
#: Characters and words in which phrases are looked up, and the characters of the first lines.
_CHARACTERS, _PHRASE_WORDS, _FIRST = 5000, 600, 600
#: The most words of a phrase, and the addend to its vector's length (network/lexical_signals.py).
_TOGETHER, _UNKNOWN = 4, 0.3
# The names of fields that follow the heading in the outline of a kind.
_OUTLINED = 20


def kinds_of(kinds: Sequence[Kind]) -> Kinds:
    """Returns these kinds with vectors of their headings, outlines and labels by the sentence encoder."""
    encoder = load_sentence_encoder()
    return _kinds(
        kinds, encoder.embed([kind.heading for kind in kinds]), encoder.embed([outline(kind) for kind in kinds])
    )


@lru_cache(maxsize=1)
def common() -> Kinds:
    """Returns the common kinds as vectors; those of their sentences are stored."""
    stored = load_file(VECTORS)
    return _kinds(common_kinds(), stored["heading"].astype(np.float32), stored["outline"].astype(np.float32))


def page_vectors(text: str) -> PageVectors:
    """Returns the beginning of a document as vectors."""
    return PageVectors(
        load_sentence_encoder().embed(passages(text)),
        phrases(text[:_CHARACTERS]),
        phrases(text[:_FIRST]),
        len(text[:_CHARACTERS].split()),
    )


def examples_of(texts: Iterable[str]) -> Floats:
    """Returns the vectors of labelled documents, as `Page.mean` is that of a document to compare: [N, 384]."""
    encoder = load_sentence_encoder()
    blank = np.zeros((1, 0), np.float32)
    return np.stack([PageVectors(encoder.embed(passages(text)), blank, blank, 0).mean for text in texts])


def passages(text: str) -> list[str]:
    """Returns the first passages of a document, one empty passage of a document without words."""
    words = list(re.finditer(r"\S+", text[: 40 * WORDS * PASSAGES]))[: WORDS * PASSAGES]
    cuts = [words[start : start + WORDS] for start in range(0, len(words), WORDS)]
    return [text[cut[0].start() : cut[-1].end()] for cut in cuts] or [""]


def phrases(text: str) -> Floats:
    """Returns the vectors of a text's phrases of one to four words: [n, 64]."""
    words = [word.lower() for word in re.findall(r"[^\W_]+", text)[:_PHRASE_WORDS]] or ["."]
    known = {word: row for row, word in enumerate(dict.fromkeys(words))}
    table, wordpieces = _letters()
    spelt = torch.from_numpy(spelt_names([wordpieces.ids(word) for word in known], wordpieces))
    rows, at_once, _ = spelt.shape
    single = word_vectors(table, spelt.view(rows * at_once, -1)).view(rows, at_once, -1).sum(1)
    line = single[torch.tensor([known[word] for word in words])]
    counts = range(1, min(_TOGETHER, len(line)) + 1)
    sums = torch.cat([line.unfold(0, count, 1).sum(-1) for count in counts])
    of_phrases: Floats = (sums / (sums.norm(dim=-1, keepdim=True) + _UNKNOWN)).numpy()
    return of_phrases


def _kinds(kinds: Sequence[Kind], heading: Floats, outline: Floats) -> Kinds:
    return Kinds(
        heading,
        outline,
        [_names(kind.labels or (kind.title,)) for kind in kinds],
        [_names([kind.title]) for kind in kinds],
        [_names(words_of_heading(kind)) for kind in kinds],
    )


def _names(names: Sequence[str]) -> Floats:
    table, wordpieces = _letters()
    of_names: Floats = vectors_of(table.numpy(), names, wordpieces)
    return of_names


def outline(kind: Kind) -> str:
    """Returns a kind's heading and the names of its fields as one text."""
    return f"{kind.heading} {', '.join(kind.labels[:_OUTLINED])}"


@lru_cache(maxsize=1)
def _letters() -> tuple[torch.Tensor, WordPieces]:
    """Returns the table of letter n-grams of the shipped reader, and its word pieces."""
    files = {"letters.safetensors": about(SHIPPED)["files"]["letters.safetensors"]}
    return restore(checked_tensors(SHIPPED, files))["letters.weight"], WordPieces(SHIPPED / "vocab.txt")
