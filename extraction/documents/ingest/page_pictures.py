"""The pages of a document as pictures, for a person to look at."""

from __future__ import annotations

from pathlib import Path

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Content
from cinnabar.extraction.documents.ingest.page_drawing import PDF
from cinnabar.extraction.documents.ingest.sandbox import ParserPool


def page_pictures(
    pool: ParserPool, content: Path | Content, digest: str, document: Document | None = None, page: int = 0
) -> dict[int, bytes]:
    """Returns the first pages of a document, also those within a mail, as JPEGs by their index in `Document.parts`.

    There are none if the document has none or cannot be read.

    With `page` they are, of a PDF, the pages from this number on, as many as a moment allows. `document` is its parsed
    form, which is made again if it is not given. The bytes must still have this digest.
    """
    drawn = pool.drawn(content, page)
    if not isinstance(drawn, Document) or drawn.digest != digest or not drawn.pictures:
        return {}
    own = pool.submit(content).result() if document is None else document
    if not isinstance(own, Document) or own.digest != digest:
        return {}
    places = _places(drawn, own)
    return {places[one.part]: one.data for one in drawn.pictures if one.part in places}


def _places(drawn: Document, own: Document) -> dict[int, int]:
    """Returns the part of the document for each page that was drawn.

    Pages of the file itself are known by their numbers, pages of files within it by their order.
    """
    mine = [at for at, part in enumerate(own.parts) if part.kind == "page"]
    theirs = [at for at, part in enumerate(drawn.parts) if part.kind == "page"]
    if drawn.media_type == PDF:
        mine = [at for at in mine if own.parts[at].parent < 0]
    if all(own.parts[at].parent < 0 for at in mine):
        numbers = {own.parts[at].page: at for at in mine}
        return {at: numbers[page] for at in theirs if (page := drawn.parts[at].page) in numbers}
    return dict(zip(theirs, mine, strict=False)) if len(theirs) == len(mine) else {}
