"""Tables: the heads of a grid's columns, its rows with their cells, and the lines in between.

A row is a line that fills most of the columns that the fullest lines fill. A line of less, right below one and without
figures where the column has some, continues the row. A line like the table's head is its repetition; every other line
is a heading, a note or a sum.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from cinnabar.engine.tables.grid import GRID_LINES, Gap, Grid, grids_of
from cinnabar.engine.tables.grid_cells import (
    GAP_BLANKS,
    blank_width,
    cells_in,
    coarser_grid,
    drop_gap,
    extent_in,
    is_narrow_gap,
)
from cinnabar.engine.tables.heads import Cells, Forms, crosses, head_lines, heads_of, is_figure, words_of
from cinnabar.engine.tables.labelled_blocks import blocks_of
from cinnabar.engine.tables.line_items import items_of
from cinnabar.engine.tables.lines import Boxes, Line, Starts, character_width, level_lines, lines_of, whole_lines

#: The lines above a grid in which its head may stand; the columns of figures that have words in the head of a table
#: below another one.
TABLE_HEAD_LINES, TABLE_HEADED = 6, 2
#: So many lines between rows that begin like a line above them tell that it is a heading as they are.
TABLE_LIKE_HEADINGS = 2
#: The share of a column's cells with a figure from which on it is a column of figures.
TABLE_FIGURES = 0.7
#: The share of the usual columns that a row fills; a column is usual if this share of the fullest lines fills it, and a
#: line is one of the fullest with this share of the columns that these fill.
TABLE_FILLED, TABLE_USUAL, TABLE_FULLEST = 0.5, 0.6, 0.7
#: The share of rows with a sign between two columns, or a first cell that begins with a label, that makes them labels.
TABLE_LABELS = 0.6
#: A line that did not tell the columns is a row if this share of its figures has the usual forms of their columns.
TABLE_FITTING = 0.6
#: The rows found in items of several lines, in those of an item, or the share of these lines in no row, from which on
#: the items are the rows; the share of lines among them that must be theirs.
TABLE_ITEM_ROWS, TABLE_LOST_LINES, TABLE_OWN_LINES = 1.5, 0.25, 0.6
#: How near the line below the last row is to it, in the distance of two rows, if it goes on there.
ROWS_APART = 0.85
_LABEL = re.compile(r"[^\W\d][^:=\n]{0,40}?(?: ?:(?!\S)|=$)")
_COUNT = re.compile(r"(?P<label>[^\W\d][^:=\n]{0,40}?) ?:\s*(?P<number>\d+)")
_BETWEEN = frozenset({"=", ":", "->", "=>", "→"})
#: The texts whose tables are kept.
_KEPT = 4


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: for each of C columns the spans [start, end) of its cell's text, one a line, () where it is empty."""

    start: int
    cells: Cells


@dataclass(frozen=True, slots=True)
class Between:
    """A line that is no row: its characters [start, end), the number of rows before it, and whether it may be a sum.

    Such a line ends with a figure of its column. cells: those of its words, () for a line outside of the columns.
    """

    start: int
    end: int
    rows: int
    is_sum: bool = False
    cells: Cells = ()


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A table of C columns: the spans of each column's head, its rows, and its other lines but repeated heads.

    start, end: characters of the text. figures: the columns whose cells have figures. repeated: the numbers of rows
    before each repetition of the head. sums_at: where the sums below the rows of a short table begin, if that is known.
    """

    start: int
    end: int
    heads: Cells
    rows: tuple[TableRow, ...]
    between: tuple[Between, ...]
    figures: frozenset[int]
    repeated: frozenset[int] = frozenset()
    sums_at: int | None = None

    def filled_columns(self) -> list[int]:
        """Returns the columns that at least half of the rows fill."""
        return [c for c in range(len(self.heads)) if 2 * sum(bool(row.cells[c]) for row in self.rows) >= len(self.rows)]

    def head(self, column: int, text: str) -> str:
        """Returns the words of a column's head."""
        return words_of(self.heads[column], text)


def tables_of(text: str, word_start: Starts | None = None, word_box: Boxes | None = None) -> list[PrintedTable]:
    """Returns the tables of a text in their order; its words and their boxes as in `lines_of`.

    Those of the last texts are kept: a long list asks for them when it is encoded, when its rows are found, and for the
    places of its values.
    """
    starts = None if word_start is None else np.asarray(word_start, np.int32).tobytes()
    boxes = None if word_box is None else np.asarray(word_box, np.float32).tobytes()
    return [*_kept_tables(text, starts, boxes)]


@lru_cache(maxsize=_KEPT)
def _kept_tables(text: str, starts: bytes | None, boxes: bytes | None) -> tuple[PrintedTable, ...]:
    word_start = None if starts is None else np.frombuffer(starts, np.int32)
    word_box = None if boxes is None else np.frombuffer(boxes, np.float32).reshape(-1, 4)
    return tuple(_found_tables(text, word_start, word_box))


def _found_tables(text: str, word_start: Starts | None, word_box: Boxes | None) -> list[PrintedTable]:
    lines = level_lines(whole_lines(lines_of(text, word_start, word_box), text), text)
    tables = _grid_tables(lines, text)
    blocks = _table_of_blocks(text)
    if blocks is None:
        return _with_items(tables, lines, text)
    # What the grids made of their lines is no table.
    beside = [one for one in tables if one.end <= blocks.start or one.start >= blocks.end]
    return sorted([blocks, *beside], key=lambda table: table.start)


def _grid_tables(lines: Sequence[Line], text: str) -> list[PrintedTable]:
    """Returns the tables whose lines have common columns, of two rows and more, in their order."""
    tables: list[PrintedTable] = []
    taken = [False] * len(lines)
    # The longer of two tables has the lines between them that may be its head.
    grids = [part for grid in grids_of(lines) for part in _parts(lines, grid, text)]
    for grid in sorted(grids, key=lambda grid: -len(grid.lines)):
        own = [at for at in grid.lines if not taken[at]]
        if len(own) < GRID_LINES:
            continue
        floor = next((at + 1 for at in range(own[0] - 1, -1, -1) if taken[at]), 0)
        own_grid = replace(grid, first=own[0], until=own[-1] + 1, lines=tuple(own))
        ceiling = next((at for at in range(own[-1] + 1, len(lines)) if taken[at]), len(lines))
        begin, table = _table(lines[:ceiling], own_grid, floor, text)
        taken[begin : own[-1] + 1] = [True] * (own[-1] + 1 - begin)
        for at in range(own[-1] + 1, ceiling):
            taken[at] = lines[at].start < table.end and lines[at].end <= table.end
        tables.append(table)
        above = lines[own[0] : begin]
        tables += (_table(above, other, 0, text)[1] for other in grids_of(above)) if len(above) >= GRID_LINES else ()
    return sorted((table for table in tables if len(table.rows) > 1), key=lambda table: table.start)


def _table_of_blocks(text: str) -> PrintedTable | None:
    blocks = blocks_of(text)
    if blocks is None:
        return None
    rows = tuple(map(TableRow, blocks.starts, blocks.values))
    end = max((span[1] for cell in rows[-1].cells for span in cell), default=rows[-1].start)
    figures, _ = _columns(blocks.values, text)
    return PrintedTable(rows[0].start, end, blocks.labels, rows, (), figures)


def _with_items(tables: list[PrintedTable], lines: Sequence[Line], text: str) -> list[PrintedTable]:
    """Returns the tables, or one of items of several lines if the others have these as rows of their own, or not.

    What stands above and below the items has tables of its own.
    """
    items = items_of(lines, text)
    if items is None:
        return tables
    own_lines = [at for item in items.lines for at in item]
    begins = [lines[item[0]].start for item in items.lines]
    first, until = own_lines[0], own_lines[-1] + 1
    end = lines[until - 1].end
    rows = [row for table in tables for row in table.rows if begins[0] <= row.start < end]
    read = {span[0] for row in rows for cell in row.cells for span in cell}
    lost = sum(lines[at].start not in read for at in own_lines) / len(own_lines)
    alone = len(own_lines) >= TABLE_OWN_LINES * (until - first)
    if not alone or (lost < TABLE_LOST_LINES and len(rows) < TABLE_ITEM_ROWS * len(begins)):
        return tables
    others = [lines[at] for at in sorted({*range(first, until)}.difference(own_lines))]
    between = [
        Between(one.start, one.end, bisect_left(begins, one.start), is_figure([(one.words[-1].start, one.end)], text))
        for one in others
    ]
    figures, _ = _columns(items.cells, text)
    own = PrintedTable(begins[0], end, items.heads, tuple(map(TableRow, begins, items.cells)), tuple(between), figures)
    head = {start for cell in items.heads for start, _ in cell}
    above = [line for line in lines[:first] if head.isdisjoint(word.start for word in line.words)]
    return [*_grid_tables(above, text), own, *_grid_tables(lines[until:], text)]


def _parts(lines: Sequence[Line], grid: Grid, text: str) -> list[Grid]:
    """Returns the grids of tables that stand below each other in the same columns.

    Each has a head of its own below an empty line: new words, also where the others have figures. Right below a row all
    columns of figures have words: new ones, or those of a head above in another order.
    """
    cells = {at: cells_in(lines[at], grid, text) for at in grid.lines}
    figures, usual = _columns([*cells.values()], text)
    figures &= usual
    above = range(max(0, grid.first - TABLE_HEAD_LINES), grid.lines[0] + 1)
    known = {word for at in above for word in _words(lines[at], text)}
    heads = {tuple(sorted(_words(lines[at], text))): _words(lines[at], text) for at in above}
    begins = [0]
    for number, (at, below) in enumerate(pairwise(grid.lines[1:]), 1):
        own = [said for column in figures if (said := words_of(cells[at][column], text))]
        is_head = len(own) >= min(len(figures), TABLE_HEADED) and not any(map(str.isdigit, "".join(own)))
        has_rows = any(is_figure(cells[below][column], text) for column in figures if cells[at][column])
        printed = _words(lines[at], text)
        is_new, is_turned = not known.issuperset(printed), heads.get(tuple(sorted(printed)), printed) != printed
        is_other = len({*own}) == len(figures) > 1 and not any(map(str.isdigit, "".join(printed)))
        if is_head and has_rows and ((lines[at].blank and is_new) or (is_other and (is_new or is_turned))):
            begins.append(number)
            known.update(printed)
            heads[tuple(sorted(printed))] = printed
    if len(begins) == 1:
        return [grid]
    edges = [grid.lines[number] for number in begins[1:]]
    found: list[Grid] = []
    for first, until in pairwise([grid.first, *edges, grid.until]):
        # Each has columns of its own.
        parts = grids_of(lines[first:until])
        found += [
            replace(one, first=one.first + first, until=one.until + first, lines=tuple(at + first for at in one.lines))
            for one in parts
        ]
    return found


def has_labels(table: PrintedTable, text: str) -> bool:
    """Returns whether the rows of a table are labels with their values: a column of signs, or first cells with a colon.

    Such lines tell one thing; the rows of a list tell one thing each.
    """
    columns = [[words_of(row.cells[c], text) for row in table.rows] for c in range(len(table.heads))]
    signs = [sum(cell in _BETWEEN for cell in column) for column in columns]
    colons = sum(_LABEL.match(cell) is not None for cell in columns[0])
    return max(*signs, colons) >= TABLE_LABELS * len(table.rows)


def _table(lines: Sequence[Line], grid: Grid, floor: int, text: str) -> tuple[int, PrintedTable]:
    """Returns the first line of a grid's table, which is `floor` or below, and the table."""
    head, first = _head(lines, coarser_grid(lines, grid, text), floor, text)
    grid = _fit_head(lines, grid, head, text)
    # Lines above the head belong to another table.
    begin = min(head, default=grid.first)
    grid = replace(grid, lines=tuple(at for at in grid.lines if at >= begin))
    grid = replace(grid, until=_end_of_rows(lines, grid, text))
    cells = {at: cells_in(lines[at], grid, text) for at in range(begin, grid.until)}
    fitting = {*grid.lines}
    own_cells = [cells[at] for at in grid.lines]
    figures, usual = _columns(own_cells, text)
    forms = Forms(own_cells, figures, text)
    printed = {_words(lines[at], text) for at in head}
    counted = _counts(lines, range(begin, grid.until), text)
    rows: list[TableRow] = []
    between: list[Between] = []
    repeated: set[int] = set()
    last, since = -1, 0
    for at in range(begin, grid.until):
        line, own = lines[at], cells[at]
        if at in head or _words(line, text) in printed:
            repeated.add(len(rows))
            continue
        # "Entries: 12" goes on with no row.
        is_count = counted.get(at, -1) in (len(rows), len(rows) - since)
        since = len(rows) if at in counted else since
        filled = {column for column, spans in enumerate(own) if spans and not is_count}
        is_row = at in fitting or forms.matches(own) >= TABLE_FITTING * max(1, _count_filled(own, figures))
        if at >= first and is_row and _fills(own, usual):
            rows.append(TableRow(line.start, own))
            last = at
        elif rows and last == at - 1 and not line.blank and _continues(filled, rows[-1], figures, line, grid):
            joined = tuple((*upper_cell, *cell) for upper_cell, cell in zip(rows[-1].cells, own, strict=True))
            rows[-1] = TableRow(rows[-1].start, joined)
            last = at
        else:
            last_column = grid.column(line.words[-1].middle)
            is_sum = forms.matches(own, last_column) > 0
            between.append(Between(line.start, line.end, len(rows), is_sum, own))
    heads = heads_of(lines, grid, head, cells, text)
    end = max(lines[at].end for at in range(begin, grid.until))
    start = min(word.start for at in range(begin, grid.until) for word in lines[at].words)
    return begin, PrintedTable(start, end, heads, tuple(rows), tuple(between), figures, frozenset(repeated))


def _end_of_rows(lines: Sequence[Line], grid: Grid, text: str) -> int:
    """Returns the line behind the last one of a table: right below the lines of its grid its last row may go on.

    So it does in words below its own if other rows do, or if the line is nearer than two rows are. A line that begins
    where they do and ends with a figure in their last column belongs to the table as well.
    """
    at, cells = grid.until, [cells_in(lines[one], grid, text) for one in grid.lines]
    figures, _ = _columns(cells, text)
    last = max((c for c in figures if sum(bool(own[c]) for own in cells) > len(cells) // 2), default=-1)
    known = {*grid.lines}
    steps = [lines[one].top - lines[one - 1].top for one in grid.lines if one - 1 in known]
    wraps = any(one + 1 not in known and not lines[one + 1].blank for one in grid.lines[:-1])
    width = character_width([lines[one] for one in grid.lines])
    edges = [extent_in(lines[grid.lines[-1]], grid, c) for c in range(len(grid.gaps) + 1)]
    while at < len(lines) and not lines[at].blank and lines[at].boxed == lines[at - 1].boxed:
        own = cells_in(lines[at], grid, text)
        column = next(c for c, cell in enumerate(own) if cell)
        edge = edges[column]
        under = edge is not None and abs(lines[at].words[0].left - edge[0]) <= width
        is_near = bool(steps) and lines[at].boxed and lines[at].top - lines[at - 1].top < ROWS_APART * min(steps)
        goes_on = under and (wraps or is_near) and sum(map(bool, own)) == 1 and not crosses(lines[at], grid)
        ends = under and column < last == grid.column(lines[at].words[-1].middle) and is_figure(own[last], text)
        if column in figures or not (goes_on or ends):
            break
        at += 1
    return at


def _counts(lines: Sequence[Line], within: range, text: str) -> dict[int, int]:
    """Returns the numbers of lines that are a label and a number, by line, where others have the same label."""
    found = {at: match for at in within if (match := _COUNT.fullmatch(text, lines[at].start, lines[at].end))}
    times = Counter(match["label"] for match in found.values())
    return {at: int(match["number"]) for at, match in found.items() if times[match["label"]] >= TABLE_LIKE_HEADINGS}


def _head(lines: Sequence[Line], grid: Grid, floor: int, text: str) -> tuple[list[int], int]:
    """Returns the lines of a table's head, which may all stand above its grid, and the line of its first row."""
    known: dict[int, Cells] = {}

    def cells(at: int) -> Cells:
        if at not in known:
            known[at] = cells_in(lines[at], grid, text)
        return known[at]

    fitting = [cells(at) for at in grid.lines]
    figures, usual = _columns(fitting, text)
    forms = Forms(fitting, figures, text)

    def is_row(at: int) -> bool:
        return _fills(cells(at), usual) and 2 * forms.matches(cells(at)) > _count_filled(cells(at), figures)

    # In a table without figures the first line is the head.
    first = next(filter(is_row, grid.lines), None)
    if first is None:
        first = grid.lines[1]
        above = head_lines(lines, grid, grid.first, floor, cells, forms)
        return (above, grid.first) if above else ([grid.first], first)
    below = {_words(lines[at], text) for at in range(first, grid.until) if not is_row(at)}
    begun = Counter(words[0] for words in below)
    # A line that begins with a label may fill all columns of a narrow table.
    every = {at: _words(lines[at], text) for at in range(floor, first)}
    others = {at: words for at, words in every.items() if words[0][-1] == ":" or not _fills(cells(at), usual)}
    alike = {at for at, words in others.items() if begun[words[0]] - (words in below) >= TABLE_LIKE_HEADINGS}
    return head_lines(lines, grid, first, floor, cells, forms, alike), first


def _fills(cells: Cells, usual: frozenset[int]) -> bool:
    """Returns whether a line fills as many of the usual columns as a row does."""
    return _count_filled(cells, usual) > TABLE_FILLED * len(usual)


def _count_filled(cells: Cells, columns: frozenset[int]) -> int:
    return sum(bool(cells[column]) for column in columns)


def _fit_head(lines: Sequence[Line], grid: Grid, head: Sequence[int], text: str) -> Grid:
    """Returns a grid whose gaps leave the words of the head whole, without those within a column.

    A column without a head, or without a cell, belongs to one beside it if only a blank parts them in nearly all rows
    that fill both: to that one whose cells keep a common edge with it. A word that begins every row is its cell's.
    """
    if not head:
        return grid
    grid = replace(grid, gaps=tuple(_beside(gap, lines[head[-1]]) for gap in grid.gaps))
    blank = GAP_BLANKS * blank_width([lines[at] for at in grid.lines], text)
    printed = {_words(lines[at], text) for at in head}
    # The head stands again on other pages.
    below = [lines[at] for at in grid.lines if _words(lines[at], text) not in printed]
    column = 0
    while column <= len(grid.gaps):
        if _is_first_word(below, lines, head, grid, column, text) and is_narrow_gap(lines, grid, column, blank):
            grid = drop_gap(grid, column)
            continue
        named = any(cells_in(lines[at], grid, text)[column] for at in head)
        if not named or not any(extent_in(line, grid, column) for line in below):
            beside = [gap for gap in (column - 1, column) if 0 <= gap < len(grid.gaps)]
            sides = [gap for gap in beside if is_narrow_gap(lines, grid, gap, blank)]
            if sides:
                best = max(sides, key=lambda gap: _aligned_share(lines, drop_gap(grid, gap), gap))
                grid, column = drop_gap(grid, best), max(0, column - 1)
                continue
        column += 1
    return grid


def _is_first_word(
    below: Sequence[Line], lines: Sequence[Line], head: Sequence[int], grid: Grid, column: int, text: str
) -> bool:
    """Returns whether all rows have the same words in a column, and no head begins at the next one."""
    if column == len(grid.gaps) or len({words_of(cells_in(line, grid, text)[column], text) for line in below}) != 1:
        return False
    return all(grid.column(part.left + 0.1) != column + 1 for at in head for part in lines[at].cells)


def _aligned_share(lines: Sequence[Line], grid: Grid, column: int) -> float:
    """Returns the share of a column's cells that have the commonest left edge, or right edge if that is more."""
    extents = [extent for at in grid.lines if (extent := extent_in(lines[at], grid, column)) is not None]
    times = [Counter(round(extent[side]) for extent in extents).most_common(1)[0][1] for side in (0, 1)]
    return max(times) / len(extents)


def _beside(gap: Gap, head: Line) -> Gap:
    """Returns the widest part of a gap that the words of the head leave free, the whole gap if they leave nothing."""
    best, begin = (gap[0], gap[0]), gap[0]
    for word in [*head.words, None]:
        left, right = (word.left, word.right) if word is not None else (gap[1], gap[1])
        if right <= gap[0]:
            continue
        best = max(best, (begin, min(left, gap[1])), key=lambda one: one[1] - one[0])
        begin = max(begin, right)
        if left >= gap[1]:
            break
    return best if best[1] > best[0] else gap


def _words(line: Line, text: str) -> tuple[str, ...]:
    return tuple(text[word.start : word.end] for word in line.words)


def _columns(fitting: Sequence[Cells], text: str) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the columns of figures, and those that the fullest lines usually fill."""
    counts = sorted(sum(map(bool, own)) for own in fitting)
    full = [own for own in fitting if sum(map(bool, own)) >= TABLE_FULLEST * counts[int(0.9 * (len(counts) - 1))]]
    figures = [[c for c, spans in enumerate(own) if is_figure(spans, text)] for own in full]
    # A line without any figure is most likely a head.
    rows = [own for own, columns in zip(full, figures, strict=True) if columns]
    filled = Counter(column for own in full for column, spans in enumerate(own) if spans)
    in_rows = Counter(column for own in rows for column, spans in enumerate(own) if spans)
    with_figures = Counter(column for columns in figures for column in columns)
    usual = frozenset(column for column, count in filled.items() if count >= TABLE_USUAL * len(full))
    return frozenset(c for c, count in with_figures.items() if count >= TABLE_FIGURES * in_rows[c]), usual


def _continues(filled: set[int], row: TableRow, figures: frozenset[int], line: Line, grid: Grid) -> bool:
    """Returns whether a line continues the cells of the row above: figures that it has were missing there."""
    above = {column for column, cell in enumerate(row.cells) if cell}
    if not filled or filled & figures & above or (filled - figures) - above:
        return False
    return not crosses(line, grid)
