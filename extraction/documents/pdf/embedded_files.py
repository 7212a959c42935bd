"""Files within a PDF: attachments of the document, of its comments, and the members of a portfolio."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import pypdfium2.raw as pdfium

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import add_content
from cinnabar.extraction.documents.content.limits import MAX_EMBEDDED_FILES, MAX_PORTFOLIO
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.pdf.annotations import string_of


def embedded_files(document: Any, beside: Iterable[Any]) -> Iterator[Any]:
    """Yields pdfium's handles of the files in a document, then those `beside` it in comments, each once."""
    seen: set[int] = set()
    count = max(pdfium.FPDFDoc_GetAttachmentCount(document), 0)
    listed = (pdfium.FPDFDoc_GetAttachment(document, index) for index in range(min(count, MAX_EMBEDDED_FILES)))
    for one in (*listed, *beside):
        address = ctypes.cast(one, ctypes.c_void_p).value if one else None
        if address is not None and address not in seen and len(seen) < MAX_EMBEDDED_FILES:
            seen.add(address)
            yield one


def name_of_file(one: Any) -> str:
    """Returns the name of an embedded file as the PDF has it."""
    return string_of(pdfium.FPDFAttachment_GetName, one)[:1024]


def add_files(reading: ParseContext, files: Iterable[Any], closed: bool) -> None:
    """Appends each embedded file as a part; a fault of one is a flag of the document.

    The first electronic invoice among them comes before all others. closed: the others are only named.
    """
    builder = reading.builder
    named = [(one, name_of_file(one), string_of(pdfium.FPDFAttachment_GetSubtype, one).lower()) for one in files]
    invoice = next((one for one, *rest in named if _is_invoice(reading, one, *rest)), None)
    for one, name, media_type in sorted(named, key=lambda file: file[0] is not invoice):
        unread = closed and one is not invoice
        # A part without text needs no blank line before it.
        builder.open("attachment", name, media_type=media_type or "application/octet-stream", inline=unread)
        if unread:
            builder.flags.add("embedded_files")
        elif reading.settings.careful:
            add_content(reading, b"", name)
        else:
            try:
                data = _unpack(reading, one)
            except DocumentError as error:
                builder.flags.add(f"attachment_{error.code}")
            else:
                add_content(reading, data, name, media_type)
        builder.close()


def is_portfolio(data: bytes) -> bool:
    """Returns whether a PDF says that it is a collection of files, whose pages are only a cover."""
    # Cold start: the second parser takes an eighth of a second.
    import pypdf

    # The second parser is slow, and on a broken file it may raise anything.
    with suppress(Exception):
        if len(data) <= MAX_PORTFOLIO:
            return "/Collection" in pypdf.PdfReader(io.BytesIO(data), strict=False).root_object
    return False


def _is_invoice(reading: ParseContext, one: Any, name: str, media_type: str) -> bool:
    """Returns whether an embedded file is an electronic invoice; files of other names and types are not opened."""
    if reading.settings.careful or not (name.lower().endswith(".xml") or media_type.endswith("/xml")):
        return False
    try:
        data = _unpack(reading, one)
    except DocumentError:
        return False
    # Cold start: only invoices need the parser of XML.
    from cinnabar.extraction.documents.web.invoice import is_invoice

    reading.note(is_invoice)
    return is_invoice(data)


def _unpack(reading: ParseContext, one: Any) -> bytes:
    size = ctypes.c_ulong()
    if not pdfium.FPDFAttachment_GetFile(one, None, 0, size):
        raise DocumentError("broken", "the embedded file cannot be read")
    reading.count(size.value)
    if not size.value:
        raise DocumentError("empty", "the embedded file has no bytes")
    buffer = ctypes.create_string_buffer(size.value)
    written = ctypes.c_ulong()
    if not pdfium.FPDFAttachment_GetFile(one, buffer, size.value, written) or written.value > size.value:
        raise DocumentError("broken", "the embedded file cannot be read")
    return buffer.raw[: written.value]
