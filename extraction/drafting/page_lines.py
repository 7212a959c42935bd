"""The lines of a document as cells: two blanks, a tab or a bar stand between cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cinnabar.engine.readings.locale import Locale, document_locale

#: The most characters of a document that are looked at; a kind of document shows its labels before that.
MOST_CHARACTERS = 60_000
#: The most words and characters of a label or a column's head.
LABEL_WORDS, LABEL_CHARACTERS = 6, 48

_CELL = re.compile(r"[^\s|]+(?:[ \u00a0][^\s|]+)*")
_MARKS = re.compile(r"^(?:[-*•+>]\s+|#+\s+)?(?:\*\*|__|\*|_|`)?(.*?)(?:\*\*|__|\*|_|`)?$", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_RULER = re.compile(r"[\s|+:=_\-─═.*~]{3,}")


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a line: its text, and its characters [start, end) in the line."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CellLine:
    """A line with its cells; `start` is its first character in the document, `ruled` says that it is a drawn line."""

    text: str
    start: int
    cells: tuple[Cell, ...]
    ruled: bool


@dataclass(frozen=True, slots=True)
class CellPage:
    """The lines of a document and its conventions for dates and numbers."""

    text: str
    lines: tuple[CellLine, ...]
    locale: Locale


def cell_page(text: str) -> CellPage:
    """The beginning of a document as lines of cells."""
    text = text[:MOST_CHARACTERS]
    return CellPage(text, tuple(_lines(text)), document_locale(text))


def _lines(text: str) -> Iterator[CellLine]:
    start = 0
    for line in text.split("\n"):
        ruled = _RULER.fullmatch(line) is not None
        cells = () if ruled else tuple(Cell(m[0], m.start(), m.end()) for m in _CELL.finditer(line))
        yield CellLine(line, start, cells, ruled)
        start += len(line) + 1


def without_marks(text: str) -> str:
    """The text without a bullet, a heading's sign or emphasis around it."""
    found = _MARKS.match(text.strip())
    return " ".join((found[1] if found else text).replace("**", "").split())


def key_of(label: str) -> str:
    """What is the same in two spellings of a label: its words in small letters, without figures."""
    return " ".join(word.casefold() for word in _WORD.findall(label) if not word.isdigit())


def is_label(text: str) -> bool:
    """Whether a text is short enough for a label, begins with a letter and has no sentence in it."""
    words = text.split()
    return (
        0 < len(words) <= LABEL_WORDS
        and len(text) <= LABEL_CHARACTERS
        and (text[0].isalpha() or text[0] in "#№")
        and bool(key_of(text))
        and not re.search(r"[.!?;]\s|://|@", text)
    )
