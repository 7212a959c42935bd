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
GRID_LINES, GRID_OTHER_LINES = 3, 14
#: A gap between columns is at least this many characters wide; in a grid of many lines, which agree by no chance, this
#: many.
GRID_GAP, GRID_GAP_OF_MANY, GRID_MANY_LINES = 1.2, 0.35, 12
#: The share of a young grid's gaps that a further line must leave free, and the lines that make it old.
GRID_FREE_GAPS, GRID_YOUNG_LINES = 0.6, 6
#: A line of fewer cells than this share of the gaps is no line of the grid.
GRID_FILLED = 0.4
#: A line that fills this share of the columns that most lines fill tells the gaps between columns.
GRID_FULL = 0.75
#: The share of these lines that may cross a gap between columns, and the share of all lines at first.
GRID_CROSSED, GRID_CROSSED_AT_FIRST = 0.02, 0.2
#: The lines of a run that tells columns, and the share of all lines that such runs must have.
GRID_RUN_LINES, GRID_RUNS_SHARE = 4, 0.6
#: A line that was in so many runs without common columns begins no other: time stays in proportion to the lines.
GRID_REFUSED_RUNS = 4
Gap = tuple[float, float]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Grid:
    """Lines with common columns.

    first, until: the lines [first, until) from its first to its last one; `lines`: those of them that fit the columns.
    gaps: the C - 1 stretches across the page between its C columns.
    """

    first: int
    until: int
    lines: tuple[int, ...]
    gaps: tuple[Gap, ...]

    def column(self, middle: float) -> int:
        """Returns the column of a place across the page."""
        return bisect_right(self.gaps, middle, key=_middle)


def _middle(gap: Gap) -> float:
    """Returns the middle of a gap."""
    return (gap[0] + gap[1]) / 2


def grids_of(lines: Sequence[Line]) -> list[Grid]:
    """Returns the grids of a text in their order; they share no line."""
    width = character_width(lines)
    taken = np.zeros(len(lines) + 1, bool)
    refused = np.zeros(len(lines), np.int32)
    grids: list[Grid] = []
    for seed in sorted(range(len(lines)), key=lambda at: (-len(lines[at].cells), at)):
        if taken[seed] or refused[seed] >= GRID_REFUSED_RUNS or len(lines[seed].cells) < 2:
            continue
        fitting = _grown(lines, seed, width, taken)
        gaps = _gaps([lines[at] for at in fitting], width) if len(fitting) >= GRID_LINES else ()
        if not gaps:
            refused[fitting] += 1
            continue
        first, until = fitting[0], fitting[-1] + 1
        grids.append(Grid(first, until, tuple(fitting), gaps))
        taken[first:until] = True
    return sorted(grids, key=lambda grid: grid.first)


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
            free = _left_free(gaps, line, GRID_GAP_OF_MANY * width)
            needed = GRID_FREE_GAPS * len(gaps) if len(fitting) < GRID_YOUNG_LINES else len(gaps)
            # Where a few lines of a long grid cross a gap it stays; each of them counts as another line.
            if free and len(free) >= needed and len(line.cells) > max(1, GRID_FILLED * len(gaps)):
                fitting.append(at)
                gaps, others = free, 0
                continue
            others += 1 + (line.blank if at > seed else lines[at + 1].blank)
            if others > GRID_OTHER_LINES:
                break
    return sorted(fitting)


def _left_free(gaps: Sequence[Gap], line: Line, least: float) -> list[Gap]:
    """Returns what a line's words leave of the gaps: of each gap the widest part, if it is wide enough."""
    free: list[Gap] = []
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


def _gaps(lines: Sequence[Line], width: float) -> tuple[Gap, ...]:
    """Returns the gaps that nearly all of the lines leave free that fill most columns.

    Which lines these are is told by the gaps that most lines leave free: headings and sums cross them, and fill few.
    """
    lines = _together(lines)
    many = len(lines) >= GRID_MANY_LINES
    least = (GRID_GAP_OF_MANY if many else GRID_GAP) if lines[0].boxed else (1.0 if many else 2.0)

    def free(some: Sequence[Line], crossed: float, least: float = least) -> list[Gap]:
        found = _free_of_all(some, crossed * len(some))
        return [gap for gap in found if gap[1] - gap[0] >= least * width - 0.01]

    edges = [_middle(gap) for gap in free(lines, GRID_CROSSED_AT_FIRST)]
    filled = [len({bisect_right(edges, word.middle) for word in line.words}) for line in lines]
    usual = sorted(filled)[len(filled) * 3 // 4]
    telling = [line for line, count in zip(lines, filled, strict=True) if count >= GRID_FULL * usual]
    full = [line for line, count in zip(lines, filled, strict=True) if count >= usual]
    if many or len(full) < GRID_LINES:
        return tuple(free(telling, GRID_CROSSED))
    # A head over two columns may reach into the gap that all full lines leave between them.
    wide = free(full, GRID_CROSSED)
    narrow = free(telling, GRID_CROSSED, GRID_GAP_OF_MANY if lines[0].boxed else 1.0)
    return tuple(gap for gap in narrow if any(left <= gap[0] and gap[1] <= right for left, right in wide))


def _together(lines: Sequence[Line]) -> Sequence[Line]:
    """Returns the lines that stand with others, without empty ones in between; all if these are few."""
    runs: list[list[Line]] = []
    for line in lines:
        if line.blank or not runs:
            runs.append([])
        runs[-1].append(line)
    kept = [line for run in runs if len(run) >= GRID_RUN_LINES for line in run]
    return kept if len(kept) >= GRID_RUNS_SHARE * len(lines) else lines


def _free_of_all(lines: Iterable[Line], crossed: float) -> list[Gap]:
    """Returns the stretches across the page that at most so many lines have words on."""
    bounds: list[tuple[float, int]] = []
    for line in lines:
        for cell in _covered_stretches(line):
            bounds += (cell[0], 1), (cell[1], -1)
    bounds.sort()
    free: list[Gap] = []
    over, since = 0, None
    for place, step in bounds:
        over += step
        if over <= crossed and step < 0 and since is None:
            since = place
        elif over > crossed and since is not None:
            free.append((since, place))
            since = None
    return free


def _covered_stretches(line: Line) -> list[Gap]:
    """Returns the stretches that a line's words cover."""
    covered: list[Gap] = []
    for word in line.words:
        if covered and word.left <= covered[-1][1]:
            covered[-1] = covered[-1][0], max(covered[-1][1], word.right)
        else:
            covered.append((word.left, word.right))
    return covered
