"""The signs of a page that tell whether a document begins on it: its edges, numbers, sizes and words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.document import Document, Part

#: Words at the beginning and at the end of a page whose meaning is compared.
READ = 90
# Lines at an edge of a page that may be a header or a footer, and lines of a letterhead.
_EDGE, _HEAD = 3, 8
#: A page of at most so many words may be a separator sheet.
SHORT = 12

_OF = re.compile(r"(?<![\d/.,-])(\d{1,4})\s{0,2}(?:/|\||[^\W\d_]{1,7}\.?)\s{0,2}(\d{1,4})(?![\d/.,-]\d)")
_ALONE = re.compile(r"\W*(?:[^\W\d_]{1,10}\W{0,3})?(\d{1,4})\W*")
_EDGE_NUMBER = re.compile(r"(?:^\W{0,3}|\s\W{0,2}|[^\W\d_]-)(\d{1,4})\W{0,2}$|^\W{0,3}(\d{1,4})(?=\W{0,2}\s)")
_LABEL = re.compile(r"[^\W\d_][\w -]{1,24}:\s")
_TOKEN, _DIGITS, _WORD = re.compile(r"[^\s,;()]+"), re.compile(r"\d"), re.compile(r"[^\W\d_]{4,}")
_ITEM = re.compile(r"\W{0,2}(\d{1,3})[.)]\s|\(([a-z])\)\s|([a-z])[.)]\s")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page with its place as shares of the page (NaN if it is not known), and its words' height in points.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    height: float

    @property
    def key(self) -> str:
        """Returns the line without its numbers, by which headers and footers are known again."""
        return _DIGITS.sub("#", self.text.lower()).replace("##", "#").replace("##", "#")


@dataclass(frozen=True, slots=True)
class PageMark:
    """A number that a page may bear: the text around it without numbers, the number, and how many pages there are (0 if
    it does not say). `sure` is false of a number in a longer line.
    """

    key: str
    number: int
    total: int = 0
    sure: bool = True


@dataclass(frozen=True)
class PageSigns:
    """What is known of a page beside its pixels. `number` is its number in the packet; size in points.

    `head` and `foot` are its lines at the edges, `beginning` and `end` its first and last words in reading order.
    """

    number: int
    size: tuple[float, float]
    scanned: bool
    lines: tuple[Line, ...]
    order: tuple[str, ...]

    @property
    def words(self) -> int:
        """Returns the number of its words."""
        return sum(len(line.split()) for line in self.order)

    @property
    def head(self) -> tuple[Line, ...]:
        """Returns its topmost lines."""
        return self.lines[:_EDGE]

    @property
    def foot(self) -> tuple[Line, ...]:
        """Returns its lowest lines."""
        return self.lines[-_EDGE:]

    @property
    def beginning(self) -> str:
        """Returns its first words."""
        return " ".join(" ".join(self.order).split()[:READ])

    @property
    def end(self) -> str:
        """Returns its last words."""
        return " ".join(" ".join(self.order).split()[-READ:])

    @property
    def sheet(self) -> str:
        """Returns the words of a sheet that may separate documents; "" of a longer page."""
        return " ".join(self.order) if self.words <= SHORT else ""

    def marks(self) -> list[PageMark]:
        """Returns the numbers at its edges that may be its page number."""
        found: list[PageMark] = []
        for line in {id(line): line for line in (*self.head, *self.foot)}.values():
            found += _marks_of(line)
        return found

    def labels(self) -> float:
        """Returns the share of its first lines that are labelled, as in the header of a mail or form."""
        first = self.order[:_HEAD]
        return sum(bool(_LABEL.match(line)) for line in first) / len(first) if first else 0.0

    def identifiers(self) -> frozenset[str]:
        """Returns its numbers and dates of three digits or more."""
        tokens = (token.strip(".:#'\"") for line in self.order for token in _TOKEN.findall(line))
        return frozenset(token for token in tokens if len(_DIGITS.findall(token)) >= 3)

    def vocabulary(self) -> frozenset[str]:
        """Returns its words of four letters and more."""
        return frozenset(word.lower() for line in self.order for word in _WORD.findall(line))

    def names(self) -> frozenset[str]:
        """Returns its words with a capital letter."""
        return frozenset(w for line in self.order for w in _WORD.findall(line) if w[:1].isupper())

    def body(self) -> Sequence[str]:
        """Returns its lines without numbers of pages at the edges."""
        lines = [line for line in self.order if line.strip()]
        while lines and _ALONE.fullmatch(lines[-1]):
            lines.pop()
        while lines and _ALONE.fullmatch(lines[0]):
            lines.pop(0)
        return lines

    def first_item(self) -> str:
        """Returns the number or letter of the first numbered line of its beginning, "" if there is none."""
        return next(self._items(), "")

    def last_item(self) -> str:
        """Returns the number or letter of its last numbered line, "" if there is none."""
        return ([*self._items()] or [""])[-1]

    def _items(self) -> Iterator[str]:
        for line in self.order:
            if item := _ITEM.match(line):
                yield item[1] or item[2] or item[3]


def page_signs(document: Document) -> list[PageSigns]:
    """Returns the signs of the pages of a document, in their order; parts within pages count to them."""
    return [_signs(document, at, part) for at, part in enumerate(document.parts) if part.kind == "page"]


def _signs(document: Document, at: int, part: Part) -> PageSigns:
    words = document.words
    first, last = np.searchsorted(words.start, [part.start, part.end])
    start, end, box = words.start[first:last], words.end[first:last], words.box[first:last]
    sure = None if words.sure is None else words.sure[first:last]
    text = document.text[part.start : part.end]
    order: list[str] = []
    lines: list[Line] = []
    begin = 0
    for line in text.split("\n"):
        if line.strip():
            order.append(line.strip())
            own = slice(*np.searchsorted(start, [part.start + begin, part.start + begin + len(line)]))
            lines.append(_line(line.strip(), box[own], part))
        begin += len(line) + 1
    lines.sort(key=lambda one: (one.top if one.top == one.top else 0.0))
    read = sure is not None and bool((sure < 1).any())
    return PageSigns(part.page, (part.width, part.height), read, tuple(lines), tuple(order))


def _line(text: str, box: npt.NDArray[np.float32], part: Part) -> Line:
    if not len(box) or np.isnan(box).any() or not (part.width and part.height):
        nan = float("nan")
        return Line(text, nan, nan, nan, nan, nan)
    left, top = box[:, 0].min() / part.width, box[:, 1].min() / part.height
    right, bottom = box[:, 2].max() / part.width, box[:, 3].max() / part.height
    return Line(text, float(left), float(top), float(right), float(bottom), float(np.median(box[:, 3] - box[:, 1])))


def _marks_of(line: Line) -> Iterator[PageMark]:
    key = line.key
    for match in _OF.finditer(line.text):
        number, total = int(match[1]), int(match[2])
        if 1 <= number <= total:
            yield PageMark(key, number, total, len(line.text) <= 24)
            return
    if match := _ALONE.fullmatch(line.text):
        yield PageMark(key, int(match[1]))
    elif len(line.text) <= 160:
        for match in _EDGE_NUMBER.finditer(line.text):
            yield PageMark(key, int(match[1] or match[2]), 0, False)
