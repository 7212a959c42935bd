"""HTML: its visible text, with tables in rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import unescape

from inscriptis import Inscriptis
from inscriptis.annotation import Annotation
from inscriptis.model.canvas import Canvas
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_document_state import HtmlDocumentState
from inscriptis.model.table import Table, TableCell
from inscriptis.model.tag import CustomHtmlTagHandlerMapping
from inscriptis.model.tag.table_tag import table_end_handler
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import MAX_HTML, MAX_SPAN
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.plain.charsets import decode, known_charset, markup_charset
from cinnabar.extraction.documents.plain.html_layout import CSS, HIDING, HtmlLayout, data_of, hide
from cinnabar.extraction.documents.plain.html_tables import lay_tables
from cinnabar.extraction.documents.plain.rows import row_lines, widths

# Tables of HTML: rows of data as lines, and cells that only arrange a page one after the other.


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


class _HtmlTable(Table):  # type: ignore[misc]
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
        self._columns = min(columns, MAX_SPAN)
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
    return min(int(text), MAX_SPAN) if text and text.isascii() and text.isdigit() and len(text) < 9 else 1


def _begin_table(state: HtmlDocumentState, _: Mapping[str, str]) -> None:
    state.tags[-1].set_canvas(Canvas())
    state.current_table.append(_HtmlTable(state.tags[-1].canvas.left_margin, state.config.table_cell_separator))


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


_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,300}\?>")
_TAG = re.compile(r"<(/?)([A-Za-z!?][A-Za-z0-9]*)?[^<>]*>?")
_HTML_CONFIG = ParserConfig(
    css=CSS,
    display_images=False,
    display_links=False,
    custom_html_tag_handler_mapping=TABLE_TAGS,
)


def add_html(reading: ParseContext, data: bytes) -> None:
    """Appends the visible text of an HTML file."""
    text, guessed = decode(data, known_charset(markup_charset(data)))
    text, flags = html_to_text(text, reading.settings.hidden)
    reading.builder.flags |= flags | ({"charset_guess"} if guessed else set())
    with part_text(reading, media_type="text/html") as lines:
        lines.line(text)


def html_to_text(markup: str, hidden: bool = False) -> tuple[str, set[str]]:
    """Returns the visible text of an HTML page with its tables kept in rows, and the flags of the page.

    hidden: hidden text is returned, too. It fetches nothing that the page names. Pages nested too deep for the renderer
    lose their layout and keep their words.
    """
    flags = {"truncated"} if len(markup) > MAX_HTML else set()
    markup = _XML_DECLARATION.sub("", markup[:MAX_HTML]).replace("\x00", "\ufffd")
    if not markup.strip():
        return "", flags
    try:
        # no_network is lxml's default; it is explicit because it must stay so.
        parser = lxml_html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8")
        tree = lxml_html.fromstring(markup.encode("utf-8", "replace"), parser=parser)
        deep = any("depth" in entry.message for entry in parser.error_log)
        if not deep:
            flags |= hide(tree, show=hidden)
            lay_tables(tree)
            HtmlLayout().arrange(tree)
            text = clean(str(Inscriptis(tree, _HTML_CONFIG).get_text()))
            text = text if any(map(str.isalnum, text)) else data_of(tree) or text
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, KeyError, IndexError):
        deep = True
    if deep:
        flags -= {"hidden_text", "struck_text"}
        flags |= {"hidden_unsearched"} if HIDING.search(markup) else set()
        text = _without_tags(markup)
    return _tidy_lines(text), flags


def _without_tags(markup: str) -> str:
    """Returns the text between the tags, in linear time, without scripts and style sheets."""
    pieces: list[str] = []
    hidden = ""
    position = 0
    for match in _TAG.finditer(markup):
        if not hidden:
            pieces.append(markup[position : match.start()])
        name = (match[2] or "").lower()
        if hidden:
            hidden = "" if match[1] and name == hidden else hidden
        elif not match[1] and name in ("script", "style"):
            hidden = name
        position = match.end()
    pieces.append("" if hidden else markup[position:])
    return unescape(" ".join(piece for piece in pieces if piece.strip()))


def tidy(text: str) -> str:
    """Returns `text` without blanks at line ends, with at most eight blanks in a row and at most one blank line."""
    return re.sub(r" {9,}", " " * 8, _tidy_lines(text))


def _tidy_lines(text: str) -> str:
    """Returns `text` without blanks at line ends, and with at most one blank line; columns keep their places."""
    # A regular expression for the ends of lines would take quadratic time for a long run of blanks.
    text = "\n".join(line.rstrip() for line in text.replace("\xa0", " ").split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")
