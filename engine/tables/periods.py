"""Items of several lines without labels: the same number of lines again and again, each with columns of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from cinnabar.engine.tables.cells import cells_in, coarse
from cinnabar.engine.tables.grid import Grid, grids_of
from cinnabar.engine.tables.heads import Cells, is_figure
from cinnabar.engine.tables.lines import Line, character_width

#: The fewest items, the most lines of one, and the share of all that have the usual number of lines.
_ITEMS, _LINES, _USUAL = 6, 6, 0.8
#: How far lines that begin at one place may lie apart, in characters.
_INDENT = 0.8
#: The share of a column's cells that are figures, for it to be one of figures.
_FIGURES = 0.7


@dataclass(frozen=True, slots=True)
class Items:
    """Items of several lines: the lines of each, the words above their columns, and the cells of each item."""

    lines: tuple[tuple[int, ...], ...]
    heads: Cells
    cells: tuple[Cells, ...]


def items_of(lines: Sequence[Line], text: str) -> Items | None:
    """Returns the items of a text that have the same number of lines each; None if it has too few or no figures.

    The first line of an item stands out to the left, or below an empty line. An item may lack lines behind its first.
    """
    near = _INDENT * character_width(lines)
    edges = Counter(round(line.words[0].left / near) for line in lines)
    outer = min((edge for edge, times in edges.items() if times >= _ITEMS), default=0)
    outdented = [abs(line.words[0].left - outer * near) <= near for line in lines]
    for begins in ([line.blank > 0 for line in lines], outdented):
        stretches, many = _stretches(begins)
        found = [item for item in stretches if len(item) == many]
        grids = [_grid([lines[item[k]] for item in found], text) for k in range(many)]
        if not any(grid.gaps for grid in grids):
            continue
        cells = [[cells_in(lines[at], grid, text) for at, grid in zip(item, grids, strict=True)] for item in found]
        figures = [_figures([own[k] for own in cells], text) for k in range(many)]
        lefts = [round(median(lines[item[k]].words[0].left for item in found) / near) for k in range(many)]
        # Lines of one kind are rows of their own, maybe below a heading.
        kinds = {*zip((len(grid.gaps) for grid in grids), map(tuple, figures), lefts, strict=True)}
        if any(figures) and len(kinds) > (many - 1 if begins is outdented else 1):
            return _below_heads(stretches, grids, figures, lines, text)
    return None


def _stretches(begins: Sequence[bool]) -> tuple[list[range], int]:
    """Returns the lines from one first line to the next, and their usual number; 0 if few have it."""
    starts = [at for at, is_first in enumerate(begins) if is_first]
    stretches = [range(one, two) for one, two in pairwise([*starts, len(begins)])]
    lengths = [len(one) for one in stretches if len(one) > 1]
    usual, times = Counter(lengths).most_common(1)[0] if lengths else (0, 0)
    return stretches, usual if usual <= _LINES and times >= max(_ITEMS, _USUAL * len(lengths)) else 0


def _grid(own: Sequence[Line], text: str) -> Grid:
    """Returns the columns of lines that say the same of each item, one if they have none in common."""
    grids = grids_of([replace(line, blank=0) for line in own])
    best = max(grids, key=lambda grid: len(grid.lines), default=None)
    whole = Grid(0, len(own), tuple(range(len(own))), ())
    if best is None or len(best.lines) < _USUAL * len(own):
        return whole
    return coarse(own, replace(whole, gaps=best.gaps), text)


def _figures(cells: Sequence[Cells], text: str) -> list[int]:
    """Returns the columns of figures."""
    found = []
    for column in range(len(cells[0])):
        filled = [own[column] for own in cells if own[column]]
        if filled and sum(is_figure(cell, text) for cell in filled) >= _FIGURES * len(filled):
            found.append(column)
    return found


def _below_heads(
    stretches: Sequence[range],
    grids: Sequence[Grid],
    figures: Sequence[Sequence[int]],
    lines: Sequence[Line],
    text: str,
) -> Items | None:
    """Returns the items without the lines that are the head of the columns, which may stand on each page.

    None if few have all lines. figures: the columns of figures in each line of an item. A line of less than half of its
    columns begins none.
    """
    kept, cells = list[tuple[int, ...]](), list[Cells]()
    head: list[Cells] = []
    empty: list[Cells] = [((),) * (len(grid.gaps) + 1) for grid in grids]
    for stretch in stretches:
        own = [cells_in(lines[at], grid, text) for at, grid in zip(stretch, grids, strict=False)]
        parts = [(line[c], c in known) for line, known in zip(own, figures, strict=False) for c in range(len(line))]
        counted = [is_figure(cell, text) for cell, is_counted in parts if cell and is_counted]
        is_whole = len(stretch) >= len(grids)
        if 2 * sum(map(bool, own[0])) < len(own[0]) or not (counted or is_whole):
            continue
        if any(counted):
            own += empty[len(own) :]
            kept.append(tuple(stretch[: len(grids)]))
            cells.append(tuple(cell for line in own for cell in line))
        elif is_whole and counted and not kept:
            head = own
    if sum(len(item) == len(grids) for item in kept) < _USUAL * len(kept):
        return None
    for many in (len(grids), 1):
        above = range(kept[0][0] - many, kept[0][0])
        if not head and above.start >= 0:
            named = [cells_in(lines[at], grid, text) for at, grid in zip(above, grids, strict=False)]
            over = [line[c] for line, known in zip(named, figures, strict=False) for c in known]
            # A head has words above figures.
            is_head = any(over) and all(cell and not is_figure(cell, text) for cell in over)
            head = [*named, *empty[many:]] if is_head else []
    heads = tuple(cell for line in head for cell in line) or ((),) * len(cells[0])
    return Items(tuple(kept), heads, tuple(cells))
