"""The words of a text by lines, each with its extent across the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: The width of a page whose words have boxes, and of a character in a text without, in the units of `Stretch.left` and
#: `Pieces.left`.
ACROSS, CHARACTER = 1000, 10
_WORD = re.compile(r"\S+")
#: A part of a line between wide gaps.
PART = re.compile(r"\S+(?: \S+)*")
#: Signs that draw the rules between columns.
_RULES = "|│┃¦"


Starts = npt.NDArray[np.int32]
Boxes = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A word, or the words of a line between wide gaps: characters [start, end), and the edges across the page."""

    start: int
    end: int
    left: float
    right: float

    @property
    def middle(self) -> float:
        """The place halfway between its edges."""
        return (self.left + self.right) / 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not empty: its words from left to right, and the number of empty lines before it.

    `start`, `end` are characters of the text. `boxed`: its words have boxes; otherwise edges are columns of the text.
    top, bottom: the edges of the words with boxes down the page, as shares of its height.
    """

    words: tuple[Stretch, ...]
    cells: tuple[Stretch, ...]
    blank: int
    boxed: bool
    top: float = 0.0
    bottom: float = 0.0

    @property
    def start(self) -> int:
        """The first character of the line's first word."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """The character behind the line's last word."""
        return max(word.end for word in self.words)


def line_end(text: str, at: int) -> int:
    """Returns where the line of a character ends."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def lines_of(text: str, word_start: Starts | None = None, word_box: Boxes | None = None) -> list[Line]:
    """Returns the lines of a text that have words.

    word_start: [W], the first character of each word with a box, ascending; word_box: [W, 4], (x0, top, x1, bottom) as
    shares of the page, NaN where none. Two blanks or a tab make a wide gap. Without boxes what stands behind as many
    tabs stands in one column.
    """
    printed_lines = text.split("\n")
    widest = max((len(cell) for line in printed_lines if "\t" in line for cell in line.split("\t")), default=0)
    boxes: dict[int, Sequence[float]] = {}
    if word_start is not None and word_box is not None and len(word_start):
        boxes = {at: box for at, box in zip(word_start.tolist(), word_box.tolist(), strict=True) if box[0] == box[0]}
    lines: list[Line] = []
    begin = blank = 0
    for printed in printed_lines:
        found = [(match.start(), match.end()) for match in _WORD.finditer(printed)]
        found = [(start, end) for start, end in found if printed[start:end].strip(_RULES)] or found
        if found:
            boxed = all(begin + start in boxes for start, _ in found)
            words = [_word(start, end, begin, boxes if boxed else {}) for start, end in found]
            if "\t" in printed and not boxed:
                words = [_behind_tabs(word, printed, begin, widest + 2) for word in words]
            words.sort(key=lambda word: word.left)
            down = [boxes[begin + start][1::2] for start, _ in found] if boxed else [(0.0, 0.0)]
            top, bottom = min(box[0] for box in down), max(box[1] for box in down)
            lines.append(Line(tuple(words), cells_of(words, text), blank, boxed, top, bottom))
            blank = 0
        else:
            blank += 1
        begin += len(printed) + 1
    return lines


def character_width(lines: Sequence[Line]) -> float:
    """Returns the median width of a character, in the units of `Stretch.left`."""
    widths = [(w.right - w.left) / (w.end - w.start) for line in lines for w in line.words]
    return float(np.median(widths)) if widths else CHARACTER


def _word(start: int, end: int, begin: int, boxes: Mapping[int, Sequence[float]]) -> Stretch:
    """Returns the word at these characters of a line that begins at `begin`."""
    left, right = float(start * CHARACTER), float(end * CHARACTER)
    if begin + start in boxes:
        left, _, right, _ = (edge * ACROSS for edge in boxes[begin + start])
    return Stretch(begin + start, begin + end, left, max(right, left + 0.1))


def _behind_tabs(word: Stretch, printed: str, begin: int, width: int) -> Stretch:
    """Returns a word of a line that begins at `begin`, moved to the stop of the last tab before it."""
    at = word.start - begin
    moved = CHARACTER * (printed.count("\t", 0, at) * width - printed.rfind("\t", 0, at) - 1)
    return Stretch(word.start, word.end, word.left + moved, word.right + moved)


def cells_of(words: Sequence[Stretch], text: str) -> tuple[Stretch, ...]:
    """Returns the parts of a line between wide gaps."""
    cells: list[Stretch] = []
    for word in words:
        between = text[cells[-1].end : word.start] if cells else ""
        if cells and word.start >= cells[-1].end and len(between) < 2 and "\t" not in between:
            last = cells[-1]
            cells[-1] = Stretch(last.start, word.end, last.left, max(last.right, word.right))
        else:
            cells.append(Stretch(word.start, word.end, word.left, word.right))
    return tuple(cells)
