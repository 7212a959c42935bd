"""Adds the marks on a picture to the words that OCR read from it."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from cinnabar.extraction.documents.marks.placing import placed
from cinnabar.extraction.documents.marks.scanned import scanned_marks
from cinnabar.extraction.documents.ocr.page_text import MAX_WORDS, PageText
from cinnabar.extraction.documents.ocr.pictures import Pixels

# Points that a line of text is high, as the layout of a page takes them; a picture does not tell its resolution.
_LINE = 12.0
# The probability of a mark: a box in doubt has a sign of its own.
_SURE = 0.99
# OCR is so sure of words that are printed.
_PRINTED = 0.9


def with_marks(page: PageText, pixels: Pixels, scale: float, line: float) -> PageText:
    """Returns a page with its boxes and the lines to write on among its words.

    pixels: [H, W, 3] or [H, W], `scale` to a pixel of the file, in which the page's boxes are. line: the height of a
    line of text in `pixels`.
    """
    if not page.text or line < 1.0:
        return page
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY) if pixels.ndim == 3 else pixels, np.uint8)
    point = line / _LINE
    words = page.box.astype(np.float64) * scale / point
    letters = np.array([bool(word.strip("_")) for word in page.text])
    found = scanned_marks(grey, point, words, words[letters & (page.sure >= _PRINTED)])
    if not found or len(found) + len(page.text) > MAX_WORDS:
        return page
    factor = point / scale
    boxes = (np.array([mark.box for mark in found]) * factor).tolist()
    marks = [replace(mark, box=tuple(box)) for mark, box in zip(found, boxes, strict=True)]
    text, gap, box, source = placed(page.text, page.gap, page.box, marks)
    sure = np.append(page.sure, np.float32(_SURE))[source]
    return PageText(tuple(text), tuple(gap), box, sure, page.damaged)
