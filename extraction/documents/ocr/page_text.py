"""The words that OCR read from a picture, and their form on the pipe between an OCR process and its parent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import MAX_PAGE_WORDS, MAX_WORD


@dataclass(frozen=True, slots=True)
class PageText:
    """The words of a picture in reading order.

    text: [W] without blanks. gap: [W] the blanks and line ends before each word, "" before the first one.
    box: [W, 4] float32 (x0, top, x1, bottom) in pixels of the picture as it is displayed.
    sure: [W] float32, the probability that a word is read as it is printed.
    damaged: the end of the image is missing.
    """

    text: tuple[str, ...]
    gap: tuple[str, ...]
    box: npt.NDArray[np.float32]
    sure: npt.NDArray[np.float32]
    damaged: bool = False

    def pack(self) -> bytes:
        """Returns the page as JSON."""
        stored = {
            "text": self.text,
            "gap": self.gap,
            "box": np.round(self.box.astype(float), 1).tolist(),
            "sure": np.round(self.sure.astype(float), 4).tolist(),
            "damaged": self.damaged,
        }
        return orjson.dumps(stored)


def page_text(words: Sequence[tuple[str, str, Sequence[float], float]], damaged: bool = False) -> PageText:
    """Returns a page of words with the gap before, the box and the probability of each."""
    if not words:
        return PageText((), (), np.empty((0, 4), np.float32), np.empty(0, np.float32), damaged)
    text, gap, box, sure = zip(*words, strict=True)
    return PageText(text, gap, np.array(box, np.float32), np.array(sure, np.float32), damaged)


def unpack_page(data: bytes) -> PageText:
    """Returns the page that `pack` wrote.

    Raises ValueError if a correct process could not have written it: the writer has read hostile bytes.
    """
    try:
        stored = orjson.loads(data)
        text, gap, box, sure = stored["text"], stored["gap"], stored["box"], stored["sure"]
        if not len(text) == len(gap) == len(box) == len(sure) <= MAX_PAGE_WORDS:
            raise ValueError(f"expected as many words as gaps, boxes and probabilities, at most {MAX_PAGE_WORDS}")
        return page_text([_word(*one) for one in zip(text, gap, box, sure, strict=True)], bool(stored["damaged"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _word(text: str, gap: str, box: Sequence[float], sure: float) -> tuple[str, str, Sequence[float], float]:
    if not text or text != clean(text) or len(text.split()) != 1 or text != text.strip() or gap.strip(" \n"):
        raise ValueError(f"expected a clean word after blanks, got {text[:40]!r} after {gap[:40]!r}")
    if len(text) + len(gap) > MAX_WORD:
        raise ValueError(f"a word of {len(text)} characters, at most {MAX_WORD} are allowed")
    x0, top, x1, bottom = map(float, box)
    if not all(map(math.isfinite, (x0, top, x1, bottom, sure))) or x1 < x0 or bottom < top or not 0 <= sure <= 1:
        raise ValueError(f"expected a box and a probability, got {box!r} and {sure!r}")
    return text, gap, (x0, top, x1, bottom), sure
