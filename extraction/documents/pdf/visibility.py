"""Whether the words of a page are seen, and whether its text layer is text.

No reader sees words that are white, transparent, covered, too small, or on a layer that is off. A layer without a
usable mapping to Unicode holds nonsense.
"""

from __future__ import annotations

import ctypes
import unicodedata
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.content.limits import (
    MAX_SEARCHED_OBJECTS,
    MAX_SEARCHED_PAIRS,
    MAX_SEARCHED_WORDS,
    MAX_SHAPE_DEPTH,
    MAX_SHAPES,
)
from cinnabar.extraction.documents.pdf.glyphs import Frame, PageWords, address_of, by_address
from cinnabar.extraction.documents.pdf.rendering import page_pixels

#: Letters below this height in points cannot be seen. Filings hold the text of their scans in letters of .9 points.
LEAST_HEIGHT = 0.5
#: Colours from this value of each channel on are near white; below this opacity nothing shows.
NEAR_WHITE, OPAQUE_FROM = 225, 24
#: An image over this share of a page is its scan, and text at it what OCR read there.
SCAN_SHARE = 0.5
#: Words of a scan may lie beside the page by this share of its width.
SCAN_BESIDE = 0.05
#: Of this share of bad characters on, a layer is none. Of 1,162 pages of contracts, forms, invoices, tables and odd
#: files all but one had a share of 0, and that one, with formulas, .3.
BAD_CHARACTERS = 0.5
#: Text without a mapping comes as numbers of glyphs, in most fonts 29 below the characters: "6XPPD" for "Summa". There
#: small letters become capitals and signs; of 4 such pages 2 were sound, and had small letters.
SMALL_LETTERS = 0.2
SMALL_LETTERS_OF = 200
_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]

# Pixels to a point in the comparison, and the difference of grey that a reader sees.
_SCALE, _SEEN = 1.5, 20
# Pairs that are compared at once.
_PAIRS = 1 << 20
# A layer's mark has the name OC; longer names do not fit.
_LAYER, _NAME_BYTES, _MAX_MARKS = np.frombuffer(b"O\0C\0\0\0", np.uint8), 16, 16

_POINTER = ctypes.c_void_p
_text_object = by_address("FPDFText_GetTextObject", _POINTER, ctypes.c_int, gives=ctypes.c_size_t)
_page_object = by_address("FPDFPage_GetObject", _POINTER, ctypes.c_int, gives=ctypes.c_size_t)
_form_count = by_address("FPDFFormObj_CountObjects", _POINTER)
_form_object = by_address("FPDFFormObj_GetObject", _POINTER, ctypes.c_ulong, gives=ctypes.c_size_t)
_type = by_address("FPDFPageObj_GetType", _POINTER)
_bounds = by_address("FPDFPageObj_GetBounds", *[_POINTER] * 5)
_draw_mode = by_address("FPDFPath_GetDrawMode", *[_POINTER] * 3)
_render_mode = by_address("FPDFTextObj_GetTextRenderMode", _POINTER)
_fill_colour = by_address("FPDFPageObj_GetFillColor", *[_POINTER] * 5)
_mark_count = by_address("FPDFPageObj_CountMarks", _POINTER)
_mark = by_address("FPDFPageObj_GetMark", _POINTER, ctypes.c_ulong, gives=ctypes.c_size_t)
_mark_name = by_address("FPDFPageObjMark_GetName", _POINTER, _POINTER, ctypes.c_ulong, _POINTER)
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)


@dataclass(frozen=True, slots=True)
class _Covers:
    """Shapes that may cover text: places in the order of drawing [C], and boxes as displayed [C, 4]."""

    order: _Ints
    box: _Floats


def is_searched(page: Any, words: PageWords) -> bool:
    """Returns False for a page of more words or objects than the search for hidden words is bound to."""
    count, objects = len(words.text), int(pdfium.FPDFPage_CountObjects(page))
    return count <= MAX_SEARCHED_WORDS and objects <= MAX_SEARCHED_OBJECTS and count * objects <= MAX_SEARCHED_PAIRS


def hidden_words(page: Any, text_page: Any, frame: Frame, words: PageWords) -> _Bools:
    """Returns [W], true for the words of an open page that no reader sees.

    A word that may be hidden, by its colour or by what is drawn over it, is one if the page looks the same without it.
    Text at the scan of a page counts as visible: OCR put it there. Where a scan comes in pieces, or no other word is on
    the page, invisible text counts if something is drawn at its place, such as letters in outline.
    """
    width, height = frame.size
    middle = (words.box[:, :2] + words.box[:, 2:]) / 2
    outside = (words.box[:, 2:] < 0).any(axis=1) | (words.box[:, :2] > (width, height)).any(axis=1)
    size = words.box[:, 2:] - words.box[:, :2]
    sideways = (words.turn == 1) | (words.turn == 3)
    along, across = np.where(sideways[:, None], size[:, ::-1], size).T
    # Fonts with a false height have letters of a true width.
    letters = np.array([len(word) for word in words.text], np.float64)
    hidden: _Bools = outside | ((across < LEAST_HEIGHT) & (along < 2 * LEAST_HEIGHT * letters))
    owner = _integers(map(_text_object, repeat(address_of(text_page)), words.first.tolist()))
    faint, mode = _by_style(owner)
    unseen = np.isin(mode, _INVISIBLE)
    objects = _objects(page)
    kinds = _integers(map(_type, objects))
    images = _images(objects, kinds, frame)
    sides = images.box[:, 2:] - images.box[:, :2]
    shares = sides[:, 0] * sides[:, 1] / max(width * height, 1.0)
    scan = bool((shares > SCAN_SHARE).any())
    if unseen.any():
        if any(_holds_image(objects[at]) for at in images.order[shares > SCAN_SHARE].tolist()):
            unseen[:] = False
        pieces = shares[kinds[images.order] == pdfium.FPDF_PAGEOBJ_IMAGE].sum() > SCAN_SHARE
        if not (pieces or (unseen | hidden).all()):
            hidden |= unseen & (mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)
    if scan:
        # OCR may place words of the edge beside it.
        beyond = np.maximum(-middle, middle - (width, height)).max(axis=1)
        hidden &= ~outside | (beyond > SCAN_BESIDE * width)
    doubtful = faint | unseen
    if not scan:
        shapes = _shapes(objects, kinds, frame)
        covers = _Covers(np.append(images.order, shapes.order), np.concatenate([images.box, shapes.box]))
        doubtful |= _find_covered(objects, owner, middle, covers)
    doubtful &= ~hidden
    if doubtful.any():
        hidden[doubtful] = ~_seen(page, frame, words.box[doubtful], owner[doubtful], unseen[doubtful])
    return hidden


def _integers(numbers: Iterable[int]) -> _Ints:
    return np.fromiter(numbers, np.int64)


def _objects(page: Any) -> list[int]:
    """Returns the addresses of a page's objects in the order of drawing."""
    count = range(pdfium.FPDFPage_CountObjects(page))
    return list(map(_page_object, repeat(address_of(page)), count))


def _each(work: Any, objects: Sequence[int], into: npt.NDArray[Any]) -> _Bools:
    """Calls a function for each object with the addresses of the entries of its row; returns [N], true if it worked.

    into: [N, K], written in place.
    """
    base, entry = into.ctypes.data, into.itemsize
    row = entry * into.shape[1]
    end = base + row * len(objects)
    places = (range(base + entry * at, end + entry * at, row) for at in range(into.shape[1]))
    done: _Bools = _integers(map(work, objects, *places)) != 0
    return done


def _by_style(owner: _Ints) -> tuple[_Bools, _Ints]:
    """Returns two arrays [W]: true for words of a faint colour or a layer, and the mode in which words are drawn.

    owner: [W] the addresses of their text objects, 0 if there is none.
    """
    known, inverse = np.unique(owner, return_inverse=True)
    faint, mode = np.zeros(len(known), np.bool_), np.zeros(len(known), np.int64)
    real = known != 0
    objects = known[real].tolist()
    if objects:
        mode[real] = _integers(map(_render_mode, objects))
        colour = np.zeros((len(objects), 4), np.uint32)
        coloured = _each(_fill_colour, objects, colour)
        light = (colour[:, :3].min(axis=1) >= NEAR_WHITE) | (colour[:, 3] < OPAQUE_FROM)
        faint[real] = (coloured & light) | _on_layer(objects)
    return faint[inverse], mode[inverse]


def _on_layer(objects: Sequence[int]) -> _Bools:
    """Returns [N], true for objects that lie in marked content of an optional layer."""
    layered = np.zeros(len(objects), np.bool_)
    count = _integers(map(_mark_count, objects))
    for index in range(min(int(count.max(initial=0)), _MAX_MARKS)):
        owners = np.flatnonzero(count > index)
        some = [objects[at] for at in owners.tolist()]
        # Objects in one marked content share its mark.
        marks, inverse = np.unique(_integers(map(_mark, some, repeat(index))), return_inverse=True)
        names, size = np.zeros((len(marks), _NAME_BYTES), np.uint8), np.zeros(1, np.uint64)
        places = range(names.ctypes.data, names.ctypes.data + names.nbytes, _NAME_BYTES)
        deque(map(_mark_name, marks.tolist(), places, repeat(_NAME_BYTES), repeat(size.ctypes.data)), maxlen=0)
        layered[owners] |= (names[:, : len(_LAYER)] == _LAYER).all(axis=1)[inverse]
    return layered


def _images(objects: Sequence[int], kinds: _Ints, frame: Frame) -> _Covers:
    """Returns the images of a page, with the forms that may hold some."""
    return _boxes(objects, np.isin(kinds, (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)), frame)


def _holds_image(one: int, depth: int = 0) -> bool:
    """Returns whether an object is an image, or a form with one among its first objects."""
    kind = _type(one)
    deeper = kind == pdfium.FPDF_PAGEOBJ_FORM and depth < MAX_SHAPE_DEPTH
    inner = range(min(_form_count(one), MAX_SHAPES) if deeper else 0)
    return kind == pdfium.FPDF_PAGEOBJ_IMAGE or any(_holds_image(_form_object(one, at), depth + 1) for at in inner)


def _shapes(objects: Sequence[int], kinds: _Ints, frame: Frame) -> _Covers:
    """Returns the filled shapes of a page."""
    chosen = kinds == pdfium.FPDF_PAGEOBJ_PATH
    order = np.flatnonzero(chosen)
    mode = np.zeros((len(order), 2), np.int32)
    answered = _each(_draw_mode, [objects[at] for at in order.tolist()], mode)
    chosen[order] = answered & (mode[:, 0] != pdfium.FPDF_FILLMODE_NONE)
    return _boxes(objects, chosen, frame)


def _boxes(objects: Sequence[int], chosen: _Bools, frame: Frame) -> _Covers:
    order = np.flatnonzero(chosen)
    sides = np.zeros((len(order), 4), np.float32)
    answered = _each(_bounds, [objects[at] for at in order.tolist()], sides)
    left, bottom, right, top = sides.astype(np.float64).T
    box = frame.to_display(np.stack([left, top, right, bottom], axis=1))
    # Lines hide nothing.
    wide = answered & (np.minimum(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]) > 2.0)
    return _Covers(order[wide], box[wide])


def _find_covered(objects: Sequence[int], owner: _Ints, middle: _Floats, covers: _Covers) -> _Bools:
    """Returns [W], true for words whose middle lies below something that is drawn later."""
    covered = np.zeros(len(owner), np.bool_)
    if not len(covers.order):
        return covered
    order_of = {number: order for order, number in enumerate(objects)}
    # Text within a form has no place of its own in the order; what follows the last object hides nothing.
    order = np.array([order_of.get(number, len(objects)) for number in owner.tolist()])
    step = max(1, _PAIRS // len(owner))
    for begin in range(0, len(covers.order), step):
        some = slice(begin, begin + step)
        x0, y0, x1, y1 = covers.box[some].T[:, :, None]
        later = order < covers.order[some, None]
        inside = (middle[:, 0] >= x0) & (middle[:, 0] <= x1) & (middle[:, 1] >= y0) & (middle[:, 1] <= y1)
        covered |= (later & inside).any(axis=0)
    return covered


def _seen(page: Any, frame: Frame, box: _Floats, owner: _Ints, unseen: _Bools) -> _Bools:
    """Returns [W], true for words that leave a mark: the page is drawn with them and without.

    Words that are drawn invisible leave none; they count as seen where anything is drawn. The whole page is drawn,
    because pdfium's boxes of letters on later pages depend, by less than a point, on the letters that it drew before.
    """
    objects = [ctypes.cast(number, pdfium.FPDF_PAGEOBJECT) for number in np.unique(owner).tolist() if number]
    before = page_pixels(page, frame, _SCALE)
    for one in objects:
        pdfium.FPDFPageObj_SetIsActive(one, False)
    after = page_pixels(page, frame, _SCALE)
    for one in objects:
        pdfium.FPDFPageObj_SetIsActive(one, True)
    if before is None or after is None:
        return np.ones(len(box), np.bool_)
    seen = np.zeros(len(box), np.bool_)
    scale = before.shape[1] / frame.size[0]
    limits = np.array([before.shape[1], before.shape[0]] * 2)
    pixels = np.clip(np.stack([*(box[:, :2] * scale).T, *(box[:, 2:] * scale).T], axis=1), 0, limits)
    for at, (x0, y0, x1, y1) in enumerate(pixels.tolist()):
        rows, columns = slice(int(y0), max(int(y0) + 1, round(y1))), slice(int(x0), max(int(x0) + 1, round(x1)))
        place = before[rows, columns].astype(np.int16)
        if not place.size:
            continue
        if unseen[at]:
            seen[at] = int(place.max()) - int(place.min()) > _SEEN
        else:
            seen[at] = int(np.abs(place - after[rows, columns]).max()) > _SEEN
    return seen


_BAD = {"Co", "Cn", "Cc", "Cs"}


def mostly_unknown(words: PageWords) -> bool:
    """Returns True if most characters of a page's words have no meaning: U+FFFD, private and unassigned ones."""
    letters = "".join(words.text[:SMALL_LETTERS_OF])
    bad = sum(letter == "\ufffd" or unicodedata.category(letter) in _BAD for letter in letters)
    return bad > BAD_CHARACTERS * len(letters)


def is_text(words: PageWords, text_page: Any) -> bool:
    """Returns True if a page's words are text: with a letter or digit, and mostly of characters with a meaning."""
    letters = "".join(words.text[:SMALL_LETTERS_OF])
    if not any(map(str.isalnum, letters)) and not any(map(str.isalnum, "".join(words.text))):
        return False
    if mostly_unknown(words):
        return False
    first = words.first[:SMALL_LETTERS_OF].tolist()
    unmapped = sum(pdfium.FPDFText_HasUnicodeMapError(text_page, at) == 1 for at in first)
    if unmapped <= BAD_CHARACTERS * len(first):
        return True
    small, capital = sum(map(str.islower, letters)), sum(map(str.isupper, letters))
    return small >= SMALL_LETTERS * (small + capital)
