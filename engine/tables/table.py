"""Tables: the heads of a grid's columns, its rows with their cells, and the lines in between.

A row is a line that fills most of the columns that the fullest lines fill. A line of less, right below one and without
figures where the column has some, continues the row. A line like the table's head is its repetition; every other line
is a heading, a note or a sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cinnabar.engine.tables.grid import Grid, grids_of
from cinnabar.engine.tables.lines import Boxes, Line, Starts, Stretch, lines_of

#: The share of a column's cells with a figure from which on it is a column of figures.
_FIGURES = 0.7
#: The share of the usual columns that a row fills; a column is usual if this share of the fullest lines fills it.
_FILLED, _USUAL = 0.5, 0.6
#: The most lines of a table's head.
_HEAD = 4
#: How much farther from its middle a column more of a group may be, in the group's width.
_MIDDLE = 0.02

Span = tuple[int, int]
#: The spans of each column's cell in a line or a row, one a line of the text; () where it is empty.
Cells = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row: for each of C columns the spans [start, end) of its cell's text, one a line, () where it is empty."""

    start: int
    cells: Cells


@dataclass(frozen=True, slots=True)
class Between:
    """A line that is no row: its characters [start, end), and the number of rows before it."""

    start: int
    end: int
    rows: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table of C columns: the spans of each column's head, its rows, and its other lines but repeated heads.

    start, end: characters of the text. figures: the columns whose cells have figures.
    """

    start: int
    end: int
    heads: Cells
    rows: tuple[Row, ...]
    between: tuple[Between, ...]
    figures: frozenset[int]

    def head(self, column: int, text: str) -> str:
        """Returns the words of a column's head."""
        return words_of(self.heads[column], text)


def words_of(spans: Sequence[Span], text: str) -> str:
    """Returns the text of some spans in one line."""
    return " ".join(text[start:end] for start, end in spans)


def tables_of(text: str, word_start: Starts | None = None, word_box: Boxes | None = None) -> list[Table]:
    """Returns the tables of a text in their order; its words and their boxes as in `lines_of`."""
    lines = lines_of(text, word_start, word_box)
    tables = [_table(lines, grid, text) for grid in grids_of(lines)]
    return [table for table in tables if len(table.rows) > 1]


def _words(line: Line, text: str) -> tuple[str, ...]:
    return tuple(text[word.start : word.end] for word in line.words)


def _table(lines: Sequence[Line], grid: Grid, text: str) -> Table:
    cells = {at: _cells(lines[at], grid, text) for at in range(grid.first, grid.until)}
    fitting = {*grid.lines}
    figures, usual = _columns(cells, grid, text)
    head = _head(lines, grid, cells, figures, text)
    upper = grid.above
    printed = {_words(lines[at], text) for at in (*upper, *head)}
    rows: list[Row] = []
    between: list[Between] = []
    last = -1
    for at in range(grid.first, grid.until):
        line, own = lines[at], cells[at]
        if at in head or _words(line, text) in printed:
            continue
        filled = {column for column, spans in enumerate(own) if spans}
        if at in fitting and len(filled & usual) > _FILLED * len(usual):
            rows.append(Row(line.start, own))
            last = at
        elif rows and last == at - 1 and not line.blank and _continues(filled, rows[-1], figures, line, grid):
            joined = tuple((*upper_cell, *cell) for upper_cell, cell in zip(rows[-1].cells, own, strict=True))
            rows[-1] = Row(rows[-1].start, joined)
            last = at
        else:
            between.append(Between(line.start, line.end, len(rows)))
    heads = _heads(lines, grid, [*upper, *head], cells, text)
    end = max(lines[at].end for at in range(grid.first, grid.until))
    return Table(lines[min([*upper, grid.first])].start, end, heads, tuple(rows), tuple(between), figures)


def _cells(line: Line, grid: Grid, text: str) -> Cells:
    """Returns the spans of a line's words in each column: words with nothing but blanks between them are one span."""
    cells: list[list[Span]] = [[] for _ in range(len(grid.edges) + 1)]
    for word in line.words:
        own = cells[grid.column((word.left + word.right) / 2)]
        if own and own[-1][1] <= word.start and not text[own[-1][1] : word.start].strip():
            own[-1] = own[-1][0], word.end
        else:
            own.append((word.start, word.end))
    return tuple(tuple(own) for own in cells)


def _columns(
    cells: Mapping[int, Cells], grid: Grid, text: str
) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the columns of figures, and those that the fullest lines usually fill."""
    counts = sorted(sum(map(bool, cells[at])) for at in grid.lines)
    full = [cells[at] for at in grid.lines if sum(map(bool, cells[at])) >= 0.7 * counts[int(0.9 * (len(counts) - 1))]]
    figures = [[c for c, spans in enumerate(own) if _has_figures(spans, text)] for own in full]
    # A line without any figure is most likely a head.
    rows = [own for own, columns in zip(full, figures, strict=True) if columns]
    filled = Counter(column for own in full for column, spans in enumerate(own) if spans)
    in_rows = Counter(column for own in rows for column, spans in enumerate(own) if spans)
    with_figures = Counter(column for columns in figures for column in columns)
    usual = frozenset(column for column, count in filled.items() if count >= _USUAL * len(full))
    return frozenset(c for c, count in with_figures.items() if count >= _FIGURES * in_rows[c]), usual


def _has_figures(spans: Sequence[Span], text: str) -> bool:
    return any(letter.isdigit() for start, end in spans for letter in text[start:end])


def _head(
    lines: Sequence[Line], grid: Grid, cells: Mapping[int, Cells], figures: frozenset[int], text: str
) -> list[int]:
    """Returns the lines at the grid's beginning that are its head: without figures in columns of figures.

    They may all stand above it.
    """
    head: list[int] = []
    for at in range(grid.first, min(grid.until, grid.first + _HEAD)):
        own = cells[at]
        if any(_has_figures(own[column], text) for column in figures):
            break
        if head and lines[at].blank:
            break
        head.append(at)
    else:
        # In a table without figures the first line is the head.
        head = [grid.first]
    if not figures:
        head = [] if grid.above else [grid.first]
    # A heading of the first rows is no part of the head: it begins at the left, or crosses columns.
    while head and len(lines[head[-1]].cells) == 1 and (_crosses(lines[head[-1]], grid) or cells[head[-1]][0]):
        head.pop()
    return head


def _crosses(line: Line, grid: Grid) -> bool:
    """Returns whether a cell of a line reaches into another column."""
    return any(grid.column(cell.left + 0.1) != grid.column(cell.right - 0.1) for cell in line.cells)


def _heads(lines: Sequence[Line], grid: Grid, head: Sequence[int], cells: Mapping[int, Cells], text: str) -> Cells:
    """Returns the spans of each column's head, from top to bottom; a cell over several columns is the head of each."""
    heads: list[list[Span]] = [[] for _ in range(len(grid.edges) + 1)]
    for at in head:
        own = lines[at].cells
        if at in cells and (at == head[-1] or len(own) >= len(lines[head[-1]].cells)):
            for column, spans in enumerate(cells[at]):
                heads[column] += spans
            continue
        if len(own) >= _FILLED * len(heads):
            for column, spans in enumerate(_cells(lines[at], grid, text)):
                heads[column] += spans
            continue
        repeated = _repeated(cells.get(head[-1], ()), text)
        edges = [float("-inf"), *((one.right + two.left) / 2 for one, two in pairwise(own)), float("inf")]
        for cell, left, right in zip(own, edges, edges[1:], strict=False):
            for column in _under(cell, left, right, grid, lines[grid.lines[0]], repeated):
                heads[column].append((cell.start, cell.end))
    return tuple(tuple(own) for own in heads)


def _repeated(own: Cells, text: str) -> frozenset[int]:
    """Returns the columns whose heads in this line stand over other columns too: only a group tells these apart."""
    words = [words_of(spans, text) for spans in own]
    times = Counter(words)
    return frozenset(column for column, word in enumerate(words) if word and times[word] > 1)


def _under(
    cell: Stretch, left: float, right: float, grid: Grid, below: Line, repeated: frozenset[int]
) -> range:
    """Returns the columns under the head of a group: those that it stands on, and more if it is their middle then.

    left, right: its room, halfway to its neighbours; below: a line of the columns; repeated: the columns that may be
    more.
    """
    first, last = grid.column(cell.left + 0.1), grid.column(cell.right - 0.1)
    extent = [(float("inf"), float("-inf"))] * (len(grid.edges) + 1)
    for word in below.words:
        column = grid.column((word.left + word.right) / 2)
        extent[column] = min(extent[column][0], word.left), max(extent[column][1], word.right)
    best, columns = float("inf"), range(first, last + 1)
    for a in range(first, -1, -1):
        if a < first and (extent[a][0] < left or a not in repeated):
            break
        for b in range(last, len(extent)):
            if b > last and (extent[b][1] > right or b not in repeated):
                break
            off = abs((extent[a][0] + extent[b][1] - cell.left - cell.right) / 2) / (extent[b][1] - extent[a][0])
            # Of two ranges that it is as well the middle of, the wider one.
            if off - _MIDDLE * (b - a) < best:
                best, columns = off - _MIDDLE * (b - a), range(a, b + 1)
    return columns


def _continues(filled: set[int], row: Row, figures: frozenset[int], line: Line, grid: Grid) -> bool:
    """Returns whether a line continues the cells of the row above: figures that it has were missing there."""
    above = {column for column, cell in enumerate(row.cells) if cell}
    if not filled or filled & figures & above or (filled - figures) - above:
        return False
    return not _crosses(line, grid)
