"""Finds the marks of a PDF page: its shapes, glyphs of symbol fonts, and the pixels of a scan with a text layer."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.marks.ink import BLANK, Mark
from cinnabar.extraction.documents.marks.judging import MAX_FOUND, MOST, Place, marks_of
from cinnabar.extraction.documents.marks.lines import LONGEST, SHORTEST, Rule, line_marks
from cinnabar.extraction.documents.pdf.glyphs import Frame, PageWords
from cinnabar.extraction.documents.pdf.rendering import grey_pixels

_Floats = npt.NDArray[np.float64]
_Matrix = tuple[float, float, float, float, float, float]

# Sides of boxes that are drawn, in points.
_LEAST, _ASPECT = 5.5, 1.3
# Shapes of a page that are looked at, and how deep they may lie in forms.
_MAX_SHAPES, _MAX_DEPTH = 5_000, 3
# Pixels to a point in which drawn marks are judged, and those of a scan.
_DRAWN, _SCANNED = 3.0, 200 / 72
# What may be typed into a box to tick it.
_TICKS = frozenset("xX×✓✔✗✘✕✖•●■√☒☑")


def drawn_marks(page: Any, frame: Frame, words: PageWords, buttons: _Floats) -> list[Mark]:
    """Returns the boxes and lines that are drawn on a page, without its form's own fields.

    buttons: [N, 4] the boxes of the fields as displayed.
    """
    boxes, rules = [], []
    for x0, top, x1, bottom in _shapes(page, frame):
        wide, high = x1 - x0, bottom - top
        if _LEAST <= min(wide, high) and max(wide, high) <= min(MOST, _ASPECT * min(wide, high)):
            boxes.append((x0, top, x1, bottom))
        elif high <= 2.0 and SHORTEST <= wide <= LONGEST:
            rules.append((x0, (top + bottom) / 2, x1, (top + bottom) / 2))
    symbols = dict(_symbols(page, frame, words))
    boxes = [*_alone(np.array(boxes, np.float64).reshape(-1, 4), words, buttons, symbols), *symbols.values()]
    rules += _underscores(words)
    if not boxes and not rules or len(boxes) > 4 * MAX_FOUND:
        return []
    grey = grey_pixels(page, frame, _DRAWN)
    if grey is None:
        return []
    scale = grey.shape[1] / frame.size[0]
    letters = words.box[[bool(word.strip("_")) for word in words.text]]
    lines = [mark for mark in line_marks(grey, scale, rules, words.box, letters) if not _is_printed(mark, words)]
    return [*marks_of(grey, scale, boxes), *lines]


def scanned_page_marks(page: Any, frame: Frame, words: PageWords) -> list[Mark]:
    """Returns the marks on a scan with a text layer; none without the extra `ocr`."""
    if find_spec("cv2") is None:
        return []
    # Only such pages need it, and its import takes .1 s.
    from cinnabar.extraction.documents.marks.scanned import scanned_marks

    grey = grey_pixels(page, frame, _SCANNED)
    # The text layer may hold readings of handwriting.
    none = np.empty((0, 4))
    return [] if grey is None else scanned_marks(grey, grey.shape[1] / frame.size[0], words.box, none)


def _shapes(page: Any, frame: Frame) -> list[Place]:
    """Returns the boxes of a page's paths as displayed, those within forms too."""
    found: list[Place] = []
    left = _MAX_SHAPES

    def visit(count: int, get: Any, matrix: _Matrix, depth: int) -> None:
        nonlocal left
        sides = [ctypes.c_float() for _ in range(4)]
        own = pdfium.FS_MATRIX()
        for index in range(min(count, left)):
            left -= 1
            one = get(index)
            kind = pdfium.FPDFPageObj_GetType(one)
            if kind == pdfium.FPDF_PAGEOBJ_PATH and pdfium.FPDFPageObj_GetBounds(one, *sides):
                found.append(_moved([side.value for side in sides], matrix))
            elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
                pdfium.FPDFPageObj_GetMatrix(one, own)
                inner = _product((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
                count_inside = max(0, pdfium.FPDFFormObj_CountObjects(one))
                visit(count_inside, lambda at, one=one: pdfium.FPDFFormObj_GetObject(one, at), inner, depth + 1)

    visit(
        pdfium.FPDFPage_CountObjects(page), lambda at: pdfium.FPDFPage_GetObject(page, at), (1, 0, 0, 1, 0, 0), 0
    )
    if not found:
        return []
    return [(float(a), float(b), float(c), float(d)) for a, b, c, d in frame.displayed(np.array(found)).tolist()]


def _moved(sides: Sequence[float], matrix: _Matrix) -> Place:
    """Returns bounds (left, bottom, right, top) by a matrix, as (left, top, right, bottom)."""
    a, b, c, d, e, f = matrix
    x0, y0, x1, y1 = sides
    across = [a * x + c * y + e for x in (x0, x1) for y in (y0, y1)]
    up = [b * x + d * y + f for x in (x0, x1) for y in (y0, y1)]
    return min(across), max(up), max(across), min(up)


def _product(one: _Matrix, other: _Matrix) -> _Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (
        a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m
    )  # fmt: skip


def _symbols(page: Any, frame: Frame, words: PageWords) -> Iterator[tuple[int, Place]]:
    """Yields the words that are a character of a symbol font, or one without a meaning, with their tight boxes."""
    single = [at for at, word in enumerate(words.text) if len(word) == 1]
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
        if len(word) >= 8 and not word.strip("_"):
            y = bottom - 0.12 * (bottom - top)
            yield x0, y, x1, y


def _is_printed(mark: Mark, words: PageWords) -> bool:
    """Returns True for an empty line of low lines, which the text shows."""
    return mark.sign == BLANK and any(y == mark.box[3] and x0 == mark.box[0] for x0, y, *_ in _underscores(words))


def _alone(boxes: _Floats, words: PageWords, buttons: _Floats, symbols: Collection[int]) -> list[Place]:
    """Returns the boxes that are no field of the form, no cell in a row of cells, and hold no text but a tick."""
    if not len(boxes):
        return []
    x0, top, x1, bottom = boxes.T
    middle = (words.box[:, :2] + words.box[:, 2:]) / 2
    kept = []
    for a, b, c, d in boxes.tolist():
        field = (buttons[:, 0] < c) & (buttons[:, 2] > a) & (buttons[:, 1] < d) & (buttons[:, 3] > b)
        # Cells for single letters touch each other; a box within a box is drawn twice.
        beside = (np.minimum(np.abs(x0 - c), np.abs(x1 - a)) < 1.0) & (np.abs(top - b) < 1.0)
        inside = (middle[:, 0] > a) & (middle[:, 0] < c) & (middle[:, 1] > b) & (middle[:, 1] < d)
        texts = [words.text[one] for one in np.flatnonzero(inside).tolist() if one not in symbols]
        plain = all(len(text) == 1 and (text in _TICKS or not text.isalnum()) for text in texts)
        if not field.any() and not beside.any() and plain:
            kept.append((a, b, c, d))
    return kept
