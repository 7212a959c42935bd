"""Reads the pages of a PDF: the words that a reader sees, values of fields, comments, and pictures for OCR."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents import PartKind
from cinnabar.extraction.ingest.builder import clean
from cinnabar.extraction.ingest.pdf.annotations import Entry, PageEntries, page_entries
from cinnabar.extraction.ingest.pdf.glyphs import Frame, PageWords, page_words
from cinnabar.extraction.ingest.pdf.layout import linearise
from cinnabar.extraction.ingest.pdf.rendering import picture_of
from cinnabar.extraction.ingest.pdf.text_layer import is_text, mostly_unknown
from cinnabar.extraction.ingest.pdf.visibility import hidden_words
from cinnabar.extraction.ingest.reading import Reading
from cinnabar.schemas.errors import DocumentError

MAX_PAGES = 5_000
_MAX_PAGE_CHARACTERS = 2_000_000
# Seconds of processor time for the pictures of a file and for the search for hidden words, well below the limit of a
# parser; pictures of a file beside their own bound in bytes.
_PICTURE_SECONDS, _SEARCH_SECONDS, _MAX_PICTURES = 15.0, 6.0, 500
_DPI = 300.0
# So many filled shapes may be letters in outline.
_OUTLINES = 30
_MAX_OBJECTS = 1_000
# Words only in these shares of a scan, at its top and bottom, are a stamp and not its text.
_MARGIN, _SCAN = 0.1, 0.6


@dataclass(slots=True)
class PagesRead:
    """The state of a file's pages.

    words: that were appended, with those of fields and notes. images: true if a page without words holds an image.
    files: pdfium's handles of the files at comments. spent: seconds for pictures, and for the search for hidden words.
    """

    words: int = 0
    images: bool = False
    pictures: int = 0
    failed: int = 0
    silent: int = 0
    files: list[Any] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    spent: list[float] = field(default_factory=lambda: [0.0, 0.0])


def read_pages(reading: Reading, pdf: Any) -> PagesRead:
    """Appends the pages. Raises DocumentError if there is none or none can be loaded."""
    builder, found, pages = reading.builder, PagesRead(), len(pdf)
    if pages <= 0:
        raise DocumentError("broken", "the file opens and holds no page")
    if pages > MAX_PAGES:
        builder.flags.add("truncated")
        builder.metadata["pages_seen"] = str(pages)
    form = pdf.formenv.raw if pdf.formenv else None
    for number in range(min(pages, MAX_PAGES)):
        if builder.full:
            builder.flags.add("truncated")
            break
        page = pdfium.FPDF_LoadPage(pdf.raw, number)
        if not page:
            found.failed += 1
            continue
        try:
            entries = page_entries(page, form, found.groups)
            # pdfium's text lacks the annotations. Flattening draws them into the page, in memory.
            if entries.flatten and pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS:
                pdfium.FPDF_ClosePage(page)
                page = pdfium.FPDF_LoadPage(pdf.raw, number)
            if page:
                _add_page(reading, page, number + 1, entries, found)
            else:
                found.failed += 1
        finally:
            if page:
                pdfium.FPDF_ClosePage(page)
    if found.failed == min(pages, MAX_PAGES):
        raise DocumentError("broken", f"none of {pages} pages can be loaded")
    if found.failed:
        builder.flags.add("broken_pages")
    if found.silent and (found.words or found.pictures):
        builder.flags.add("no_text_pages")
    return found


def _add_page(reading: Reading, page: Any, number: int, entries: PageEntries, found: PagesRead) -> None:
    builder, settings = reading.builder, reading.settings
    frame = _frame(page)
    width, height = frame.size
    builder.open("page", page=number, width=width, height=height)
    begun = builder.length
    words, hidden, nonsense = _words(reading, page, frame, found)
    if entries.cut:
        builder.flags.add("truncated")
    always = settings.ocr == "always"
    shown = False
    if always or (settings.ocr == "auto" and _needs_ocr(page, frame, words, nonsense)):
        shown = _show(reading, page, frame, found)
    if not (always and shown):
        found.words += _write(reading, words)
    if not (words.text or shown):
        found.silent += 1
        found.images = found.images or nonsense or _has_image(page)
    if hidden.text:
        builder.flags.add("hidden_text")
        if settings.hidden:
            _separate(reading, begun)
            builder.open("hidden", "hidden", page=number, width=width, height=height)
            found.words += _write(reading, hidden)
            builder.close()
    kinds: tuple[tuple[PartKind, list[Entry]], ...] = (("fields", entries.fields), ("notes", entries.notes))
    for kind, said in kinds:
        seen = [one for one in said if settings.hidden or not one.unseen]
        if len(seen) < len(said):
            builder.flags.add("hidden_text")
        kept = [one for one in seen if not (one.drawn and _is_shown(one, words, frame))]
        if kept:
            _separate(reading, begun)
            found.words += add_entries(reading, kind, kept, number, frame)
    found.told.update(squeezed(one.text) for one in entries.fields)
    found.files += entries.files
    builder.close()


def _frame(page: Any) -> Frame:
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, ctypes.byref(rectangle)):
        rectangle = pdfium.FS_RECTF(0.0, 792.0, 612.0, 0.0)
    rotation = pdfium.FPDFPage_GetRotation(page) % 4
    return Frame(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top, rotation)


def _words(reading: Reading, page: Any, frame: Frame, found: PagesRead) -> tuple[PageWords, PageWords, bool]:
    """Returns the words of a page that a reader sees, the hidden ones, and true if its text layer is nonsense."""
    none = PageWords.none()
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return none, none, False
    try:
        if pdfium.FPDFText_CountChars(text_page) > _MAX_PAGE_CHARACTERS:
            reading.builder.flags.add("truncated")
        words = page_words(text_page, frame, _MAX_PAGE_CHARACTERS)
        if not words.text:
            return none, none, False
        sound = is_text(words, text_page)
        if not sound and not any(map(str.isalnum, "".join(words.text))):
            return none, none, mostly_unknown(words)
        # Without OCR nonsense is all that there is.
        if not sound and reading.settings.ocr != "never":
            return none, none, True
        if found.spent[1] > _SEARCH_SECONDS:
            return words, none, False
        begun = time.process_time()
        unseen = hidden_words(page, text_page, frame, words)
        found.spent[1] += time.process_time() - begun
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    if not unseen.any():
        return words, none, False
    return words.only(~unseen), words.only(unseen), False


def _needs_ocr(page: Any, frame: Frame, words: PageWords, nonsense: bool) -> bool:
    """Returns True if a page may show text that is not among its words."""
    if nonsense:
        return True
    if words.text:
        # A stamp on a scan, such as the line of a fax or the number of a file.
        height = frame.size[1]
        stamp = (words.box[:, 3] < _MARGIN * height) | (words.box[:, 1] > (1 - _MARGIN) * height)
        return bool(stamp.all()) and _is_scan(page, frame)
    return _has_image(page, _OUTLINES)


def _show(reading: Reading, page: Any, frame: Frame, found: PagesRead) -> bool:
    """Adds the picture of a page; returns False for an empty page, or beyond the bounds of a file."""
    if found.pictures >= _MAX_PICTURES or found.spent[0] > _PICTURE_SECONDS:
        reading.builder.flags.add("ocr_limit")
        return False
    begun = time.process_time()
    drawn = picture_of(page, frame, _DPI)
    found.spent[0] += time.process_time() - begun
    if drawn is None:
        return False
    found.pictures += 1
    reading.builder.show(*drawn)
    return True


def _write(reading: Reading, words: PageWords) -> int:
    if not words.text:
        return 0
    order, gaps = linearise(words)
    reading.builder.write_words([words.text[i] for i in order], gaps, words.box[order].astype(np.float32))
    return len(order)


def _separate(reading: Reading, begun: int) -> None:
    """Ends the text of the open page, which began at this character, with a blank line."""
    if reading.builder.length > begun:
        reading.builder.write("\n\n")


def add_entries(reading: Reading, kind: PartKind, entries: Sequence[Entry], number: int, frame: Frame | None) -> int:
    """Appends a part with a line for each entry, `label: text`, and returns its words; they have the entry's box."""
    builder = reading.builder
    width, height = frame.size if frame is not None else (0.0, 0.0)
    words: list[str] = []
    gaps: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    for entry in entries:
        lines = clean(f"{entry.label}: {entry.text}" if entry.label else entry.text).split("\n")
        for line in lines:
            for place, word in enumerate(line.split()):
                gaps.append(" " if place else "\n" if words else "")
                words.append(word)
                boxes.append(entry.box)
    builder.open(kind, kind, page=number, width=width, height=height)
    if words:
        box = np.array(boxes, np.float64)
        box = frame.displayed(box) if frame is not None else np.full_like(box, np.nan)
        builder.write_words(words, gaps, box.astype(np.float32))
    builder.close()
    return len(words)


def squeezed(text: str) -> str:
    """Returns text for a comparison that blanks and case do not matter in."""
    return "".join(clean(text).split()).casefold()


def _is_shown(entry: Entry, words: PageWords, frame: Frame) -> bool:
    """Returns True if the page's words within an entry's box hold its text."""
    if not words.text:
        return False
    box = frame.displayed(np.array([entry.box], np.float64))[0]
    middle = (words.box[:, :2] + words.box[:, 2:]) / 2
    inside = ((middle >= box[:2] - 3) & (middle <= box[2:] + 3)).all(axis=1)
    shown = "".join(words.text[at] for at in np.flatnonzero(inside).tolist())
    return squeezed(entry.text) in squeezed(shown) if shown else False


def _has_image(page: Any, outlines: int = 0) -> bool:
    """Returns True if a page shows an image, a form that may hold one, or so many shapes, among its first objects."""
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM, pdfium.FPDF_PAGEOBJ_SHADING)
    count, shapes = min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS), 0
    for index in range(count):
        kind = pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, index))
        if kind in kinds:
            return True
        shapes += kind == pdfium.FPDF_PAGEOBJ_PATH
    return 0 < outlines <= shapes


def _is_scan(page: Any, frame: Frame) -> bool:
    """Returns True if an image covers most of a page."""
    width, height = frame.size
    sides = [ctypes.c_float() for _ in range(4)]
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        one = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(one) != pdfium.FPDF_PAGEOBJ_IMAGE:
            continue
        if pdfium.FPDFPageObj_GetBounds(one, *sides):
            left, bottom, right, top = (side.value for side in sides)
            if (right - left) * (top - bottom) > _SCAN * width * height:
                return True
    return False
