"""The signs of a page that tell whether a document begins on it: its lines with their places, and its numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cinnabar.extraction.documents.content.document import Document, Part

# Words at either end of a page whose meaning is compared, lines at an edge that may be a header or a footer, and the
# most words of a sheet that only separates documents.
_READ, _EDGE, _SHORT = 90, 3, 12
_OF = re.compile(r"(?<![\d/.,-])(\d{1,4})\s{0,2}(?:/|\||[^\W\d_]{1,7}\.?)\s{0,2}(\d{1,4})(?![\d/.,-]\d)")
_ALONE = re.compile(r"\W*(?:[^\W\d_]{1,10}\W{0,3})?(\d{1,4})\W*")
_AT_END = re.compile(r"(?:^\W{0,3}|\s\W{0,2}|[^\W\d_]-)(\d{1,4})\W{0,2}$|^\W{0,3}(\d{1,4})(?=\W{0,2}\s)")
_IDENTIFIER = re.compile(r"(?=(?:[^\s,;()]*\d){3})[^\s,;()]+")
_ITEM = re.compile(r"^\W{0,2}(\d{1,3})[.)]\s", re.MULTILINE)


class Line(NamedTuple):
    """A line with its edges as shares of the page, and the usual height of its words in points; NaN if not known."""

    text: str
    top: float = math.nan
    bottom: float = math.nan
    height: float = math.nan

    @property
    def key(self) -> str:
        """Returns the line without its numbers, by which headers and footers are known again."""
        return re.sub(r"\d+", "#", self.text.lower())


class PageMark(NamedTuple):
    """A number that a page may bear, and of how many (0 if that is not said).

    `key` is the line around it without numbers. `alone`: nothing else is in the line but a word or two.
    """

    key: str
    number: int
    total: int = 0
    alone: bool = True


@dataclass(frozen=True)
class PageSigns:
    """A page of a packet: its number there, width and height in points, whether OCR read it, its text, and its lines
    from the top down.
    """

    number: int
    size: tuple[float, float]
    scanned: bool
    text: str
    lines: tuple[Line, ...]

    @cached_property
    def ends(self) -> tuple[str, str]:
        """Returns its first and its last words."""
        words = self.text.split()
        return " ".join(words[:_READ]), " ".join(words[-_READ:])

    @property
    def sheet(self) -> str:
        """Returns the words of a sheet that may separate documents; "" of a longer page."""
        return self.ends[0] if len(self.ends[0].split()) <= _SHORT else ""

    @cached_property
    def marks(self) -> list[PageMark]:
        """Returns the numbers at its edges that may be its page number."""
        edges = dict.fromkeys((*self.lines[:_EDGE], *self.lines[-_EDGE:]))
        return [mark for line in edges for mark in _marks_of(line)]

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Returns its numbers and dates of three digits or more."""
        return frozenset(token.strip(".:#'\"") for token in _IDENTIFIER.findall(self.text))

    @cached_property
    def items(self) -> list[int]:
        """Returns the numbers of its numbered lines."""
        return [*map(int, _ITEM.findall(self.text))]


def page_signs(document: Document) -> list[PageSigns]:
    """Returns the signs of the pages of a document, in their order; parts within pages count to them."""
    return [_signs(document, part) for part in document.parts if part.kind == "page"]


def _signs(document: Document, part: Part) -> PageSigns:
    words, lines, begin, text = document.words, list[Line](), part.start, document.text[part.start : part.end]
    for line in text.split("\n"):
        own = slice(*np.searchsorted(words.start, [begin, begin + len(line)]))
        begin += len(line) + 1
        top, bottom = words.box[own, 1], words.box[own, 3]
        if len(top) and part.height and not np.isnan(bottom).any():
            places = top.min() / part.height, bottom.max() / part.height, np.median(bottom - top)
            lines.append(Line(line.strip(), *map(float, places)))
        elif line.strip():
            lines.append(Line(line.strip()))
    inside = slice(*np.searchsorted(words.start, [part.start, part.end]))
    scanned = words.sure is not None and bool((words.sure[inside] < 1).any())
    from_top = tuple(sorted(lines, key=lambda line: line.top if line.top > 0 else 0.0))
    return PageSigns(part.page, (part.width, part.height), scanned, text, from_top)


def _marks_of(line: Line) -> Iterator[PageMark]:
    for of in _OF.finditer(line.text):
        if 1 <= int(of[1]) <= int(of[2]):
            yield PageMark(line.key, int(of[1]), int(of[2]), len(line.text) <= 24)
            return
    if match := _ALONE.fullmatch(line.text):
        yield PageMark(line.key, int(match[1]))
    elif len(line.text) <= 160:
        yield from (PageMark(line.key, int(m[1] or m[2]), 0, False) for m in _AT_END.finditer(line.text))
