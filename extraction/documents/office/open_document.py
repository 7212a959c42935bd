"""Files of OpenDocument (`.odt`, `.ods`, `.odp`): text in order, tables in rows, sheets and slides as parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import (
    MAX_PARENT_STYLES,
    MAX_REPEATED,
    MAX_SHEETS,
    MAX_SLIDES,
    MAX_SPACES,
    MAX_TABLE_ROWS,
)
from cinnabar.extraction.documents.content.marked_text import MarkedText, add_notes, join_runs, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import InnerFiles, Package, below, child, local, value_of
from cinnabar.extraction.documents.office.sheet_text import CellCount, column_name, sheet_rows
from cinnabar.extraction.documents.plain.rows import UNCOMPUTED, table_lines

# Deleted text, declarations, and what stands elsewhere.
_SILENT_NAMES = """
tracked-changes sequence-decls variable-decls user-field-decls forms annotation annotation-end note-citation
ruby-text desc title thumbnail binary-data table-column table-columns table-header-columns
"""
_SILENT = frozenset(_SILENT_NAMES.split())
# Properties of styles that tell whether and how something is shown, and the families of elements with such a style.
_TELLING = ("table-properties", "drawing-page-properties", "text-properties")
_FAMILIES = {
    "p": "paragraph",
    "h": "paragraph",
    "span": "text",
    "table": "table",
    "table-cell": "table-cell",
    "page": "drawing-page",
}
_FILLED_IN = ("page-number", "page-count", "sheet-name", "file-name", "title", "date", "time")
_ROWS = ("table-row", "table-header-rows", "table-rows", "table-row-group")


def add_open_document(reading: ParseContext, data: bytes) -> None:
    """Appends a file of OpenDocument. Raises DocumentError: password, broken."""
    package = Package(reading, data)
    manifest = package.tree("META-INF/manifest.xml")
    if manifest is not None and next(below(manifest, "encryption-data"), None) is not None:
        raise DocumentError("password", "the file is encrypted in the way of OpenDocument, which is not opened here")
    package.add_properties("meta.xml")
    root = package.tree("content.xml")
    body = None if root is None else child(root, "body")
    if root is None or body is None:
        raise DocumentError("broken", "the OpenDocument file has no content")
    styles = package.tree("styles.xml")
    document = _OpenDocument(reading, package, root, root.makeelement("none") if styles is None else styles)
    for content in body:
        kind = local(content)
        if kind == "spreadsheet":
            document.add_sheets(content)
        elif kind in ("presentation", "drawing"):
            document.add_slides(content)
        else:
            document.add_text(content)
    document.inner.add()


def _told_by_styles(roots: Sequence[Any], *properties: str) -> dict[tuple[str, str], str]:
    """Returns by family and name of a style the first of these properties that it has, or else that of its parents."""
    told: dict[tuple[str, str], str] = {}
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    for style in (one for root in roots for one in root.iter("{*}style")):
        family = value_of(style, "family") or ""
        key = family, value_of(style, "name") or ""
        parents[key] = family, value_of(style, "parent-style-name") or ""
        for value in (value_of(one, name) for one in style if local(one) in _TELLING for name in properties):
            if value is not None:
                told[key] = value
    for key in parents:
        one = key
        for _ in range(MAX_PARENT_STYLES):
            one = one if one in told else parents.get(one, one)
        if one in told:
            told[key] = told[one]
    return told


class _OpenDocument:
    """The content of an OpenDocument file."""

    def __init__(self, reading: ParseContext, package: Package, root: Any, styles: Any) -> None:
        self._reading, self._styles, self._package = reading, styles, package
        shown = _told_by_styles((styles, root), "visibility", "display")
        self._hidden = {key for key, value in shown.items() if value in ("none", "false", "hidden")}
        shifts = _told_by_styles((styles, root), "text-position").items()
        self._levels = {key: -1 if one.startswith(("sub", "-")) else int(one[:1] != "0") for key, one in shifts}
        lines = _told_by_styles((styles, root), "text-line-through-type", "text-line-through-style")
        self._lines_through = {key: value != "none" for key, value in lines.items()}
        self._paragraphs = self._tables = 0
        self._label = ""
        self._printed: set[str] = set()
        self._notes: list[tuple[str, str]] = []
        self.inner = InnerFiles(reading, package)

    def add_text(self, content: Any) -> None:
        """Appends a text with the headers and footers of its pages."""
        with part_text(self._reading) as text:
            for kind in ("header", "footer"):
                if kind == "footer":
                    text.blank()
                    self._blocks(content, text)
                text.blank()
                printed: set[str] = set()
                for one in below(self._styles, kind):
                    whole = " ".join("".join(one.itertext()).split())
                    if whole and whole not in printed:
                        printed.add(whole)
                        self._blocks(one, text)
        self._add_notes("Notes")

    def add_sheets(self, content: Any) -> None:
        """Appends the sheets of a spreadsheet."""
        count = CellCount(self._reading)
        for number, table in enumerate(one for one in content if local(one) == "table"):
            if number >= MAX_SHEETS:
                self._reading.builder.flags.add("truncated")
                return
            self._sheet(table, count)

    def add_slides(self, content: Any) -> None:
        """Appends the slides of a presentation, or the pages of a drawing."""
        for number, page in enumerate((one for one in content if local(one) == "page"), 1):
            if number > MAX_SLIDES:
                self._reading.builder.flags.add("truncated")
                return
            hidden = ("drawing-page", value_of(page, "style-name")) in self._hidden
            if self._reading.leaves_out(hidden):
                continue
            # The title stands first, wherever its frame is.
            frames = sorted(page, key=lambda one: value_of(one, "class") != "title")
            title = "".join(frames[0].itertext()) if frames and value_of(frames[0], "class") == "title" else ""
            self._label = f"slide {number}"
            with part_text(self._reading, "hidden" if hidden else "slide", " ".join(title.split())[:200]) as text:
                for frame in frames:
                    if local(frame) != "notes":
                        text.blank()
                        self._blocks([frame], text)
                text.flush()
                for one in below(page, "notes"):
                    lines = [line for line in self._lines(one) if line.strip() and line.strip() != "<number>"]
                    self._notes.append((self._label, "\n".join(lines)))
                self._add_notes("Notes")
        self._label = ""

    def _unseen(self, element: Any, name: str) -> bool:
        """Returns True for text that is not displayed, and flags it, unless the settings ask for it."""
        told = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        hidden = (
            name == "covered-table-cell"
            or told.get("display") in ("none", "false")
            or told.get("is-hidden") == "true"
            or (_FAMILIES.get(name), told.get("style-name")) in self._hidden
            or (name in ("p", "h") and any(map(_hides, (*element, *chain.from_iterable(element)))))
        )
        return self._reading.leaves_out(hidden and bool("".join(element.itertext()).strip()))

    def _add_notes(self, name: str) -> None:
        add_notes(self._reading, name, self._notes)
        self._notes = []

    def _sheet(self, table: Any, count: CellCount) -> None:
        hidden = ("table", value_of(table, "style-name")) in self._hidden
        if self._reading.leaves_out(hidden):
            return
        name = value_of(table, "name") or ""
        columns = (
            value_of(one, "visibility") in ("collapse", "filter")
            for one in below(table, "table-column")
            for _ in range(_repeats(one, "number-columns-repeated"))
        )
        unseen_columns = {at for at, hidden in enumerate(islice(columns, MAX_REPEATED), 1) if hidden}
        with sheet_rows(count, name, hidden) as rows:
            number = 1
            rows.page_lines(self._page_lines("header"), "header")
            for row in _rows(table):
                repeated = _repeats(row, "number-rows-repeated")
                unseen = value_of(row, "visibility") in ("collapse", "filter")
                cells = [] if unseen and not self._reading.settings.hidden else self._row(row, number, unseen_columns)
                if unseen and "".join(row.itertext()).strip():
                    self._reading.builder.flags.add("hidden_text")
                if not all(rows.row(number + at, cells) for at in range(repeated if cells else 0)):
                    break
                number += repeated
            rows.page_lines(self._page_lines("footer"), "footer")
            rows.text.flush()
            self._add_notes(f"Comments of {name}")

    def _page_lines(self, kind: str) -> list[str]:
        """Returns the lines of the pages' headers or footers once, but for page numbers, dates and names of files."""
        lines: dict[str, None] = {}
        for one in () if kind in self._printed else below(self._styles, kind):
            for paragraph in () if self._unseen(one, kind) else below(one, "p"):
                line = " ".join(self._inline(paragraph, []).split())
                if len(line.split()) > 4 or next(below(paragraph, *_FILLED_IN), None) is None:
                    lines[line] = None
        self._printed.add(kind)
        return [line for line in lines if line]

    def _row(self, row: Any, number: int, unseen: set[int]) -> list[tuple[int, str]]:
        cells: list[tuple[int, str]] = []
        column = 1
        for cell in row:
            if local(cell) not in ("table-cell", "covered-table-cell"):
                continue
            repeated = _repeats(cell, "number-columns-repeated")
            self._label = f"{column_name(column)}{number}" if column <= MAX_REPEATED else ""
            text = " ".join(filter(None, (line.strip() for line in self._lines(cell))))
            if child(cell, "p") is None and not text:
                # Files of other programs may hold the value alone.
                text = next(filter(None, ((value_of(cell, key) or "").strip() for key in _VALUES)), "")
                if text and self._is_struck(cell) and self._reading.leaves_out(flag="struck_text"):
                    text = ""
                elif not text and value_of(cell, "formula") and value_of(cell, "value-type") is None:
                    text = UNCOMPUTED
            if text and not (local(cell) == "covered-table-cell" and self._reading.leaves_out()):
                wanted = range(column, column + min(repeated, MAX_REPEATED))
                cells += [(at, text) for at in wanted if not (at in unseen and self._reading.leaves_out())]
            column += repeated
            if column > MAX_REPEATED:
                break
        self._label = ""
        return cells

    def _blocks(self, container: Any, text: MarkedText) -> None:
        for element in container:
            name = local(element)
            if text.full:
                return
            if self._unseen(element, name):
                continue
            if name in ("p", "h"):
                boxes: list[Any] = []
                content = self._inline(element, boxes)
                if content.strip():
                    self._paragraphs += 1
                    text.line(content.strip("\n"), self._label or f"paragraph {self._paragraphs}")
                elif not boxes:
                    text.blank()
                self._blocks(boxes, text)
            elif name == "table":
                self._table(element, text)
            elif name == "image":
                self._image(element)
            elif name not in _SILENT:
                self._blocks(element, text)

    def _table(self, table: Any, text: MarkedText) -> None:
        self._tables += 1
        number = self._tables
        rows: list[list[str]] = []
        for row in _rows(table):
            cells = [one for one in row if local(one) in ("table-cell", "covered-table-cell")]
            shown = ([] if self._unseen(cell, local(cell)) else self._lines(cell) for cell in cells[:MAX_REPEATED])
            rows.append(["\n".join(filter(str.strip, lines)) for lines in shown])
            if len(rows) >= MAX_TABLE_ROWS:
                self._reading.builder.flags.add("truncated")
                break
        text.blank()
        for at, lines in enumerate(table_lines(rows), 1):
            for line in lines:
                if line.strip():
                    text.line(line, self._label or f"table {number}, row {at}")
        text.blank()

    def _lines(self, container: Any) -> Iterator[str]:
        for element in container:
            name = local(element)
            if self._unseen(element, name):
                continue
            if name in ("p", "h"):
                boxes: list[Any] = []
                yield from self._inline(element, boxes).split("\n")
                for box in boxes:
                    yield from self._lines(box)
            elif name == "annotation":
                self._note(element)
            elif name == "image":
                self._image(element)
            elif name not in _SILENT:
                yield from self._lines(element)

    def _inline(self, element: Any, boxes: list[Any]) -> str:
        out: list[tuple[str, int]] = []
        self._collect(element, out, boxes, self._is_struck(element.getparent()))
        return join_runs(out)

    def _collect(
        self, element: Any, out: list[tuple[str, int]], boxes: list[Any], struck: bool, around: int = 0
    ) -> None:
        level = self._levels.get(("text", value_of(element, "style-name") or ""), around) if self._levels else 0
        struck = self._is_struck(element, struck)
        out.append((self._legible(element.text, struck), level))
        for one in element:
            name = local(one)
            if self._unseen(one, name):
                pass
            elif name == "s":
                count = value_of(one, "c") or "1"
                out.append((" " * min(int(count) if count.isdecimal() else 1, MAX_SPACES), level))
            elif name == "tab":
                out.append(("\t", level))
            elif name == "line-break":
                out.append(("\n", level))
            elif name in ("annotation", "note"):
                self._note(one)
            elif name in ("text-box", "table"):
                boxes.append(one)
            elif name == "image":
                self._image(one)
            elif name not in _SILENT:
                self._collect(one, out, boxes, struck, level)
            out.append((self._legible(one.tail, struck), level))

    def _is_struck(self, element: Any, around: bool = False) -> bool:
        """Returns whether the style of an element, or else the one around it, draws a line through its text."""
        family = _FAMILIES.get(local(element), "") if self._lines_through else ""
        return self._lines_through.get((family, value_of(element, "style-name") or ""), around) if family else around

    def _legible(self, text: str | None, struck: bool) -> str:
        """Returns text with runs of blanks as one, as the format has it; nothing of what a line goes through."""
        if struck and text and any(map(str.isalnum, text)) and self._reading.leaves_out(flag="struck_text"):
            return ""
        return _blanks(text)

    def _note(self, element: Any) -> None:
        creator = child(element, "creator")
        label = self._label or f"paragraph {self._paragraphs + 1}"
        content = "\n".join(filter(str.strip, self._lines(element)))
        author = creator.text if creator is not None else None
        self._notes.append((label, f"{author}: {content}" if author and content else content))

    def _image(self, element: Any) -> None:
        if (name := value_of(element, "href")) and ":" not in name:
            self.inner.name(name.removeprefix("./"))


_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")


def _rows(table: Any) -> Iterator[Any]:
    for element in table:
        name = local(element)
        if name == "table-row":
            yield element
        elif name in _ROWS:
            yield from _rows(element)


def _hides(element: Any) -> bool:
    """Returns True for a field that hides its paragraph."""
    return local(element) == "hidden-paragraph" and value_of(element, "is-hidden") == "true"


def _repeats(element: Any, key: str) -> int:
    text = value_of(element, key) or "1"
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


def _blanks(text: str | None) -> str:
    """Returns text with runs of blanks as one, as the format has it."""
    if not text:
        return ""
    collapsed = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{collapsed}{' ' * text[-1].isspace()}" if collapsed else " "
