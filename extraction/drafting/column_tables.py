"""Tables of a document: a line of heads, and the lines whose cells stand below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cinnabar.extraction.drafting.page_lines import Cell, CellLine, CellPage, is_label, key_of, without_marks

#: The most blank and drawn lines between the heads and the first row.
_GAP = 2


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table: its heads with their keys, its rows of texts by head, the lines [first, until), and the line above.

    `sure` says that it looks like a table by itself: figures below heads without any, or a drawn line between them.
    """

    heads: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    first: int
    until: int
    heading: str
    sure: bool


def tables_of(page: CellPage) -> list[FoundTable]:
    """The tables of a page in reading order; they do not overlap."""
    found: list[FoundTable] = []
    number = 0
    while number < len(page.lines):
        table = _table(page.lines, number)
        if table is None:
            number += 1
        else:
            found.append(table)
            number = table.until
    return found


def _table(lines: Sequence[CellLine], number: int) -> FoundTable | None:
    heads = lines[number].cells
    names = [without_marks(cell.text.rstrip(":")) for cell in heads]
    if len(heads) < 2 or not all(map(_is_head, names)) or len({key_of(name) for name in names}) < len(names):
        return None
    rows: list[tuple[str, ...]] = []
    at, gap, ruled = number + 1, 0, False
    until = at
    while at < len(lines):
        line = lines[at]
        if not line.cells:
            gap += 1
            ruled = ruled or (line.ruled and not rows)
            if gap > (_GAP if not rows else 0) and not line.ruled:
                break
        else:
            row = _row(heads, line.cells)
            if row is None:
                break
            rows.append(row)
            gap, until = 0, at + 1
        at += 1
    if not rows or sum(sum(map(bool, row)) for row in rows) < len(rows) * max(2, len(heads) / 2):
        return None
    counts = (sum(any(map(str.isdigit, row[column])) for row in rows) for column in range(len(heads)))
    figures = any(count * 2 > len(rows) for count in counts)
    above = _heading(lines, number)
    keys = tuple(map(key_of, names))
    return FoundTable(tuple(names), keys, tuple(rows), number, until, above, ruled or (figures and len(rows) > 1))


def _is_head(name: str) -> bool:
    return is_label(name) and sum(map(str.isdigit, name)) * 4 <= len(name)


def _row(heads: Sequence[Cell], cells: Sequence[Cell]) -> tuple[str, ...] | None:
    """The texts of a row by head: as many cells as heads stand in order, fewer stand below the heads they overlap.

    A line with a label is no row.
    """
    if any(cell.text.endswith(":") for cell in cells):
        return None
    if len(cells) == len(heads):
        return tuple(cell.text for cell in cells)
    if not 2 <= len(cells) <= len(heads):
        return None
    row = [""] * len(heads)
    for cell in cells:
        below = [at for at, head in enumerate(heads) if cell.start < head.end + 1 and head.start < cell.end + 1]
        if len(below) != 1 or row[below[0]]:
            return None
        row[below[0]] = cell.text
    return tuple(row)


def _heading(lines: Sequence[CellLine], number: int) -> str:
    """The short line above the heads, "" if there is none."""
    for line in reversed(lines[max(0, number - 3) : number]):
        if line.cells:
            text = without_marks(line.text).rstrip(":")
            return text if len(line.cells) == 1 and is_label(text) else ""
    return ""
