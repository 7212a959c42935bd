"""Finds the marks of a PDF page: its shapes, glyphs of symbol fonts, and the pixels of a scan with a text layer."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium
from pypdfium2 import PdfMatrix

from cinnabar.extraction.documents.marks.ink import BLANK, Mark
from cinnabar.extraction.documents.marks.judging import MAX_FOUND, MOST, Place, looks_of, marks_of
from cinnabar.extraction.documents.marks.lines import LONGEST, SHORTEST, Rule, line_marks, to_write_on
from cinnabar.extraction.documents.pdf.glyphs import Frame, PageWords
from cinnabar.extraction.documents.pdf.rendering import grey_pixels

_Floats = npt.NDArray[np.float64]

# Sides of boxes that are drawn, in points.
_LEAST, _ASPECT = 5.5, 1.3
# Shapes of a page that are looked at, and how deep they may lie in forms.
_MAX_SHAPES, _MAX_DEPTH = 5_000, 3
# Pixels to a point in which drawn marks are judged, and those of a scan.
_DRAWN, _SCANNED = 2.5, 200 / 72
# The codes of boxes in Wingdings and ZapfDingbats that are ASCII.
_CODES = frozenset("opqrnmx")
# Cells in a row stand so near to each other, with their borders.
_TOUCHING = 2.5
# What may be typed into a box to tick it.
_TICKS = frozenset("xX×✓✔✗✘✕✖•●■√☒☑")


def drawn_marks(page: Any, frame: Frame, words: PageWords, buttons: _Floats) -> list[Mark]:
    """Returns the boxes and lines that are drawn on a page, without its form's own fields.

    buttons: [N, 4] the boxes of the fields as displayed.
    """
    boxes, rules = [], []
    for x0, top, x1, bottom in _shapes(page, frame):
        wide, high = x1 - x0, bottom - top
        if min(wide, high) >= _LEAST and max(wide, high) <= min(MOST, _ASPECT * min(wide, high)):
            boxes.append((x0, top, x1, bottom))
        elif high <= 2.0 and SHORTEST <= wide <= LONGEST:
            rules.append((x0, (top + bottom) / 2, x1, (top + bottom) / 2))
    inside = _inside(np.array(boxes, np.float64).reshape(-1, 4), words)
    symbols = dict(_symbols(page, frame, words, inside))
    boxes = [*_alone(boxes, inside, words, buttons, symbols), *symbols.values()]
    letters = words.box[[bool(word.strip("_")) for word in words.text]]
    rules = to_write_on([*rules, *_underscores(words)], words.box, letters)
    if not (boxes or rules) or len(boxes) > 4 * MAX_FOUND:
        return []
    grey = grey_pixels(page, frame, _DRAWN)
    if grey is None:
        return []
    scale = grey.shape[1] / frame.size[0]
    lines = [mark for mark in line_marks(grey, scale, rules, words.box, letters) if not _is_printed(mark, words)]
    return [*marks_of(looks_of(grey, scale, boxes)), *lines]


def scanned_page_marks(page: Any, frame: Frame, words: PageWords) -> list[Mark]:
    """Returns the marks on a scan with a text layer; none without the extra `ocr`."""
    if find_spec("cv2") is None:
        return []
    # Extra: ocr. Only such pages need it, and its import takes .1 s.
    from cinnabar.extraction.documents.marks.scanned import scanned_marks

    grey = grey_pixels(page, frame, _SCANNED)
    # The text layer may hold readings of handwriting.
    none = np.empty((0, 4))
    return [] if grey is None else scanned_marks(grey, grey.shape[1] / frame.size[0], words.box, none)


def _shapes(page: Any, frame: Frame) -> list[Place]:
    """Returns the boxes of a page's paths as displayed, those within forms too."""
    found: list[Place] = []
    sides, own = [ctypes.c_float() for _ in range(4)], pdfium.FS_MATRIX()
    get = pdfium.FPDFPage_GetObject
    waiting = [(get, page, at, PdfMatrix(), 0) for at in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_SHAPES))]
    for count, (get, holder, at, matrix, depth) in enumerate(waiting):
        if count >= _MAX_SHAPES:
            break
        one = get(holder, at)
        kind = pdfium.FPDFPageObj_GetType(one)
        if kind == pdfium.FPDF_PAGEOBJ_PATH and pdfium.FPDFPageObj_GetBounds(one, *sides):
            left, bottom, right, top = matrix.on_rect(*(side.value for side in sides))
            found.append((left, top, right, bottom))
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            pdfium.FPDFPageObj_GetMatrix(one, own)
            inner = PdfMatrix.from_raw(own).multiply(matrix)
            count_inside = min(max(pdfium.FPDFFormObj_CountObjects(one), 0), _MAX_SHAPES)
            waiting += [(pdfium.FPDFFormObj_GetObject, one, n, inner, depth + 1) for n in range(count_inside)]
    displayed = frame.displayed(np.array(found, np.float64).reshape(-1, 4))
    return [(a, b, c, d) for a, b, c, d in displayed.tolist()]


def _inside(boxes: _Floats, words: PageWords) -> npt.NDArray[np.bool_]:
    """Returns [N, W], true where the middle of a word lies in a box."""
    middle = ((words.box[:, :2] + words.box[:, 2:]) / 2)[None]
    within = np.logical_and(middle > boxes[:, None, :2], middle < boxes[:, None, 2:])
    return np.asarray(within.all(axis=2), np.bool_)


def _symbols(
    page: Any, frame: Frame, words: PageWords, inside: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, Place]]:
    """Yields the words that are a character of a symbol font, or one without a meaning, with their tight boxes.

    Only signs of boxes and characters in a box are looked at.
    """
    asked = np.asarray(inside.any(axis=0)).tolist()
    single = [
        at for at, one in enumerate(words.text) if len(one) == 1 and (asked[at] or one in _CODES or one > "\x7f")
    ]
    text_page = pdfium.FPDFText_LoadPage(page) if single else None
    if not text_page:
        return
    name, flags = ctypes.create_string_buffer(100), ctypes.c_int()
    sides = [ctypes.c_double() for _ in range(4)]
    try:
        for at in single:
            first = int(words.first[at])
            unknown = "\ue000" <= words.text[at] <= "\uf8ff" or words.text[at] == "\ufffd"
            if not unknown:
                pdfium.FPDFText_GetFontInfo(text_page, first, name, 100, flags)
                unknown = b"ding" in name.value.lower()
            if unknown and pdfium.FPDFText_GetCharBox(text_page, first, *sides):
                left, right, bottom, top = (side.value for side in sides)
                x0, y0, x1, y1 = frame.displayed(np.array([[left, top, right, bottom]]))[0].tolist()
                yield at, (x0, y0, x1, y1)
    finally:
        pdfium.FPDFText_ClosePage(text_page)


def _underscores(words: PageWords) -> Iterator[Rule]:
    for word, (x0, top, x1, bottom) in zip(words.text, words.box.tolist(), strict=True):
        if word[0] == "_" and len(word) >= 8 and not word.strip("_"):
            y = bottom - 0.12 * (bottom - top)
            yield x0, y, x1, y


def _is_printed(mark: Mark, words: PageWords) -> bool:
    """Returns True for an empty line of low lines, which the text shows."""
    return mark.sign == BLANK and any((x0, y) == (mark.box[0], mark.box[3]) for x0, y, _, _ in _underscores(words))


def _alone(
    boxes: Sequence[Place], inside: npt.NDArray[np.bool_], words: PageWords, buttons: _Floats, symbols: Collection[int]
) -> list[Place]:
    """Returns the boxes that are no field of the form, no cell in a row of cells, and hold no text but a tick."""
    x0, top, x1, _ = np.array(boxes, np.float64).reshape(-1, 4).T
    kept = []
    for (a, b, c, d), own in zip(boxes, inside, strict=True):
        field = (buttons[:, 0] < c) & (buttons[:, 2] > a) & (buttons[:, 1] < d) & (buttons[:, 3] > b)
        # Cells for single letters touch each other; a box within a box is drawn twice.
        beside = (np.minimum(np.abs(x0 - c), np.abs(x1 - a)) < _TOUCHING) & (np.abs(top - b) < 1.0)
        texts = [words.text[one] for one in np.flatnonzero(own).tolist() if one not in symbols]
        plain = all(len(text) == 1 and (text in _TICKS or not text.isalnum()) for text in texts)
        if not field.any() and not beside.any() and plain:
            kept.append((a, b, c, d))
    return kept
