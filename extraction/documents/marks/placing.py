"""Puts marks among the words of a page, before or behind the word beside them; the words stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.marks.ink import Mark

_Boxes = npt.NDArray[np.float64]
_MAX_GAP = 8


def placed(
    text: Sequence[str], gaps: Sequence[str], box: npt.NDArray[np.float32], marks: Sequence[Mark]
) -> tuple[list[str], list[str], npt.NDArray[np.float32], list[int]]:
    """Returns the words of a page with its marks, and for each the index of its word, -1 for a mark.

    text: [W] in reading order; gaps: [W] the blanks before each; box: [W, 4]. Marks stand on the line of the words
    beside them, or on a line of their own before the words below them. Their `before` counts the given words.
    """
    turns = _quarter_turns(gaps, box)
    upright = _turned(box.astype(np.float64), turns)
    own = _turned(np.array([mark.box for mark in marks], np.float64).reshape(-1, 4), turns)
    texts, blanks, source = list(text), list(gaps), list(range(len(text)))
    boxes = upright.tolist()
    # From the right, so that of two marks side by side the left one is put before the right one.
    for at in np.argsort(-own[:, 0], kind="stable").tolist():
        if marks[at].before >= 0:
            place = source.index(marks[at].before)
            own_gap, next_gap = blanks[place], " "
        else:
            place, own_gap, next_gap = _place(np.array(boxes, np.float64).reshape(-1, 4), own[at], blanks)
        texts.insert(place, marks[at].sign)
        blanks.insert(place, own_gap)
        boxes.insert(place, own[at].tolist())
        source.insert(place, -1 - at)
        if place + 1 < len(texts):
            blanks[place + 1] = next_gap
    rows = [box[one] if one >= 0 else np.array(marks[-1 - one].box, np.float32) for one in source]
    return texts, blanks, np.array(rows, np.float32).reshape(-1, 4), [max(one, -1) for one in source]


def _place(boxes: _Boxes, mark: npt.NDArray[np.float64], gaps: Sequence[str]) -> tuple[int, str, str]:
    """Returns the index for a mark, the blanks before it, and those before what follows it."""
    if not len(boxes):
        return 0, "", ""
    x0, top, x1, bottom = mark
    middle, side = (top + bottom) / 2, bottom - top
    height = boxes[:, 3] - boxes[:, 1]
    level = np.abs((boxes[:, 1] + boxes[:, 3]) / 2 - middle) < 0.6 * np.maximum(np.minimum(height, side), 4.0)
    center = (boxes[:, 0] + boxes[:, 2]) / 2
    right = np.flatnonzero(level & (center > (x0 + x1) / 2))
    left = np.flatnonzero(level & (center <= (x0 + x1) / 2))
    if len(right):
        after = int(right[np.argmin(boxes[right, 0])])
        next_gap = _blanks(boxes[after, 0] - x1, side)
        ahead = after - 1 in left and "\n" not in gaps[after]
        own_gap = _blanks(x0 - boxes[after - 1, 2], side) if ahead else gaps[after]
        return after, own_gap, next_gap
    if len(left):
        before = int(left[np.argmax(boxes[left, 2])])
        follows = gaps[before + 1] if before + 1 < len(gaps) else ""
        return before + 1, _blanks(x0 - boxes[before, 2], side), follows
    lower = np.flatnonzero((boxes[:, 1] >= middle) & (boxes[:, 2] > x0) & (boxes[:, 0] < x1))
    if len(lower):
        after = int(lower[np.lexsort((boxes[lower, 0], boxes[lower, 1]))[0]])
        if "\n" in gaps[after] or after == 0:
            return after, gaps[after], "\n"
        return after, gaps[after], " "
    return len(boxes), "\n", ""


def _blanks(gap: float, height: float) -> str:
    """Returns one blank for a gap as wide as a letter is high, else two to eight."""
    return " " if gap <= 0.9 * height else " " * max(2, min(_MAX_GAP, 1 + round(gap / height)))


def _quarter_turns(gaps: Sequence[str], box: npt.NDArray[np.float32]) -> int:
    """Returns the clockwise quarter turns of most text on a page, by the steps from word to word."""
    beside = np.flatnonzero([gap.strip(" ") == "" and gap != "" for gap in gaps])
    beside = beside[beside > 0]
    if not len(beside):
        return 0
    middle = (box[:, :2] + box[:, 2:]) / 2
    across, down = np.median(middle[beside] - middle[beside - 1], axis=0).tolist()
    if abs(across) >= abs(down):
        return 0 if across >= 0 else 2
    return 1 if down > 0 else 3


def _turned(box: _Boxes, turns: int) -> _Boxes:
    """Returns boxes [N, 4] turned back by clockwise quarter turns, around the origin."""
    x0, y0, x1, y1 = box.T
    sides = ((x0, y0, x1, y1), (y0, -x1, y1, -x0), (-x1, -y1, -x0, -y0), (-y1, x0, -y0, x1))[turns]
    return np.stack(sides, axis=1)
