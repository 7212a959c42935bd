"""Chooses the parser of a file by its content first, then by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from cinnabar.extraction.documents import Document, Fact
from cinnabar.extraction.ingest.language import language_of
from cinnabar.extraction.ingest.mail import parse_mail
from cinnabar.extraction.ingest.pdf import parse_pdf
from cinnabar.extraction.ingest.text import parse_html, parse_text
from cinnabar.schemas.errors import DocumentError
from cinnabar.schemas.facts import LANGUAGE

# The worker's names for the two ways to parse: the whole file, or a mail without its attached PDFs.
PARSE = "cinnabar.extraction.ingest.dispatch:parse"
PARSE_CAREFULLY = "cinnabar.extraction.ingest.dispatch:parse_carefully"

_Parser = Callable[[bytes, str], Document]

SUFFIXES: dict[str, _Parser] = {
    ".pdf": parse_pdf,
    ".eml": parse_mail,
    ".txt": parse_text,
    ".md": parse_text,
    ".csv": partial(parse_text, media_type="text/csv"),
    ".tsv": partial(parse_text, media_type="text/tab-separated-values"),
    ".ics": partial(parse_text, media_type="text/calendar"),
    ".html": parse_html,
    ".htm": parse_html,
}

# Content with such a prefix is not text, whatever its name.
_BINARY: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"PK\x03\x04", "a ZIP archive or an office file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "an OLE file (.msg, .doc, .xls)"),
    (b"\x7fELF", "a program"),
    (b"%!PS", "PostScript"),
    (b"{\\rtf", "RTF"),
)
_MAIL = re.compile(
    rb"\A(?:From \S[^\n]{0,200}\n)?(?:Return-Path|Received|Delivered-To|From|To|Subject|Date|Message-ID"
    rb"|MIME-Version|X-[A-Za-z0-9-]{1,60}|DKIM-Signature|ARC-Seal)[ \t]*:",
    re.IGNORECASE,
)
_HTML = re.compile(rb"\A(?:\xef\xbb\xbf)?\s{0,200}<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def parse(data: bytes, path: str) -> Document:
    """Returns the document in `data`, with its facts; `path` only gives the suffix and the name.

    The facts of the file itself are not among them (`sandbox`). Raises DocumentError with one of `CODES`.
    """
    document = _parse(data, path, SUFFIXES)
    # The classifier must not lose a document that was read.
    with suppress(Exception):
        if found := language_of(document):
            document = replace(document, facts={**document.facts, LANGUAGE: Fact(found)})
    return document


def parse_carefully(data: bytes, path: str) -> Document:
    """Parses like `parse`, but leaves PDFs in mails closed and the language open, for a file that ended its parser."""
    return _parse(data, path, SUFFIXES | {".eml": partial(parse_mail, attached_pdfs=False)})


def _parse(data: bytes, path: str, parsers: dict[str, _Parser]) -> Document:
    suffix = PurePath(path).suffix.lower()
    if not data:
        raise DocumentError("empty", "the file has zero bytes")
    # PDF readers look for the header in the first kilobyte. Without the suffix only the beginning counts, because a
    # mail or a text may mention "%PDF-".
    if data[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or suffix == ".pdf":
        return parsers[".pdf"](data, path)
    for magic, kind in _BINARY:
        if data.startswith(magic):
            raise DocumentError("unsupported", f"the content is {kind}")
    if suffix not in parsers and _MAIL.match(data):
        suffix = ".eml"
    elif suffix not in parsers and _HTML.match(data):
        suffix = ".html"
    if suffix in parsers:
        return parsers[suffix](data, path)
    known = ", ".join(parsers)
    raise DocumentError("unsupported", f"suffix {suffix[:20]!r}; the known ones are {known}")
