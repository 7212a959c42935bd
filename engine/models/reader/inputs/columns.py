"""Columns: the words of a value that continues below itself, in a table cell whose text is broken into lines.

The text of a page has such a cell in parts, with parts of the neighbouring cells between them. The pointers give the
first and the last word; the columns decide which words in between belong to the value.
"""

from __future__ import annotations

import numpy as np

from cinnabar.engine.models.reader.inputs.cells import CELL_GAP, UNDER_SHARE
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces

Span = tuple[int, int]


class Columns:
    """The cells of a passage's lines: the parts of a line between wide gaps."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        begins = (pieces.gap >= CELL_GAP) | (np.diff(pieces.line, prepend=-1) > 0)
        #: The cell of each piece, [T], and the first piece of each cell, followed by the number of pieces.
        self.cell = np.cumsum(begins) - 1
        self.first = np.append(np.flatnonzero(begins), len(pieces))
        self.line = pieces.line[self.first[:-1]]
        self.left = pieces.left[self.first[:-1]].astype(np.int32)
        self.right = pieces.right[self.first[:-1]].astype(np.int32)

    def spans(self, first: int, last: int) -> tuple[Span, ...]:
        """Returns the characters of a value from piece `first` to piece `last`, both inclusive: one or several spans.

        There are several if the text covers several lines and some of it stands beside the column in which the value
        begins: then only the cells of that column count. Running text, even with wide gaps in it, is one span.
        """
        start, end = self.pieces.start, self.pieces.end
        whole = ((int(start[first]), int(end[last])),)
        begin, until = int(self.cell[first]), int(self.cell[last])
        if self.line[begin] == self.line[until]:
            return whole
        kept, left, right = [begin], self.left[begin], self.right[begin]
        beside: list[int] = []
        for cell in range(begin + 1, until + 1):
            if self.line[cell] > self.line[begin] and self._under(cell, left, right):
                kept.append(cell)
                left, right = min(left, self.left[cell]), max(right, self.right[cell])
            else:
                beside.append(cell)
        through = set(self.line[begin : until + 1].tolist()) == set(self.line[kept].tolist())
        if not beside or not through or kept[-1] != until or any(self._under(c, left, right) for c in beside):
            return whole
        return tuple(
            (int(start[max(first, self.first[cell])]), int(end[min(last, self.first[cell + 1] - 1)]))
            for cell in kept
        )

    def below(self, cell: int) -> list[int]:
        """Returns the cells of the next line that stand under this one, from left to right."""
        line = self.line[cell]
        after = int(np.searchsorted(self.line, line, side="right"))
        if after == len(self.line):
            return []
        until = int(np.searchsorted(self.line, self.line[after], side="right"))
        return [c for c in range(after, until) if self._under(c, self.left[cell], self.right[cell])]

    def _under(self, cell: int, left: int, right: int) -> bool:
        shared = min(self.right[cell], right) - max(self.left[cell], left)
        return bool(shared >= UNDER_SHARE * min(self.right[cell] - self.left[cell], right - left))
