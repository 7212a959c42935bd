"""Items of several lines without labels: the same number of lines again and again, each with columns of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, permutations
from statistics import median

from cinnabar.engine.tables.grid import Grid, grids_of
from cinnabar.engine.tables.grid_cells import cells_in, coarser_grid
from cinnabar.engine.tables.heads import Cells, is_figure
from cinnabar.engine.tables.lines import Line, character_width

#: The fewest items, the most lines of one, and the share of all that have the usual number of lines.
ITEMS_FEWEST, ITEM_LINES, ITEM_USUAL = 6, 6, 0.8
#: How far lines that begin at one place may lie apart, in characters.
ITEM_INDENT = 0.8
#: The share of items whose first line fills a column, for all that lack lines to do so.
ITEM_FILLED = 0.9
#: The parts of a line from which on it has several columns.
ITEM_PARTS = 2
#: The share of a column's cells that are figures, for it to be one of figures.
ITEM_FIGURES = 0.7


@dataclass(frozen=True, slots=True)
class LineItems:
    """Items of several lines: the lines of each, the words above their columns, and the cells of each item."""

    lines: tuple[tuple[int, ...], ...]
    heads: Cells
    cells: tuple[Cells, ...]


def items_of(lines: Sequence[Line], text: str) -> LineItems | None:
    """Returns the items of a text that have the same number of lines each; None if it has too few or no figures.

    The first line of an item stands out to the left, or below an empty line. An item may lack lines behind its first.
    Lines in the columns of others are rows of their own, unless each of them has a head.
    """
    near = ITEM_INDENT * character_width(lines)
    edges = Counter(round(line.words[0].left / near) for line in lines)
    outer = min((edge for edge, times in edges.items() if times >= ITEMS_FEWEST), default=0)
    outdented = [abs(line.words[0].left - outer * near) <= near for line in lines]
    for begins in ([line.blank > 0 or at == 0 for at, line in enumerate(lines)], outdented):
        stretches, many = _stretches(begins)
        found = [item for item in stretches if len(item) == many]
        grids = [_grid([lines[item[k]] for item in found], text) for k in range(many)]
        whole = [grid for grid in grids if grid is not None]
        if len(whole) < many or not any(grid.gaps for grid in whole):
            continue
        cells = [[cells_in(lines[at], grid, text) for at, grid in zip(item, whole, strict=True)] for item in found]
        figures = [_figures([own[k] for own in cells], text) for k in range(many)]
        if not any(figures):
            continue
        # Below an empty line begins a title as well, and what has more lines than an item.
        own = stretches if begins is outdented else [one for one in stretches if len(one) <= many]
        items = _below_heads(own, whole, figures, lines, text)
        if items is None or (_share_columns(whole) and not all(map(any, _by_line(items.heads, whole)))):
            continue
        return items
    return None


def _stretches(begins: Sequence[bool]) -> tuple[list[range], int]:
    """Returns the lines from one first line to the next, and their usual number; 0 if few have it."""
    starts = [at for at, is_first in enumerate(begins) if is_first]
    stretches = [range(one, two) for one, two in pairwise([*starts, len(begins)])]
    lengths = [len(one) for one in stretches if len(one) > 1]
    usual, times = Counter(lengths).most_common(1)[0] if lengths else (0, 0)
    return stretches, usual if usual <= ITEM_LINES and times >= max(ITEMS_FEWEST, ITEM_USUAL * len(lengths)) else 0


def _grid(own: Sequence[Line], text: str) -> Grid | None:
    """Returns the columns of lines that say the same of each item; None if they have several parts but no columns."""
    grids = grids_of([replace(line, blank=0) for line in own])
    best = max(grids, key=lambda grid: len(grid.lines), default=None)
    whole = Grid(0, len(own), tuple(range(len(own))), ())
    if best is None or len(best.lines) < ITEM_USUAL * len(own):
        return whole if median(len(line.cells) for line in own) < ITEM_PARTS else None
    return coarser_grid(own, replace(whole, gaps=best.gaps), text)


def _share_columns(grids: Sequence[Grid]) -> bool:
    """Returns whether all gaps of a line's columns are gaps of another line's, too."""
    return any(
        one.gaps and two.gaps and all(any(a < d and c < b for c, d in two.gaps) for a, b in one.gaps)
        for one, two in permutations(grids, 2)
    )


def _by_line(cells: Cells, grids: Sequence[Grid]) -> list[Cells]:
    """Returns cells of an item by its lines."""
    left = iter(cells)
    return [tuple(islice(left, len(grid.gaps) + 1)) for grid in grids]


def _figures(cells: Sequence[Cells], text: str) -> list[int]:
    """Returns the columns of figures."""
    found = []
    for column in range(len(cells[0])):
        filled = [own[column] for own in cells if own[column]]
        if filled and sum(is_figure(cell, text) for cell in filled) >= ITEM_FIGURES * len(filled):
            found.append(column)
    return found


def _below_heads(
    stretches: Sequence[range],
    grids: Sequence[Grid],
    figures: Sequence[Sequence[int]],
    lines: Sequence[Line],
    text: str,
) -> LineItems | None:
    """Returns the items without the lines that are the head of the columns, which may stand on each page.

    None if few have all lines. figures: the columns of figures in each line of an item. A line of less than half of its
    columns begins none.
    """
    kept, cells = list[tuple[int, ...]](), list[Cells]()
    head: list[Cells] = []
    empty: list[Cells] = [((),) * (len(grid.gaps) + 1) for grid in grids]
    whole = [cells_in(lines[one[0]], grids[0], text) for one in stretches if len(one) == len(grids)]
    usual = [c for c in range(len(whole[0])) if sum(bool(own[c]) for own in whole) >= ITEM_FILLED * len(whole)]
    for stretch in stretches:
        # Which of too many lines is which nothing tells.
        at_hand = stretch if len(stretch) <= len(grids) else stretch[:1]
        own = [cells_in(lines[at], grid, text) for at, grid in zip(at_hand, grids, strict=False)]
        parts = [(line[c], c in known) for line, known in zip(own, figures, strict=False) for c in range(len(line))]
        counted = [is_figure(cell, text) for cell, is_counted in parts if cell and is_counted]
        is_whole = len(stretch) == len(grids)
        # A sum, or a heading, fills less than the first line of an item.
        many = sum(map(bool, own[0]))
        begins = 2 * many >= len(own[0]) and (is_whole or (many > 1 and all(own[0][c] for c in usual)))
        if begins and (any(counted) or not (counted or figures[0])):
            own += empty[len(own) :]
            kept.append(tuple(at_hand))
            cells.append(tuple(cell for line in own for cell in line))
        elif begins and is_whole and counted and not kept:
            head = own
    if not kept or sum(len(item) == len(grids) for item in kept) < ITEM_USUAL * len(kept):
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
    return LineItems(tuple(kept), heads, tuple(cells))
