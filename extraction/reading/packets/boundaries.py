"""Tells on which pages of a packet a document begins, with probabilities (`training.packets.fit` fits the model)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from cinnabar.extraction.reading.packets.features import FEATURES, Floats, pair_features
from cinnabar.extraction.reading.packets.signs import PageSigns

#: The file with the model's weights.
FITTED = Path(__file__).with_name("boundaries.json")
#: Names the rules and the weights. The number goes up if the code finds other boundaries with the same weights.
VERSION = f"1-{hashlib.sha256(FITTED.read_bytes()).hexdigest()[:12]}"


def boundaries(pages: Sequence[PageSigns]) -> tuple[dict[int, float], tuple[int, ...]]:
    """Returns the probability that a document begins on each page but the first with words, and the separator sheets.

    A sheet of few words that occurs again, word for word, separates documents. A blank page belongs to the document
    before it.
    """
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.sentences.encoder import load_sentence_encoder

    often = Counter(page.sheet for page in pages if page.sheet)
    sheets = tuple(page.number for page in pages if often[page.sheet] > 1)
    printed = [page for page in pages if page.words and page.number not in sheets]
    if len(printed) < 2:
        return {}, sheets
    texts = [text for page in printed for text in page.ends]
    meaning = load_sentence_encoder().embed(texts).reshape(len(printed), 2, -1)
    gaps = [(False, False)]
    for before, page in pairwise(printed):
        between = range(before.number + 1, page.number)
        gaps.append((any(at not in sheets for at in between), any(at in sheets for at in between)))
    likely = probabilities(pair_features(printed, meaning, gaps))
    return {page.number: round(float(p), 4) for page, p in zip(printed[1:], likely, strict=True)}, sheets


def probabilities(features: Floats) -> Floats:
    """Returns the probability of a boundary by the features of pages, [N, FEATURES]: [N]."""
    weights, bias = _weights()
    likely: Floats = 1 / (1 + np.exp(-(features @ weights + bias)))
    return likely


@lru_cache(maxsize=1)
def _weights() -> tuple[Floats, float]:
    """Returns the weights of the features and the bias."""
    held = json.loads(FITTED.read_text(encoding="utf-8"))
    return np.array([held["features"][name] for name in FEATURES], np.float32), held["bias"]
