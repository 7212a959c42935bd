"""The rows of sheets as lines with the addresses of their cells, within the bounds of a workbook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.marked_text import MarkedText, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.plain.rows import marked_row, widths

#: Cells with content that are read of a workbook; two busy cores read 60,000 a second.
MAX_CELLS = 1_000_000
# Cells of a workbook that have an address of their own; beyond, the address is that of the row.
_MAX_ADDRESSES = 50_000
# Rows that are aligned with each other.
_BLOCK = 500
_LONGEST_CELL = 32_767
#: Columns that a sheet can have.
WIDEST = 16_384


class CellCount:
    """The number of cells that were read from all sheets of a workbook."""

    def __init__(self, reading: ParseContext) -> None:
        self.reading = reading
        self.cells = 0

    def add(self, cells: int) -> bool:
        """Counts cells with content; returns False, and flags the document `truncated`, beyond the bound."""
        self.cells += cells
        if self.cells > MAX_CELLS or self.reading.builder.full:
            self.reading.builder.flags.add("truncated")
            return False
        return True


class SheetText:
    """Appends the rows of one sheet, which begin at any column and come in their order."""

    def __init__(self, text: MarkedText, count: CellCount) -> None:
        self.text, self._count = text, count
        self._rows: list[tuple[int, list[str]]] = []
        self._last = -1

    def row(self, number: int, cells: Sequence[tuple[int, str]]) -> bool:
        """Appends a row of cells, each with its column from 1; returns False if the sheet takes no more."""
        held: list[str] = []
        filled = 0
        for column, content in cells:
            if not content.isalnum():
                content = " ".join(clean(content[:_LONGEST_CELL]).split())
            if content and 0 < column <= WIDEST:
                held += [""] * (column - len(held))
                held[column - 1] = content
                filled += 1
        if not filled:
            return True
        self._rows.append((number, held))
        if len(self._rows) >= _BLOCK:
            self.flush()
        return self._count.add(filled)

    def page_lines(self, lines: Iterable[str], kind: str) -> None:
        """Appends the lines of page headers or footers ("header", "footer"), apart from the rows."""
        self.flush()
        self.text.blank()
        for line in lines:
            self.text.line(line, f"page {kind}")

    def flush(self) -> None:
        """Writes the rows that were collected as a table whose columns are aligned; empty columns are left out."""
        # Columns that are empty in the whole block are no columns.
        used = sorted({at for _, cells in self._rows for at, cell in enumerate(cells) if cell})
        packed = [[cells[at] if at < len(cells) else "" for at in used] for _, cells in self._rows]
        columns = widths(packed)
        for (number, _), cells in zip(self._rows, packed, strict=True):
            if number > self._last + 1:
                self.text.blank()
            self._last = number
            line, begins = marked_row(cells, columns)
            if self._count.cells <= _MAX_ADDRESSES:
                marks = [
                    (begin, f"{column_name(at + 1)}{number}")
                    for at, begin, cell in zip(used, begins, cells, strict=True)
                    if cell
                ]
                self.text.line(line, marks=marks)
            else:
                self.text.line(line, f"row {number}")
        self._rows.clear()


@contextmanager
def sheet_rows(count: CellCount, name: str, hidden: bool) -> Iterator[SheetText]:
    """Gives the rows of a sheet, a part of its own."""
    with part_text(count.reading, "hidden" if hidden else "sheet", name) as text:
        rows = SheetText(text, count)
        yield rows
        rows.flush()


def column_name(number: int) -> str:
    """Returns the letters of a column, counted from 1."""
    name = ""
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(65 + digit) + name
    return name
