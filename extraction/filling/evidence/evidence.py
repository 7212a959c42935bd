"""Turns spans of the text into evidence: the words on their pages, and how surely OCR read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cinnabar.extraction.documents.content.document import Box, Document, Evidence, Span

# A changed one changes values: raise the part `merging` (engine/version.py).
#: Two words stand on one line if they share this part of the lower one's height.
SAME_LINE = 0.5


def evidence_of(document: Document, spans: Sequence[tuple[int, int]]) -> Evidence | None:
    """Returns the evidence that these spans of the document make; None if there are none.

    `text` is the document's text at the spans, joined by blanks; there is one box for each line.
    """
    wanted = [Span(start, end) for start, end in spans if 0 <= start < end <= len(document.text)]
    if not wanted:
        return None
    text = " ".join(document.text[span.start : span.end] for span in wanted)
    boxes = tuple(box for span in wanted for box in _boxes(document, span))
    return Evidence(tuple(wanted), text, boxes, _place(document, wanted[0].start))


def page_of(document: Document, evidence: Evidence | None) -> int:
    """Returns the page, from 1, that the evidence begins on; 0 if there is none."""
    if evidence is None:
        return 0
    start = evidence.spans[0].start
    pages = [part.page for part in document.parts if part.page and part.start <= start < part.end]
    return pages[-1] if pages else 0


def _place(document: Document, start: int) -> str:
    """Returns where a character stands, in words: named parts and pages from outside to inside, then cell or paragraph.

    A page of a file that holds nothing else has its number elsewhere. A body is named if it is one part of several, as
    in a mail, and its text has no places of its own.
    """
    around = [part for part in document.parts if part.start <= start < part.end]
    named = [part.name or (f"page {part.page}" if part.page else part.kind) for part in around]
    label = document.places.at(start)
    if len(around) == 1 and around[0].kind in ("page", "body"):
        alone = not any(part.parent < 0 and part is not around[0] for part in document.parts)
        if around[0].kind == "page" or label or alone:
            named = []
    return " › ".join([*named, *filter(None, [label])])


def _boxes(document: Document, span: Span) -> Iterable[Box]:
    words = document.words
    first = int(np.searchsorted(words.end, span.start, side="right"))
    last = int(np.searchsorted(words.start, span.end, side="left"))
    line: Box | None = None
    for word in range(first, last):
        x0, top, x1, bottom = (float(side) for side in words.box[word])
        if not np.isfinite([x0, top, x1, bottom]).all():
            continue
        page = document.parts[int(words.part[word])].page
        if line is not None and line.page == page and _beside(line, top, bottom):
            line = Box(page, min(line.x0, x0), min(line.top, top), max(line.x1, x1), max(line.bottom, bottom))
            continue
        if line is not None:
            yield line
        line = Box(page, x0, top, x1, bottom)
    if line is not None:
        yield line


def _beside(line: Box, top: float, bottom: float) -> bool:
    shared = min(line.bottom, bottom) - max(line.top, top)
    return shared >= SAME_LINE * min(line.bottom - line.top, bottom - top)


def chance_of_reading(document: Document, evidence: Evidence | None) -> float:
    """Returns the probability that the words behind a value are read as they are printed, 1 for text that no OCR read.

    It is that of the least sure word: a model's confidence says that these words are the value, so the two are
    multiplied. A product over the words would make long texts hopeless, although one poor scan makes all words poor.
    """
    sure = document.words.sure
    if sure is None or evidence is None:
        return 1.0
    words = document.words
    least = 1.0
    for span in evidence.spans:
        first = int(np.searchsorted(words.end, span.start, side="right"))
        last = int(np.searchsorted(words.start, span.end, side="left"))
        least = min(least, float(sure[first:last].min(initial=1.0)))
    return least
