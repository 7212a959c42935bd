"""Finds the marks on the picture of a page: squares by their sides, circles by their likes, and lines to write on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import cv2
import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.marks.ink import Mark, Pixels
from cinnabar.extraction.documents.marks.judging import MAX_FOUND, MOST, Place, looks_of, marks_of
from cinnabar.extraction.documents.marks.lines import LONGEST, SHORTEST, Rule, line_marks

_Boxes = npt.NDArray[np.float64]

# Pixels to a point in which marks are looked for: 200 dots an inch.
_SCALE = 200 / 72
# The shortest side of a box in points, and how far its two sides may differ.
_LEAST, _ASPECT = 6.0, 1.3
# Beyond so many short strokes a page is a picture.
_MAX_RUNS = 4_000
# Points of a line without a break; in a line of letters no piece is so long.
_PIECE = 10.0
# Points that each piece is made longer, so that pieces touch between which a pen crossed the line.
_JOINED = 10.0
# A circle has a likeness of at least this share with its pattern.
_LIKE = 0.84


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
    if min(grey.shape) < 3 * MOST * scale:
        return []
    block = round(6 * _LEAST * scale) | 1
    binary = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, block, 22)
    dark = np.asarray(binary, np.uint8)
    places = _places([*_squares(dark, scale), *_circles(dark, scale)], scale, words)
    looks = looks_of(grey, scale, places, scan=True)
    if looks:
        # A tick that goes beyond its box hides its sides, but not most of the outline that its neighbours have.
        places += _places(_alike(dark, scale, [place for place, _ in looks]), scale, words)
        looks = looks_of(grey, scale, places, scan=True)
    return [*marks_of(looks), *line_marks(grey, scale, _rules(dark, scale), words, printed)]


def _places(found: Iterable[Place], scale: float, words: _Boxes) -> list[Place]:
    """Returns the places in points that are no letters."""
    points = [(x0 / scale, y0 / scale, x1 / scale, y1 / scale) for x0, y0, x1, y1 in found]
    return [place for place in points if not _is_letter(place, words)]


def _rules(dark: Pixels, scale: float) -> list[Rule]:
    """Returns the level lines of a page that are not part of a longer one, in points."""
    thick = cv2.dilate(dark, np.ones((3, 1), np.uint8))
    level = cv2.morphologyEx(thick, cv2.MORPH_OPEN, np.ones((1, round(_PIECE * scale)), np.uint8))
    # A leaning line falls into pieces, one below the other, which touch again when they are made higher and longer.
    level = cv2.dilate(level, np.ones((3, round(2 * _JOINED * scale)), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(level, connectivity=8)
    rules: list[Rule] = []
    for number, (x, y, wide, high, _) in enumerate(stats.tolist()):
        if number and SHORTEST <= wide / scale - 2 * _JOINED <= LONGEST and high / scale < 3.0 + 0.06 * wide / scale:
            part = labels[y : y + high, x : x + wide] == number
            ends = [y + float(np.nonzero(side)[0].mean()) for side in (part[:, : wide // 8], part[:, -wide // 8 :])]
            inner = round(_JOINED * scale)
            rules.append(_whole(dark, (x + inner, ends[0], x + wide - inner, ends[1]), scale))
    return rules


def _whole(dark: Pixels, rule: Rule, scale: float) -> Rule:
    """Returns a line in points, as long as it goes on below letters, from its piece in pixels."""
    x0, y0, x1, y1 = rule
    slope = (y1 - y0) / (x1 - x0)
    columns = np.arange(dark.shape[1])
    rows = np.round(y0 + slope * (columns - x0)).astype(np.int64) + np.arange(-2, 3)[:, None]
    drawn = dark[np.clip(rows, 0, dark.shape[0] - 1), columns].max(axis=0) > 0
    gap = round(2 * scale)
    # Breaks up to the gap are closed; the run around the piece is the line.
    near = np.convolve(drawn, np.ones(gap), "same") > 0
    begins, ends = np.flatnonzero(~near[: int(x0)]), np.flatnonzero(~near[int(x1) :])
    left = float(begins[-1] + gap / 2) if len(begins) else 0.0
    right = float(x1 + ends[0] - gap / 2) if len(ends) else float(dark.shape[1])
    return left / scale, (y0 + slope * (left - x0)) / scale, right / scale, (y0 + slope * (right - x0)) / scale


def _squares(dark: Pixels, scale: float) -> Iterator[Place]:
    """Yields places between two short level strokes that lie one below the other, and solid squares."""
    least, most = _LEAST * scale, MOST * scale
    # A stroke of a leaning page is level for a few pixels only; its neighbours above and below count with it.
    thick = cv2.dilate(dark, np.ones((3, 1), np.uint8))
    level = cv2.morphologyEx(thick, cv2.MORPH_OPEN, np.ones((1, round(0.85 * least)), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(level, connectivity=8)
    x, y, wide, high = (stats[1:, at].astype(np.float64) for at in range(4))
    fits = (wide >= 0.85 * least) & (wide <= 1.15 * most) & (high <= 1.15 * most)
    if not 0 < int(fits.sum()) <= _MAX_RUNS:
        return
    x, y, wide, high = x[fits], y[fits], wide[fits], high[fits]
    for at in np.flatnonzero(high > 0.7 * wide).tolist():
        yield x[at], y[at] + 1, x[at] + wide[at] - 1, y[at] + high[at] - 2
    order = np.argsort(y)
    x, y, wide, high = x[order], y[order], wide[order], high[order]
    begins = np.searchsorted(y, y + 0.7 * least)
    ends = np.searchsorted(y, y + _ASPECT * np.minimum(wide * 1.15, most), side="right")
    for top in range(len(x)):
        below = np.arange(begins[top], ends[top])
        side = np.maximum(wide[top], wide[below])
        down = y[below] + high[below] - 2 - y[top]
        beside = (np.abs(x[below] - x[top]) < 0.25 * side) & (
            np.abs(x[below] + wide[below] - x[top] - wide[top]) < 0.25 * side
        )
        square = (down > side / _ASPECT) & (down < _ASPECT * side)
        for at in below[beside & square].tolist():
            yield (
                (x[top] + x[at]) / 2, y[top] + 1, (x[top] + wide[top] + x[at] + wide[at]) / 2 - 1, y[at] + high[at] - 2
            )  # fmt: skip


def _circles(dark: Pixels, scale: float) -> Iterator[Place]:
    """Yields rings that are a component of their own."""
    contours, tree = cv2.findContours(dark, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    if tree is None:
        return
    for contour, (_, _, child, parent) in zip(contours, tree[0].tolist(), strict=True):
        x, y, wide, high = cv2.boundingRect(contour)
        fits = _LEAST * scale <= min(wide, high) and max(wide, high) <= min(MOST * scale, 1.15 * min(wide, high))
        if parent >= 0 or child < 0 or not fits:
            continue
        area, around = cv2.contourArea(contour), cv2.arcLength(contour, True)
        if 4 * np.pi * area / around**2 > 0.8 and cv2.contourArea(contours[child]) > 0.5 * area < 0.43 * wide * high:
            yield x, y, x + wide - 1, y + high - 1


def _alike(dark: Pixels, scale: float, boxes: Sequence[Place]) -> Iterator[Place]:
    """Yields the places where most of a square or a circle of the usual size of these boxes is dark."""
    thick = cv2.dilate(dark, np.ones((2, 2), np.uint8)).astype(np.float32) / 255
    size = round(float(np.median([x1 - x0 for x0, _, x1, _ in boxes])) * scale)
    for draw in (_square_pattern, _ring_pattern):
        pattern = draw(size)
        like = cv2.matchTemplate(thick, pattern / pattern.sum(), cv2.TM_CCORR)
        peaks = (like >= _LIKE) & (like >= cv2.dilate(like, np.ones((size // 2, size // 2), np.uint8)))
        for y, x in np.argwhere(peaks)[: 4 * MAX_FOUND].tolist():
            yield x + 1.5, y + 1.5, x + size + 0.5, y + size + 0.5


def _square_pattern(size: int) -> npt.NDArray[np.float32]:
    pattern = np.zeros((size + 4, size + 4), np.float32)
    cv2.rectangle(pattern, (2, 2), (size + 1, size + 1), 1.0, 1)
    return pattern


def _ring_pattern(size: int) -> npt.NDArray[np.float32]:
    pattern = np.zeros((size + 4, size + 4), np.float32)
    cv2.circle(pattern, ((size + 3) // 2, (size + 3) // 2), (size - 1) // 2, 1.0, 1, cv2.LINE_AA)
    return pattern


def _is_letter(place: Place, words: _Boxes) -> bool:
    """Returns True for a place that a word reaches beyond on both sides, or on one side and above it."""
    if not len(words):
        return False
    x0, top, x1, bottom = place
    middle, side = (top + bottom) / 2, x1 - x0
    level = (words[:, 1] < middle) & (words[:, 3] > middle) & (words[:, 0] < x1) & (words[:, 2] > x0)
    left, right = words[:, 0] < x0 - 0.4 * side, words[:, 2] > x1 + 0.4 * side
    higher = words[:, 3] - words[:, 1] > 1.45 * side + 0.05 * (words[:, 2] - words[:, 0])
    return bool((level & ((left & right) | ((left | right) & higher))).any())
