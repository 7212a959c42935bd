"""From a document, or a stretch of one, to what the engine reads."""

from __future__ import annotations

import hashlib

import numpy as np

from cinnabar.engine.request import Passage
from cinnabar.extraction.documents import Document


def passage_of(document: Document, start: int = 0, end: int | None = None) -> Passage:
    """The stretch [start, end) of a document's text as a passage; word boxes become shares of their page."""
    end = len(document.text) if end is None else end
    words = document.words
    first, last = np.searchsorted(words.start, [start, end])
    box = np.array(words.box[first:last], dtype=np.float32)
    if len(document.parts) and len(box):
        size = np.array([(p.width or np.nan, p.height or np.nan) for p in document.parts], dtype=np.float32)
        box = box / np.tile(size, 2)[words.part[first:last]]
    text = document.text[start:end]
    return Passage(
        digest=hashlib.sha256(f"{document.digest}:{start}:{end}".encode()).hexdigest(),
        text=text,
        offset=start,
        word_start=(words.start[first:last] - start).astype(np.int32),
        word_end=(words.end[first:last] - start).astype(np.int32),
        word_box=box,
    )
