"""The signs of a page that tell whether a document begins on it: its lines with their places, and its numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cinnabar.extraction.documents.content.document import Document, Part

_OF = re.compile(r"(?<![\d/.,-])(\d{1,4})\s{0,2}(?:/|\||[^\W\d_]{1,7}\.?)\s{0,2}(\d{1,4})(?![\d/.,-]\d)")
_ALONE = re.compile(r"\W*(?:[^\W\d_]{1,10}\W{0,3})?(\d{1,4})\W*")


class PageMark(NamedTuple):
    """A number that a page may bear, of how many (0 if that is not said), and the line around it without numbers.

    `alone`: nothing else is in the line but a word or two.
    """

    number: int
    total: int
    key: str
    alone: bool = True


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

    def marks(self) -> Iterator[PageMark]:
        """Yields the numbers that may be that of the page."""
        for of in _OF.finditer(self.text):
            if 1 <= int(of[1]) <= int(of[2]):
                yield PageMark(int(of[1]), int(of[2]), self.key, len(self.text) <= 24)
                return
        if match := _ALONE.fullmatch(self.text):
            yield PageMark(int(match[1]), 0, self.key)


class PageSigns(NamedTuple):
    """A page of a packet: its number, width and height in points, its text, and its lines from the top down."""

    number: int
    size: tuple[float, float]
    text: str
    lines: tuple[Line, ...]


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
    from_top = sorted(lines, key=lambda line: line.top if line.top > 0 else 0.0)
    return PageSigns(part.page, (part.width, part.height), text, tuple(from_top))
