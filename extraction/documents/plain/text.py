"""Plain text files."""

from __future__ import annotations

from cinnabar.extraction.documents.content.document import Fact
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.plain.charsets import decode
from cinnabar.schemas.errors import DocumentError

#: Pages of a text; beyond, form feeds are line ends.
_MAX_PAGES = 5_000


def add_text(reading: ParseContext, data: bytes) -> None:
    """Appends a plain text file; form feeds end pages. Raises DocumentError: unsupported for binary data."""
    text, guessed = decode(data)
    if "\x00" in text:
        raise DocumentError("unsupported", "the file is named as text and holds NUL bytes")
    if guessed:
        reading.builder.flags.add("charset_guess")
    pages = text.split("\f", _MAX_PAGES - 1)
    if len(pages) > 1 and not pages[-1].strip():
        pages.pop()
    if len(pages) == 1:
        reading.add("body", pages[0].strip("\r\n"))
        return
    for number, page in enumerate(pages, 1):
        reading.builder.open("page", page=number)
        reading.builder.write(page.strip("\r\n"))
        reading.builder.close()
    if reading.is_top:
        reading.builder.facts["document.pages"] = Fact(len(pages))
