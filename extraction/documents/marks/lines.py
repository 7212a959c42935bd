"""Lines to write on, and whether somebody wrote there: by the ink above them that is no printed text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.marks.boxes import BLANK, DOUBTFUL, WRITTEN, Mark, Pixels, Place

_Boxes = npt.NDArray[np.float64]
_Floats = npt.NDArray[np.float64]
#: A line from its left end (x, y) to its right end (x, y).
Rule = tuple[float, float, float, float]

#: Lengths of such lines in points.
SHORTEST, LONGEST = 70.0, 360.0
# Points above a line in which people write, and below it in which its label begins; and beside its beginning.
_ABOVE, _BELOW, _BESIDE = 22.0, 16.0, 24.0
# A label that ends with a colon may end so far before its line, as lines begin in one column.
_FAR = 150.0
# A label below that begins so near to its line counts more than one before it.
_CLOSE = 7.0
# Shares of a line's columns with ink above it: an empty one has less than the first, a written one more.
_EMPTY_BELOW, _WRITTEN_FROM = 0.03, 0.12
_MAX_LINES = 200
# The ends of two rows of a table are so near to each other.
_ENDS = 6.0
# Ink is darker than the paper by so much of 255.
_INK = 50


def to_write_on(
    rules: Sequence[Rule], words: _Boxes, printed: _Boxes, asking: npt.NDArray[np.bool_] | None = None
) -> list[tuple[Rule, Place]]:
    """Returns the lines with a label, without print on them and none of a table, and the places they are read at.

    words, printed: [W, 4], [P, 4] boxes of words in points, and of those that are surely no readings of a hand's.
    asking: [W] the words that end with a colon, if that is known.
    """
    asking = np.zeros(len(words), np.bool_) if asking is None else asking
    found: dict[Place, Rule] = {}
    for rule in rules[:_MAX_LINES]:
        fits = SHORTEST <= rule[2] - rule[0] <= LONGEST and not _on(rule, printed)[1].any()
        far = asking & _is_first(rule, rules)
        if fits and not _in_table(rule, rules) and (place := _place(rule, words, far)) is not None:
            # Of two strokes on one line one is a pen's.
            found.setdefault(place, rule)
    return [(rule, place) for place, rule in found.items()]


def line_marks(grey: Pixels, scale: float, lines: Sequence[tuple[Rule, Place]], words: _Boxes) -> list[Mark]:
    """Returns these lines as empty, written on or in doubt. grey: [H, W], `scale` pixels to a point."""
    marks = []
    for rule, place in lines:
        share = _written(grey, scale, rule, words)
        sign = BLANK if share < _EMPTY_BELOW else WRITTEN if share >= _WRITTEN_FROM else DOUBTFUL
        x0, y0, x1, y1 = rule
        marks.append(Mark((x0, min(y0, y1) - _ABOVE / 2, x1, max(y0, y1)), sign, place))
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
        1.5 < abs(other[1] + other[3] - y0 - y1) / 2 < _ABOVE
        and max(abs(other[0] - x0), abs(other[2] - x1)) < _ENDS
        for other in rules
    )


def _is_first(rule: Rule, rules: Sequence[Rule]) -> bool:
    """Returns True if no other line stands before this one on its level."""
    return not any(abs(one[1] - rule[1]) < _ENDS and one[0] < rule[0] - 1 for one in rules)


def _place(rule: Rule, words: _Boxes, asking: npt.NDArray[np.bool_]) -> Place | None:
    """Returns the place before the label below a line, or behind the one that stands before it; else None."""
    x0, _, x1, _ = rule
    left, top, right, bottom = words.T
    middle = (left + right) / 2
    y = _height(rule, middle)
    level = (bottom > y - 6) & (top < y - 2) & (bottom < y + 8) & (right < x0 + 8)
    nearest = right >= right.max(initial=-np.inf, where=level)
    before = level & ((right > x0 - _BESIDE) | (asking & nearest & (right > x0 - _FAR)))
    near = (top > y - 4) & (top < y + _BELOW) & (bottom > y + 4) & (right > x0 - 40) & (left < x1 + 40)
    under = np.flatnonzero(near & (middle > x0 - 5) & (middle < x1 + 5))
    if len(under) and len(under) == near.sum() and (not before.any() or (top[under] < y[under] + _CLOSE).any()):
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
    rows = level + np.arange(round(-_ABOVE * scale), round(-2.2 * scale))[:, None]
    part = grey[np.clip(rows, 0, grey.shape[0] - 1), columns].astype(np.int16)
    if part.size == 0:
        return 0.0
    dark = part < np.percentile(part, 90) - _INK
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
    on = (bottom > y - _ABOVE) & (top < y - 4) & (left < x1) & (right > x0)
    return on, on & (bottom > y - 9) & (left > x0 - 2)
