"""Reads strips of text with RapidOCR's recogniser: a network that names a character, or none, at each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.ocr.pictures import Pixels

#: Pixels that a strip is high.
HEIGHT = 48
# Pixels of all strips that go through the network together, and how much longer the longest may be than the shortest.
# Larger batches take more memory and no less time on one thread.
_BATCH, _RATIO = HEIGHT * 2_000, 1.25
# Longer strips are refused; a line of 200 characters takes about 4,000 pixels.
MAX_LENGTH = 16_000
# Full-width forms of ASCII, which the network at times chooses among Latin letters.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_IDEOGRAPHS = (0x2E80, 0xFAFF)


@dataclass(frozen=True, slots=True)
class StripWord:
    """A word of a strip: its place as shares of the strip's length, and the probability of its letters together."""

    text: str
    first: float
    last: float
    sure: float


class StripRecogniser:
    """Reads strips of text; `session` runs the network, and `characters` are its classes after the first (none)."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name
        listed = session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._characters = ["", *listed, " "]

    def __call__(self, strips: Sequence[Pixels]) -> list[list[StripWord]]:
        """Returns the words of each strip, [48, W, 3]."""
        words: list[list[StripWord]] = [[] for _ in strips]
        for batch in _batches([strip.shape[1] for strip in strips]):
            longest = max(strips[number].shape[1] for number in batch)
            # The network sees white space behind a line as no text, if it is the grey of normalised zeros.
            seen = np.zeros((len(batch), 3, HEIGHT, -(-longest // 8) * 8 + 8), np.float32)
            for row, number in enumerate(batch):
                strip = strips[number]
                seen[row, :, :, : strip.shape[1]] = strip.transpose(2, 0, 1).astype(np.float32) / 127.5 - 1.0
            (chances,) = self._session.run(None, {self._input: seen})
            for row, number in enumerate(batch):
                share = seen.shape[3] / strips[number].shape[1]
                words[number] = self._words(chances[row], share)
        return words

    def _words(self, chances: npt.NDArray[np.float32], share: float) -> list[StripWord]:
        """Returns the words in the network's answer, [T, characters]; T columns are `share` lengths of the strip."""
        best = chances.argmax(axis=1)
        sure = chances[np.arange(len(best)), best]
        # A character goes on over columns, so only its first one counts.
        at = np.flatnonzero((best != 0) & (np.diff(best, prepend=-1) != 0))
        letters = [self._characters[number] for number in best[at].tolist()]
        if not any(_IDEOGRAPHS[0] <= ord(letter[0]) <= _IDEOGRAPHS[1] for letter in letters):
            letters = [letter.translate(_NARROW) for letter in letters]
        middle = (at + 0.5) * (share / len(best))
        words: list[StripWord] = []
        blanks = [-1, *(i for i, letter in enumerate(letters) if letter.isspace()), len(letters)]
        for before, after in pairwise(blanks):
            inside = list(range(before + 1, after))
            if not inside:
                continue
            first, last = middle[inside[0]], middle[inside[-1]]
            half = (last - first) / (len(inside) - 1) / 2 if len(inside) > 1 else share / len(best)
            text = "".join(letters[i] for i in inside)
            chance = float(np.prod(sure[at[inside]].astype(float)))
            words.append(StripWord(text, max(0.0, float(first - half)), min(1.0, float(last + half)), chance))
        return words


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yields the numbers of strips of similar lengths."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = (len(batch) + 1) * lengths[number] * HEIGHT > _BATCH
        if batch and (full or lengths[number] > _RATIO * lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
