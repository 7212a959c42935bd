"""XML as lines: names of elements as labels, rows of equal elements as tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cinnabar.extraction.documents.content.limits import MAX_TREE, MAX_XML_DEPTH
from cinnabar.extraction.documents.content.marked_text import MarkedText, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import local, xml_tree
from cinnabar.extraction.documents.office.sheet_text import CellCount, sheet_rows
from cinnabar.extraction.documents.plain.charsets import add_text
from cinnabar.extraction.documents.plain.html import add_html
from cinnabar.extraction.documents.plain.rows import column_names, table_lines
from cinnabar.extraction.documents.web.invoice import add_invoice, syntax_of

_SHEETS = "{urn:schemas-microsoft-com:office:spreadsheet}"
# Attributes that say nothing to a reader.
_TECHNICAL = ("schemaLocation", "noNamespaceSchemaLocation", "space")


def add_xml(reading: ParseContext, data: bytes) -> None:
    """Appends an XML file; XHTML is read as HTML, and a file without an element as plain text.

    No entity is expanded and nothing is fetched.
    """
    root, damaged = xml_tree(data) if len(data) <= MAX_TREE else (None, True)
    if root is None:
        add_text(reading, data)
        return
    if local(root).lower() == "html":
        add_html(reading, data)
        return
    if damaged:
        reading.builder.flags.add("repaired")
    if syntax := syntax_of(root):
        add_invoice(reading, root, syntax)
        return
    if root.tag == f"{_SHEETS}Workbook":
        _add_workbook(reading, root)
        return
    with part_text(reading) as lines:
        _Elements(reading, lines).add(root, f"/{local(root)}", 0)


def _add_workbook(reading: ParseContext, root: Any) -> None:
    """Appends a workbook of Excel 2003, whose sheets are elements; hidden sheets and rows are left out."""
    count = CellCount(reading)
    for sheet in root.iterfind(f"{_SHEETS}Worksheet"):
        hidden = sheet.findtext("{*}WorksheetOptions/{*}Visible", "").startswith("Sheet")
        if reading.leaves_out(hidden):
            continue
        with sheet_rows(count, sheet.get(f"{_SHEETS}Name", ""), hidden) as rows:
            number = 0
            for row in sheet.iterfind("{*}Table/{*}Row"):
                number, column = _number(row, "Index", number + 1), 0
                if reading.leaves_out(row.get(f"{_SHEETS}Hidden") == "1"):
                    continue
                cells: list[tuple[int, str]] = []
                for cell in row.iterfind("{*}Cell"):
                    column = _number(cell, "Index", column + 1)
                    text = "".join(piece for data in cell.iterfind("{*}Data") for piece in data.itertext())
                    cells.append((column, text.removesuffix("T00:00:00.000")))
                    column += _number(cell, "MergeAcross", 0)
                if not rows.row(number, cells):
                    break


def _number(element: Any, name: str, otherwise: int) -> int:
    told = element.get(f"{_SHEETS}{name}", "")
    return int(told) if re.fullmatch(r"[0-9]{1,7}", told) else otherwise


class _Elements:
    """Writes elements line by line, indented by their depth."""

    def __init__(self, reading: ParseContext, lines: MarkedText) -> None:
        self._reading, self._lines = reading, lines

    def add(self, element: Any, path: str, depth: int) -> None:
        """Appends an element with its attributes and all that is in it."""
        if self._lines.full:
            return
        parts = [one for one in element if local(one)]
        attributes = [f"{name}: {value}" for name, value in _attributes(element)]
        if depth > MAX_XML_DEPTH:
            self._reading.builder.flags.add("depth_limit")
        # Text between the elements makes a paragraph of all.
        mixed = parts and ((element.text or "").strip() or any((one.tail or "").strip() for one in parts))
        if not parts or mixed or depth > MAX_XML_DEPTH:
            text = " ".join("".join(element.itertext()).split())
            if text or attributes:
                self._line("  ".join([f"{local(element)}: {text}", *attributes]), path, depth)
            return
        self._line("  ".join([f"{local(element)}:", *attributes]), path, depth)
        if names := _columns(parts):
            self._table(parts, names, path, depth + 1)
            return
        of_name = Counter(local(one) for one in parts)
        at: Counter[str] = Counter()
        for one in parts:
            name = local(one)
            at[name] += 1
            self.add(one, f"{path}/{name}[{at[name]}]" if of_name[name] > 1 else f"{path}/{name}", depth + 1)

    def _table(self, parts: Sequence[Any], names: Sequence[str], path: str, depth: int) -> None:
        rows = [[" ".join("".join(cell.itertext()).split()) for cell in _fill_cells(one, names)] for one in parts]
        (head, *_), *lines = table_lines([names, *rows])
        self._line(head, path, depth)
        for at, (row, *_) in enumerate(lines, 1):
            self._line(row, f"{path}/{local(parts[0])}[{at}]", depth)

    def _line(self, text: str, path: str, depth: int) -> None:
        if text.strip():
            self._lines.line(f"{'  ' * min(depth, 20)}{text}", path)


def _attributes(element: Any) -> list[tuple[str, str]]:
    pairs = [(key.rpartition("}")[2], " ".join(value.split())) for key, value in element.attrib.items()]
    return [(name, value) for name, value in pairs if value and name not in _TECHNICAL]


def _columns(parts: Sequence[Any]) -> list[str]:
    """Returns the names of the leaves of two or more equal elements, none if they are anything else."""
    if len(parts) < 2 or len({local(one) for one in parts}) > 1:
        return []
    for one in parts:
        plain = all(not len(cell) and not cell.attrib for cell in one) and not one.attrib
        if not len(one) or not plain or (one.text or "").strip():
            return []
    return column_names([local(cell) for cell in one] for one in parts)


def _fill_cells(element: Any, names: Sequence[str]) -> list[Any]:
    cells = {local(cell): cell for cell in element}
    empty = element.makeelement("none")
    return [cells.get(name, empty) for name in names]
