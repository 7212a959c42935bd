"""Reads one page of a PDF: the words that a reader sees, values of fields, comments, and a picture for OCR."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import (
    HIDDEN_SEARCH_SECONDS,
    MARKING_SECONDS,
    MAX_IMAGE_OBJECTS,
    MAX_PAGE_CHARACTERS,
    MAX_PAGE_PICTURES,
    PICTURING_SECONDS,
)
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.marks.boxes_and_lines import EMPTY, TICKED, Mark
from cinnabar.extraction.documents.pdf.annotations import Entry, PageEntries, page_entries
from cinnabar.extraction.documents.pdf.drawn_marks import drawn_marks, drawn_shapes, put_marks, scanned_page_marks
from cinnabar.extraction.documents.pdf.glyphs import Frame, PageWords, page_words, text_of_page
from cinnabar.extraction.documents.pdf.joined_letters import (
    in_boxes,
    in_fields,
    join_letters,
    join_words,
    mark_soft_hyphens,
    set_raised_apart,
    single_letters,
)
from cinnabar.extraction.documents.pdf.layout import linearise
from cinnabar.extraction.documents.pdf.rendering import picture_of, switch_off_unseen
from cinnabar.extraction.documents.pdf.struck_words import struck_words
from cinnabar.extraction.documents.pdf.visibility import hidden_words, is_searched, is_text, mostly_unknown

#: So many filled shapes may be letters in outline.
OUTLINED_LETTERS = 30
#: Words only in these shares of a scan, at its top and bottom, are a stamp and not its text.
STAMP_MARGIN, STAMPED_SCAN = 0.1, 0.6
_DPI = 300.0


@dataclass(slots=True)
class Spent:
    """The work on a file's pages so far.

    layered: some of its drawings may lie on optional layers. pictures: pages that are shown to OCR. drawing, searching:
    seconds for pictures, and for the search for hidden words and soft hyphens. groups: names of the buttons that were
    read; a group is read once in a document. marking: seconds for marks.
    """

    layered: bool = False
    pictures: int = 0
    drawing: float = 0.0
    searching: float = 0.0
    marking: float = 0.0
    groups: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Lines:
    """Words in reading order, the blanks before each, and their boxes [W, 4] as displayed; plain text has none."""

    text: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    box: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 4), np.float32))

    @classmethod
    def of(cls, words: PageWords, marks: Sequence[Mark] = (), scan: bool = False) -> Lines:
        """Returns the words of a page in their order, with marks among them; sizes on a `scan` tell nothing."""
        if not words.text:
            return cls()
        words = put_marks(words, marks)
        order, gaps = linearise(words)
        text = [words.text[at] for at in order]
        if not scan:
            set_raised_apart(text, gaps, words.box[order])
        text, gaps = join_words(text, gaps)
        box = [marks[words.first[at]].box if words.first[at] < 0 else words.box[at] for at in order]
        return cls(text, gaps, np.array(box, np.float32))


@dataclass(slots=True)
class PageContent:
    """The content of one page.

    size: width and height as displayed. plain: its text without layout, if that is all that is known. fields, notes:
    the entries beside the words. field_values: those of all fields. image: it holds an image, and no word. files:
    pdfium's handles of the files at comments.
    """

    size: tuple[float, float] = (0.0, 0.0)
    words: Lines = field(default_factory=Lines)
    hidden: Lines = field(default_factory=Lines)
    plain: str = ""
    fields: list[Entry] = field(default_factory=list)
    notes: list[Entry] = field(default_factory=list)
    field_values: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    picture: tuple[bytes, float] | None = None
    image: bool = False
    files: list[Any] = field(default_factory=list)


@contextmanager
def loaded_page(pdf: Any, index: int, groups: set[str], settings: ParserSettings) -> Iterator[tuple[Any, PageEntries]]:
    """Opens a page with its annotations drawn into it, and closes it; the page is None if it cannot be loaded.

    groups: names of the buttons that were read before; those of the page are added. The page is turned in the open file
    as the settings say.
    """
    form = pdf.formenv.raw if pdf.formenv else None
    entries = PageEntries()
    page = pdfium.FPDF_LoadPage(pdf.raw, index)
    try:
        if page:
            quarters = dict(settings.turns).get(index + 1, 0) // 90
            pdfium.FPDFPage_SetRotation(page, (pdfium.FPDFPage_GetRotation(page) + quarters) % 4)
            entries = page_entries(page, form, groups)
            # pdfium's text lacks the annotations. Flattening draws them into the page, in memory.
            if entries.flatten and pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS:
                pdfium.FPDF_ClosePage(page)
                page = pdfium.FPDF_LoadPage(pdf.raw, index)
        yield page, entries
    finally:
        if page:
            pdfium.FPDF_ClosePage(page)


def page_content(page: Any, entries: PageEntries, settings: ParserSettings, spent: Spent) -> PageContent:
    """Returns what is on an open page."""
    frame = frame_of(page)
    content = PageContent(frame.size)
    scan = _is_scan(page, frame)
    words, hidden, nonsense = _words(content, page, frame, settings, spent, scan)
    always = settings.ocr == "always"
    if always or (settings.ocr == "auto" and _needs_ocr(page, frame, words, nonsense, scan)):
        content.picture = _picture(content, page, frame, spent)
    if not (always and content.picture):
        read, marks, struck = _with_marks(content, page, entries, frame, words, spent, scan)
        if struck.any():
            content.flags.add("struck_text")
        content.words = Lines.of(read if settings.hidden else read.only(~struck), marks, scan)
    if not (words.text or content.picture):
        content.image = nonsense or _has_image(page)
    if hidden.text:
        content.flags.add("hidden_text")
        if settings.hidden:
            content.hidden = Lines.of(hidden)
    _add_entries(content, entries, frame, settings, lambda entry: _is_shown(entry, words))
    return content


def plain_content(page: Any, entries: PageEntries, settings: ParserSettings) -> PageContent:
    """Returns the text of an open page as pdfium orders it, without boxes; hidden text is not told apart."""
    frame = frame_of(page)
    content = PageContent(frame.size, plain=_plain_text(page))
    shown = squeeze(content.plain)
    if not shown:
        content.image = _has_image(page)
    _add_entries(content, entries, frame, settings, lambda entry: squeeze(entry.text) in shown)
    return content


def _add_entries(
    content: PageContent, entries: PageEntries, frame: Frame, settings: ParserSettings, shown: Callable[[Entry], bool]
) -> None:
    """Adds the entries that `shown` does not find among the words of the page."""
    if entries.cut:
        content.flags.add("truncated")
    for listed, kept in ((entries.fields, content.fields), (entries.notes, content.notes)):
        seen = [one for one in listed if settings.hidden or not one.unseen]
        if len(seen) < len(listed):
            content.flags.add("hidden_text")
        for one in seen:
            box = frame.to_display([one.box])[0]
            placed = replace(one, box=(float(box[0]), float(box[1]), float(box[2]), float(box[3])))
            if not (one.drawn and shown(placed)):
                kept.append(placed)
    content.field_values = [squeeze(one.text) for one in entries.fields]
    content.files = entries.files


def _plain_text(page: Any) -> str:
    with text_of_page(page) as text_page:
        count = min(pdfium.FPDFText_CountChars(text_page), MAX_PAGE_CHARACTERS) if text_page else 0
        if count <= 0:
            return ""
        buffer = ctypes.create_string_buffer(2 * count + 2)
        written = pdfium.FPDFText_GetText(text_page, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
    text = buffer.raw[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
    # pdfium joins a word that a hyphen divides at the end of a line, and writes U+0002 for the hyphen.
    return clean(text.replace("\x02", "-\n").replace("\ufffe", "-\n")).strip("\n")


def frame_of(page: Any) -> Frame:
    """Returns the rectangle and the rotation of an open page."""
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, ctypes.byref(rectangle)):
        rectangle = pdfium.FS_RECTF(0.0, 792.0, 612.0, 0.0)
    rotation = pdfium.FPDFPage_GetRotation(page) % 4
    return Frame(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top, rotation)


def _words(
    content: PageContent, page: Any, frame: Frame, settings: ParserSettings, spent: Spent, scan: bool
) -> tuple[PageWords, PageWords, bool]:
    """Returns the words of a page that a reader sees, the hidden ones, and true if its text layer is nonsense."""
    none = PageWords.none()
    # OCR of a scan may be a drawing that leaves no mark.
    searched = spent.layered and not settings.hidden and spent.searching <= HIDDEN_SEARCH_SECONDS
    if searched and not scan:
        begun = time.process_time()
        if switch_off_unseen(page, frame):
            content.flags.add("hidden_text")
        spent.searching += time.process_time() - begun
    with text_of_page(page) as text_page:
        if not text_page:
            return none, none, False
        if pdfium.FPDFText_CountChars(text_page) > MAX_PAGE_CHARACTERS:
            content.flags.add("truncated")
        words = page_words(text_page, frame, MAX_PAGE_CHARACTERS, scan)
        if not words.text:
            return none, none, False
        sound = is_text(words, text_page)
        if not sound and not any(map(str.isalnum, "".join(words.text))):
            return none, none, mostly_unknown(words)
        # Without OCR nonsense is all that there is.
        if not sound and settings.ocr != "never":
            return none, none, True
        if spent.searching > HIDDEN_SEARCH_SECONDS or not is_searched(page, words):
            content.flags.add("hidden_unsearched")
            return words, none, False
        begun = time.process_time()
        mark_soft_hyphens(page, text_page, words)
        unseen = hidden_words(page, text_page, frame, words)
        spent.searching += time.process_time() - begun
    if not unseen.any():
        return words, none, False
    return words.only(~unseen), words.only(unseen), False


def _needs_ocr(page: Any, frame: Frame, words: PageWords, nonsense: bool, scan: bool) -> bool:
    """Returns True if a page may show text that is not among its words."""
    if nonsense:
        return True
    if words.text:
        # A stamp on a scan, such as the line of a fax or the number of a file.
        height = frame.size[1]
        stamp = (words.box[:, 3] < STAMP_MARGIN * height) | (words.box[:, 1] > (1 - STAMP_MARGIN) * height)
        return bool(stamp.all()) and scan
    return _has_image(page, OUTLINED_LETTERS)


def _with_marks(
    content: PageContent, page: Any, entries: PageEntries, frame: Frame, words: PageWords, spent: Spent, scan: bool
) -> tuple[PageWords, list[Mark], npt.NDArray[np.bool_]]:
    """Returns the words of a page, whole where their letters stand in boxes, its marks, and which words are struck.

    Beyond the bound there are no marks and no struck words.
    """
    none = np.zeros(len(words.text), np.bool_)
    if not words.text or content.picture is not None:
        return words, [], none
    if spent.marking > MARKING_SECONDS:
        content.flags.add("marks_unsearched")
        return words, [], none
    begun = time.process_time()
    pressed = frame.to_display([box for box, _ in entries.buttons])
    # OCR of a scan leaves no lines.
    shapes = np.empty((0, 4)) if scan else drawn_shapes(page, frame)
    if scan:
        marks = scanned_page_marks(page, frame, words, pressed)
    else:
        marks = drawn_marks(page, frame, words, frame.to_display(entries.widgets), shapes)
        if letters := single_letters(words):
            boxes = frame.to_display([one.box for one in entries.fields]).tolist()
            groups = in_fields(letters, words, zip(boxes, (one.text for one in entries.fields), strict=True))
            known = {at for group in groups for at in group}
            groups += in_boxes([at for at in letters if at not in known], words, shapes)
            boxed = words.box[[at for group in groups for at in group]]
            middle = (boxed[:, :2] + boxed[:, 2:]) / 2
            # A letter x of a value is no tick.
            marks = [one for one in marks if not ((middle > one.box[:2]) & (middle < one.box[2:])).all(axis=1).any()]
            words = join_letters(words, groups)
    for (x0, top, x1, bottom), (_, on) in zip(pressed.tolist(), entries.buttons, strict=True):
        if 0 <= x0 < x1 <= frame.size[0] and 0 <= top < bottom <= frame.size[1]:
            marks.append(Mark((x0, top, x1, bottom), TICKED if on else EMPTY))
    struck = struck_words(words, shapes, frame.to_display(entries.struck))
    spent.marking += time.process_time() - begun
    return words, marks, struck


def _picture(content: PageContent, page: Any, frame: Frame, spent: Spent) -> tuple[bytes, float] | None:
    """Returns the picture of a page; None for an empty page, or beyond the bounds of a file."""
    if spent.pictures >= MAX_PAGE_PICTURES or spent.drawing > PICTURING_SECONDS:
        content.flags.add("ocr_limit")
        return None
    begun = time.process_time()
    drawn = picture_of(page, frame, _DPI)
    spent.drawing += time.process_time() - begun
    spent.pictures += drawn is not None
    return drawn


def squeeze(text: str) -> str:
    """Returns text for a comparison that blanks and case do not matter in."""
    return "".join(clean(text).split()).casefold()


def _is_shown(entry: Entry, words: PageWords) -> bool:
    """Returns True if the page's words within an entry's box hold its text."""
    if not words.text:
        return False
    box = np.array(entry.box, np.float64)
    middle = (words.box[:, :2] + words.box[:, 2:]) / 2
    inside = ((middle >= box[:2] - 3) & (middle <= box[2:] + 3)).all(axis=1)
    shown = "".join(words.text[at] for at in np.flatnonzero(inside).tolist())
    return squeeze(entry.text) in squeeze(shown) if shown else False


def _has_image(page: Any, outlines: int = 0) -> bool:
    """Returns True if a page shows an image, a form that may hold one, or so many shapes, among its first objects."""
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM, pdfium.FPDF_PAGEOBJ_SHADING)
    count, shapes = min(pdfium.FPDFPage_CountObjects(page), MAX_IMAGE_OBJECTS), 0
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
    for index in range(min(pdfium.FPDFPage_CountObjects(page), MAX_IMAGE_OBJECTS)):
        one = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(one) != pdfium.FPDF_PAGEOBJ_IMAGE:
            continue
        if pdfium.FPDFPageObj_GetBounds(one, *sides):
            left, bottom, right, top = (side.value for side in sides)
            if (right - left) * (top - bottom) > STAMPED_SCAN * width * height:
                return True
    return False
