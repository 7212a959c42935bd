"""The head of a table: the lines above its first row whose words stand over its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from cinnabar.engine.tables.grid import Grid
from cinnabar.engine.tables.lines import Line, Stretch

#: The most lines of a head, the most headings between it and the first row, and the most empty lines.
HEAD_LINES, HEAD_HEADINGS, HEAD_EMPTY_LINES = 4, 3, 2
#: The share of the columns that a head names at least; a line that names this share stands over single columns.
HEAD_NAMED, HEAD_SINGLE = 0.5, 0.4
#: The share of a column's cells of a form from which on a cell of that form is no head.
HEAD_USUAL_CELLS = 0.1
#: How much farther from its middle a column more of a group may be, in the group's width.
HEAD_MIDDLE = 0.02
Span = tuple[int, int]
#: The spans of each column's cell in a line or a row, one a line of the text; () where it is empty.
Cells = tuple[tuple[Span, ...], ...]

_DIGITS, _LETTERS = re.compile(r"\d+(?:[.,'’  ]\d+)*"), re.compile(r"[^\W\d_]+")


def form_of(words: str) -> str:
    """Returns the form of some words: each number as 0, each run of letters as a."""
    return _LETTERS.sub("a", _DIGITS.sub("0", words))


def words_of(spans: Sequence[Span], text: str) -> str:
    """Returns the text of some spans in one line."""
    return " ".join(text[start:end] for start, end in spans)


def has_word(text: str) -> bool:
    """Returns whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))


def is_figure(spans: Sequence[Span], text: str) -> bool:
    """Returns whether a cell has digits, and as many of them as letters."""
    words = words_of(spans, text)
    digits = sum(map(str.isdigit, words))
    return 0 < digits >= sum(map(str.isalpha, words))


class Forms:
    """The forms of the cells of columns of figures, by which a row is told from a head."""

    def __init__(self, rows: Sequence[Cells], figures: frozenset[int], text: str) -> None:
        self._text = text
        self._usual: dict[int, frozenset[str]] = {}
        for column in figures:
            forms = Counter(form_of(words_of(row[column], text)) for row in rows if row[column])
            forms = Counter({form: times for form, times in forms.items() if "0" in form})
            least = max(2, HEAD_USUAL_CELLS * forms.total())
            most = Counter({form: times for form, times in forms.items() if times >= least})
            # Identifiers may have many forms.
            self._usual[column] = frozenset(most if 2 * most.total() > forms.total() else forms)

    def matches(self, cells: Cells, first: int = 0) -> int:
        """Returns the number of a line's cells, from this column on, in a form of figures usual in their column."""
        found = 0
        for column, usual in self._usual.items():
            found += column >= first and form_of(words_of(cells[column], self._text)) in usual
        return found

    def count_filled(self, cells: Cells) -> int:
        """Returns the number of a line's cells in columns of figures that have words."""
        return sum(bool(cells[column]) for column in self._usual)


def head_lines(
    lines: Sequence[Line], grid: Grid, first: int, floor: int, cells: Callable[[int], Cells], forms: Forms,
    headings_too: Collection[int] = (),
) -> list[int]:
    """Returns the lines that are the head of a table whose first row is the line `first`, ascending.

    floor: the first line that may be one. Headings of the first rows may lie between the head and these, `headings_too`
    among them.
    """
    block: list[int] = []
    headings = 0
    for at in range(first - 1, floor - 1, -1):
        line, empty = lines[at], lines[at + 1].blank
        if line.boxed != lines[first].boxed or empty > (0 if block else HEAD_EMPTY_LINES) or len(block) == HEAD_LINES:
            break
        own = cells(at)
        few, alone = sum(map(bool, own)) < HEAD_SINGLE * len(own), len(line.cells) == 1
        left = grid.column(line.words[0].left) == 0
        is_heading = ((few or alone) and crosses(line, grid)) or (alone and left and not block) or at in headings_too
        # What was brought forward stands between the head and the first row.
        is_brought = bool(forms.matches(own)) and len(line.cells) <= HEAD_NAMED * len(own)
        if (is_heading or is_brought) and not block and headings < HEAD_HEADINGS:
            headings += 1
            continue
        # A head may have a figure among its words: "Under 18".
        if 2 * forms.matches(own) >= max(1, forms.count_filled(own)) or (is_heading and left):
            break
        block.insert(0, at)
    named = {column for at in block for column, spans in enumerate(cells(at)) if spans}
    return block if len(named) >= max(2, HEAD_NAMED * (len(grid.gaps) + 1)) else []


def crosses(line: Line, grid: Grid) -> bool:
    """Returns whether a cell of a line reaches into another column."""
    return any(grid.column(cell.left + 0.1) != grid.column(cell.right - 0.1) for cell in line.cells)


def heads_of(lines: Sequence[Line], grid: Grid, head: Sequence[int], cells: Mapping[int, Cells], text: str) -> Cells:
    """Returns the spans of each column's head, from top to bottom; a cell over several columns is the head of each.

    cells: those of each line of the head.
    """
    heads: list[list[Span]] = [[] for _ in range(len(grid.gaps) + 1)]
    for at in head:
        own = lines[at].cells
        # One cell over many columns is a title, or the head of a group.
        if at == head[-1] or (len(own) > 1 and sum(map(bool, cells[at])) >= HEAD_SINGLE * len(heads)):
            for column, spans in enumerate(cells[at]):
                heads[column] += spans
            continue
        repeated = _repeated_columns(cells[head[-1]], text)
        edges = [float("-inf"), *((one.right + two.left) / 2 for one, two in pairwise(own)), float("inf")]
        for cell, left, right in zip(own, edges, edges[1:], strict=False):
            for column in _under(cell, left, right, grid, lines[grid.lines[0]], repeated):
                heads[column].append((cell.start, cell.end))
    return tuple(tuple(own) for own in heads)


def _repeated_columns(own: Cells, text: str) -> frozenset[int]:
    """Returns the columns whose heads in this line stand over other columns too: only a group tells these apart."""
    words = [words_of(spans, text) for spans in own]
    times = Counter(words)
    return frozenset(column for column, word in enumerate(words) if word and times[word] > 1)


def _under(cell: Stretch, left: float, right: float, grid: Grid, below: Line, repeated: frozenset[int]) -> range:
    """Returns the columns under the head of a group: those that it stands on, and more if it is their middle then.

    left, right: its room, halfway to its neighbours; below: a line of the columns; repeated: the columns that may be
    more.
    """
    first, last = grid.column(cell.left + 0.1), grid.column(cell.right - 0.1)
    extent = [(float("inf"), float("-inf"))] * (len(grid.gaps) + 1)
    for word in below.words:
        column = grid.column(word.middle)
        extent[column] = min(extent[column][0], word.left), max(extent[column][1], word.right)
    best, columns = float("inf"), range(first, last + 1)
    for a in range(first, -1, -1):
        if a < first and (extent[a][0] < left or a not in repeated):
            break
        for b in range(last, len(extent)):
            if b > last and (extent[b][1] > right or b not in repeated):
                break
            off = abs((extent[a][0] + extent[b][1] - cell.left - cell.right) / 2) / (extent[b][1] - extent[a][0])
            # Of two ranges that it is as well the middle of, the wider one.
            if off - HEAD_MIDDLE * (b - a) < best:
                best, columns = off - HEAD_MIDDLE * (b - a), range(a, b + 1)
    return columns
