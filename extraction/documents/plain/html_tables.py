"""Tables of HTML: rows of data as lines, and cells that only arrange a page one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inscriptis.annotation import Annotation
from inscriptis.model.canvas import Canvas
from inscriptis.model.html_document_state import HtmlDocumentState
from inscriptis.model.table import Table, TableCell
from inscriptis.model.tag import CustomHtmlTagHandlerMapping
from inscriptis.model.tag.table_tag import table_end_handler

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.plain.rows import row_lines, widths

# Columns and rows over which a cell may reach: spans of hostile pages would fill the memory with empty cells.
_MAX_SPAN = 100


class _Cell(TableCell):  # type: ignore[misc]
    """A cell with its spans; `holds_rows` tells that a table of several columns stands in it."""

    def __init__(self, state: HtmlDocumentState, attributes: Mapping[str, str]) -> None:
        super().__init__(align=state.tags[-1].align, valign=state.tags[-1].valign)
        self.across, self.down = _span(attributes.get("colspan")), _span(attributes.get("rowspan"))
        self.holds_rows = False

    def lines(self) -> list[str]:
        """Returns the lines of the cell."""
        self.normalize_blocks()
        return [clean(line).rstrip() for line in self.blocks]


class _Table(Table):  # type: ignore[misc]
    """A table whose rows of data are lines with their cells below each other."""

    rows_of_data = False

    def get_text(self) -> str:
        """Returns the lines of the table."""
        rows = [[(cell, cell.lines()) for cell in row.columns] for row in self.rows]
        grid = _Grid(max(map(len, rows), default=0))
        placed = [None if _arranges(row) else grid.row(row) for row in rows]
        columns = widths([measured for one in placed if one is not None for measured in one[1:]])
        printed: list[str] = []
        for row, one in zip(rows, placed, strict=True):
            if one is None:
                printed += [line for _, lines in row if any(lines) for line in lines]
            else:
                # An empty row, and empty lines around the only cell of a row, set groups of rows apart.
                filled = [lines for _, lines in row if any(lines)]
                alone = filled[0] if len(filled) == 1 else ["."]
                printed += [*([] if alone[0] else [""]), *row_lines(one[0], columns), *([] if alone[-1] else [""])]
        self.rows_of_data = any(one is not None and sum(map(bool, one[0])) > 1 for one in placed)
        return "\n".join(printed) + "\n"

    def get_annotations(self, *_: int) -> list[Annotation]:
        """Returns nothing: no rule asks for annotations."""
        return []


class _Grid:
    """Puts the cells of rows into columns, beside the cells of rows above that reach down."""

    def __init__(self, columns: int) -> None:
        self._columns = min(columns, _MAX_SPAN)
        self._reaching: dict[int, int] = {}

    def row(self, cells: Sequence[tuple[_Cell, list[str]]]) -> tuple[list[str], list[str]]:
        """Returns the texts of a row by column, and those that count for the columns' widths."""
        texts: list[str] = []
        measured: list[str] = []
        above = self._reaching
        self._reaching = {column: left - 1 for column, left in above.items() if left > 1}
        for cell, lines in cells:
            while len(texts) in above:
                texts.append("")
                measured.append("")
            across = max(1, min(cell.across, self._columns))
            if cell.down > 1 and len(texts) < self._columns:
                self._reaching |= dict.fromkeys(range(len(texts), len(texts) + across), cell.down - 1)
            # A blank line within a row would end it.
            text = "\n".join(filter(None, (line.strip() for line in lines)))
            texts += [text, *[""] * (across - 1)]
            measured += ["" if across > 1 else text, *[""] * (across - 1)]
        return texts, measured


def _arranges(row: Sequence[tuple[_Cell, list[str]]]) -> bool:
    """Returns True if the cells of a row are blocks that do not share lines.

    These are a cell beside a table, and two cells that have several lines each, one more than the other.
    """
    filled = [(cell, sum(map(bool, lines))) for cell, lines in row if any(lines)]
    heights = {height for _, height in filled if height > 1}
    return any(cell.holds_rows for cell, _ in filled) or len(heights) > 1


def _span(text: str | None) -> int:
    return min(int(text), _MAX_SPAN) if text and text.isascii() and text.isdigit() and len(text) < 9 else 1


def _begin_table(state: HtmlDocumentState, _: Mapping[str, str]) -> None:
    state.tags[-1].set_canvas(Canvas())
    state.current_table.append(_Table(state.tags[-1].canvas.left_margin, state.config.table_cell_separator))


def _begin_cell(state: HtmlDocumentState, attributes: Mapping[str, str]) -> None:
    if state.current_table:
        state.tags[-1].canvas = cell = _Cell(state, attributes)
        state.current_table[-1].add_cell(cell)


def _end_table(state: HtmlDocumentState) -> None:
    table = state.current_table[-1] if state.current_table else None
    table_end_handler(state)
    if table is not None and table.rows_of_data and state.current_table and state.current_table[-1].rows:
        for cell in state.current_table[-1].rows[-1].columns[-1:]:
            cell.holds_rows = True


#: The handlers of tags that tables are read with.
TABLE_TAGS = CustomHtmlTagHandlerMapping(
    {"table": _begin_table, "td": _begin_cell, "th": _begin_cell}, {"table": _end_table}
)
