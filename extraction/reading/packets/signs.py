"""The signs of a page that tell whether a document begins on it: its lines with their places, and its numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cinnabar.extraction.documents.content.document import Document, Part

# Words at either end of a page whose meaning is compared, lines at an edge that may be a header or a footer, and the
# most words of a sheet that only separates documents.
_READ, _EDGE, _SHORT = 90, 3, 12
_OF = re.compile(r"(?<![\d/.,-])(\d{1,4})\s{0,2}(?:/|\||[^\W\d_]{1,7}\.?)\s{0,2}(\d{1,4})(?![\d/.,-]\d)")
_ALONE = re.compile(r"\W*(?:[^\W\d_]{1,10}\W{0,3})?(\d{1,4})\W*")
_AT_END = re.compile(r"(?:^\W{0,3}|\s\W{0,2}|[^\W\d_]-)(\d{1,4})\W{0,2}$|^\W{0,3}(\d{1,4})(?=\W{0,2}\s)")
_TOKEN, _NUMBER, _DIGIT = re.compile(r"[^\s,;()]+"), re.compile(r"\d+"), re.compile(r"\d")
_ITEM = re.compile(r"\W{0,2}(\d{1,3})[.)]\s|\(?([a-z])[.)]\s")


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its edges as shares of its page, and the usual height of its words in points; NaN if not known."""

    text: str
    left: float = math.nan
    top: float = math.nan
    right: float = math.nan
    bottom: float = math.nan
    height: float = math.nan

    @property
    def key(self) -> str:
        """Returns the line without its numbers, by which headers and footers are known again."""
        return _NUMBER.sub("#", self.text.lower())


@dataclass(frozen=True, slots=True)
class PageMark:
    """A number that a page may bear, and of how many (0 if that is not said).

    `key` is the line around it without numbers. `alone`: nothing else is in the line but a word or two.
    """

    key: str
    number: int
    total: int = 0
    alone: bool = True


@dataclass(frozen=True)
class PageSigns:
    """A page of a packet: its number there, width and height in points, whether OCR read it, and its lines.

    `order` are the texts of the lines in reading order, `lines` are sorted from the top down.
    """

    number: int
    size: tuple[float, float]
    scanned: bool
    lines: tuple[Line, ...]
    order: tuple[str, ...]

    @cached_property
    def words(self) -> list[str]:
        """Returns its words."""
        return " ".join(self.order).split()

    @property
    def ends(self) -> tuple[str, str]:
        """Returns its first and its last words."""
        return " ".join(self.words[:_READ]), " ".join(self.words[-_READ:])

    @property
    def sheet(self) -> str:
        """Returns the words of a sheet that may separate documents; "" of a longer page."""
        return " ".join(self.words) if len(self.words) <= _SHORT else ""

    @cached_property
    def marks(self) -> list[PageMark]:
        """Returns the numbers at its edges that may be its page number."""
        edges = {id(line): line for line in (*self.lines[:_EDGE], *self.lines[-_EDGE:])}
        return [mark for line in edges.values() for mark in _marks_of(line)]

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """Returns its numbers and dates of three digits or more."""
        tokens = (token.strip(".:#'\"") for token in _TOKEN.findall(" ".join(self.order)))
        return frozenset(token for token in tokens if len(_DIGIT.findall(token)) >= 3)

    @cached_property
    def body(self) -> list[str]:
        """Returns its lines without page numbers at the edges."""
        return [line for line in self.order if not _ALONE.fullmatch(line)]

    @cached_property
    def items(self) -> list[str]:
        """Returns the numbers and letters of its numbered lines."""
        return [item[1] or item[2] for line in self.order if (item := _ITEM.match(line))]


def page_signs(document: Document) -> list[PageSigns]:
    """Returns the signs of the pages of a document, in their order; parts within pages count to them."""
    return [_signs(document, part) for part in document.parts if part.kind == "page"]


def _signs(document: Document, part: Part) -> PageSigns:
    words, lines, begin = document.words, list[Line](), part.start
    for text in document.text[part.start : part.end].split("\n"):
        own = slice(*np.searchsorted(words.start, [begin, begin + len(text)]))
        begin += len(text) + 1
        box = words.box[own] / np.array([part.width or np.nan, part.height or np.nan] * 2, np.float32)
        if len(box) and not np.isnan(box).any():
            (left, top), (right, bottom) = box[:, :2].min(0), box[:, 2:].max(0)
            height = np.median(box[:, 3] - box[:, 1]) * part.height
            lines.append(Line(text.strip(), *map(float, (left, top, right, bottom, height))))
        elif text.strip():
            lines.append(Line(text.strip()))
    inside = slice(*np.searchsorted(words.start, [part.start, part.end]))
    scanned = words.sure is not None and bool((words.sure[inside] < 1).any())
    from_top = sorted(lines, key=lambda line: line.top if line.top > 0 else 0.0)
    return PageSigns(part.page, (part.width, part.height), scanned, tuple(from_top), tuple(one.text for one in lines))


def _marks_of(line: Line) -> Iterator[PageMark]:
    for of in _OF.finditer(line.text):
        if 1 <= int(of[1]) <= int(of[2]):
            yield PageMark(line.key, int(of[1]), int(of[2]), len(line.text) <= 24)
            return
    if match := _ALONE.fullmatch(line.text):
        yield PageMark(line.key, int(match[1]))
    elif len(line.text) <= 160:
        yield from (PageMark(line.key, int(m[1] or m[2]), 0, False) for m in _AT_END.finditer(line.text))
