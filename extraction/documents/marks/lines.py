"""Tells whether somebody wrote on a line to write on: by the ink above it that is no printed text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.marks.ink import BLANK, DOUBTFUL, WRITTEN, Mark, Pixels

_Boxes = npt.NDArray[np.float64]
_Floats = npt.NDArray[np.float64]
#: A line from its left end (x, y) to its right end (x, y).
Rule = tuple[float, float, float, float]

#: Lengths of such lines in points.
SHORTEST, LONGEST = 70.0, 360.0
# Points above and below a line that are empty of other lines; a table has some there.
_APART = 22.0
# Points above a line in which people write, and below it in which its label begins; and beside its beginning.
_ABOVE, _BELOW, _BESIDE = 22.0, 16.0, 24.0
# A label below that begins so near to its line counts more than one before it.
_CLOSE = 7.0
# Shares of a line's columns with ink above it: an empty one has less than the first, a written one more.
_EMPTY_BELOW, _WRITTEN_FROM = 0.03, 0.12
_MAX_LINES = 200
# The ends of an underline are so near to those of its words, and those of a row of a table to those of the next one.
_ENDS = 6.0
# Ink is darker than the paper by so much of 255.
_INK = 50


def line_marks(grey: Pixels, scale: float, rules: Sequence[Rule], words: _Boxes, printed: _Boxes) -> list[Mark]:
    """Returns the lines with a label below or before them that are empty, have ink on them or are in doubt, in points.

    grey: [H, W], `scale` pixels to a point. words: [W, 4] the boxes of words in points. printed: [P, 4] those of them
    that are surely no readings of what a hand wrote. A line with printed words on it is none.
    """
    marks = []
    for rule in to_write_on(rules, words, printed):
        x0, y0, x1, y1 = rule
        sign = _written(grey, scale, rule, words)
        if sign:
            marks.append(Mark((x0, min(y0, y1) - _ABOVE / 2, x1, max(y0, y1)), sign, _label(rule, words)[0]))
    return marks


def to_write_on(rules: Sequence[Rule], words: _Boxes, printed: _Boxes) -> list[Rule]:
    """Returns the lines of a fitting length, with a label and without print on them, that are none of a table.

    Where no word is surely printed, a line as long as the words on it is their underline.
    """

    def fits(rule: Rule) -> bool:
        printed_on = _on(rule, printed)[1].any() if len(printed) else _is_underline(rule, words)
        return SHORTEST <= rule[2] - rule[0] <= LONGEST and not printed_on and not _in_table(rule, rules)

    return [rule for rule in rules[:_MAX_LINES] if fits(rule) and _label(rule, words) != (-1, False)]


def _height(rule: Rule, x: _Floats) -> _Floats:
    """Returns the heights of a line, which may lean, at these places."""
    x0, y0, x1, y1 = rule
    heights: _Floats = y0 + (np.clip(x, x0, x1) - x0) * (y1 - y0) / (x1 - x0)
    return heights


def _is_underline(rule: Rule, words: _Boxes) -> bool:
    """Returns True for a line as long as the words on it."""
    own = words[_on(rule, words)[1]]
    return len(own) > 0 and max(abs(own[:, 0].min() - rule[0]), abs(own[:, 2].max() - rule[2])) < _ENDS


def _in_table(rule: Rule, rules: Sequence[Rule]) -> bool:
    """Returns True for a line with another one near it that is as long, or longer: a stroke of a pen is shorter."""
    x0, y0, x1, y1 = rule
    for other in rules:
        across = min(x1, other[2]) - max(x0, other[0])
        down = abs(float(_height(other, np.array((x0 + x1) / 2))) - (y0 + y1) / 2)
        if other != rule and across > 0.3 * (x1 - x0) and 1.5 < down < _APART:
            ends = max(abs(other[0] - x0), abs(other[2] - x1)) < _ENDS
            if ends or other[2] - other[0] > x1 - x0:
                return True
    return False


def _label(rule: Rule, words: _Boxes) -> tuple[int, bool]:
    """Returns the first word just below a line and within its ends, -1 without one, and whether some stand before."""
    if not len(words):
        return -1, False
    x0, _, x1, _ = rule
    left, top, right, bottom = words.T
    middle = (left + right) / 2
    y = _height(rule, middle)
    before = (bottom > y - 6) & (top < y - 2) & (bottom < y + 8) & (right > x0 - _BESIDE) & (right < x0 + 8)
    near = (top > y - 4) & (top < y + _BELOW) & (bottom > y + 4) & (right > x0 - 40) & (left < x1 + 40)
    under = near & (middle > x0 - 5) & (middle < x1 + 5)
    close = bool((under & (top < y + _CLOSE)).any()) or not before.any()
    if not under.any() or not close or not bool(under[near].all()):
        return -1, bool(before.any())
    own = np.flatnonzero(under)
    first = own[np.abs(top[own] - top[own].min()) < 4]
    return int(first[np.argmin(left[first])]), False


def _written(grey: Pixels, scale: float, rule: Rule, words: _Boxes) -> str:
    """Returns the sign of a line, "" for one beyond the page."""
    x0, _, x1, _ = rule
    on, own = _on(rule, words)
    columns = np.arange(int((x0 + 2) * scale), int((x1 - 2) * scale))
    columns = columns[(columns >= 0) & (columns < grey.shape[1])]
    level = np.round(_height(rule, columns / scale) * scale).astype(np.int64)
    rows = level + np.arange(round(-_ABOVE * scale), round(-2.2 * scale))[:, None]
    part = grey[np.clip(rows, 0, grey.shape[0] - 1), columns].astype(np.int16)
    if part.size == 0:
        return ""
    dark = part < np.percentile(part, 90) - _INK
    for a, _, b, d in words[on & ~own].tolist():
        # Words of the line above reach down into the place.
        dark[(rows < (d + 1) * scale) & (columns >= a * scale) & (columns <= b * scale)] = False
    # A speck of dust is in one or two rows.
    share = float((dark.sum(axis=0) >= max(1, round(0.35 * scale))).mean())
    return BLANK if share < _EMPTY_BELOW else WRITTEN if share >= _WRITTEN_FROM else DOUBTFUL


def _on(rule: Rule, words: _Boxes) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Returns two arrays [W]: the words that reach into the place above a line, and those that stand on it."""
    x0, _, x1, _ = rule
    left, top, right, bottom = words.T
    y = _height(rule, (left + right) / 2)
    on = (bottom > y - _ABOVE) & (top < y - 4) & (left < x1) & (right > x0)
    return on, on & (bottom > y - 9) & (left > x0 - 2)
