"""Turns a document, or a stretch of one, into passages for the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from cinnabar.engine.readings.digits import ascii_digits
from cinnabar.engine.readings.locale import Locale, document_locale
from cinnabar.engine.request import Passage
from cinnabar.extraction.documents.chunking import Chunk, chunks, overlap_of, window_chunks
from cinnabar.extraction.documents.content.document import Document, check_length, too_long
from cinnabar.extraction.documents.invoice_copies import copies_in
from cinnabar.extraction.filling.surroundings.notes import drop_notes
from cinnabar.extraction.plan.limits import LEAST_LIMIT
from cinnabar.schemas.facts import LANGUAGE
from cinnabar.schemas.form.form import Form

# A text is counted in stretches of about so many characters, which end with a line or a word.
_STRETCH = 1 << 16
# Blanks that cost a language model a hundred tokens and more.
_GAP = re.compile(r"\s{16384,}")
# A header of a mail; its subject is what the mail says.
_HEADER = re.compile(r"^(?!Subject:)[A-Z][A-Za-z-]*: [^\n]*", re.MULTILINE)


class TokenCounter(Protocol):
    """The methods of a model, engine or filler that decide how a document is cut for it."""

    @property
    def context_tokens(self) -> int: ...

    def context_beside(self, form: Form) -> int: ...

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
    stretches = stretches_of(document)
    if len(stretches) > 1:
        return [
            Chunk(stretch.start + piece.start, stretch.start + piece.end, stretch.copy)
            for stretch in stretches
            for piece in chunks_for(document_stretch(document, stretch.start, stretch.end), counter, context, form)
        ]
    most = counter.context_tokens if form is None else counter.context_beside(form)
    limit = min(context or most, most)
    if tokens is None:
        tokens = tokens_of(document, counter)
    if limit >= LEAST_LIMIT and tokens <= limit:
        return [Chunk(0, len(document.text))]
    if limit >= LEAST_LIMIT:
        windows = counter.windows(passage_of(document))
        windowed = window_chunks(document.text, windows, limit, counter.count_tokens)
        if windowed:
            return windowed
    return chunks(document, limit, overlap_of(limit), counter.count_tokens)


def stretches_of(document: Document) -> list[Chunk]:
    """Returns the stretches of a document that are read apart: the pages around the data of an invoice, and the rest.

    The pages are a copy of the data (`invoice_copies`). Many blanks, of pages that are not read, divide a document.
    """
    text = document.text
    stretches: list[Chunk] = []
    done = 0
    for copy in copies_in(document):
        stretches += [Chunk(done, copy.start), Chunk(copy.start, copy.end, copy=True)]
        done = copy.end
    for gap in _GAP.finditer(text, done):
        stretches.append(Chunk(done, gap.start()))
        done = gap.end()
    stretches.append(Chunk(done, len(text)))
    return [one for one in stretches if text[one.start : one.end].strip()] or [Chunk(0, len(text))]


def document_stretch(document: Document, start: int, end: int) -> Document:
    """Returns the stretch [start, end) of a document as a document, with the parts and words that begin in it."""
    first, last = np.searchsorted(document.words.start, [start, end])
    within = document.words.chosen(slice(first, last))
    within = replace(within, start=within.start - start, end=within.end - start)
    # Words name their parts by index.
    parts = tuple(
        replace(one, start=min(max(one.start - start, 0), end - start), end=min(max(one.end - start, 0), end - start))
        for one in document.parts
    )
    parts = tuple(replace(one, kind="body") if one.kind == "invoice" else one for one in parts)
    return replace(document, text=document.text[start:end], parts=parts, words=within)


def passage_of(document: Document, start: int = 0, end: int | None = None) -> Passage:
    """Returns the characters [start, end) of a document as a passage.

    Word boxes become shares of their page, digits of other scripts those of ASCII, and notes that tell an assistant
    what to answer become blanks.
    """
    end = len(document.text) if end is None else end
    words = document.words
    first, last = np.searchsorted(words.start, [start, end])
    box = np.array(words.box[first:last], dtype=np.float32)
    if len(document.parts) and len(box):
        size = np.array([(p.width or np.nan, p.height or np.nan) for p in document.parts], dtype=np.float32)
        box = box / np.tile(size, 2)[words.part[first:last]]
    text = drop_notes(ascii_digits(document.text[start:end]))
    return Passage(
        # Not hashed: no file has such a digest.
        digest=f"{document.digest}:{start}:{end}",
        text=text,
        offset=start,
        word_start=(words.start[first:last] - start).astype(np.int32),
        word_end=(words.end[first:last] - start).astype(np.int32),
        word_box=box,
        locale=locale_of(document, start, end),
        headers=tuple(
            (line.start() - start, line.end() - start)
            for part in document.parts
            if part.kind == "headers" and part.start < end and start < part.end
            for line in _HEADER.finditer(document.text, max(part.start, start), min(part.end, end))
        ),
    )


def locale_of(document: Document, start: int = 0, end: int | None = None) -> Locale:
    """Returns the conventions for dates and numbers of the characters [start, end) of a document.

    They are those of the whole document, but the data of an electronic invoice have a decimal point, whatever its pages
    have.
    """
    fact, data = document.facts.get(LANGUAGE), [part.start for part in document.parts if part.kind == "invoice"]
    text = document.text[start:end] if data else document.text
    locale = document_locale(text, "" if fact is None else str(fact.value))
    within = any(start <= at < start + len(text) for at in data)
    return replace(locale, decimal_comma=False) if within else locale
