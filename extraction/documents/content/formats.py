"""The formats that are read, and how a file tells its own: by its content first, then by its name."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import cast

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_FILE_DEPTH
from cinnabar.extraction.documents.content.parse_context import ParseContext, Reader
from cinnabar.extraction.documents.content.zipped import packed_kind, zip_format

_ROOM = "cinnabar.extraction.documents"
_OPEN = "application/vnd.oasis.opendocument"
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


#: Files that hold several mails: each is an input of its own where their form is certain (`mailboxes`).
MBOX_SUFFIXES = (".mbox", ".mbx")

INPUT_FORMATS: tuple[Format, ...] = (
    Format("PDF", "application/pdf", (".pdf",), "pdf.reader:add_pdf", ("application/x-pdf",)),
    Format("mail", "message/rfc822", (".eml",), "mail.reader:add_mail"),
    Format(
        "web archive", "multipart/related", (".mht", ".mhtml"), "mail.reader:add_mail", ("application/x-mimearchive",)
    ),
    Format("Apple mail", "message/x-emlx", (".emlx",), "mail.reader:add_emlx"),
    Format("mbox", "application/mbox", MBOX_SUFFIXES, "mail.reader:add_mbox", ("application/x-mbox",)),
    Format("Outlook item", "application/vnd.ms-outlook", (".msg", ".oft"), "mail.outlook:add_outlook"),
    Format("TNEF", "application/ms-tnef", (".tnef",), "mail.reader:add_tnef", ("application/vnd.ms-tnef",)),
    Format("signed file", "application/pkcs7-mime", (".p7m",), "mail.reader:add_signed", ("application/x-pkcs7-mime",)),
    Format("text", "text/plain", (".txt", ".md"), "plain.charsets:add_text", ("text/markdown", "text/enriched")),
    Format("CSV", "text/csv", (".csv",), "web.delimited:add_delimited", ("application/csv",)),
    Format("TSV", "text/tab-separated-values", (".tsv", ".tab"), "web.delimited:add_delimited"),
    Format("JSON", "application/json", (".json",), "web.json:add_json", ("application/ld+json",)),
    Format("JSON Lines", "application/jsonl", (".jsonl", ".ndjson"), "web.json:add_json_lines"),
    Format("XML", "application/xml", (".xml",), "web.xml:add_xml", ("text/xml", "application/rss+xml")),
    Format("EPUB", "application/epub+zip", (".epub",), "web.epub:add_epub"),
    Format("calendar", "text/calendar", (".ics", ".ifb"), "mail.content_lines:add_content_lines"),
    Format("contact", "text/vcard", (".vcf", ".vcard"), "mail.content_lines:add_content_lines", ("text/x-vcard",)),
    Format("Word document", f"{_OFFICE}.wordprocessingml.document", (".docx", ".docm"), "office.word:add_word"),
    Format("Excel workbook", f"{_OFFICE}.spreadsheetml.sheet", (".xlsx", ".xlsm", ".xltx"), "office.excel:add_excel"),
    Format("binary Excel workbook", "application/vnd.ms-excel", (".xls", ".xlsb"), "office.old_excel:add_old_excel"),
    Format(
        "PowerPoint presentation",
        f"{_OFFICE}.presentationml.presentation",
        (".pptx", ".pptm", ".ppsx"),
        "office.powerpoint:add_powerpoint",
    ),
    Format("OpenDocument text", f"{_OPEN}.text", (".odt", ".ott"), "office.open_document:add_open_document"),
    Format("OpenDocument spreadsheet", f"{_OPEN}.spreadsheet", (".ods",), "office.open_document:add_open_document"),
    Format("OpenDocument presentation", f"{_OPEN}.presentation", (".odp",), "office.open_document:add_open_document"),
    Format("rich text", "application/rtf", (".rtf",), "office.rich_text:add_rich_text", ("text/rtf",)),
    Format("encrypted office file", "application/vnd.ms-office", (), "office.old_excel:add_encrypted"),
    Format("ZIP archive", "application/zip", (".zip",), "archives.members:add_archive"),
    Format("tar archive", "application/x-tar", (".tar",), "archives.members:add_archive"),
    Format("gzip archive", "application/gzip", (".gz", ".tgz"), "archives.members:add_archive"),
    Format("bzip2 archive", "application/x-bzip2", (".bz2", ".tbz2"), "archives.members:add_archive"),
    Format("xz archive", "application/x-xz", (".xz", ".txz"), "archives.members:add_archive"),
    Format("7z archive", "application/x-7z-compressed", (".7z",), "archives.members:add_archive"),
    Format("HTML", "text/html", (".html", ".htm"), "plain.html:add_html", ("application/xhtml+xml",)),
    Format("PNG", "image/png", (".png",), "ocr.pictures:add_image"),
    Format("JPEG", "image/jpeg", (".jpg", ".jpeg"), "ocr.pictures:add_image", ("image/jpg", "image/pjpeg")),
    Format("GIF", "image/gif", (".gif",), "ocr.pictures:add_image"),
    Format("BMP", "image/bmp", (".bmp",), "ocr.pictures:add_image", ("image/x-ms-bmp",)),
    Format("WebP", "image/webp", (".webp",), "ocr.pictures:add_image"),
    Format("TIFF", "image/tiff", (".tif", ".tiff"), "ocr.pictures:add_image"),
    Format("HEIC", "image/heic", (".heic", ".heif"), "ocr.pictures:add_image", ("image/heif",)),
)

#: The format of each suffix; a later one of the list wins no suffix of an earlier one.
SUFFIXES: dict[str, Format] = {suffix: one for one in reversed(INPUT_FORMATS) for suffix in one.suffixes}
ARCHIVE_SUFFIXES = frozenset(
    suffix for one in INPUT_FORMATS for suffix in one.suffixes if one.dotted == "archives.members:add_archive"
)
_MEDIA_TYPES = {kind: one for one in reversed(INPUT_FORMATS) for kind in (one.media_type, *one.also)}
_NAMED = {one.name: one for one in INPUT_FORMATS}
# Formats whose files are text, whatever their content.
_TEXTS = {"JSON", "JSON Lines", "XML", "mbox"}
_TEXTS |= {one.name for one in INPUT_FORMATS if one.media_type.startswith(("text/", "message/", "multipart/"))}

# Content with such a prefix is not text, whatever its name.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"Rar!", "a RAR archive: unpack it first, or pack it as .zip"),
    (b"\x78\x9f\x3e\x22", "TNEF"),
    (b"\x7fELF", "a program"),
    (b"%!PS", "PostScript"),
    (b"{\\rtf", "rich text"),
    (b"-----BEGIN PGP SIGNED MESSAGE-----", "text"),
    (b"-----BEGIN PKCS7-----", "signed file"),
    (b"-----BEGIN CMS-----", "signed file"),
)
# A RIFF file and an ISO file have a size first.
_LATER_MAGIC = (
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "WebP"),
    (re.compile(rb".{4}ftyp(?:hei[cxms]|hev[cxms]|mif1|msf1)", re.DOTALL), "HEIC"),
    (re.compile(rb"BM.{4}\x00{4}.{4}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00{3}", re.DOTALL), "BMP"),
)
# The beginnings of other files, for the message alone.
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\x00", "a database of SQLite"),
    (b"PAR1", "a table of Parquet"),
    (b"MSCF", "a cabinet archive: unpack it first, or pack it as .zip"),
    (b"!BDN", "a mailbox of Outlook (.pst): export its mails as .msg or .mbox"),
    (b"8BPS", "an image of Photoshop: save it as .png"),
    (b"AC10", "a drawing of AutoCAD: print it as .pdf"),
)
# Bytes that tell text from binary data.
_SAMPLE, _LOOKED_AT = 4096, 1 << 16
_MAIL = re.compile(
    rb"\A(?:\xef\xbb\xbf|[ \t\r\n]|>*From \S[^\n]{0,200}\n){0,200}+"
    rb"(?:Return-Path|Received|Delivered-To|From|To|Subject|Date|Message-ID|MIME-Version"
    rb"|X-[A-Za-z0-9-]{1,60}|DKIM-Signature|ARC-Seal)[ \t]*:",
    re.IGNORECASE,
)
_XML = re.compile(rb"\A(?:\xef\xbb\xbf)?\s{0,200}<\?xml\s", re.IGNORECASE)
_HTML = re.compile(rb"\A(?:\xef\xbb\xbf)?\s{0,200}<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
# The beginning of a piece of a page; a text may begin so, a file of an office program may not.
_HTML_PIECE = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s{0,200}<(?:!--|(?:table|div|p|meta|style|title|link|script|font|center|span|h[1-6]|b|br)\b)",
    re.IGNORECASE,
)
# Bytes that no text has.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


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
    if (magic := _by_magic(data)) is not None:
        if magic not in _NAMED:
            raise DocumentError("unsupported", f"the content is {magic}")
        return _NAMED[magic]
    named, text = SUFFIXES.get(suffix), _beginning_of(data)
    if named is not None and named.name in _TEXTS:
        return _NAMED["HTML"] if named.name != "text" and _HTML.match(text) else named
    if named is not None and (named.media_type.startswith("image/") or _NO_TEXT.search(text)):
        return named
    if _MAIL.match(text):
        return _NAMED["mail"]
    if _HTML.match(text) or (named is not None and _HTML_PIECE.match(text)):
        return _NAMED["HTML"]
    if _XML.match(text):
        return _NAMED["XML"]
    if named is not None:
        # A text under the suffix of another format: spreadsheets are saved as rows.
        if named.name == "signed file":
            return named
        return _NAMED["CSV" if "xcel" in named.name or "spreadsheet" in named.name else "text"]
    if media_type in _MEDIA_TYPES:
        return _MEDIA_TYPES[media_type]
    if media_type.startswith("text/"):
        return _NAMED["text"]
    raise DocumentError("unsupported", _unknown(data, suffix))


def format_named(path: str) -> str:
    """Returns the name of the format that the suffix of a path tells, "" for none."""
    suffix = PurePath(path).suffix.lower()
    return SUFFIXES[suffix].name if suffix in SUFFIXES else ""


def _beginning_of(data: bytes) -> bytes:
    """Returns the beginning of a file, of a text in UTF-16 in UTF-8."""
    begun = data[:_LOOKED_AT]
    if begun[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return begun.decode("utf-16", "ignore").encode("utf-8")
    if 0 in begun[:2] and any(begun[:2]):
        return begun.decode("utf-16-be" if begun[0] == 0 else "utf-16-le", "ignore").encode("utf-8")
    return begun


def is_plain_text(data: bytes) -> bool:
    """Returns whether bytes without a name are a text that its beginning does not tell to be a mail or a page."""
    if b"%PDF-" in data[:64] or any(form.match(data) for form in (_MAIL, _HTML, _XML)):
        return False
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _unknown(data: bytes, suffix: str) -> str:
    """Returns in words what a file without a known format is, and what to do."""
    what = f"the suffix {suffix[:20]!r} is of no known format" if suffix else "the name has no suffix"
    if other := next((kind for magic, kind in _OTHERS if data.startswith(magic)), ""):
        return f"{what}, and the content is {other}"
    if b"\x00" in data[:_SAMPLE]:
        return f"{what}, and the content is binary data of an unknown kind; docs/formats.md lists all formats"
    return f"{what}; a text needs the suffix .txt, and docs/formats.md lists all formats"


def _by_magic(data: bytes) -> str | None:
    """Returns the name of a format, or in words what else the content is; None if its first bytes tell nothing."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zip_format(data)
    if packed := packed_kind(data):
        return packed
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return _ole(data)
    at_start = next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    return at_start or next((kind for pattern, kind in _LATER_MAGIC if pattern.match(data)), None)


#: Tells the format of an OLE file by the name of a stream or storage at its top.
_OLE: tuple[tuple[str, str], ...] = (
    ("__properties_version1.0", "Outlook item"),
    ("EncryptedPackage", "encrypted office file"),
    ("Workbook", "binary Excel workbook"),
    ("Book", "binary Excel workbook"),
    ("WordDocument", "a Word document of before 2007: save it as .docx"),
    ("PowerPoint Document", "a PowerPoint presentation of before 2007: save it as .pptx"),
)


def _ole(data: bytes) -> str:
    # Cold start: few files are of this kind.
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            return next((name for stream, name in _OLE if file.exists(stream)), "an OLE file of another program")
    # The library fails in several ways on damaged files.
    except Exception:
        return "a damaged OLE file"


def add_content(reading: ParseContext, data: bytes, name: str, media_type: str = "") -> None:
    """Appends a file that lies within another to the open part, if its format is known.

    name, media_type: as the file around it says; the content decides first. A file that cannot be read leaves a flag
    `attachment_` with the code, and the document stays valid.
    """
    builder = reading.builder
    if reading.settings.careful:
        builder.flags.add("attachment_skipped")
        return
    if reading.depth >= MAX_FILE_DEPTH:
        builder.flags.add("depth_limit")
        return
    mark, outer = builder.open_count, reading.name
    reading.depth, reading.name = reading.depth + 1, name
    try:
        reading.read(content_format(data, name, media_type).reader(), data)
    except DocumentError as error:
        builder.flags.add(f"attachment_{error.code}")
    except MemoryError:
        builder.flags.add("attachment_memory")
    except RecursionError:
        builder.flags.add("attachment_depth")
    # No error of a hostile content may lose the file around it.
    except Exception:
        builder.flags.add("attachment_parser_error")
    finally:
        reading.depth, reading.name = reading.depth - 1, outer
        builder.close_down_to(mark)
        # A reader that gave up names the place of its last line.
        builder.mark("")
