"""Finds the marks on the picture of a page: boxes by their contours and their likes, and lines to write on."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.limits import MAX_BOXES
from cinnabar.extraction.documents.marks.boxes_and_lines import (
    BOX_ASPECT,
    LEAST_SIDE,
    LONGEST_LINE,
    MOST_SIDE,
    SHORTEST_LINE,
    Mark,
    Pixels,
    Place,
    Rule,
    box_marks,
    line_marks,
    to_write_on,
)

_Boxes = npt.NDArray[np.float64]

# Pixels to a point in which marks are looked for: 200 dots an inch.
_SCALE = 200 / 72
# Points of a line without a break; in a line of letters no piece is so long.
_LINE_PIECE = 10.0
# Points that each piece is made longer, so that pieces touch between which a pen crossed the line.
_JOINED_PIECES = 10.0
# A place has a likeness of at least this share with a pattern.
_PATTERN_LIKENESS = 0.84


def scanned_marks(grey: Pixels, scale: float, words: _Boxes, printed: _Boxes) -> list[Mark]:
    """Returns the boxes on a page with their states, and the lines to write on, in points.

    grey: [H, W], `scale` pixels to a point. words: [W, 4] the boxes of the page's words in points; letters of words are
    no boxes. printed: [P, 4] the boxes of those that are surely no readings of handwriting.
    """
    cv2.setNumThreads(1)
    zoom = min(1.0, _SCALE / scale)
    if zoom < 1.0:
        size = max(1, round(grey.shape[1] * zoom)), max(1, round(grey.shape[0] * zoom))
        grey = np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), np.uint8)
    scale *= zoom
    if min(grey.shape) < 3 * MOST_SIDE * scale:
        return []
    block = round(6 * LEAST_SIDE * scale) | 1
    binary = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, block, 22)
    dark = np.asarray(binary, np.uint8)
    places = [place for place in _outlines(dark, scale) if not _is_letter(place, words)]
    boxes = box_marks(grey, scale, places, scan=True)
    if boxes:
        # A tick that goes beyond its box hides its contour, but not most of the outline that its neighbours have.
        side = float(np.median([mark.box[2] - mark.box[0] for mark in boxes]))
        places += [place for place in _alike(dark, scale, side) if not _is_letter(place, words)]
        boxes = box_marks(grey, scale, places, scan=True)
    return [*boxes, *line_marks(grey, scale, to_write_on(_rules(dark, scale), words, printed), words)]


def _rules(dark: Pixels, scale: float) -> list[Rule]:
    """Returns the level lines of a page that are not part of a longer one, in points."""
    thick = cv2.dilate(dark, np.ones((3, 1), np.uint8))
    level = cv2.morphologyEx(thick, cv2.MORPH_OPEN, np.ones((1, round(_LINE_PIECE * scale)), np.uint8))
    # A leaning line falls into pieces, one below the other, which touch again when they are made higher and longer.
    level = cv2.dilate(level, np.ones((3, round(2 * _JOINED_PIECES * scale)), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(level, connectivity=8)
    rules: list[Rule] = []
    for number, (x, y, wide, high, _) in enumerate(stats.tolist()):
        if (
            number
            and SHORTEST_LINE <= wide / scale - 2 * _JOINED_PIECES <= LONGEST_LINE
            and high / scale < 3.0 + 0.06 * wide / scale
        ):
            part = labels[y : y + high, x : x + wide] == number
            left, right = (y + np.nonzero(side)[0].mean() for side in (part[:, : wide // 8], part[:, -wide // 8 :]))
            rules.append((x / scale + _JOINED_PIECES, left / scale, (x + wide) / scale - _JOINED_PIECES, right / scale))
    return rules


def _outlines(dark: Pixels, scale: float) -> Iterator[Place]:
    """Yields the places about as wide as high of contours, in points."""
    contours, _ = cv2.findContours(dark, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    for contour in contours:
        x, y, wide, high = cv2.boundingRect(contour)
        if LEAST_SIDE * scale <= min(wide, high) and max(wide, high) <= min(
            MOST_SIDE * scale, BOX_ASPECT * min(wide, high)
        ):
            yield x / scale, y / scale, (x + wide - 1) / scale, (y + high - 1) / scale


def _alike(dark: Pixels, scale: float, side: float) -> Iterator[Place]:
    """Yields the places, in points, where most of a square or a circle of this size is dark."""
    thick = cv2.dilate(dark, np.ones((2, 2), np.uint8)).astype(np.float32) / 255
    size = round(side * scale)
    square, ring = np.zeros((2, size + 4, size + 4), np.float32)
    cv2.rectangle(square, (2, 2), (size + 1, size + 1), 1.0, 1)
    cv2.circle(ring, ((size + 3) // 2, (size + 3) // 2), (size - 1) // 2, 1.0, 1, cv2.LINE_AA)
    for pattern in (square, ring):
        like = cv2.matchTemplate(thick, pattern / pattern.sum(), cv2.TM_CCORR)
        peaks = (like >= _PATTERN_LIKENESS) & (like >= cv2.dilate(like, np.ones((size // 2, size // 2), np.uint8)))
        for y, x in np.argwhere(peaks)[: 4 * MAX_BOXES].tolist():
            yield (x + 1.5) / scale, (y + 1.5) / scale, (x + size + 0.5) / scale, (y + size + 0.5) / scale


def _is_letter(place: Place, words: _Boxes) -> bool:
    """Returns True for a place that a word reaches beyond on both sides, or on one side and above it."""
    x0, top, x1, bottom = place
    middle, side = (top + bottom) / 2, x1 - x0
    level = (words[:, 1] < middle) & (words[:, 3] > middle) & (words[:, 0] < x1) & (words[:, 2] > x0)
    left, right = words[:, 0] < x0 - 0.4 * side, words[:, 2] > x1 + 0.4 * side
    higher = words[:, 3] - words[:, 1] > 1.45 * side + 0.05 * (words[:, 2] - words[:, 0])
    return bool((level & ((left & right) | ((left | right) & higher))).any())
