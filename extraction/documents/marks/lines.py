"""Tells whether somebody wrote on a line that is there to be written on: by the ink above it that is no printed text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.marks.ink import BLANK, WRITTEN, Mark, Pixels

_Boxes = npt.NDArray[np.float64]
#: A line from x0 to x1 at the height y.
Rule = tuple[float, float, float]

#: Lengths of such lines in points.
SHORTEST, LONGEST = 70.0, 360.0
# Points above and below a line that are empty of other lines; a table has some there.
_APART = 22.0
# Points above a line in which people write, and below it in which its label begins; and beside its beginning.
_ABOVE, _BELOW, _BESIDE = 22.0, 16.0, 24.0
# Shares of a line's columns with ink above it: an empty one has less than the first, a written one more.
_EMPTY_BELOW, _WRITTEN_FROM = 0.03, 0.12
_MAX_LINES = 200


def line_marks(grey: Pixels, scale: float, rules: Sequence[Rule], words: _Boxes, layered: bool) -> list[Mark]:
    """Returns the lines with a label below or before them that are empty or have ink on them, in points.

    grey: [H, W], `scale` pixels to a point. words: [W, 4] the boxes of the printed words in points; on a scan with a
    text layer (`layered`) they may be readings of what a hand wrote. A line with printed words on it is none, and one
    in doubt neither.
    """
    marks = []
    for x0, x1, y in rules[:_MAX_LINES]:
        if not SHORTEST <= x1 - x0 <= LONGEST or _in_table((x0, x1, y), rules) or not _has_label(x0, x1, y, words):
            continue
        sign = _written(grey, scale, (x0, x1, y), words, layered)
        if sign:
            marks.append(Mark((x0, y - _ABOVE / 2, x1, y), sign))
    return marks


def _in_table(rule: Rule, rules: Sequence[Rule]) -> bool:
    x0, x1, y = rule
    return any(
        1.5 < abs(other[2] - y) < _APART and min(x1, other[1]) - max(x0, other[0]) > 0.3 * (x1 - x0) for other in rules
    )


def _has_label(x0: float, x1: float, y: float, words: _Boxes) -> bool:
    """Returns True if words stand just below the line within its ends, or just before it."""
    if not len(words):
        return False
    middle = (words[:, 0] + words[:, 2]) / 2
    below = (words[:, 1] > y - 4) & (words[:, 1] < y + _BELOW) & (words[:, 3] > y + 4)
    near = below & (words[:, 2] > x0 - 40) & (words[:, 0] < x1 + 40)
    under = near & (middle > x0 - 5) & (middle < x1 + 5)
    if under.any() and bool(under[near].all()):
        return True
    level = (words[:, 3] > y - 6) & (words[:, 1] < y - 2) & (words[:, 3] < y + 8)
    return bool((level & (words[:, 2] > x0 - _BESIDE) & (words[:, 2] < x0 + 8)).any())


def _written(grey: Pixels, scale: float, rule: Rule, words: _Boxes, layered: bool) -> str:
    """Returns the sign of a line, "" in doubt."""
    x0, x1, y = rule
    on = (words[:, 3] > y - _ABOVE) & (words[:, 1] < y - 4) & (words[:, 0] < x1) & (words[:, 2] > x0)
    own = on & ((words[:, 1] + words[:, 3]) / 2 > y - 14) & (words[:, 0] > x0 - 2)
    if own.any() and not layered:
        return ""
    left, right = int((x0 + 2) * scale), int((x1 - 2) * scale)
    top, bottom = max(0, int((y - _ABOVE) * scale)), int((y - 2.2) * scale)
    part = grey[top:bottom, left:right].astype(np.int16)
    if part.size == 0:
        return ""
    dark = part < np.percentile(part, 90) - 60
    for wx0, wtop, wx1, wbottom in words[on & ~own].tolist():
        rows = slice(0, max(0, int((wbottom + 1) * scale) - top))
        if wtop < y - _ABOVE / 2:
            dark[rows, max(0, int(wx0 * scale) - left) : max(0, int(wx1 * scale) - left)] = False
    # A speck of dust is in one or two rows.
    share = float((dark.sum(axis=0) >= max(1, round(0.35 * scale))).mean())
    return BLANK if share < _EMPTY_BELOW else WRITTEN if share >= _WRITTEN_FROM else ""
