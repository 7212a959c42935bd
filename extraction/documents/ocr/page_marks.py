"""Adds the marks on a picture to the words that OCR read from it."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.marks.scanned import scanned_marks
from cinnabar.extraction.documents.ocr.page_text import MAX_WORDS
from cinnabar.extraction.documents.ocr.pictures import Pixels
from cinnabar.extraction.documents.ocr.text_lines import rotate_points
from cinnabar.extraction.documents.pdf.glyphs import PageWords
from cinnabar.extraction.documents.pdf.marked_words import with_marks

_Floats = npt.NDArray[np.float64]

# The probability of a mark: a box in doubt has a sign of its own.
_SURE = 0.99
# OCR is so sure of words that are printed.
_PRINTED = 0.9


def marked_page(
    words: PageWords, box: _Floats, sure: _Floats, pixels: Pixels, angle: float, zoom: float
) -> tuple[PageWords, _Floats, _Floats]:
    """Returns the words of a picture with its boxes and lines to write on, their boxes and their probabilities.

    words: upright and in points, `first` counts them. box: [W, 4] in `pixels`, [H, W] or [H, W, 3]. angle: of the page
    in degrees. zoom: points to a pixel.
    """
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY) if pixels.ndim == 3 else pixels, np.uint8)
    letters = np.array([bool(word.strip("_")) for word in words.text])
    found = scanned_marks(grey, 1 / zoom, box * zoom, box[letters & (sure >= _PRINTED)] * zoom)
    if not found or len(found) + len(words.text) > MAX_WORDS:
        return words, box, sure
    places = np.array([mark.place or mark.box for mark in found])
    level = rotate_points(places[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2), -angle).reshape(-1, 4, 2)
    upright = np.concatenate([level.min(axis=1), level.max(axis=1)], axis=1).tolist()
    words = with_marks(words, [replace(mark, place=tuple(place)) for mark, place in zip(found, upright, strict=True)])
    boxes = np.concatenate([box, np.array([mark.box for mark in found]) / zoom])
    return words, boxes[words.first], np.append(sure, np.full(len(found), _SURE))[words.first]
