"""The cells of a page and the cells above them: tables, and labels over their values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinnabar.engine.tables.lines import ACROSS, CHARACTER

#: The lines above a cell that are searched for the next cell over it; a cell farther up is no neighbour.
LINES_ABOVE = 12
#: The most cells that are searched for it: no page has so many on these lines, but a text without pages may.
CELLS_ABOVE = 2000
#: The least share of the narrower of two cells that must lie under the other cell, for that one to be above it.
UNDER_SHARE = 0.3
#: The least gap before a cell's first piece: a wide gap, or the beginning of a line or paragraph (`GAPS`).
CELL_GAP = 2

_Ints = npt.NDArray[np.int32]


def cells_of(
    start: _Ints,
    end: _Ints,
    gap: npt.NDArray[np.int8],
    line: _Ints,
    line_start: npt.NDArray[np.int64],
    word_start: _Ints | None,
    word_box: npt.NDArray[np.float32] | None,
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], _Ints]:
    """Returns the left and right edge of each piece's cell, and the line of the next cell above, -1 if none is near.

    A cell is a part of a line between wide gaps. Edges are thousandths of the page's width if words have boxes, else
    columns of the text. Everything is [T], for T pieces; start, end: characters; gap: the gap before a piece;
    line_start: the first character of each line.
    """
    left = (start - line_start[line]) * CHARACTER
    right = (end - line_start[line]) * CHARACTER
    if word_start is not None and word_box is not None and len(word_start) and len(start):
        box = word_box[np.clip(np.searchsorted(word_start, start, side="right") - 1, 0, len(word_start) - 1)]
        known = ~np.isnan(box[:, 0])
        share = np.nan_to_num(np.clip(box, 0.0, 1.0)) * ACROSS
        left, right = np.where(known, share[:, 0], left), np.where(known, share[:, 2], right)
    if not len(start):
        none = np.zeros(0, np.int16)
        return none, none, np.zeros(0, np.int32)
    first = _begins_cell(gap)
    begins, cell = np.flatnonzero(first), np.cumsum(first) - 1
    limit = np.iinfo(np.int16).max
    lefts = np.minimum(np.minimum.reduceat(left, begins), limit).astype(np.int16)
    rights = np.minimum(np.maximum.reduceat(right, begins), limit).astype(np.int16)
    rights = np.maximum(rights, np.minimum(lefts, limit - 1) + 1).astype(np.int16)
    over = _next_above(lefts.astype(np.int32), rights.astype(np.int32), line[begins])
    return lefts[cell], rights[cell], over[cell]


def extents_of(
    start: _Ints,
    end: _Ints,
    gap: npt.NDArray[np.int8],
    line: _Ints,
    left: npt.NDArray[np.int16],
    right: npt.NDArray[np.int16],
) -> _Ints:
    """Returns the left and right edge of each piece's word, then of its cell's room on its line: [T, 4].

    A word's share of its cell's width is its share of the cell's characters. A cell's room reaches halfway to its
    neighbours: the head of a group of columns stands over their middle.
    """
    if not len(start):
        return np.zeros((0, 4), np.int32)
    first = _begins_cell(gap)
    cell = np.cumsum(first) - 1
    begins = np.flatnonzero(first)
    opened = start[begins]
    closed = np.maximum(np.maximum.reduceat(end, begins), opened + 1)
    cell_left, cell_right = left[begins].astype(np.float64), right[begins].astype(np.float64)
    scale = (cell_right - cell_left) / (closed - opened)
    word = np.flatnonzero((gap > 0) | first)
    of_word = np.cumsum((gap > 0) | first) - 1
    word_left = cell_left[cell] + (start[word][of_word] - opened[cell]) * scale[cell]
    word_right = cell_left[cell] + (np.maximum.reduceat(end, word)[of_word] - opened[cell]) * scale[cell]
    on = line[begins]
    same = np.append(on[1:] == on[:-1], False)
    halfway = np.append((cell_right[:-1] + cell_left[1:]) / 2, 0.0)
    room_right = np.where(same, halfway, cell_right)
    room_left = np.where(np.append(False, same[:-1]), np.append(0.0, halfway[:-1]), cell_left)
    return np.stack((word_left, word_right, room_left[cell], room_right[cell]), 1).astype(np.int32)


def _begins_cell(gap: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Returns whether each of T pieces, at least one, is the first piece of its cell."""
    first = gap >= CELL_GAP
    first[0] = True
    return first


def _next_above(left: _Ints, right: _Ints, line: _Ints) -> _Ints:
    """Returns for each cell the line of the next cell above it."""
    over = np.full(len(left), -1, np.int32)
    first_of: dict[int, int] = {}
    for i, on in enumerate(line.tolist()):
        first_of.setdefault(on, i)
    for i, on in enumerate(line.tolist()):
        first = next((first_of[k] for k in range(max(0, on - LINES_ABOVE), on) if k in first_of), i)
        first = max(first, first_of[on] - CELLS_ABOVE)
        upper = slice(first, first_of[on])
        shared = np.minimum(right[upper], right[i]) - np.maximum(left[upper], left[i])
        narrow = np.minimum(right[upper] - left[upper], right[i] - left[i])
        covered = np.flatnonzero(shared >= UNDER_SHARE * narrow)
        if len(covered):
            over[i] = line[first + int(covered[-1])]
    return over
