"""Rows of cells as lines: cells stand two blanks apart, and below each other where the table is narrow enough."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

GAP = "  "
#: The text of a cell whose formula has no value in the file.
UNCOMPUTED = "####"
#: What sheets show in place of a value that they cannot compute, in the languages of office programs.
CELL_ERROR = re.compile(
    r"#(?:DIV/0!|NULL!|N/A|REF!|VALUE!|NUM!|NAME\?|SPILL!|CALC!|FIELD!|BLOCKED!|BUSY!|CONNECT!|UNKNOWN!|GETTING_DATA"
    r"|WERT!|BEZUG!|NV|ZAHL!|VALEUR!|NOMBRE!)|Err:5\d\d(?!\w)"
)
# A wider cell, or a wider table, is not aligned: its lines would be blanks mostly.
_WIDEST, _WIDEST_ROW = 60, 320
_MAX_COLUMNS = 40


def widths(rows: Sequence[Sequence[str]], before: Sequence[int] = ()) -> list[int]:
    """Returns the width of each column in characters, or none if the rows are too wide to be aligned.

    before: those of the rows above; as many columns are at least as wide, so that a short last part stands below them.
    """
    widest: list[int] = []
    if len(set(map(len, rows))) == 1:
        # Columns of short cells of one line each are measured at once, all others cell by cell.
        widest = [max(map(len, column)) for column in zip(*rows, strict=True)]
        if max(widest, default=0) > _WIDEST or any("\n" in "".join(column) for column in zip(*rows, strict=True)):
            widest = []
    for row in () if widest else rows:
        widest += [0] * (len(row) - len(widest))
        for column, cell in enumerate(row):
            if len(cell) > widest[column]:
                size = max(map(len, cell.split("\n")))
                widest[column] = max(widest[column], size if size <= _WIDEST else 0)
    if len(before) == len(widest):
        widest = [max(both) for both in zip(widest, before, strict=True)]
    return widest if sum(widest) + len(GAP) * len(widest) <= _WIDEST_ROW else []


def row_lines(cells: Sequence[str], columns: Sequence[int] = ()) -> list[str]:
    """Returns the lines of a row, as many as its cells have; `columns` are the widths of an aligned table."""
    if not any("\n" in cell for cell in cells):
        return [marked_row(cells, columns)[0]]
    parts = [cell.split("\n") for cell in cells]
    height = max(map(len, parts))
    return [marked_row([part[at] if at < len(part) else "" for part in parts], columns)[0] for at in range(height)]


def table_lines(rows: Sequence[Sequence[str]], columns: Sequence[int] | None = None) -> Iterator[list[str]]:
    """Yields the lines of each row of a table, aligned if the table is narrow enough; `columns`: from `widths`."""
    columns = widths(rows) if columns is None else columns
    # Only a column of wide cells has no width of its own; the cells after it begin at different characters.
    layout = (" " * len(GAP)).join(f"%-{width}s" for width in columns) if columns and 0 not in columns else ""
    for cells in rows:
        # One call for a row instead of one for each of its cells: files have millions of small rows.
        line = layout % tuple(cells) if layout and len(cells) == len(columns) else "\n"
        yield row_lines(cells, columns) if "\n" in line else [line.rstrip(" ")]


def marked_row(cells: Sequence[str], columns: Sequence[int] = ()) -> tuple[str, list[int]]:
    """Returns the line of a row whose cells have one line each, and the character at which each cell begins."""
    line, begins = "", []
    pieces: list[str] = []
    at, wanted = 0, 0
    for column, cell in enumerate(cells):
        if cell:
            gap = max(wanted - at, len(GAP) if at else 0)
            pieces.append(" " * gap)
            at += gap
        begins.append(at)
        if cell:
            pieces.append(cell)
            at += len(cell)
        if column < len(columns):
            wanted += columns[column] + len(GAP)
    line = "".join(pieces)
    return line, begins


def column_names(rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns the names of the cells of all rows, none if a row has a name twice or there are too many for a table."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
        if len(set(row)) < len(row) or len(names) > _MAX_COLUMNS:
            return []
    return list(names)
