"""Excel workbooks (`.xlsx`): a part for each sheet, a line for each row, values as a person reads them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from cinnabar.extraction.documents.content.limits import (
    MAX_NUMBER_FORMATS,
    MAX_SHARED_TEXTS,
    MAX_SHEET_COLUMNS,
    MAX_SHEETS,
)
from cinnabar.extraction.documents.content.marked_text import MarkedText, add_notes, join_runs
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import (
    InnerFiles,
    Package,
    below,
    child,
    is_struck,
    level_of,
    local,
    value_of,
    xml_tree,
)
from cinnabar.extraction.documents.office.sheet_text import GENERAL, CellCount, NumberFormat, number_format, sheet_rows
from cinnabar.extraction.documents.plain.rows import UNCOMPUTED

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
# Codes in page headers: fonts, sizes, colours, sides, and what is filled in.
_PAGE_CODE = re.compile(r"&(\"[^\"]*\"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d{1,3}|.)", re.DOTALL)
_PRINTED = {"&": "&", **dict.fromkeys("LCR", "\n"), **dict.fromkeys("PNDTAFZ", "\0")}
_PAGE_LINES = re.compile(rb"<headerFooter\b.{0,100000}?</headerFooter>", re.DOTALL)
# Pages that differ have headers of their own.
_DIFFERENT = {"first": "differentFirst", "even": "differentOddEven"}


def add_excel(reading: ParseContext, data: bytes) -> None:
    """Appends a workbook. Raises DocumentError: broken if it names no sheets."""
    package = Package(reading, data)
    main, root = package.main("xl/workbook.xml", "the Excel file has no workbook part")
    workbook = _Workbook(reading, package, root, main)
    relations = package.relations(main)
    for number, sheet in enumerate(below(root, "sheet")):
        if number >= MAX_SHEETS:
            reading.builder.flags.add("truncated")
            break
        relation = relations.get(value_of(sheet, "id") or "")
        if relation is None or relation.outside or relation.target not in package:
            reading.builder.flags.add("repaired")
            continue
        if relation.kind == "worksheet":
            hidden = value_of(sheet, "state") in ("hidden", "veryHidden")
            workbook.add(relation.target, value_of(sheet, "name") or "", hidden)
    workbook.inner.add()


class _Workbook:
    """The parts that all sheets share: strings, formats, and the count of cells."""

    def __init__(self, reading: ParseContext, package: Package, root: Any, main: str) -> None:
        self._reading, self._package = reading, package
        settings = child(root, "workbookPr")
        self._from_1904 = settings is not None and value_of(settings, "date1904") in ("1", "true")
        self._strings: list[str] = []
        # Strings whose runs have fonts of their own, and formats of cells with a line through their text.
        self._in_runs: set[int] = set()
        self._struck: set[int] = set()
        for name in package.related_members(main, "sharedStrings"):
            self._strings += self._shared_texts(name)
        self._persons = {
            one.get("id") or "": one.get("displayName") or ""
            for name in package.related_members(main, "person")
            if (persons := package.tree(name)) is not None
            for one in below(persons, "person")
        }
        self._formats = [one for name in package.related_members(main, "styles") for one in self._styles(name)]
        self._count = CellCount(reading)
        self.inner = InnerFiles(reading, package)

    def add(self, member: str, name: str, hidden: bool) -> None:
        """Appends a sheet; a hidden one only if the settings ask for it."""
        if self._reading.leaves_out(hidden):
            return
        relations = self._package.relations(member)
        with sheet_rows(self._count, name, hidden) as rows:
            data = self._package.read(member)
            headers, footers = _page_lines(data)
            rows.page_lines(headers, "header")
            try:
                for number, cells in self._rows(data):
                    if not rows.row(number, cells):
                        break
            except etree.LxmlError:
                self._reading.builder.flags.add("repaired")
            rows.page_lines(footers, "footer")
            notes: list[tuple[str, str]] = []
            for relation in relations.values():
                if relation.outside or relation.target not in self._package:
                    continue
                if relation.kind == "drawing":
                    self._read_drawing(relation.target, rows.text)
                elif relation.kind in ("comments", "threadedComment"):
                    notes += self._comments(relation.target)
                elif relation.kind in ("package", "oleObject"):
                    self.inner.mention(relation)
            rows.text.flush()
            # A threaded comment also stands among the plain ones, after an explanation.
            threaded = {label for label, _ in notes if label.startswith("comment at ")}
            notes = [one for one in notes if f"comment at {one[0]}" not in threaded]
            add_notes(self._reading, f"Comments of {name}", notes)

    def _shared_texts(self, name: str) -> Iterator[str]:
        for at, item in enumerate(self._elements(self._package.read(name), "si")):
            if at >= MAX_SHARED_TEXTS:
                self._reading.builder.flags.add("truncated")
                return
            if next(item.iter("{*}rPr"), None) is not None:
                self._in_runs.add(at)
            yield self._rich_text(item)

    def _styles(self, name: str) -> Iterator[NumberFormat]:
        root = self._package.tree(name)
        if root is None:
            return
        codes = {_integer(one.get("numFmtId")): one.get("formatCode") or "" for one in below(root, "numFmt")}
        fonts, formats = child(root, "fonts"), child(root, "cellXfs")
        struck = {str(at) for at, one in enumerate(() if fonts is None else fonts) if is_struck(one)}
        for at, one in enumerate(() if formats is None else formats):
            if at >= MAX_NUMBER_FORMATS:
                return
            if one.get("fontId") in struck:
                self._struck.add(at)
            yield number_format(_integer(one.get("numFmtId")), codes)

    def _elements(self, data: bytes, *wanted: str) -> Iterator[Any]:
        """Yields the elements of these names as they end, and forgets them then, so that memory stays small."""
        held = io.BytesIO(data)
        parser = etree.iterparse(
            held, events=("end",), tag=[f"{{*}}{one}" for one in wanted], resolve_entities=False, no_network=True,
            load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True, recover=True,
        )  # fmt: skip
        for _, element in parser:
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
        if len(parser.error_log):
            self._reading.builder.flags.add("repaired")

    def _rows(self, data: bytes) -> Iterator[tuple[int, list[tuple[int, str]]]]:
        """Yields the number and the cells of each row that has any."""
        number = 0
        hidden: set[int] = set()
        for element in self._elements(data, "row", "col"):
            if local(element) == "col":
                if element.get("hidden") in ("1", "true"):
                    hidden.update(columns_between(element.get("min"), element.get("max")))
                continue
            number = _integer(element.get("r")) or number + 1
            out_of_sight = element.get("hidden") in ("1", "true")
            cells: list[tuple[int, str]] = []
            column = 0
            for cell in element:
                column = _column((cell.get("r") or "").rstrip("0123456789")) or column + 1
                shown = self._value(cell)
                if not shown:
                    continue
                if (out_of_sight or column in hidden) and self._reading.leaves_out():
                    continue
                if self._struck and self._is_struck(cell) and self._reading.leaves_out(flag="struck_text"):
                    continue
                cells.append((column, shown))
            if cells:
                yield number, cells

    def _is_struck(self, cell: Any) -> bool:
        """Returns True if a line goes through a cell, unless the runs of its text have fonts of their own."""
        if _integer(cell.get("s")) not in self._struck:
            return False
        held = child(cell, "v")
        shared = cell.get("t") == "s" and held is not None and _integer(held.text) in self._in_runs
        return not shared and next(cell.iter("{*}rPr"), None) is None

    def _rich_text(self, element: Any) -> str:
        """Returns the text of a string, without the sounds of its characters, and without struck runs."""
        pieces: list[tuple[str, int]] = []
        for one in element:
            name = local(one)
            if name == "t":
                pieces.append((one.text or "", 0))
            elif name == "r":
                look, text = child(one, "rPr"), "".join(part.text or "" for part in one if local(part) == "t")
                struck = is_struck(look) and any(map(str.isalnum, text))
                if not (struck and self._reading.leaves_out(flag="struck_text")):
                    pieces.append((text, level_of(one)))
        return _unescape(pieces[0][0] if len(pieces) == 1 else join_runs(pieces))

    def _value(self, cell: Any) -> str:
        kind = cell.get("t")
        if kind == "inlineStr":
            inline = child(cell, "is")
            return "" if inline is None else self._written(self._rich_text(inline), cell)
        held = formula = None
        # Millions of cells pass here, so names are compared in the quickest way.
        for one in cell:
            ending = str(one.tag)[-2:]
            if ending == "}v":
                held = one.text
            elif ending == "}f":
                formula = one
        if held is None:
            return UNCOMPUTED if formula is not None and kind != "str" else ""
        if kind == "s":
            at = _integer(held)
            return self._written(self._strings[at], cell) if 0 <= at < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if held.strip() == "1" else "FALSE"
        if kind in ("str", "e", "d"):
            return self._written(_unescape(held), cell)
        try:
            number = int(held) if held.lstrip("-").isdecimal() and len(held) <= 40 else float(held)
        except ValueError:
            return str(held)
        return self._written(number, cell)

    def _written(self, value: float | str, cell: Any) -> str:
        """Returns a value as its format shows it; one that the format does not show is flagged, but for a zero."""
        style = _integer(cell.get("s"))
        form = self._formats[style] if 0 <= style < len(self._formats) else GENERAL
        shown = form.write_text(value) if isinstance(value, str) else form.write(value, self._from_1904)
        if shown or not value:
            return shown
        if self._reading.leaves_out():
            return ""
        return value if isinstance(value, str) else GENERAL.write(value)

    def _comments(self, name: str) -> list[tuple[str, str]]:
        root = self._package.tree(name)
        if root is None:
            return []
        named = child(root, "authors")
        authors = ["".join(one.itertext()).strip() for one in ([] if named is None else named)]
        comments = []
        for one in below(root, "comment", "threadedComment"):
            threaded = local(one) == "threadedComment"
            content = "".join(text.text or "" for text in below(one, "t", "text") if text.text).strip()
            if threaded:
                author = self._persons.get(one.get("personId") or "", "")
            else:
                number = _integer(one.get("authorId") or "-1")
                author = authors[number] if 0 <= number < len(authors) else ""
            # Excel writes the author of a comment into its text, too; a person may take that out.
            if author and content and not content.startswith(author):
                content = f"{author}: {content}"
            comments.append((f"comment at {one.get('ref')}" if threaded else one.get("ref") or "", content))
        return comments

    def _read_drawing(self, name: str, text: MarkedText) -> None:
        """Appends the text boxes of a sheet, and mentions its pictures."""
        root = self._package.tree(name)
        if root is None:
            return
        relations = self._package.relations(name)
        for one in below(root, "p", "blip"):
            if local(one) == "blip":
                self.inner.mention(relations.get(value_of(one, "embed") or ""))
            elif shown := "".join(piece.text or "" for piece in below(one, "t")).strip():
                text.line(shown, "text box")


def _page_lines(sheet: bytes) -> tuple[list[str], list[str]]:
    """Returns the lines of a sheet's page headers and those of its footers, without codes.

    A line of which a page number, a date or a name is the most is left out.
    """
    rest = re.sub(rb"<(/?)\w{1,20}:", rb"<\1", sheet[sheet.rfind(b"sheetData") :])
    found = _PAGE_LINES.search(rest)
    root = xml_tree(found[0])[0] if found else None
    lines: dict[str, list[str]] = {"Header": [], "Footer": []}
    for one in () if root is None else root:
        place, kind = local(one)[:-6], local(one)[-6:]
        if kind not in lines or (place in _DIFFERENT and one.getparent().get(_DIFFERENT[place]) not in ("1", "true")):
            continue
        for line in _PAGE_CODE.sub(lambda code: _PRINTED.get(code[1], ""), one.text or "").split("\n"):
            bare = " ".join(line.replace("\0", " ").split())
            telling = "\0" not in line or len(bare.split()) > 3 or any(map(str.isdigit, bare))
            if bare and telling and bare not in lines[kind]:
                lines[kind].append(bare)
    return lines["Header"], lines["Footer"]


def columns_between(first: str | None, last: str | None) -> range:
    """Returns the columns from the first to the last one, those that a sheet can have."""
    return range(max(_integer(first), 1), min(_integer(last), MAX_SHEET_COLUMNS) + 1)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


@lru_cache(maxsize=1 << 15)
def _column(letters: str) -> int:
    """Returns the number of a column by its letters, 0 if they are none."""
    number = 0
    if not letters.isascii() or not letters.isalpha() or len(letters) > 3:
        return 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def _integer(text: str | None) -> int:
    with suppress(ValueError):
        return int(text or 0)
    return 0
