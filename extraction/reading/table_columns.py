"""The columns of a document's tables, as the place of the values that were read from their cells."""

from __future__ import annotations

from bisect import bisect_right

from cinnabar.engine.tables.headings import with_headings
from cinnabar.engine.tables.table import Table, tables_of
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.reading.planning import passage_of
from cinnabar.schemas.wording import harmless

#: The most characters of a head that are shown.
_SHOWN = 60


class TableColumns:
    """Names the column, or the heading between rows, in which a character of a document stands."""

    def __init__(self, document: Document) -> None:
        passage = passage_of(document)
        self._text, self._offset = passage.text, passage.offset
        self._cells: list[tuple[int, int, str]] = []
        above = 0
        for table in tables_of(passage.text, passage.word_start, passage.word_box):
            whole = with_headings(table, passage.text, above)
            named = [self._name(whole, column, len(table.heads)) for column in range(len(whole.heads))]
            # A heading holds for many rows.
            cells = {span: named[c] for row in whole.rows for c, cell in enumerate(row.cells) for span in cell}
            self._cells += ((*span, name) for span, name in cells.items())
            above = table.end
        self._cells.sort()
        self._starts = [start for start, _, _ in self._cells]

    def _name(self, table: Table, column: int, printed: int) -> str:
        head = harmless(" ".join(table.head(column, self._text).split()))[:_SHOWN]
        if column < printed:
            return f'column "{head}"' if head else f"column {column + 1}"
        return f'heading "{head}"' if head else "heading"

    def at(self, character: int) -> str:
        """Returns the column or heading in which a character of the document stands; empty if it stands in none."""
        place = bisect_right(self._starts, character - self._offset) - 1
        if place < 0:
            return ""
        _, end, name = self._cells[place]
        return name if character - self._offset < end else ""
