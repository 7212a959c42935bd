"""Turns a document, or a stretch of one, into passages for the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from cinnabar.engine.filler import Prompted
from cinnabar.engine.request import Passage
from cinnabar.extraction.chunking import LEAST_LIMIT, Chunk, chunks, overlap_of, window_chunks
from cinnabar.extraction.documents import Document
from cinnabar.extraction.token_bound import check_length, too_long
from cinnabar.schemas.form.form import Form

# A text is counted in stretches of about so many characters, which end with a line or a word.
_STRETCH = 1 << 16


class TokenCounter(Protocol):
    """The methods of a model, engine or filler that decide how a document is cut for it."""

    @property
    def context_tokens(self) -> int: ...

    def count_tokens(self, text: str) -> int: ...

    def windows(self, passage: Passage) -> list[tuple[int, int]]: ...


def tokens_of(document: Document, counter: TokenCounter, most: int | None = None) -> int:
    """Returns the tokens of a document. Raises DocumentError: too_long, if there are more than `most`.

    It counts no further than that.
    """
    if most is not None:
        check_length(document, most)
    tokens = 0
    for stretch in _stretches(document.text):
        tokens += counter.count_tokens(stretch)
        if most is not None and tokens > most:
            raise too_long(f"more than {most} tokens", most)
    return tokens


def _stretches(text: str) -> Iterator[str]:
    """Yields the text in stretches that each begin at a blank, so that no word is counted in two parts."""
    start = 0
    while len(text) - start > _STRETCH:
        end = start + _STRETCH
        cut = max(text.rfind("\n", start + 1, end), text.rfind(" ", start + 1, end))
        end = cut if cut > 0 else end
        yield text[start:end]
        start = end
    yield text[start:]


def chunks_for(
    document: Document,
    counter: TokenCounter,
    context: int | None = None,
    form: Form | None = None,
    tokens: int | None = None,
) -> list[Chunk]:
    """Returns the chunks of a document for a model, of `context` tokens or as many as the model holds.

    Of a model whose prompt tells the form these are fewer. `tokens` are those of the document, if they are counted
    already. Raises UsageError if the context is below LEAST_LIMIT.
    """
    beside = counter if form is not None and isinstance(counter, Prompted) else None
    most = counter.context_tokens if beside is None or form is None else beside.context_beside(form)
    limit = min(context or most, most)
    if tokens is None:
        tokens = tokens_of(document, counter)
    if limit >= LEAST_LIMIT and tokens <= limit:
        return [Chunk(0, len(document.text))]
    if limit >= LEAST_LIMIT:
        windows = counter.windows(passage_of(document))
        found = window_chunks(document.text, windows, limit, counter.count_tokens)
        if found:
            return found
    return chunks(document, limit, overlap_of(limit), counter.count_tokens)


def passage_of(document: Document, start: int = 0, end: int | None = None) -> Passage:
    """Returns the characters [start, end) of a document as a passage; word boxes become shares of their page."""
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
