"""The marks of a PDF page (shapes, glyphs of symbol fonts, pixels of a scan with a text layer), put among its words.

A box to tick takes the place of letters that stand for it or in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium
from pypdfium2 import PdfMatrix

from cinnabar.extraction.documents.content.limits import MAX_BOXES, MAX_SHAPE_DEPTH, MAX_SHAPES
from cinnabar.extraction.documents.marks.boxes_and_lines import (
    BLANK,
    BOX_ASPECT,
    LEAST_SIDE,
    MOST_SIDE,
    Mark,
    Place,
    Rule,
    box_marks,
    line_marks,
    to_write_on,
)
from cinnabar.extraction.documents.pdf.glyphs import Frame, PageWords, text_of_page
from cinnabar.extraction.documents.pdf.rendering import page_pixels

#: Points that a letter within a box may reach beyond it, across and down.
LETTER_ACROSS, LETTER_DOWN = 1.0, 4.0
#: A word with so much of it in a box is no other word's: OCR reads a box as a letter, and a tick may be one.
WORD_WITHIN = 0.6
_Floats = npt.NDArray[np.float64]

# Pixels to a point in which drawn marks are judged, and those of a scan.
_DRAWN, _SCANNED = 2.5, 200 / 72
# The codes of boxes in Wingdings and ZapfDingbats that are ASCII.
_CODES = frozenset("opqrnmx")
# What may be typed into a box to tick it.
_TICKS = frozenset("xX×✓✔✗✘✕✖•●■√☒☑")


def drawn_shapes(page: Any, frame: Frame) -> _Floats:
    """Returns the boxes [N, 4] of the first shapes that are drawn on a page, as displayed."""
    shapes = _shapes(page, pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject, PdfMatrix())
    return frame.to_display([*islice(shapes, MAX_SHAPES)])


def drawn_marks(page: Any, frame: Frame, words: PageWords, buttons: _Floats, sides: _Floats) -> list[Mark]:
    """Returns the boxes and lines that are drawn on a page, without its form's own fields.

    buttons: [N, 4] the boxes of the fields as displayed. sides: those of what is drawn.
    """
    wide, high = (sides[:, 2:] - sides[:, :2]).T
    small, large = np.minimum(wide, high), np.maximum(wide, high)
    boxes = sides[(small >= LEAST_SIDE) & (large <= np.minimum(MOST_SIDE, BOX_ASPECT * small))]
    middle = ((words.box[:, :2] + words.box[:, 2:]) / 2)[None]
    inside = ((middle > boxes[:, None, :2]) & (middle < boxes[:, None, 2:])).all(axis=2)
    symbols = dict(_symbols(page, frame, words, inside.any(axis=0)))
    places = [*_places(boxes, inside, words, buttons, set(symbols)), *symbols.values()]
    printed = words.box[[bool(word.strip("_")) for word in words.text]]
    typed = set(_underscores(words))
    rules = [(a, (b + d) / 2, c, (b + d) / 2) for a, b, c, d in sides[high <= 2.0].tolist()]
    asking = np.array([word.endswith(":") for word in words.text], np.bool_)
    lines = to_write_on([*rules, *typed], words.box, printed, asking)
    if not (places or lines) or len(places) > 4 * MAX_BOXES:
        return []
    grey = page_pixels(page, frame, _DRAWN)
    if grey is None:
        return []
    scale = grey.shape[1] / frame.size[0]
    marks = zip(lines, line_marks(grey, scale, lines, words.box), strict=True)
    # The text shows an empty line of low lines.
    kept = [mark for (rule, _), mark in marks if not (mark.sign == BLANK and rule in typed)]
    return [*box_marks(grey, scale, places), *kept]


def scanned_page_marks(page: Any, frame: Frame, words: PageWords, buttons: _Floats) -> list[Mark]:
    """Returns the marks on a scan with a text layer, but for the boxes of buttons; none without the extra `ocr`.

    buttons: [N, 4] as for `drawn_marks`.
    """
    if find_spec("cv2") is None:
        return []
    # Extra: ocr. Only such pages need it, and its import takes .1 s.
    from cinnabar.extraction.documents.marks.scanned import scanned_marks

    grey = page_pixels(page, frame, _SCANNED)
    # The text layer may hold readings of handwriting.
    none = np.empty((0, 4))
    marks = [] if grey is None else scanned_marks(grey, grey.shape[1] / frame.size[0], words.box, none)
    # A button lies on the box that was printed for it, or beside it.
    return [one for one in marks if one.place or not _meets(one.box, buttons, 6.0, 4.0)]


def _shapes(
    holder: Any, count: Callable[[Any], int], get: Callable[[Any, int], Any], matrix: PdfMatrix, depth: int = 0
) -> Iterator[Place]:
    """Yields the boxes (left, top, right, bottom) of paths in the user space of a page, those within forms too."""
    sides, own = [ctypes.c_float() for _ in range(4)], pdfium.FS_MATRIX()
    for at in range(min(count(holder), MAX_SHAPES)):
        one = get(holder, at)
        kind = pdfium.FPDFPageObj_GetType(one)
        if kind == pdfium.FPDF_PAGEOBJ_PATH and pdfium.FPDFPageObj_GetBounds(one, *sides):
            left, bottom, right, top = matrix.on_rect(*(side.value for side in sides))
            yield left, top, right, bottom
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < MAX_SHAPE_DEPTH and pdfium.FPDFPageObj_GetMatrix(one, own):
            inner = PdfMatrix.from_raw(own).multiply(matrix)
            yield from _shapes(one, pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject, inner, depth + 1)


def _symbols(page: Any, frame: Frame, words: PageWords, asked: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Place]]:
    """Yields the words that are a character of a symbol font, or one without a meaning, with their tight boxes.

    Only signs of boxes and characters in a box, which are `asked`, are looked at.
    """
    single = [at for at, one in enumerate(words.text) if len(one) == 1 and (asked[at] or one in _CODES or one > "\x7f")]
    if not single:
        return
    name, flags = ctypes.create_string_buffer(100), ctypes.c_int()
    sides = [ctypes.c_double() for _ in range(4)]
    with text_of_page(page) as text_page:
        for at in single if text_page else ():
            first = int(words.first[at])
            pdfium.FPDFText_GetFontInfo(text_page, first, name, 100, flags)
            unknown = "\ue000" <= words.text[at] <= "\uf8ff" or words.text[at] == "\ufffd"
            if (unknown or b"ding" in name.value.lower()) and pdfium.FPDFText_GetCharBox(text_page, first, *sides):
                left, right, bottom, top = (side.value for side in sides)
                x0, y0, x1, y1 = frame.to_display([[left, top, right, bottom]])[0].tolist()
                yield at, (x0, y0, x1, y1)


def _underscores(words: PageWords) -> Iterator[Rule]:
    for word, (x0, top, x1, bottom) in zip(words.text, words.box.tolist(), strict=True):
        if word[0] == "_" and len(word) >= 8 and not word.strip("_"):
            y = bottom - 0.12 * (bottom - top)
            yield x0, y, x1, y


def _places(
    boxes: _Floats, inside: npt.NDArray[np.bool_], words: PageWords, buttons: _Floats, symbols: set[int]
) -> Iterator[Place]:
    """Yields the boxes that are no field of the form and hold no text but a tick."""
    for (a, b, c, d), own in zip(boxes.tolist(), inside, strict=True):
        texts = [words.text[one] for one in np.flatnonzero(own).tolist() if one not in symbols]
        plain = all(len(text) == 1 and (text in _TICKS or not text.isalnum()) for text in texts)
        if plain and not _meets((a, b, c, d), buttons):
            yield a, b, c, d


def _meets(box: Place, others: _Floats, across: float = 0.0, down: float = 0.0) -> bool:
    """Returns True if a box lies on one of these, or so few points beside it."""
    a, b, c, d = box
    left, top, right, bottom = others.T
    near = (left < c + across) & (right > a - across) & (top < d + down) & (bottom > b - down)
    return bool(near.any())


# OCR does not read a box or a tick as a digit, nor as these letters of a longer word.
_DIGITS = frozenset("123456789")
_LETTERS = _DIGITS | frozenset("abcdefghijklmnpqrstuvwyz")


def put_marks(words: PageWords, marks: Sequence[Mark]) -> PageWords:
    """Returns the words of a page without those under its marks, and its marks behind them, for a layout to order.

    `first` of a mark counts from the last one backwards: -1 is the last.
    """
    if not marks:
        return words
    text, box, own = list(words.text), words.box.copy(), list[int]()
    places = np.array([mark.place or mark.box for mark in marks], np.float64)
    for number, (x0, top, x1, bottom) in enumerate(places.tolist()):
        middle = (box[:, 1] + box[:, 3]) / 2
        level = (middle > top - LETTER_DOWN) & (middle < bottom + LETTER_DOWN) & (box[:, 0] < x1) & (box[:, 2] > x0)
        # The place of a line is no box.
        under = np.flatnonzero(level).tolist() if x1 - x0 > 0.5 * (bottom - top) else []
        rests = [_rest(text[at], box[at, 0], box[at, 2], x0, x1) for at in under]
        if None in rests:
            continue
        for at, rest in zip(under, rests, strict=True):
            if rest is not None:
                text[at], box[at, [0, 2]] = rest[0], rest[1:]
        own.append(number)
    if not own:
        return words
    many = len(own)
    none = np.zeros(many, np.bool_)
    added = (places[own], np.full(many, np.bincount(words.turn).argmax()), none, none, np.array(own) - len(marks))
    kept = replace(words, text=text, box=box).only(np.array(text) != "")
    old = (kept.box, kept.turn, kept.rtl, kept.vertical, kept.first)
    return PageWords([*kept.text, *(marks[at].sign for at in own)], *map(np.append, old, added, (0, *[None] * 4)))


def _rest(word: str, left: float, right: float, x0: float, x1: float) -> tuple[str, float, float] | None:
    """Returns a word and its ends beside a box from x0 to x1, without what stands for it; None if it is a letter."""
    share = (min(right, x1 + LETTER_ACROSS) - max(left, x0 - LETTER_ACROSS)) / (right - left)
    count = len(word) if share > WORD_WITHIN else int(share * len(word))
    first = left >= x0 - LETTER_ACROSS
    over, rest = (word[:count], word[count:]) if first else (word[len(word) - count :], word[: len(word) - count])
    if set(over.lower()) & (_LETTERS if len(word) > 1 else _DIGITS):
        return None
    return (rest, x1 if count and first else left, x0 if count and not first else right)
