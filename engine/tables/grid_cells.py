"""The cells of lines in the columns of a grid, and the gaps of a grid that are within a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from cinnabar.engine.tables.grid import Gap, Grid
from cinnabar.engine.tables.heads import Cells, Span
from cinnabar.engine.tables.lines import Line

#: A gap of at most so many blanks, in this share of the rows, is one within a column.
GAP_BLANKS, GAP_ROWS = 1.5, 0.9


def coarser_grid(lines: Sequence[Line], grid: Grid, text: str) -> Grid:
    """Returns a grid without all gaps that may be within a column: "Part 1" is no figure in the column of the 1."""
    blank = GAP_BLANKS * blank_width([lines[at] for at in grid.lines], text)
    gaps = [gap for at, gap in enumerate(grid.gaps) if not is_narrow_gap(lines, grid, at, blank)]
    return replace(grid, gaps=tuple(gaps)) if gaps else grid


def drop_gap(grid: Grid, gap: int) -> Grid:
    """Returns a grid without one of its gaps."""
    return replace(grid, gaps=(*grid.gaps[:gap], *grid.gaps[gap + 1 :]))


def is_narrow_gap(lines: Sequence[Line], grid: Grid, gap: int, blank: float) -> bool:
    """Returns whether a gap is at most so wide in nearly all rows that have words on both of its sides."""
    widths = []
    for at in grid.lines:
        left, right = extent_in(lines[at], grid, gap), extent_in(lines[at], grid, gap + 1)
        if left is not None and right is not None:
            widths.append(right[0] - left[1])
    return bool(widths) and sum(width <= blank for width in widths) >= GAP_ROWS * len(widths)


def extent_in(line: Line, grid: Grid, column: int) -> Gap | None:
    """Returns the edges of a line's words in a column."""
    own = [word for word in line.words if grid.column(word.middle) == column]
    return (own[0].left, own[-1].right) if own else None


def blank_width(lines: Sequence[Line], text: str) -> float:
    """Returns the usual width of a blank between two words of a line."""
    widths = [
        two.left - one.right
        for line in lines
        for one, two in zip(line.words, line.words[1:], strict=False)
        if text[one.end : two.start] == " "
    ]
    narrow = sorted(widths)
    return median(narrow[: max(1, len(narrow) // 2)]) if narrow else 0.0


def cells_in(line: Line, grid: Grid, text: str) -> Cells:
    """Returns the spans of a line's words in each column: words with nothing but blanks between them are one span."""
    cells: list[list[Span]] = [[] for _ in range(len(grid.gaps) + 1)]
    for word in line.words:
        own = cells[grid.column(word.middle)]
        if own and own[-1][1] <= word.start and not text[own[-1][1] : word.start].strip():
            own[-1] = own[-1][0], word.end
        else:
            own.append((word.start, word.end))
    return tuple(tuple(own) for own in cells)
