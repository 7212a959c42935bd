"""Parses PDFs into documents: pdfium reads the characters, the layout makes lines of them."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import orjson
import pypdfium2 as pdfium2
import pypdfium2.raw as pdfium

from cinnabar.extraction.ingest.builder import DocumentBuilder, clean
from cinnabar.extraction.ingest.pdf.facts import pdf_facts
from cinnabar.extraction.ingest.pdf.glyphs import Frame, page_words
from cinnabar.extraction.ingest.pdf.layout import linearise
from cinnabar.extraction.ingest.reading import Reading
from cinnabar.schemas.errors import DocumentError

MAX_PAGES = 5_000
_MAX_PAGE_CHARACTERS = 2_000_000
# The second parser is slow and written in Python; it is tried on files up to this size.
_MAX_SECOND_OPINION = 8 << 20

_ACTIVE = re.compile(rb"/(?:JavaScript|JS|Launch|SubmitForm|ImportData|GoToR|GoToE|RichMedia|Movie)[\s/(<\[]")
_STARTXREF = re.compile(rb"startxref\s+(\d{1,12})")
_METADATA = ("Title", "Author", "Subject", "Keywords", "Creator", "Producer", "CreationDate", "ModDate")


def add_pdf(reading: Reading, data: bytes) -> None:
    """Appends a PDF page by page, each word with its box.

    Embedded files are named in the metadata and not read. Raises DocumentError with the codes not_pdf, truncated,
    broken, password, image_only, empty; the document stays valid.
    """
    pages = _add_pages(reading.builder, data)
    if reading.is_top:
        reading.builder.facts |= pdf_facts(reading.builder.metadata, pages)


def _add_pages(builder: DocumentBuilder, data: bytes) -> int:
    """Appends the pages of a PDF, as parts of the open part, and returns the number of all its pages."""
    if b"%PDF-" not in data[:1024]:
        raise DocumentError("not_pdf", f"no %PDF- in the first {min(len(data), 1024)} bytes")
    mark = builder.part_count
    try:
        with _opened(data) as pdf:
            pages = len(pdf)
            words, images = _read(builder, pdf)
            _about(builder, pdf, data)
    except DocumentError as error:
        if error.code == "password" or not _second_opinion(builder, data, mark):
            raise
        builder.flags.add("repaired")
        return builder.part_count - mark
    if words:
        return pages
    if images or not _second_opinion(builder, data, mark):
        if images:
            raise DocumentError("image_only", "the pages hold images and no characters")
        raise DocumentError("empty", "the pages hold neither characters nor images")
    return pages


@contextmanager
def _opened(data: bytes) -> Iterator[Any]:
    try:
        pdf = pdfium2.PdfDocument(data)
    except pdfium2.PdfiumError as error:
        code = pdfium.FPDF_GetLastError()
        if code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY) or "password" in str(error).lower():
            raise DocumentError("password", "the empty password does not open the file") from error
        whole = b"%%EOF" in data[-2048:]
        raise DocumentError("broken" if whole else "truncated", str(error)[:200]) from error
    try:
        yield pdf
    finally:
        pdf.close()


def _read(builder: DocumentBuilder, pdf: Any) -> tuple[int, bool]:
    """Appends the pages; returns the number of words, and true if a page without words holds an image."""
    pages = len(pdf)
    if pages <= 0:
        raise DocumentError("broken", "the file opens and holds no page")
    if pages > MAX_PAGES:
        builder.flags.add("truncated")
        builder.metadata["pages_seen"] = str(pages)
    total, images, failed, silent = 0, False, 0, 0
    for number in range(min(pages, MAX_PAGES)):
        if builder.full:
            builder.flags.add("truncated")
            break
        page = _load_page(pdf, number)
        if not page:
            failed += 1
            continue
        try:
            found = _add_page(builder, page, number + 1)
            total += found
            if not found:
                silent += 1
                images = images or _has_image(page)
        finally:
            pdfium.FPDF_ClosePage(page)
    if failed == min(pages, MAX_PAGES):
        raise DocumentError("broken", f"none of {pages} pages can be loaded")
    if failed:
        builder.flags.add("broken_pages")
    if silent and total:
        builder.flags.add("no_text_pages")
    return total, images


def _load_page(pdf: Any, number: int) -> Any:
    """Returns a page with the values of its form fields; a null pointer if it cannot be loaded."""
    page = pdfium.FPDF_LoadPage(pdf.raw, number)
    if not page or not _has_fields(page):
        return page
    # pdfium's text lacks the annotations. Flattening draws them into the page, in memory.
    flattened = pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS
    if not flattened:
        return page
    pdfium.FPDF_ClosePage(page)
    return pdfium.FPDF_LoadPage(pdf.raw, number)


def _has_fields(page: Any) -> bool:
    """Returns True if a page has form fields or free text among its first annotations."""
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), 2000)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)
        if kind in (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT):
            return True
    return False


def _add_page(builder: DocumentBuilder, page: Any, number: int) -> int:
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, ctypes.byref(rectangle)):
        rectangle = pdfium.FS_RECTF(0.0, 792.0, 612.0, 0.0)
    rotation = pdfium.FPDFPage_GetRotation(page) % 4
    frame = Frame(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top, rotation)
    text_page = pdfium.FPDFText_LoadPage(page)
    width, height = frame.size
    builder.open("page", page=number, width=width, height=height)
    try:
        if not text_page:
            return 0
        if pdfium.FPDFText_CountChars(text_page) > _MAX_PAGE_CHARACTERS:
            builder.flags.add("truncated")
        words = page_words(text_page, frame, _MAX_PAGE_CHARACTERS)
        if not any(character.isalnum() for word in words.text for character in word):
            return 0
        order, gaps = linearise(words)
        builder.write_words([words.text[i] for i in order], gaps, words.box[order].astype(np.float32))
        return len(order)
    finally:
        if text_page:
            pdfium.FPDFText_ClosePage(text_page)
        builder.close()


def _has_image(page: Any) -> bool:
    """Returns True if a page shows an image, or a form that may hold one, among its first objects."""
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
    count = min(pdfium.FPDFPage_CountObjects(page), 1000)
    return any(pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, i)) in kinds for i in range(count))


def _about(builder: DocumentBuilder, pdf: Any, data: bytes) -> None:
    """Adds metadata, names of embedded files, and the flags of the whole file."""
    for key in _METADATA:
        try:
            value = pdf.get_metadata_value(key)
        except (pdfium2.PdfiumError, UnicodeError):
            continue
        if value:
            builder.metadata.setdefault(key.lower(), str(value)[:1000])
    names = []
    for index in range(min(pdf.count_attachments(), 1000)):
        try:
            names.append(clean(pdf.get_attachment(index).get_name())[:1024])
        except (pdfium2.PdfiumError, UnicodeError):
            names.append("")
    if names:
        builder.metadata.setdefault("embedded_files", orjson.dumps(names).decode())
    if pdfium.FPDFDoc_GetJavaScriptActionCount(pdf.raw) > 0 or _ACTIVE.search(data):
        builder.flags.add("active_content")
    if not _references_hold(data):
        builder.flags.add("repaired")


def _references_hold(data: bytes) -> bool:
    """Returns True if the end of the file points to a cross-reference table; if not, pdfium rebuilt it by a scan."""
    found = list(_STARTXREF.finditer(data, max(0, len(data) - 2048)))
    if not found:
        return False
    start = int(found[-1][1]) + max(0, data.find(b"%PDF-", 0, 1024))
    target = data[start : start + 40].lstrip()
    return target.startswith(b"xref") or re.match(rb"\d+\s+\d+\s+obj", target) is not None


def _second_opinion(builder: DocumentBuilder, data: bytes, mark: int) -> bool:
    """Reads a file that pdfium refused with the second parser; returns True if it found text (words without boxes)."""
    import pypdf

    if len(data) > _MAX_SECOND_OPINION:
        return False
    texts: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted:
            return False
        for page in reader.pages[:MAX_PAGES]:
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
