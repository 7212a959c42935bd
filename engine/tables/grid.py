"""Grids: runs of lines whose words leave the same gaps, so that they stand in common columns.

A grid grows up and down from the line with the most cells and takes in each further line whose words leave at least
most of its gaps free. Other lines in between (headings, notes, the edges of pages) do not end it, unless they are many.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.engine.tables.lines import Line, character_width

#: The fewest lines of a grid; the most other lines in a row, empty ones among them, that do not end it.
LINES, OTHERS = 3, 14
#: A gap between columns is at least this many characters wide; in a grid of many lines, which agree by no chance, this
#: many.
_GAP, _GAP_OF_MANY, _MANY = 1.2, 0.35, 12
#: The share of a young grid's gaps that a further line must leave free, and the lines that make it old.
_FREE, _YOUNG = 0.6, 6
#: A line of fewer cells than this share of the gaps is no line of the grid.
_FILLED = 0.4
#: A line of this share of the cells of the fullest ones tells the edges of columns.
_FULL = 0.6
#: The share of lines, by more than so many of them, that may cross a gap between columns.
_CROSSED = 0.02

#: A line that was in so many runs without common columns begins no other: time stays in proportion to the lines.
_REFUSED = 4
#: The most lines above a grid that may be its head.
_ABOVE = 3

_Gap = tuple[float, float]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines with common columns.

    first, until: the lines [first, until) from its first to its last one; `lines`: those of them that fit the columns.
    edges: the C - 1 places across the page between its C columns. above: the lines of several cells right above it,
    which may be a head that does not fit.
    """

    first: int
    until: int
    lines: tuple[int, ...]
    edges: tuple[float, ...]
    above: tuple[int, ...] = ()

    def column(self, middle: float) -> int:
        """Returns the column of a place across the page."""
        return bisect_right(self.edges, middle)


def grids_of(lines: Sequence[Line]) -> list[Grid]:
    """Returns the grids of a text in their order; they share no line."""
    width = character_width(lines)
    taken = np.zeros(len(lines) + 1, bool)
    refused = np.zeros(len(lines), np.int32)
    grids: list[Grid] = []
    for seed in sorted(range(len(lines)), key=lambda at: (-len(lines[at].cells), at)):
        if taken[seed] or refused[seed] >= _REFUSED or len(lines[seed].cells) < 2:
            continue
        fitting = _grown(lines, seed, width, taken)
        edges = _edges([lines[at] for at in fitting], width) if len(fitting) >= LINES else ()
        if not edges:
            refused[fitting] += 1
            continue
        first, until = fitting[0], fitting[-1] + 1
        above = _above(lines, first, taken)
        grids.append(Grid(first, until, tuple(fitting), edges, above))
        taken[first - len(above) : until] = True
    return sorted(grids, key=lambda grid: grid.first)


def _above(lines: Sequence[Line], first: int, taken: Bools) -> tuple[int, ...]:
    """Returns the lines of several cells right above a grid that begins at this line."""
    above: list[int] = []
    for at in range(first - 1, max(-1, first - 1 - _ABOVE), -1):
        line = lines[at]
        # One empty line may part the head from the rows.
        apart = lines[at + 1].blank > (at == first - 1)
        if taken[at] or apart or len(line.cells) < 2 or line.boxed != lines[first].boxed:
            break
        above.insert(0, at)
    return tuple(above)


def _grown(lines: Sequence[Line], seed: int, width: float, taken: Bools) -> list[int]:
    """Returns the lines that share the gaps of this one, with it, ascending."""
    gaps = [(left.right, right.left) for left, right in zip(lines[seed].cells, lines[seed].cells[1:], strict=False)]
    gaps = [gap for gap in gaps if gap[1] > gap[0]]
    fitting = [seed]
    for way in (range(seed + 1, len(lines)), range(seed - 1, -1, -1)):
        others = 0
        for at in way:
            line = lines[at]
            if taken[at] or line.boxed != lines[seed].boxed:
                break
            free = _left_free(gaps, line, _GAP_OF_MANY * width)
            needed = _FREE * len(gaps) if len(fitting) < _YOUNG else len(gaps)
            # Where a few lines of a long grid cross a gap it stays; each of them counts as another line.
            if free and len(free) >= needed and len(line.cells) > max(1, _FILLED * len(gaps)):
                fitting.append(at)
                gaps, others = free, 0
                continue
            others += 1 + (line.blank if at > seed else lines[at + 1].blank)
            if others > OTHERS:
                break
    return sorted(fitting)


def _left_free(gaps: Sequence[_Gap], line: Line, least: float) -> list[_Gap]:
    """Returns what a line's words leave of the gaps: of each gap the widest part, if it is wide enough."""
    free: list[_Gap] = []
    words = line.words
    at = 0
    for left, right in gaps:
        while at and words[at - 1].right > left:
            at -= 1
        while at < len(words) and words[at].right <= left:
            at += 1
        widest, begin, look = (left, left), left, at
        while look < len(words) and words[look].left < right:
            if words[look].left - begin > widest[1] - widest[0]:
                widest = (begin, words[look].left)
            begin = max(begin, words[look].right)
            look += 1
        if right - begin > widest[1] - widest[0]:
            widest = (begin, right)
        if widest[1] - widest[0] >= least:
            free.append(widest)
    return free


def _edges(lines: Sequence[Line], width: float) -> tuple[float, ...]:
    """Returns the middles of the gaps that nearly all of these lines leave free."""
    counts = sorted(len(line.cells) for line in lines)
    # Lines of few cells say little of the columns, and a heading among them would hide some.
    full = [line for line in lines if len(line.cells) >= _FULL * counts[int(0.9 * (len(counts) - 1))]]
    least = _GAP_OF_MANY if len(full) >= _MANY else _GAP
    if not lines[0].boxed:
        least = 1.0 if len(full) >= _MANY else 2.0
    crossed = _CROSSED * len(full)
    gaps = [gap for gap in _free_of_all(full, crossed) if gap[1] - gap[0] >= least * width - 0.01]
    return tuple((left + right) / 2 for left, right in gaps)


def _free_of_all(lines: Iterable[Line], crossed: float) -> list[_Gap]:
    """Returns the stretches across the page that at most so many lines have words on."""
    bounds: list[tuple[float, int]] = []
    for line in lines:
        for cell in _joined(line):
            bounds += (cell[0], 1), (cell[1], -1)
    bounds.sort()
    free: list[_Gap] = []
    over, since = 0, None
    for place, step in bounds:
        over += step
        if over <= crossed and step < 0 and since is None:
            since = place
        elif over > crossed and since is not None:
            free.append((since, place))
            since = None
    return free


def _joined(line: Line) -> list[_Gap]:
    """Returns the stretches that a line's words cover."""
    covered: list[_Gap] = []
    for word in line.words:
        if covered and word.left <= covered[-1][1]:
            covered[-1] = covered[-1][0], max(covered[-1][1], word.right)
        else:
            covered.append((word.left, word.right))
    return covered
