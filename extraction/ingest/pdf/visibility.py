"""Finds the words of a page that no reader sees: white, transparent, covered, too small, or on a layer that is off."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.ingest.pdf.glyphs import Frame, PageWords
from cinnabar.extraction.ingest.pdf.rendering import grey_pixels

_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]

# Letters below this height in points cannot be seen. Filings hold the text of their scans in letters of .9 points.
_LEAST_HEIGHT = 0.5
# Colours from this value of each channel on are near white; below this opacity nothing shows.
_LIGHT, _OPAQUE = 225, 24
# An image over this share of a page is its scan, and text at it what OCR read there.
_SCAN = 0.5
# Words of a scan may lie beside the page by this share of its width.
_BESIDE = 0.05
# Pixels to a point in the comparison, and the difference of grey that a reader sees.
_SCALE, _SEEN = 1.5, 20
# Objects of a page that are looked at; drawings have millions.
_MAX_OBJECTS = 20_000

_get_object: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
    ctypes.cast(pdfium.FPDFText_GetTextObject, ctypes.c_void_p).value or 0
)
_page_object: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
    ctypes.cast(pdfium.FPDFPage_GetObject, ctypes.c_void_p).value or 0
)
_get_type: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(
    ctypes.cast(pdfium.FPDFPageObj_GetType, ctypes.c_void_p).value or 0
)
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)


@dataclass(frozen=True, slots=True)
class _Cover:
    """A picture or a filled shape: its place in the order of drawing, and its box as displayed."""

    order: int
    box: _Floats


def hidden_words(page: Any, text_page: Any, frame: Frame, words: PageWords) -> _Bools:
    """Returns [W], true for the words of an open page that no reader sees.

    A word that may be hidden, by its colour or by what is drawn over it, is one if the page looks the same without it.
    Text at the scan of a page counts as visible: OCR put it there. So does invisible text with something drawn at its
    place, such as letters in outline.
    """
    width, height = frame.size
    middle = (words.box[:, :2] + words.box[:, 2:]) / 2
    outside = (words.box[:, 2:] < 0).any(axis=1) | (words.box[:, :2] > (width, height)).any(axis=1)
    size = words.box[:, 2:] - words.box[:, :2]
    sideways = (words.turn == 1) | (words.turn == 3)
    along, across = np.where(sideways[:, None], size[:, ::-1], size).T
    # Fonts with a false height have letters of a true width.
    found: _Bools = outside | ((across < _LEAST_HEIGHT) & (along < 2 * _LEAST_HEIGHT * _lengths(words)))
    address = ctypes.cast(text_page, ctypes.c_void_p).value
    owner = np.array([_get_object(address, at) or 0 for at in words.first.tolist()], np.uint64)
    faint, unseen = _by_style(owner)
    images, shapes = _covers(page, frame)
    scan = any(_area(cover.box) > _SCAN * width * height for cover in images)
    if scan:
        unseen[:] = False
        # OCR may place words of the edge beside it.
        beyond = np.maximum(-middle, middle - (width, height)).max(axis=1)
        found &= ~outside | (beyond > _BESIDE * width)
    covered = np.zeros(len(owner), np.bool_)
    if not scan and (images or shapes):
        covered = _covered(page, owner, middle, [*images, *shapes])
    doubtful = (faint | unseen | covered) & ~found
    if doubtful.any():
        found[doubtful] = ~_seen(page, frame, words.box[doubtful], owner[doubtful], unseen[doubtful])
    return found


def _lengths(words: PageWords) -> _Floats:
    return np.array([len(word) for word in words.text], np.float64)


def _by_style(owner: npt.NDArray[np.uint64]) -> tuple[_Bools, _Bools]:
    """Returns two arrays [W]: words of a faint colour or a layer, and words that are drawn invisible.

    owner: [W] the addresses of their text objects, 0 if there is none.
    """
    known, inverse = np.unique(owner, return_inverse=True)
    faint, unseen = np.zeros(len(known), np.bool_), np.zeros(len(known), np.bool_)
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    for at, number in enumerate(known.tolist()):
        if not number:
            continue
        one = ctypes.cast(number, pdfium.FPDF_PAGEOBJECT)
        unseen[at] = pdfium.FPDFTextObj_GetTextRenderMode(one) in _INVISIBLE
        if pdfium.FPDFPageObj_GetFillColor(one, red, green, blue, alpha):
            light = min(red.value, green.value, blue.value) >= _LIGHT
            faint[at] = light or alpha.value < _OPAQUE
        faint[at] |= pdfium.FPDFPageObj_CountMarks(one) > 0 and _on_layer(one)
    return faint[inverse], unseen[inverse]


def _on_layer(one: Any) -> bool:
    """Returns True if an object lies in marked content of an optional layer."""
    buffer, size = ctypes.create_string_buffer(16), ctypes.c_ulong()
    for index in range(min(pdfium.FPDFPageObj_CountMarks(one), 16)):
        mark = pdfium.FPDFPageObj_GetMark(one, index)
        characters = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
        named = mark and pdfium.FPDFPageObjMark_GetName(mark, characters, len(buffer), size)
        if named and buffer.raw[: size.value] == b"O\0C\0\0\0":
            return True
    return False


def _covers(page: Any, frame: Frame) -> tuple[list[_Cover], list[_Cover]]:
    """Returns the images of a page, with the forms that may hold some, and its filled shapes."""
    images: list[_Cover] = []
    shapes: list[_Cover] = []
    address = ctypes.cast(page, ctypes.c_void_p).value
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for order in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        number = _page_object(address, order)
        kind = _get_type(number)
        if kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
            into = images
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            one = ctypes.cast(number, pdfium.FPDF_PAGEOBJECT)
            if not pdfium.FPDFPath_GetDrawMode(one, fill, stroke) or fill.value == pdfium.FPDF_FILLMODE_NONE:
                continue
            into = shapes
        else:
            continue
        box = _box(ctypes.cast(number, pdfium.FPDF_PAGEOBJECT), frame)
        # Lines hide nothing.
        if box is not None and min(box[2] - box[0], box[3] - box[1]) > 2.0:
            into.append(_Cover(order, box))
    return images, shapes


def _box(one: Any, frame: Frame) -> _Floats | None:
    sides = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(one, *sides):
        return None
    left, bottom, right, top = (side.value for side in sides)
    shown: _Floats = frame.displayed(np.array([[left, top, right, bottom]], np.float64))[0]
    return shown


def _area(box: _Floats) -> float:
    return float((box[2] - box[0]) * (box[3] - box[1]))


def _covered(page: Any, owner: npt.NDArray[np.uint64], middle: _Floats, covers: list[_Cover]) -> _Bools:
    """Returns [W], true for words whose middle lies below something that is drawn later."""
    address = ctypes.cast(page, ctypes.c_void_p).value
    count = min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)
    order_of = {_page_object(address, order): order for order in range(count)}
    # Text within a form has no place of its own in the order; what follows the last object hides nothing.
    order = np.array([order_of.get(number, count) for number in owner.tolist()])
    found = np.zeros(len(owner), np.bool_)
    for cover in covers:
        later = order < cover.order
        if later.any():
            found |= later & ((middle >= cover.box[:2]) & (middle <= cover.box[2:])).all(axis=1)
    return found


def _seen(page: Any, frame: Frame, box: _Floats, owner: npt.NDArray[np.uint64], unseen: _Bools) -> _Bools:
    """Returns [W], true for words that leave a mark: the page is drawn with them and without.

    Words that are drawn invisible leave none; they count as seen where anything is drawn.
    """
    objects = [ctypes.cast(number, pdfium.FPDF_PAGEOBJECT) for number in np.unique(owner).tolist() if number]
    before = grey_pixels(page, frame, _SCALE)
    for one in objects:
        pdfium.FPDFPageObj_SetIsActive(one, False)
    after = grey_pixels(page, frame, _SCALE)
    for one in objects:
        pdfium.FPDFPageObj_SetIsActive(one, True)
    if before is None or after is None:
        return np.ones(len(box), np.bool_)
    changed = np.abs(before.astype(np.int16) - after.astype(np.int16))
    found = np.zeros(len(box), np.bool_)
    scale = before.shape[1] / frame.size[0]
    limits = np.array([before.shape[1], before.shape[0]] * 2)
    pixels = np.clip(np.stack([*(box[:, :2] * scale).T, *(box[:, 2:] * scale).T], axis=1), 0, limits)
    for at, (x0, y0, x1, y1) in enumerate(pixels.tolist()):
        rows, columns = slice(int(y0), max(int(y0) + 1, round(y1))), slice(int(x0), max(int(x0) + 1, round(x1)))
        if unseen[at]:
            place = before[rows, columns]
            found[at] = place.size > 0 and int(place.max()) - int(place.min()) > _SEEN
        else:
            place = changed[rows, columns]
            found[at] = place.size > 0 and int(place.max()) > _SEEN
    return found
