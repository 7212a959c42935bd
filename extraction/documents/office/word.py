"""Word documents (`.docx`): the text of the body in order, tables in rows, then notes and the files within."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cinnabar.extraction.documents.content.limits import MAX_LISTS, MAX_TABLE_ROWS, MAX_WORD_STYLES
from cinnabar.extraction.documents.content.marked_text import MarkedText, add_notes, join_runs, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import (
    InnerFiles,
    Package,
    below,
    child,
    chosen,
    is_on,
    is_struck,
    level_of,
    local,
    value_at,
    value_of,
)
from cinnabar.extraction.documents.office.word_shown import Controls, shown_members, struck_styles
from cinnabar.extraction.documents.plain.rows import table_lines

# Elements without text of the document: properties, deleted and moved text, the codes of fields, ruby.
_SILENT_NAMES = """
pPr rPr sectPr tblPr tblGrid trPr tcPr sdtPr sdtEndPr del moveFrom delText instrText delInstrText fldData rt
proofErr bookmarkStart bookmarkEnd smartTagPr customXmlPr txbxContent numPr
"""
_SILENT = frozenset(_SILENT_NAMES.split())
_LETTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
_PRINTED = frozenset(("t", "sym", "txbxContent", "instrText", *_LETTERS))
# Signs of the font Wingdings, which forms use.
_SIGNS = {0x6F: "☐", 0x71: "☐", 0xA8: "☐", 0xFE: "☒", 0xFD: "☒", 0x78: "☒", 0xFC: "✓", 0xFB: "✗", 0xB7: "•", 0xA7: "▪"}
# Fields whose result is not printed: it is the value of a bookmark.
_UNPRINTED = ("SET", "ASK")


def add_word(reading: ParseContext, data: bytes) -> None:
    """Appends a Word document. Raises DocumentError: broken if it has no body."""
    package = Package(reading, data)
    main, root = package.main("word/document.xml", "the Word file has no document part")
    with part_text(reading) as text:
        word = _WordReader(reading, package, text, main)
        shown = shown_members(package, main, root)
        for name in shown["header"]:
            word.add_member(name)
        text.blank()
        word.add(root, main)
        text.blank()
        for name in shown["footer"]:
            word.add_member(name)
    for kind, title in (("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments")):
        add_notes(reading, title, [note for name in package.related_members(main, kind) for note in word.notes(name)])
    word.inner.add()


class _WordReader:
    """The members of a Word document that hold text."""

    def __init__(self, reading: ParseContext, package: Package, text: MarkedText, main: str) -> None:
        self._reading, self._package, self._text = reading, package, text
        names = (next(iter(package.related_members(main, kind)), "") for kind in ("numbering", "styles"))
        numbering, styles = (package.tree(name) if name else None for name in names)
        self._lists, self._struck = Numbering(numbering, styles), struck_styles(styles)
        self._controls = Controls(package, main)
        self._style = ""
        self._paragraphs = self._tables = 0
        self._member = ""
        self._relations = package.relations("")
        self._seen_texts: set[str] = set()
        # For each open field its instruction so far, None in a result that is printed.
        self._fields: list[str | None] = []
        self._level, self._whole = 0, True
        self.inner = InnerFiles(reading, package)

    def add(self, root: Any, member: str) -> None:
        """Appends the paragraphs and tables of a member, whose relations name its pictures and files."""
        self._within(member, root)
        self._blocks(root)

    def add_member(self, name: str) -> None:
        """Appends a header or footer, unless another one says the same."""
        root = self._package.tree(name)
        if root is None:
            return
        content = " ".join("".join(root.itertext()).split())
        if content and content not in self._seen_texts:
            self._seen_texts.add(content)
            self.add(root, name)

    def notes(self, name: str) -> list[tuple[str, str]]:
        """Returns the notes of a member, each with its place."""
        root = self._package.tree(name)
        notes: list[tuple[str, str]] = []
        if root is None:
            return notes
        self._within(name, root)
        for note in root:
            kind = local(note)
            if value_of(note, "type") in ("separator", "continuationSeparator", "continuationNotice"):
                continue
            author = value_of(note, "author")
            text = "\n".join(line for line in self._lines(note) if line.strip())
            if text:
                notes.append((f"{kind} {len(notes) + 1}", f"{author}: {text}" if author else text))
        return notes

    def _within(self, member: str, root: Any) -> None:
        self._controls.show(root)
        self._member, self._relations = member, self._package.relations(member)
        marks = [value_of(one, "fldCharType") for one in root.iter("{*}fldChar")]
        # Behind a field without an end all text would be a part of it.
        self._fields, self._whole = [], marks.count("begin") == marks.count("end")

    def _blocks(self, container: Any) -> None:
        for element in container:
            if self._text.full:
                return
            name = local(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._table(element)
            elif name == "AlternateContent":
                self._blocks(chosen(element))
            elif name == "altChunk":
                self._mention(value_of(element, "id"))
            elif name not in _SILENT:
                self._blocks(element)

    def _paragraph(self, element: Any) -> None:
        boxes: list[Any] = []
        content = self._inline(element, boxes)
        label = self._lists.label(element)
        if content.strip():
            self._paragraphs += 1
            self._text.line(label + content.strip("\n"), f"paragraph {self._paragraphs}")
        elif not boxes:
            self._text.blank()
        for box in boxes:
            self._blocks(box)

    def _inline(self, element: Any, boxes: list[Any]) -> str:
        out: list[tuple[str, int]] = []
        self._style = value_at(element, "pPr", "pStyle") if self._struck else ""
        self._collect(element, out, boxes)
        return join_runs(out)

    def _collect(self, element: Any, out: list[tuple[str, int]], boxes: list[Any]) -> None:
        for one in element:
            name = local(one)
            if name == "fldChar":
                self._collect(one, out, boxes)
                self._turn(value_of(one, "fldCharType"))
            elif name in _PRINTED and self._fields and (instruction := self._fields[-1]) is not None:
                self._fields[-1] = instruction if name != "instrText" else f"{instruction}{one.text or ''}"[:80]
            elif name == "t":
                out.append((one.text or "", self._level))
            elif name in _LETTERS:
                out.append((_LETTERS[name], self._level))
            elif name == "txbxContent":
                boxes.append(one)
            elif name in _SILENT:
                continue
            elif name == "r":
                # A hidden run may begin or end a field.
                hidden, self._level = self._is_left_out(one), level_of(one)
                self._collect(below(one, "fldChar", "instrText") if hidden else one, out, boxes)
            elif name == "fldSimple" and _instructs(value_of(one, "instr")) in _UNPRINTED:
                continue
            elif name == "AlternateContent":
                self._collect(chosen(one), out, boxes)
            elif name == "sym":
                out.append((_sign(value_of(one, "char") or ""), self._level))
            elif name == "ffData":
                out.append((_field(one), self._level))
            else:
                if name in ("blip", "imagedata", "OLEObject"):
                    self._mention(value_of(one, "embed") or value_of(one, "id"))
                self._collect(one, out, boxes)

    def _turn(self, mark: str | None) -> None:
        """Opens a field, or goes on to its result or its end; a field may lie in another's instruction or result."""
        if mark == "begin" and self._whole:
            self._fields.append("")
        elif mark == "separate" and self._fields and _instructs(self._fields[-1]) not in _UNPRINTED:
            self._fields[-1] = self._fields[-2] if len(self._fields) > 1 else None
        elif mark == "end" and self._fields:
            self._fields.pop()

    def _mention(self, relation: str | None) -> None:
        self.inner.mention(self._relations.get(relation or ""))

    def _is_left_out(self, run: Any) -> bool:
        """Returns True for a run with hidden or struck text, unless the settings ask for it."""
        look = child(run, "rPr")
        if (look is None and not self._struck) or child(run, "t") is None:
            return False
        struck = is_struck(look)
        if struck is None and self._struck:
            # A line of the paragraph's style and one of the run's style take each other away.
            struck = (self._style in self._struck) != (value_at(run, "rPr", "rStyle") in self._struck)
        if struck and any(map(str.isalnum, "".join(run.itertext()))) and self._reading.leaves_out(flag="struck_text"):
            return True
        return look is not None and is_on(child(look, "vanish")) and self._reading.leaves_out()

    def _table(self, element: Any) -> None:
        self._tables += 1
        number = self._tables
        rows = list(_rows(element, "tr"))
        if all(len(list(_rows(row, "tc"))) < 2 for row in rows):
            # One column is a frame around paragraphs.
            for cell in (cell for row in rows for cell in _rows(row, "tc")):
                self._blocks(cell)
            return
        if len(rows) > MAX_TABLE_ROWS:
            self._reading.builder.flags.add("truncated")
        cells = [self._cells(row) for row in rows[:MAX_TABLE_ROWS]]
        self._text.blank()
        for at, lines in enumerate(table_lines(cells), 1):
            for line in lines:
                if line.strip():
                    self._text.line(line, f"table {number}, row {at}")
        self._text.blank()

    def _cells(self, row: Any) -> list[str]:
        cells: list[str] = []
        for cell in _rows(row, "tc"):
            cells.append("\n".join(line.strip() for line in self._lines(cell) if line.strip()))
            span = child(cell, "tcPr", "gridSpan")
            wide = value_of(span) if span is not None else None
            if wide is not None and wide.isdecimal():
                cells += [""] * (min(int(wide), 64) - 1)
        return cells

    def _lines(self, container: Any) -> Iterator[str]:
        """Yields the lines of blocks that are not on their own, such as those of a cell or a note."""
        for element in container:
            name = local(element)
            if name == "p":
                boxes: list[Any] = []
                content = self._inline(element, boxes)
                label = self._lists.label(element)
                yield from (label + content if content.strip() else content).split("\n")
                for box in boxes:
                    yield from self._lines(box)
            elif name == "tbl":
                for row in _rows(element, "tr"):
                    yield "  ".join(filter(None, (one.replace("\n", " ") for one in self._cells(row))))
            elif name == "AlternateContent":
                yield from self._lines(chosen(element))
            elif name not in _SILENT:
                yield from self._lines(element)


def _instructs(instruction: str | None) -> str:
    """Returns the word that says what a field is."""
    return "".join((instruction or "").split()[:1]).upper()


def _rows(container: Any, wanted: str) -> Iterator[Any]:
    """Yields the rows of a table or the cells of a row that are not deleted, also those within content controls."""
    for element in container:
        name = local(element)
        if name == wanted:
            if child(element, "trPr", "del") is None:
                yield element
        elif name not in _SILENT and name not in ("tbl", "p"):
            yield from _rows(element, wanted)


def _sign(code: str) -> str:
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    if 0xF000 <= number <= 0xF0FF:
        return _SIGNS.get(number - 0xF000, "")
    return chr(number) if 31 < number < 0x110000 else ""


def _field(data: Any) -> str:
    """Returns the state of a check box or a list of an old form; the text of its fields stands in the document."""
    box = next(below(data, "checkBox"), None)
    if box is not None:
        state = child(box, "checked")
        state = child(box, "default") if state is None else state
        return "☒" if is_on(state) else "☐"
    choices = next(below(data, "ddList"), None)
    if choices is None:
        return ""
    result = child(choices, "result")
    entries = [value_of(one) or "" for one in choices if local(one) == "listEntry"]
    at = value_of(result) if result is not None else None
    number = int(at) if at and at.isdecimal() else 0
    return entries[number] if number < len(entries) else ""


_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of a list: its first number, the form of its numbers, and the text around them."""

    start: int = 1
    form: str = "decimal"
    text: str = ""


@dataclass(slots=True)
class _List:
    """A list in use: its levels and the last number of each; `begun` holds the instances that set numbers anew."""

    levels: list[_Level]
    counts: list[int | None] = field(default_factory=lambda: [None] * _LEVELS)
    begun: set[str] = field(default_factory=set)


class Numbering:
    """Counts the numbered paragraphs of a document in their order."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        lists: dict[str, _List] = {}
        #: The list of each instance, and the first numbers that the instance sets, by level.
        self._instances: dict[str, tuple[_List, dict[int, int]]] = {}
        for one in () if numbering is None else numbering:
            if local(one) == "abstractNum" and len(lists) < MAX_LISTS:
                lists[value_of(one, "abstractNumId") or ""] = _List(_levels(one))
            elif local(one) == "num" and len(self._instances) < MAX_LISTS:
                known = lists.get(value_at(one, "abstractNumId"))
                if known is not None:
                    self._instances[value_of(one, "numId") or ""] = known, _overrides(one)
        self._styles: dict[str, tuple[str, str, str]] = {}
        for one in () if styles is None or not self._instances else styles:
            if local(one) == "style":
                self._styles[value_of(one, "styleId") or ""] = (*_reference(one), value_at(one, "basedOn"))

    def label(self, paragraph: Any) -> str:
        """Returns the number or bullet of the next paragraph with a blank behind it, "" if it has none."""
        if not self._instances:
            return ""
        number, level = _reference(paragraph)
        name = value_at(paragraph, "pPr", "pStyle")
        for _ in range(MAX_WORD_STYLES):
            if (number and level) or name not in self._styles:
                break
            inherited, its_level, name = self._styles[name]
            number, level = number or inherited, level or its_level
        if number not in self._instances:
            return ""
        at = int(level) if level.isdecimal() and int(level) < _LEVELS else 0
        return self._count(number, at)

    def _count(self, number: str, at: int) -> str:
        known, overrides = self._instances[number]
        if number not in known.begun:
            known.begun.add(number)
            for level in overrides:
                known.counts[level] = None
        for level in range(at + 1):
            before = known.counts[level]
            if before is None:
                known.counts[level] = overrides.get(level, known.levels[level].start)
            elif level == at:
                known.counts[level] = before + 1
        # A number begins the levels below it anew.
        known.counts[at + 1 :] = [None] * (_LEVELS - at - 1)
        own = known.levels[at]
        if own.form == "bullet":
            return "• "
        if own.form == "none":
            return ""
        shown = _PLACE.sub(lambda place: _spell(known, int(place[1]) - 1), own.text)
        return f"{shown} " if shown.strip() else ""


def _spell(known: _List, level: int) -> str:
    number, form = known.counts[level], known.levels[level].form
    if number is None:
        return ""
    if form in ("lowerLetter", "upperLetter") and 0 < number <= 26 * 20:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters if form == "lowerLetter" else letters.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        roman, left = "", number
        for worth, letters in _ROMAN:
            roman += letters * (left // worth)
            left %= worth
        return roman if form == "lowerRoman" else roman.upper()
    return f"{number:02}" if form == "decimalZero" else str(number)


def _levels(abstract: Any) -> list[_Level]:
    levels = [_Level()] * _LEVELS
    for one in abstract:
        at = value_of(one, "ilvl") or ""
        if local(one) == "lvl" and at.isdecimal() and int(at) < _LEVELS:
            start, form, text = (value_at(one, name) for name in ("start", "numFmt", "lvlText"))
            levels[int(at)] = _Level(_number(start, 1), form or "decimal", text[:100])
    return levels


def _overrides(instance: Any) -> dict[int, int]:
    starts: dict[int, int] = {}
    for one in instance:
        at = value_of(one, "ilvl") or ""
        start = value_at(one, "startOverride")
        if local(one) == "lvlOverride" and at.isdecimal() and int(at) < _LEVELS and start:
            starts[int(at)] = _number(start, 1)
    return starts


def _reference(element: Any) -> tuple[str, str]:
    """Returns the instance and level that a paragraph or a style refers to, "" for each that it does not tell."""
    return value_at(element, "pPr", "numPr", "numId"), value_at(element, "pPr", "numPr", "ilvl")


def _number(shown: str, default: int) -> int:
    return int(shown) if shown.isdecimal() and len(shown) < 8 else default
