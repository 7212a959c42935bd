"""A document with some of its pages only; what stays keeps its place in the text, so that evidence is unchanged."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from cinnabar.extraction.documents.content.document import Document
from cinnabar.schemas.errors import DocumentError
from cinnabar.schemas.page_ranges import PageRanges


def on_pages(document: Document | DocumentError, ranges: PageRanges | None) -> Document | DocumentError:
    """Returns a document with blanks for all text of its other pages, or the error (no_page) of one that has no such.

    Pages are counted in each PDF, so in each attachment of a mail. A document without pages stays, so does an error.
    """
    if ranges is None or isinstance(document, DocumentError):
        return document
    files = defaultdict[int, list[int]](list)
    for at, part in enumerate(document.parts):
        if part.page:
            files[part.parent].append(at)
    count = {file: max(document.parts[at].page for at in pages) for file, pages in files.items()}
    kept = {file: ranges.of(most) for file, most in count.items()}
    left = {at for file, pages in files.items() for at in pages if document.parts[at].page not in kept[file]}
    if files and not any(kept.values()):
        return DocumentError("no_page", f"it has {max(count.values())} pages, and {ranges.text} are to be read")
    if not left:
        return document
    text = list(document.text)
    for at in left:
        start, end = document.parts[at].start, document.parts[at].end
        text[start:end] = " " * (end - start)
    words = document.words.chosen(~np.isin(document.words.part, [*left]))
    return replace(document, text="".join(text), words=words)
