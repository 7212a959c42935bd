"""Boxes to tick and lines to write on: places with an outline or a line, told by the ink in or above them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.limits import MAX_BOXES, MAX_RULES

Pixels = npt.NDArray[np.uint8]
_Floats = npt.NDArray[np.float64]
#: A box (x0, top, x1, bottom).
Place = tuple[float, float, float, float]

#: A mark in a document's text: a box that is empty, ticked or in doubt; a line that somebody wrote on or that is empty.
EMPTY, TICKED, DOUBTFUL, WRITTEN, BLANK = "☐", "☒", "⍰", "✍", "____"
# Thresholds of boxes: sides in points, shares of ink from 0 to 1.

#: The sides of a box in points, and how far two of them may differ.
LEAST_SIDE, MOST_SIDE, BOX_ASPECT = 5.5, 26.0, 1.3
#: Shares of ink within a box: an empty one has less than the first, a ticked one more than the second (tuned on designs
#: of `bench.marks`); beyond the third it is solid.
EMPTY_BELOW, TICKED_FROM, SOLID_FROM = 0.022, 0.04, 0.6
#: Cells in a row stand so near to each other in points, with their borders.
TOUCHING = 2.5
#: Boxes of one size differ by less than this share.
ALIKE_SIZES = 0.3
#: The radius of the middle of a box, without an outline that may lean, as a share of its side.
MIDDLE_RADIUS = 0.3
#: Less contrast between the outline and the paper is no outline.
OUTLINE_CONTRAST = 40.0
#: Ink of less than the first share of the outline's darkness is grain; from the second on it counts in full.
INK_GRAIN, INK_FULL, INK_DARK = 0.22, 0.6, 0.45
#: Of each side of an outline at least this share is dark, and of a circle.
BOX_SIDE, BOX_RING = 0.8, 0.82
#: Around a box, between these shares of its side, the paper is bare, except for a label; within a line of letters it is
#: not.
BARE_NEAR, BARE_FAR, CROWDED_FROM, LABELLED_FROM = 0.12, 0.32, 0.22, 0.5

# Thresholds of lines that people write on.

#: Lengths of such lines in points.
SHORTEST_LINE, LONGEST_LINE = 70.0, 360.0
#: Points above a line in which people write, and below it in which its label begins; and beside its beginning.
WRITTEN_ABOVE, LABEL_BELOW, LABEL_BESIDE = 22.0, 16.0, 24.0
#: A label that ends with a colon may end so far before its line, as lines begin in one column.
LABEL_FAR = 150.0
#: A label below that begins so near to its line counts more than one before it.
LABEL_CLOSE = 7.0
#: Shares of a line's columns with ink above it: an empty one has less than the first, a written one more.
LINE_EMPTY_BELOW, LINE_WRITTEN_FROM = 0.03, 0.12
#: The ends of two rows of a table are so near to each other.
ROW_ENDS = 6.0
#: Ink is darker than the paper by so much of 255.
INK_BELOW_PAPER = 50

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
    for place, square, _, ink in looks if len(looks) <= MAX_BOXES else ():
        alike = [(other[1], other[3]) for other in looks if other[0] != place and _equal(other[0], place)]
        hollow = min([ink, *(ink for _, ink in alike)]) <= SOLID_FROM
        if hollow and (square >= BOX_SIDE or any(other < BOX_SIDE for other, _ in alike)):
            sign = EMPTY if ink < EMPTY_BELOW else TICKED if ink >= TICKED_FROM else DOUBTFUL
            marks.append(Mark(place, sign))
    return marks


def _equal(one: Place, other: Place) -> bool:
    return abs(math.log((one[2] - one[0]) / (other[2] - other[0]))) < ALIKE_SIZES


def _touch(one: Place, other: Place) -> bool:
    """Returns True for cells in a row, one for each letter."""
    return min(abs(one[0] - other[2]), abs(one[2] - other[0])) < TOUCHING and abs(one[1] - other[1]) < TOUCHING


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
    if paper - ink < OUTLINE_CONTRAST:
        return None
    dark = np.clip((paper - part) / (paper - ink), 0.0, 1.0)
    x0, top, x1, bottom = x0 - left, top - upper, x1 - left, bottom - upper
    square, ring = _square(dark, (x0, top, x1, bottom)), _ellipse_share(dark, (x0, top, x1, bottom))
    y, x = np.ogrid[: dark.shape[0], : dark.shape[1]]
    inner = dark[np.hypot((2 * x - x0 - x1) / (x1 - x0), (2 * y - top - bottom) / (bottom - top)) < 2 * MIDDLE_RADIUS]
    if not inner.size or (square < BOX_SIDE and ring < BOX_RING) or (scan and _is_crowded(dark, (x0, top, x1, bottom))):
        return None
    return square, ring, float(np.clip((inner - INK_GRAIN) / (INK_FULL - INK_GRAIN), 0.0, 1.0).mean())


def _square(dark: _Floats, place: Place) -> float:
    """Returns the least share of a side that is dark."""
    x0, top, x1, bottom = place
    reach = max(1.5, 0.1 * (x1 - x0))
    shares = []
    for lines, edges, ends in ((dark, (top, bottom), (x0, x1)), (dark.T, (x0, x1), (top, bottom))):
        for edge in edges:
            band = lines[int(max(0, edge - reach)) : int(edge + reach) + 1, max(0, round(ends[0])) : round(ends[1])]
            hit = band.max(axis=0) > INK_DARK if band.size else np.zeros(1)
            corner = max(2, len(hit) // 7)
            shares.append(float(hit.mean()) * bool(min(hit[:corner].mean(), hit[-corner:].mean()) >= 0.5))
    return min(shares)


def _is_crowded(dark: _Floats, place: Place) -> bool:
    """Returns True if there is ink on more than one side of a place."""
    x0, top, x1, bottom = place
    near, far = BARE_NEAR * (x1 - x0) + 1, BARE_FAR * (x1 - x0) + 1
    down, across = slice(round(max(0, top)), round(bottom)), slice(round(max(0, x0)), round(x1))
    bands = [
        lines[own, round(max(0, at)) : round(max(0, at + far - near))]
        for lines, own, begin, end in ((dark, down, x0, x1), (dark.T, across, top, bottom))
        for at in (begin - far, end + near)
    ]
    second, fullest = sorted(float((band > INK_DARK).mean()) if band.size else 0.0 for band in bands)[-2:]
    return second > CROWDED_FROM or fullest > LABELLED_FROM


def _ellipse_share(dark: _Floats, place: Place) -> float:
    """Returns the share of the inscribed ellipse that is dark."""
    x0, top, x1, bottom = place
    shrink = np.array([[1.04], [0.96], [0.9], [0.84]]) / 2
    x = np.round((x0 + x1) / 2 + np.cos(_ANGLES) * shrink * (x1 - x0)).astype(np.int64)
    y = np.round((top + bottom) / 2 + np.sin(_ANGLES) * shrink * (bottom - top)).astype(np.int64)
    hits = dark[np.clip(y, 0, dark.shape[0] - 1), np.clip(x, 0, dark.shape[1] - 1)].max(axis=0)
    return float((hits > INK_DARK).mean())


_Boxes = npt.NDArray[np.float64]

#: A line from its left end (x, y) to its right end (x, y).
Rule = tuple[float, float, float, float]



def to_write_on(
    rules: Sequence[Rule], words: _Boxes, printed: _Boxes, asking: npt.NDArray[np.bool_] | None = None
) -> list[tuple[Rule, Place]]:
    """Returns the lines with a label, without print on them and none of a table, and the places they are read at.

    words, printed: [W, 4], [P, 4] boxes of words in points, and of those that are surely no readings of a hand's.
    asking: [W] the words that end with a colon, if that is known.
    """
    asking = np.zeros(len(words), np.bool_) if asking is None else asking
    found: dict[Place, Rule] = {}
    for rule in rules[:MAX_RULES]:
        fits = SHORTEST_LINE <= rule[2] - rule[0] <= LONGEST_LINE and not _on(rule, printed)[1].any()
        # No other line stands before this one on its level.
        first = not any(abs(one[1] - rule[1]) < ROW_ENDS and one[0] < rule[0] - 1 for one in rules)
        far = asking & first
        if fits and not _in_table(rule, rules) and (place := _place(rule, words, far)) is not None:
            # Of two strokes on one line one is a pen's.
            found.setdefault(place, rule)
    return [(rule, place) for place, rule in found.items()]


def line_marks(grey: Pixels, scale: float, lines: Sequence[tuple[Rule, Place]], words: _Boxes) -> list[Mark]:
    """Returns these lines as empty, written on or in doubt. grey: [H, W], `scale` pixels to a point."""
    marks = []
    for rule, place in lines:
        share = _written(grey, scale, rule, words)
        sign = BLANK if share < LINE_EMPTY_BELOW else WRITTEN if share >= LINE_WRITTEN_FROM else DOUBTFUL
        x0, y0, x1, y1 = rule
        marks.append(Mark((x0, min(y0, y1) - WRITTEN_ABOVE / 2, x1, max(y0, y1)), sign, place))
    return marks


def _height(rule: Rule, x: _Floats) -> _Floats:
    """Returns the heights of a line, which may lean, at these places."""
    x0, y0, x1, y1 = rule
    heights: _Floats = y0 + (np.clip(x, x0, x1) - x0) * (y1 - y0) / (x1 - x0)
    return heights


def _in_table(rule: Rule, rules: Sequence[Rule]) -> bool:
    """Returns True for a line with another one near it that has the same ends."""
    x0, y0, x1, y1 = rule
    return any(
        1.5 < abs(other[1] + other[3] - y0 - y1) / 2 < WRITTEN_ABOVE
        and max(abs(other[0] - x0), abs(other[2] - x1)) < ROW_ENDS
        for other in rules
    )


def _place(rule: Rule, words: _Boxes, asking: npt.NDArray[np.bool_]) -> Place | None:
    """Returns the place before the label below a line, or behind the one that stands before it; else None."""
    x0, _, x1, _ = rule
    left, top, right, bottom = words.T
    middle = (left + right) / 2
    y = _height(rule, middle)
    level = (bottom > y - 6) & (top < y - 2) & (bottom < y + 8) & (right < x0 + 8)
    nearest = right >= right.max(initial=-np.inf, where=level)
    before = level & ((right > x0 - LABEL_BESIDE) | (asking & nearest & (right > x0 - LABEL_FAR)))
    near = (top > y - 4) & (top < y + LABEL_BELOW) & (bottom > y + 4) & (right > x0 - 40) & (left < x1 + 40)
    under = np.flatnonzero(near & (middle > x0 - 5) & (middle < x1 + 5))
    if len(under) and len(under) == near.sum() and (not before.any() or (top[under] < y[under] + LABEL_CLOSE).any()):
        first = under[top[under] - top[under].min() < 4]
        a, b, _, d = words[first[np.argmin(left[first])]].tolist()
        return a - 4, b, a - 1, d
    if not before.any():
        return None
    _, b, c, d = words[before][np.argmax(right[before])].tolist()
    return c - 1, b, c + 1, d


def _written(grey: Pixels, scale: float, rule: Rule, words: _Boxes) -> float:
    """Returns the share of a line's columns with ink above it."""
    x0, _, x1, _ = rule
    columns = np.arange(int(max(0, x0 + 2) * scale), min(int((x1 - 2) * scale), grey.shape[1]))
    level = np.round(_height(rule, columns / scale) * scale).astype(np.int64)
    rows = level + np.arange(round(-WRITTEN_ABOVE * scale), round(-2.2 * scale))[:, None]
    part = grey[np.clip(rows, 0, grey.shape[0] - 1), columns].astype(np.int16)
    if part.size == 0:
        return 0.0
    dark = part < np.percentile(part, 90) - INK_BELOW_PAPER
    above, own = _on(rule, words)
    for a, _, b, d in words[above & ~own].tolist():
        # Words of the line above reach down into the place.
        dark[(rows < (d + 1) * scale) & (columns >= a * scale) & (columns <= b * scale)] = False
    # A speck of dust is in one or two rows.
    return float((dark.sum(axis=0) >= max(1, round(0.35 * scale))).mean())


def _on(rule: Rule, words: _Boxes) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Returns two arrays [W]: the words that reach into the place above a line, and those that stand on it."""
    x0, _, x1, _ = rule
    left, top, right, bottom = words.T
    y = _height(rule, (left + right) / 2)
    on = (bottom > y - WRITTEN_ABOVE) & (top < y - 4) & (left < x1) & (right > x0)
    return on, on & (bottom > y - 9) & (left > x0 - 2)
