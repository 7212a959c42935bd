"""Parses a file: chooses the reader of its format, and adds what is known of every document."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Fact
from cinnabar.extraction.documents.content.formats import content_format
from cinnabar.extraction.documents.content.language import language_of
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParseContext, ParserSettings
from cinnabar.schemas.facts import LANGUAGE

# The worker's name for `parse`.
PARSE = "cinnabar.extraction.documents.ingest.dispatch:parse"


def parse(data: bytes, path: str, settings: ParserSettings = DEFAULT) -> Document:
    """Returns the document in `data`, with its facts; `path` only gives the suffix and the name.

    The facts of the file itself are not among them (`sandbox`). Raises DocumentError with one of `UNREADABLE`.
    """
    file_format = content_format(data, path)
    reading = ParseContext(settings=settings, name=path)
    reading.read(file_format.reader(), data)
    document = reading.builder.build(data, path, file_format.media_type)
    if not len(document.words) and not document.pictures:
        if "repaired" in reading.builder.flags:
            raise DocumentError("broken", f"a damaged {file_format.name}: no word of it can be read")
        raise DocumentError("empty", f"{file_format.name} of {len(data)} bytes without a word")
    if settings.careful:
        # Other parsers read the files that were left out this time.
        return replace(document, parsers=())
    # The classifier must not lose a document that was read.
    with suppress(Exception):
        if language := language_of(document):
            document = replace(document, facts={**document.facts, LANGUAGE: Fact(language)})
    return document
