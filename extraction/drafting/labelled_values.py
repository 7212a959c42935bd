"""Labels of a document with their values: "Invoice no.: 77", "Total    12.50", a label above its value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinnabar.extraction.drafting.page_lines import Cell, CellLine, CellPage, is_label, key_of, without_marks

#: The most characters of a value; what is longer is prose.
LONGEST_VALUE = 200

# A label ends with a colon or an equals sign, perhaps behind emphasis; a colon within a time or a link ends none.
_PAIR = re.compile(
    r"^(?P<label>[^:=：\n]{1,60}?)\s*(?:\*\*|__|\*)?\s*(?:[:：](?!//|\d\d\b)|=)(?:\*\*|__|\*)?\s*(?P<value>.*)$"
)
# The element of a marked-up line, and a letter with a parenthesis before each part of a message.
_ELEMENT = re.compile(r"^<(?P<label>[A-Za-z][\w.:-]*)>\s*(?P<value>[^<]+?)\s*(?:</(?P=label)>)?$")
_LETTER = re.compile(r"^(?P<label>[A-Z]{1,2})\)\s*(?P<value>.+)$")
_LEADER = re.compile(r"^(?P<label>.{1,60}?)\s?(?:\.{3,}|(?: \.){3,}|…+)\s*(?P<value>.+)$")


_FORMS = (_PAIR, _ELEMENT, _LETTER, _LEADER)


@dataclass(frozen=True, slots=True)
class LabelledValue:
    """A label with its value: their texts, the line of the label, and whether a colon or leader joins them."""

    label: str
    key: str
    value: str
    line: int
    column: int
    joined: bool


def labelled_values(page: CellPage, skipped: frozenset[int] = frozenset()) -> list[LabelledValue]:
    """The labels of a page in reading order, without those in these lines; a value may be empty."""
    found: list[LabelledValue] = []
    for number, line in enumerate(page.lines):
        if number in skipped or not line.cells:
            continue
        found += _of_line(page.lines, number, line)
    return found


def _of_line(lines: Sequence[CellLine], number: int, line: CellLine) -> Iterator[LabelledValue]:
    cells = list(line.cells)
    at, any_joined = 0, False
    while at < len(cells):
        cell = cells[at]
        match = next(filter(None, (form.match(cell.text) for form in _FORMS)), None)
        label = without_marks(match["label"]) if match else ""
        if match and is_label(label):
            any_joined = True
            value = match["value"].strip()
            if not value and at + 1 < len(cells) and not _ends_label(cells[at + 1].text):
                at += 1
                value = cells[at].text
            elif not value and len(cells) == 1:
                value = _below(lines, number, cell)
            yield LabelledValue(label, key_of(label), _plain(value), number, cell.start, True)
        at += 1
    if not any_joined and len(cells) == 2:
        label = without_marks(cells[0].text)
        if is_label(label) and not any(sign.isdigit() for sign in label):
            yield LabelledValue(label, key_of(label), _plain(cells[1].text), number, cells[0].start, False)


def _ends_label(text: str) -> bool:
    match = _PAIR.match(text)
    return match is not None and is_label(without_marks(match["label"])) and not match["value"]


def _below(lines: Sequence[CellLine], number: int, label: Cell) -> str:
    """The line below a label that has a line of its own, unless that is a label, too."""
    for line in lines[number + 1 : number + 3]:
        if not line.cells:
            continue
        text = line.text.strip()
        if line.cells[0].start < label.start or (_PAIR.match(text) and is_label(without_marks(text.split(":")[0]))):
            return ""
        return "" if text[:2] in ("- ", "* ", "• ") else text
    return ""


def _plain(value: str) -> str:
    """A value without emphasis around it; "" for one that is too long."""
    text = " ".join(value.split()).strip("*_`").strip()
    return text if len(text) <= LONGEST_VALUE else ""
