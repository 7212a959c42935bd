"""The words of a text by lines, each with its extent across the page; lines that the text has in parts are made whole.

A wide gap between columns may have its parts read one after another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np
import numpy.typing as npt

#: How far the middles of two parts of a line may lie from each other, in the line's height; a line that begins this far
#: above the one before it begins another part.
LINE_APART = 0.35
#: The share of the lines of a part that must stand beside others, and the median of cells of one of the two parts: two
#: columns of running text stay apart.
LINE_BESIDE, LINE_MEDIAN_CELLS = 0.5, 2
#: So many pairs of lines beside each other, each in part below the other, are the rows of tables set at two heights.
LINE_PAIRS = 3
#: How much farther down the page than across it the words of a line follow each other on a page on its side.
LINE_TURNED = 3.0
#: The width of a page whose words have boxes, and of a character in a text without, in the units of `Stretch.left` and
#: `Pieces.left`.
ACROSS, CHARACTER = 1000, 10
_WORD = re.compile(r"\S+")
#: Letters from this one on may be read from right to left.
_RIGHT_TO_LEFT = "\u0590"
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
    begin = blank = turned = 0
    for printed in printed_lines:
        found = [(match.start(), match.end()) for match in _WORD.finditer(printed)]
        found = [(start, end) for start, end in found if printed[start:end].strip(_RULES)] or found
        if found:
            boxed = all(begin + start in boxes for start, _ in found)
            turned = _turn([boxes[begin + start] for start, _ in found], printed, turned) if boxed else turned
            for start, _ in found if boxed and turned else ():
                boxes[begin + start] = _upright(boxes[begin + start], turned)
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


def _turn(boxes: Sequence[Sequence[float]], printed: str, before: int) -> int:
    """Returns by how many quarters a line's page is turned to the right; of one word by as many as `before`.

    Words that are read from right to left stand on no page upside down.
    """
    across, down = (boxes[-1][at] + boxes[-1][at + 2] - boxes[0][at] - boxes[0][at + 2] for at in (0, 1))
    if len(boxes) < 2:
        return before
    if abs(down) > LINE_TURNED * abs(across):
        return 1 if down > 0 else 3
    return 2 if across < 0 and LINE_TURNED * abs(down) < -across and max(printed) < _RIGHT_TO_LEFT else 0


def _upright(box: Sequence[float], turned: int) -> Sequence[float]:
    """Returns the box of a word on a page that is turned by so many quarters, as if the page stood upright."""
    for _ in range(turned):
        left, top, right, bottom = box
        box = top, 1 - right, bottom, 1 - left
    return box


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


class _Page:
    """The lines of a page by their places down the page."""

    def __init__(self, part: Sequence[Line]) -> None:
        self.lines: dict[int, Line] = dict(enumerate(part))
        self.cells = median(len(line.cells) for line in part)
        self.step = max(1e-4, median(line.bottom - line.top for line in part))
        self.at: dict[int, set[int]] = {}
        for number, line in self.lines.items():
            self._place(number, line)

    def _place(self, number: int, line: Line) -> None:
        for place in range(int(line.top / self.step), int(line.bottom / self.step) + 1):
            self.at.setdefault(place, set()).add(number)

    def _near(self, line: Line) -> set[int]:
        """Returns the lines that this one overlaps down the page."""
        places = range(int(line.top / self.step), int(line.bottom / self.step) + 1)
        numbers = set[int]().union(*(self.at.get(place, ()) for place in places))
        least = LINE_APART * (line.bottom - line.top)
        return {n for n in numbers if min(line.bottom, (own := self.lines[n]).bottom) - max(line.top, own.top) > least}

    def takes(self, part: Sequence[Line]) -> bool:
        """Returns whether a part of the text stands beside the lines of the page."""
        if max(self.cells, median(len(line.cells) for line in part)) < LINE_MEDIAN_CELLS:
            return False
        beside = within = 0
        bottom = max(line.bottom for line in self.lines.values())
        for line in part:
            near = [self.lines[number] for number in self._near(line)]
            if any(a.left < b.right and b.left < a.right for other in near for a in line.cells for b in other.cells):
                return False
            within += line.top < bottom
            beside += any(_level(line, other) for other in near)
        return beside > 0 and beside >= LINE_BESIDE * within

    def add(self, part: Sequence[Line], text: str) -> None:
        """Joins the lines of a part to those at their height."""
        for line in part:
            level = next((n for n in sorted(self._near(line)) if _level(line, self.lines[n])), None)
            number = len(self.lines) if level is None else level
            self.lines[number] = line if level is None else _join_lines(self.lines[number], line, text)
            self._place(number, self.lines[number])

    def sorted_lines(self) -> list[Line]:
        """Returns the lines from top to bottom."""
        return sorted(self.lines.values(), key=lambda line: line.top + line.bottom)


def whole_lines(lines: Sequence[Line], text: str) -> list[Line]:
    """Returns lines with the parts joined that stand beside each other on their page, in the order down the page."""
    found: list[Line] = []
    page: _Page | None = None
    for part in _parts(lines):
        if page is not None and part[0].boxed and page.takes(part):
            page.add(part, text)
            continue
        found += page.sorted_lines() if page is not None else []
        page = _Page(part) if part[0].boxed else None
        found += part if page is None else []
    return found + (page.sorted_lines() if page is not None else [])


def _parts(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yields the runs of lines that go down the page, and those without boxes."""
    part: list[Line] = []
    for line in lines:
        back = LINE_APART * (line.bottom - line.top)
        if part and (part[-1].boxed != line.boxed or (line.boxed and line.top < part[-1].top - back)):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _level(one: Line, two: Line) -> bool:
    apart = abs((one.top + one.bottom) - (two.top + two.bottom)) / 2
    return apart <= LINE_APART * min(one.bottom - one.top, two.bottom - two.top)


def _join_lines(one: Line, two: Line, text: str) -> Line:
    words = tuple(sorted((*one.words, *two.words), key=lambda word: word.left))
    top, bottom = min(one.top, two.top), max(one.bottom, two.bottom)
    return replace(one, words=words, cells=cells_of(words, text), top=top, bottom=bottom)


def level_lines(lines: Sequence[Line], text: str) -> list[Line]:
    """Returns lines with those joined that stand beside each other though one is set lower, pair after pair."""
    runs: list[list[int]] = []
    for at, (one, two) in enumerate(pairwise(lines)):
        last = runs[-1][-1] if runs else -LINE_PAIRS
        if at < last + 2 or not _stands_beside(one, two):
            continue
        if at == last + 2:
            runs[-1].append(at)
        else:
            runs.append([at])
    pairs = {at for run in runs if len(run) >= LINE_PAIRS for at in run}
    kept = [at for at in range(len(lines)) if at - 1 not in pairs]
    return [_join_lines(lines[at], lines[at + 1], text) if at in pairs else lines[at] for at in kept]


def _stands_beside(one: Line, two: Line) -> bool:
    """Returns whether two lines of several cells share a part of their height, and one ends where the other begins."""
    left, right = sorted((one, two), key=lambda line: line.words[0].left)
    is_level = one.boxed and two.boxed and one.top < two.bottom and two.top < one.bottom
    is_apart = max(cell.right for cell in left.cells) < right.cells[0].left
    return is_level and is_apart and min(len(one.cells), len(two.cells)) >= LINE_MEDIAN_CELLS
