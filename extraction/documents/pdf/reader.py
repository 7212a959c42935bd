"""Parses PDFs into documents: pdfium reads the characters, the layout makes lines of them, the properties are facts."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from typing import Any

import orjson
import pypdfium2 as pdfium2
import pypdfium2.raw as pdfium

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.builder import DocumentBuilder, clean
from cinnabar.extraction.documents.content.document import Fact, moment
from cinnabar.extraction.documents.content.limits import (
    MAX_PDF_PAGES,
    MAX_SECOND_OPINION,
    MAX_UNPLACED_BYTES,
    MAX_UNPLACED_FIELDS,
)
from cinnabar.extraction.documents.content.parse_context import FILE_PAGES, PASSWORD_HELP, ParseContext
from cinnabar.extraction.documents.pdf.annotations import Entry, xfa_values
from cinnabar.extraction.documents.pdf.embedded_files import add_files, embedded_files, is_portfolio, name_of_file
from cinnabar.extraction.documents.pdf.page_content import squeeze
from cinnabar.extraction.documents.pdf.pages import PagesRead, add_entries, read_pages
from cinnabar.extraction.documents.pdf.rendering import has_layers
from cinnabar.wording import with_noun

# The box of an entry that no page has.
_NOWHERE = (math.nan, math.nan, math.nan, math.nan)

_ACTIVE = re.compile(rb"/(?:JavaScript|JS|Launch|SubmitForm|ImportData|GoToR|GoToE|RichMedia|Movie)[\s/(<\[]")
_STARTXREF = re.compile(rb"startxref\s+(\d{1,12})")
_METADATA = ("Title", "Author", "Subject", "Keywords", "Creator", "Producer", "CreationDate", "ModDate")


def add_pdf(reading: ParseContext, data: bytes) -> None:
    """Appends a PDF page by page, each word with its box, and then the files within it.

    Raises DocumentError with the codes not_pdf, truncated, broken, password, image_only, empty; the document stays
    valid.
    """
    if b"%PDF-" not in data[:1024]:
        raise DocumentError("not_pdf", f"no %PDF- in the first {min(len(data), 1024)} bytes")
    builder = reading.builder
    mark = builder.part_count
    try:
        with opened_pdf(data, reading.settings.passwords) as pdf:
            pages = len(pdf)
            # Drawing annotations into a page takes the form out of the open file.
            kind = pdfium.FPDF_GetFormType(pdf.raw)
            totals = read_pages(reading, pdf, has_layers(data))
            _about(reading, pdf, data)
            whole = reading.settings.pages is None
            if whole:
                totals.words += _add_form(reading, pdf, kind, totals, data)
            else:
                builder.metadata[FILE_PAGES] = str(pages)
            if whole and not (totals.words or totals.pictures or totals.images):
                totals.words += _second_opinion(builder, data, mark)
            begun = builder.length, builder.part_count
            # What belongs to the whole file is in none of its parts.
            files = list(embedded_files(pdf.raw, totals.files)) if whole else []
            # The vouchers of an invoice have lines of their own: F1 of 12 invoices is .50 with all files, .75 without.
            # Its XML is the same invoice, and exact.
            shut = bool(files and totals.words) and not reading.settings.hidden
            closed = shut and (reading.settings.careful or not is_portfolio(data))
            add_files(reading, files, closed)
            more = builder.length > begun[0] or builder.part_count > begun[1]
    except DocumentError as error:
        # A second try, which reads page by page, has seen each page.
        late = error.code == "timeout" and reading.settings.careful
        tried = late or error.code == "password" or reading.settings.pages is not None
        if tried or not _second_opinion(builder, data, mark):
            raise
        builder.flags.add("repaired")
        pages, more = builder.part_count - mark, True
        totals = PagesRead(words=1)
    if reading.is_top:
        builder.facts |= pdf_facts(builder.metadata, pages)
    if not (totals.words or totals.pictures or more):
        if totals.images:
            remedy = "; --ocr auto reads them" if reading.settings.ocr == "never" else ""
            raise DocumentError("image_only", f"the pages hold images and no characters{remedy}")
        raise DocumentError("empty", "the pages hold neither characters nor images")


@contextmanager
def opened_pdf(data: bytes, passwords: tuple[str, ...]) -> Iterator[Any]:
    """Opens a file with the first password that is right, the empty one first, and closes it."""
    error: pdfium2.PdfiumError | None = None
    pdf, locked = None, False
    for password in (None, *passwords):
        try:
            pdf = pdfium2.PdfDocument(data, password=password)
            break
        except pdfium2.PdfiumError as failure:
            error = failure
            code = pdfium.FPDF_GetLastError()
            if code != pdfium.FPDF_ERR_PASSWORD and "password" not in str(failure).lower():
                locked = code == pdfium.FPDF_ERR_SECURITY
                break
            locked = True
        # A password that is no text in UTF-8 opens nothing.
        except UnicodeError:
            continue
    if pdf is None:
        if locked:
            tried = f" and {with_noun(len(passwords), 'password')}" if passwords else ""
            raise DocumentError(
                "password", f"tried the empty password{tried}; none opens the file: {PASSWORD_HELP}"
            ) from error
        whole = b"%%EOF" in data[-2048:]
        raise DocumentError("broken" if whole else "truncated", str(error)[:200]) from error
    try:
        # The handle of the form must exist before pages are loaded. No script runs: pdfium is built without them.
        with suppress(pdfium2.PdfiumError):
            pdf.init_forms()
        yield pdf
    finally:
        pdf.close()


def _add_form(reading: ParseContext, pdf: Any, kind: int, totals: PagesRead, data: bytes) -> int:
    """Appends the values of a form that no field of a page has, and returns the number of words."""
    values: list[tuple[str, str]] | None = []
    if kind in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND):
        values = xfa_values(pdf.raw)
        if values is None:
            reading.builder.flags.add("form_unread")
    elif kind == pdfium.FORMTYPE_ACRO_FORM and not totals.field_values and not reading.settings.careful:
        values = unplaced_fields(data)
    entries = [
        Entry(name, value, _NOWHERE, drawn=False, unseen=False)
        for name, value in values or ()
        if squeeze(value) not in totals.field_values
    ]
    return add_entries(reading, "fields", entries) if entries else 0


def _about(reading: ParseContext, pdf: Any, data: bytes) -> None:
    """Adds the flags of the whole file and, of the file itself, its metadata and the names of embedded files."""
    builder = reading.builder
    if pdfium.FPDFDoc_GetJavaScriptActionCount(pdf.raw) > 0 or _ACTIVE.search(data):
        builder.flags.add("active_content")
    if not _references_hold(data):
        builder.flags.add("repaired")
    if not reading.is_top:
        return
    for key in _METADATA:
        try:
            value = pdf.get_metadata_value(key)
        except (pdfium2.PdfiumError, UnicodeError):
            continue
        if value:
            builder.metadata[key.lower()] = str(value)[:1000]
    names = [name_of_file(one) for one in embedded_files(pdf.raw, ())]
    if names:
        builder.metadata["embedded_files"] = orjson.dumps([clean(name) for name in names]).decode()


def _references_hold(data: bytes) -> bool:
    """Returns True if the end of the file points to a cross-reference table; if not, pdfium rebuilt it by a scan."""
    pointers = list(_STARTXREF.finditer(data, max(0, len(data) - 2048)))
    if not pointers:
        return False
    start = int(pointers[-1][1]) + max(0, data.find(b"%PDF-", 0, 1024))
    target = data[start : start + 40].lstrip()
    return target.startswith(b"xref") or re.match(rb"\d+\s+\d+\s+obj", target) is not None


def _second_opinion(builder: DocumentBuilder, data: bytes, mark: int) -> bool:
    """Reads a file that pdfium refused with the second parser; returns True if it found text (words without boxes)."""
    # Cold start: the second parser takes an eighth of a second.
    import pypdf

    if len(data) > MAX_SECOND_OPINION:
        return False
    texts: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted:
            return False
        for page in reader.pages[:MAX_PDF_PAGES]:
            texts.append(page.extract_text())
    except MemoryError:
        raise
    # On a broken file the parser may raise anything; the text that it read before counts.
    except Exception as error:
        builder.flags.add("broken_pages")
        builder.metadata["second_parser"] = type(error).__name__
    if not any(character.isalnum() for text in texts for character in text):
        return False
    builder.forget_parts(mark)
    for number, text in enumerate(texts, 1):
        builder.open("page", page=number)
        builder.write(text.strip("\n"))
        builder.close()
    return True


# The values of form fields that no page has a box for.


def unplaced_fields(data: bytes) -> list[tuple[str, str]]:
    """Returns the names and values in the tree of a PDF's form; nothing for a large, encrypted or broken file."""
    # Cold start: the second parser takes an eighth of a second.
    import pypdf

    if len(data) > MAX_UNPLACED_BYTES:
        return []
    fields: list[tuple[str, str]] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted:
            return []
        form = reader.trailer["/Root"].get_object()["/AcroForm"].get_object()  # type: ignore[index]
        waiting: list[tuple[str, Any]] = [("", one) for one in form["/Fields"].get_object()][::-1]
        seen: set[tuple[int, int]] = set()
        while waiting and len(seen) < MAX_UNPLACED_FIELDS:
            above, reference = waiting.pop()
            key = (getattr(reference, "idnum", id(reference)), getattr(reference, "generation", -1))
            if key in seen:
                continue
            seen.add(key)
            one = reference.get_object()
            name = ".".join(filter(None, [above, str(one.get("/T", ""))]))
            value = one.get("/V")
            if value is not None and (text := _text_of(value.get_object())):
                fields.append((name, text))
            waiting += [(name, kid) for kid in reversed(one.get("/Kids", ()))]
    except MemoryError:
        raise
    # On a broken file the parser may raise anything; the values that it read before count.
    except Exception:
        return fields
    return fields


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_text_of(one.get_object()) for one in value[:100])))
    # Streams hold rich text and signatures are dictionaries.
    return str(value).removeprefix("/").strip() if isinstance(value, str) else ""


# The keys of the metadata, by the facts that they hold.
_TEXTS = {"pdf.title": "title", "pdf.author": "author", "pdf.subject": "subject", "pdf.keywords": "keywords"}
_MOMENTS = {"pdf.created": "creationdate", "pdf.modified": "moddate"}
# A date of ISO 32000, 7.9.4; a file that names no day has no date.
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?(?:Z(?:00'?(?:00'?)?)?|([+-])(\d\d)'?(?:(\d\d)'?)?)?"
)


def pdf_facts(metadata: Mapping[str, str], pages: int) -> dict[str, Fact]:
    """Returns the facts of a PDF with these properties and so many pages."""
    facts = {"document.pages": Fact(pages)}
    for name, key in _TEXTS.items():
        if text := metadata.get(key, "").strip():
            facts[name] = Fact(text)
    for name, key in _MOMENTS.items():
        if time := pdf_moment(metadata.get(key, "")):
            facts[name] = Fact(time)
    return facts


def pdf_moment(text: str) -> str:
    """Returns the moment that a date of a PDF names, "" if it names no day; a date without an offset is in UTC."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return ""
    *parts, sign, hours, minutes = match.groups()
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    try:
        zone = timezone(-ahead if sign == "-" else ahead)
        return moment(datetime(year, month, day, hour, minute, second, tzinfo=zone))
    except ValueError:
        return ""
