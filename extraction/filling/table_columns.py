"""The columns of a document's tables by name, and the columns that hold the fields of a list."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping

from cinnabar.engine.tables.headings import add_headings
from cinnabar.engine.tables.table import PrintedTable, tables_of
from cinnabar.extraction.documents.content.document import Document, Span
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.wording import harmless

#: The most characters of a head that are shown.
_SHOWN = 60
_COLUMN = re.compile(r"(?:^| › )(column [^›]*?)(?: › |$)")


class TableColumns:
    """Names the column, or the heading between rows, in which a character of a document stands."""

    def __init__(self, document: Document) -> None:
        passage = passage_of(document)
        self._text, self._offset = passage.text, passage.offset
        self._cells: list[tuple[int, int, str]] = []
        # The row of the table in which a cell stands, by the cell's first character.
        self._rows: dict[int, dict[str, tuple[Span, ...]]] = {}
        above = 0
        for table in tables_of(passage.text, passage.word_start, passage.word_box):
            whole = add_headings(table, passage.text, above)
            named = [self._name(whole, column, len(table.heads)) for column in range(len(whole.heads))]
            # A heading holds for many rows.
            cells = {span: named[c] for row in whole.rows for c, cell in enumerate(row.cells) for span in cell}
            self._cells += ((*span, name) for span, name in cells.items())
            for row in table.rows:
                own = {name: self._spans(cell) for name, cell in zip(named, row.cells, strict=False)}
                self._rows |= {start: own for cell in row.cells for start, _ in cell}
            above = table.end
        self._cells.sort()
        self._starts = [start for start, _, _ in self._cells]

    def _name(self, table: PrintedTable, column: int, printed: int) -> str:
        head = harmless(" ".join(table.head(column, self._text).split()))[:_SHOWN]
        if column < printed:
            return f'column "{head}"' if head else f"column {column + 1}"
        return f'heading "{head}"' if head else "heading"

    def _spans(self, cell: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
        return tuple(Span(start + self._offset, end + self._offset) for start, end in cell)

    def row_at(self, character: int) -> Mapping[str, tuple[Span, ...]]:
        """Returns the cells of the row in which a character of the document stands, by the names of their columns."""
        start, _ = self._cell_at(character)
        return self._rows.get(start, {})

    def at(self, character: int) -> str:
        """Returns the column or heading in which a character of the document stands; empty if it stands in none."""
        _, name = self._cell_at(character)
        return name

    def _cell_at(self, character: int) -> tuple[int, str]:
        """Returns where the cell around a character starts, and its column or heading; (-1, "") outside of cells."""
        at = character - self._offset
        place = bisect_right(self._starts, at) - 1
        start, end, name = self._cells[place] if place >= 0 else (-1, at, "")
        return (start, name) if at < end else (-1, "")


def matched_columns(places: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Returns the commonest column of each field of each list, from the pointers and the places of values."""
    heads: dict[str, dict[str, Counter[str]]] = {}
    for pointer, place in places:
        row, _, name = pointer.rpartition("/")
        above, _, number = row.rpartition("/")
        if number.isdecimal() and (column := _COLUMN.search(place)):
            heads.setdefault(above, {}).setdefault(name, Counter())[column[1]] += 1
    return {
        above: {name: counts.most_common(1)[0][0] for name, counts in own.items()} for above, own in heads.items()
    }
