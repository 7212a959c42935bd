"""The formats that are read, and how a file tells its own: by its content first, then by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import cast

from cinnabar.extraction.ingest.archives.kinds import zip_format
from cinnabar.extraction.ingest.reading import Reader
from cinnabar.schemas.errors import DocumentError

_ROOM = "cinnabar.extraction.ingest"
_OFFICE = "application/vnd.openxmlformats-officedocument"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for people, its media type, the suffixes of its files, and the reader, `module:function`.

    also: other media types that mails declare for it.
    """

    name: str
    media_type: str
    suffixes: tuple[str, ...]
    dotted: str
    also: tuple[str, ...] = ()

    def reader(self) -> Reader:
        """Returns the reader, which is imported when it is first needed."""
        module, _, function = self.dotted.partition(":")
        return cast(Reader, getattr(import_module(f"{_ROOM}.{module}"), function))


INPUT_FORMATS: tuple[Format, ...] = (
    Format("PDF", "application/pdf", (".pdf",), "pdf.reader:add_pdf", ("application/x-pdf",)),
    Format("mail", "message/rfc822", (".eml",), "mail.reader:add_mail"),
    Format("text", "text/plain", (".txt", ".md"), "plain.text:add_text", ("text/markdown", "text/enriched")),
    Format("CSV", "text/csv", (".csv",), "plain.text:add_text"),
    Format("TSV", "text/tab-separated-values", (".tsv",), "plain.text:add_text"),
    Format("calendar", "text/calendar", (".ics",), "plain.text:add_text"),
    Format("Word document", f"{_OFFICE}.wordprocessingml.document", (".docx", ".docm", ".dotx"), "office.word:add_word"),
    Format("HTML", "text/html", (".html", ".htm"), "plain.html:add_html", ("application/xhtml+xml",)),
)

#: The format of each suffix; a later one of the list wins no suffix of an earlier one.
SUFFIXES: dict[str, Format] = {suffix: one for one in reversed(INPUT_FORMATS) for suffix in one.suffixes}
_MEDIA_TYPES = {kind: one for one in reversed(INPUT_FORMATS) for kind in (one.media_type, *one.also)}
_NAMED = {one.name: one for one in INPUT_FORMATS}

# Content with such a prefix is not text, whatever its name.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "an OLE file (.msg, .doc, .xls)"),
    (b"\x78\x9f\x3e\x22", "TNEF"),
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


def content_format(data: bytes, name: str, media_type: str = "") -> Format:
    """Returns the format of a file: its content decides, then its suffix, then the media type that a mail declares.

    Raises DocumentError: empty, or unsupported with the kind of content.
    """
    if not data:
        raise DocumentError("empty", "the file has zero bytes")
    suffix = PurePath(name).suffix.lower()
    # PDF readers look for the header in the first kilobyte. Without the suffix only the beginning counts, because a
    # mail or a text may mention "%PDF-".
    if data[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or suffix == ".pdf":
        return _NAMED["PDF"]
    if (found := _by_magic(data)) is not None:
        if found not in _NAMED:
            raise DocumentError("unsupported", f"the content is {found}")
        return _NAMED[found]
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if _MAIL.match(data):
        return _NAMED["mail"]
    if _HTML.match(data):
        return _NAMED["HTML"]
    if media_type in _MEDIA_TYPES:
        return _MEDIA_TYPES[media_type]
    if media_type.startswith("text/"):
        return _NAMED["text"]
    raise DocumentError("unsupported", f"suffix {suffix[:20]!r}; the known ones are {', '.join(SUFFIXES)}")


def _by_magic(data: bytes) -> str | None:
    """Returns the name of a format, or in words what else the content is; None if its first bytes tell nothing."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zip_format(data)
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
