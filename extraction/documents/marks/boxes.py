"""Boxes to tick: whether a place of a page is one, by its outline, and whether it is ticked, by the ink in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
_Floats = npt.NDArray[np.float64]
#: A box (x0, top, x1, bottom).
Place = tuple[float, float, float, float]

#: A mark in a document's text: a box that is empty, ticked or in doubt; a line that somebody wrote on or that is empty.
EMPTY, TICKED, DOUBTFUL, WRITTEN, BLANK = "☐", "☒", "⍰", "✍", "____"
#: The sides of a box in points, and how far two of them may differ.
LEAST, MOST, ASPECT = 5.5, 26.0, 1.3
#: A page with more boxes is a pattern, such as a code of dots or a map.
MAX_FOUND = 400
# Shares of ink within a box: an empty one has less than the first, a ticked one more than the second (tuned on designs
# of `bench.marks`); beyond the third it is solid.
_EMPTY_BELOW, _TICKED_FROM, _SOLID = 0.022, 0.04, 0.6
# Cells in a row stand so near to each other in points, with their borders.
_TOUCHING = 2.5
# Boxes of one size differ by less than this share.
_ALIKE = 0.3
# The radius of the middle of a box, without an outline that may lean, as a share of its side.
_RADIUS = 0.3
# Less contrast between the outline and the paper is no outline.
_CONTRAST = 40.0
# Ink of less than the first share of the outline's darkness is grain; from the second on it counts in full.
_GRAIN, _FULL, _DARK = 0.22, 0.6, 0.45
# Of each side of an outline at least this share is dark, and of a circle.
_SIDE, _RING = 0.8, 0.82
# Around a box, between these shares of its side, the paper is bare, except for a label; within a line of letters it is
# not.
_NEAR, _FAR, _CROWDED, _LABELLED = 0.12, 0.32, 0.22, 0.5
_ANGLES = np.linspace(0, 2 * np.pi, 48, endpoint=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark with its box, its sign, and the place among words that it is read at, if that is another one."""

    box: Place
    sign: str
    place: Place | None = None


def box_marks(grey: Pixels, scale: float, places: Sequence[Place], scan: bool = False) -> list[Mark]:
    """Returns the places with a closed outline, in points; of those that overlap the largest, on a scan the clearest.

    Cells in a row are left out. Of about one size, solid ones count only beside hollow ones, and circles beside
    circles: a solid square alone may be the bullet of a list, a circle a letter. grey: [H, W], `scale` pixels to a
    point. scan: what is among letters may be some of them, and is left out.
    """
    seen = [(place, *look) for place in places if (look := _look(grey, scale, place, scan)) is not None]
    looks: list[tuple[Place, float, float, float]] = []
    # Drawings of one box differ in less than a step of their outlines' dark shares.
    for one in sorted(seen, key=lambda one: (-round(max(one[1:3]), 1) if scan else 0.0, one[0][0] - one[0][2])):
        if not any(_overlap(one[0], other) for other, *_ in looks):
            looks.append(one)
    looks = [one for one in looks if not any(_touch(one[0], other) for other, *_ in looks)]
    marks = []
    for place, square, _, ink in looks if len(looks) <= MAX_FOUND else ():
        alike = [(other[1], other[3]) for other in looks if other[0] != place and _equal(other[0], place)]
        hollow = min([ink, *(ink for _, ink in alike)]) <= _SOLID
        if hollow and (square >= _SIDE or any(other < _SIDE for other, _ in alike)):
            sign = EMPTY if ink < _EMPTY_BELOW else TICKED if ink >= _TICKED_FROM else DOUBTFUL
            marks.append(Mark(place, sign))
    return marks


def _equal(one: Place, other: Place) -> bool:
    return abs(math.log((one[2] - one[0]) / (other[2] - other[0]))) < _ALIKE


def _touch(one: Place, other: Place) -> bool:
    """Returns True for cells in a row, one for each letter."""
    return min(abs(one[0] - other[2]), abs(one[2] - other[0])) < _TOUCHING and abs(one[1] - other[1]) < _TOUCHING


def _overlap(one: Place, other: Place) -> bool:
    """Returns True for places that share more than .3 of the smaller one."""
    across, down = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((at[2] - at[0]) * (at[3] - at[1]) for at in (one, other))
    return across > 0 and down > 0 and across * down > 0.3 * smaller


def _look(grey: Pixels, scale: float, place: Place, scan: bool) -> tuple[float, float, float] | None:
    """Returns the dark shares of an outline, square and round, and that of its middle; None if it is not closed."""
    x0, top, x1, bottom = (side * scale for side in place)
    margin = 0.35 * max(x1 - x0, bottom - top)
    left, upper = int(max(0, x0 - margin)), int(max(0, top - margin))
    part = grey[upper : int(bottom + margin) + 1, left : int(x1 + margin) + 1].astype(np.float64)
    if min(part.shape, default=0) < 6:
        return None
    paper, ink = np.percentile(part, (85, 4))
    if paper - ink < _CONTRAST:
        return None
    dark = np.clip((paper - part) / (paper - ink), 0.0, 1.0)
    x0, top, x1, bottom = x0 - left, top - upper, x1 - left, bottom - upper
    square, ring = _square(dark, (x0, top, x1, bottom)), _ellipse_share(dark, (x0, top, x1, bottom))
    y, x = np.ogrid[: dark.shape[0], : dark.shape[1]]
    inner = dark[np.hypot((2 * x - x0 - x1) / (x1 - x0), (2 * y - top - bottom) / (bottom - top)) < 2 * _RADIUS]
    if not inner.size or (square < _SIDE and ring < _RING) or (scan and _is_crowded(dark, (x0, top, x1, bottom))):
        return None
    return square, ring, float(np.clip((inner - _GRAIN) / (_FULL - _GRAIN), 0.0, 1.0).mean())


def _square(dark: _Floats, place: Place) -> float:
    """Returns the least share of a side that is dark."""
    x0, top, x1, bottom = place
    reach = max(1.5, 0.1 * (x1 - x0))
    shares = []
    for lines, edges, ends in ((dark, (top, bottom), (x0, x1)), (dark.T, (x0, x1), (top, bottom))):
        for edge in edges:
            band = lines[int(max(0, edge - reach)) : int(edge + reach) + 1, max(0, round(ends[0])) : round(ends[1])]
            hit = band.max(axis=0) > _DARK if band.size else np.zeros(1)
            corner = max(2, len(hit) // 7)
            shares.append(float(hit.mean()) * bool(min(hit[:corner].mean(), hit[-corner:].mean()) >= 0.5))
    return min(shares)


def _is_crowded(dark: _Floats, place: Place) -> bool:
    """Returns True if there is ink on more than one side of a place."""
    x0, top, x1, bottom = place
    near, far = _NEAR * (x1 - x0) + 1, _FAR * (x1 - x0) + 1
    down, across = slice(round(max(0, top)), round(bottom)), slice(round(max(0, x0)), round(x1))
    bands = [
        lines[own, round(max(0, at)) : round(max(0, at + far - near))]
        for lines, own, begin, end in ((dark, down, x0, x1), (dark.T, across, top, bottom))
        for at in (begin - far, end + near)
    ]
    second, fullest = sorted(float((band > _DARK).mean()) if band.size else 0.0 for band in bands)[-2:]
    return second > _CROWDED or fullest > _LABELLED


def _ellipse_share(dark: _Floats, place: Place) -> float:
    """Returns the share of the inscribed ellipse that is dark."""
    x0, top, x1, bottom = place
    shrink = np.array([[1.04], [0.96], [0.9], [0.84]]) / 2
    x = np.round((x0 + x1) / 2 + np.cos(_ANGLES) * shrink * (x1 - x0)).astype(np.int64)
    y = np.round((top + bottom) / 2 + np.sin(_ANGLES) * shrink * (bottom - top)).astype(np.int64)
    hits = dark[np.clip(y, 0, dark.shape[0] - 1), np.clip(x, 0, dark.shape[1] - 1)].max(axis=0)
    return float((hits > _DARK).mean())
