"""Finds a known text that is wrapped within a column, as a target for the pointers."""

from __future__ import annotations

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import word_ends, word_starts
from cinnabar.engine.readings.align import fold

#: Shorter texts are not searched: parts of them occur everywhere.
SHORTEST = 8


class Wrapped:
    """Finds wrapped texts in one passage."""

    def __init__(self, text: str, columns: Columns) -> None:
        self.text, self.columns = text, columns
        self._starts = word_starts(columns.pieces.case)
        self._ends = word_ends(columns.pieces.case)
        self._initials = np.array([fold(text[at])[:1] for at in columns.pieces.start.tolist()])

    def find(self, value: str, first: int, until: int) -> list[tuple[int, int]]:
        """Returns the (first, last) pieces, both inclusive, of the wrapped text that begins in [first, until)."""
        wanted = fold(value)
        if len(wanted) < SHORTEST or not value.strip().count(" "):
            return []
        places = np.flatnonzero((self._initials == wanted[0]) & self._starts)
        reached = []
        for place in places[(places >= first) & (places < until)].tolist():
            last = self._last(place, wanted)
            if last is not None and self.reads(place, last, value):
                reached.append((place, last))
        return reached

    def reads(self, first: int, last: int, value: str) -> bool:
        """Returns whether the pieces from `first` to `last` read as this text."""
        spans = self.columns.spans(first, last)
        return fold(" ".join(self.text[a:b] for a, b in spans)) == fold(value)

    def _last(self, first: int, wanted: str) -> int | None:
        """Returns the last piece of the text that begins with `first` and continues on the lines below."""
        cell = int(self.columns.cell[first])
        read = self._read(first, int(self.columns.first[cell + 1]) - 1)
        while read and wanted.startswith(fold(read)):
            under = self.columns.below(cell)
            if not under:
                return None
            begin, end = int(self.columns.first[under[0]]), int(self.columns.first[under[-1] + 1]) - 1
            for last in range(begin, end + 1):
                if self._ends[last] and fold(f"{read} {self._read(begin, last)}") == wanted:
                    return last
            cell, read = under[0], f"{read} {self._read(begin, end)}"
        return None

    def _read(self, first: int, last: int) -> str:
        pieces = self.columns.pieces
        return self.text[int(pieces.start[first]) : int(pieces.end[last])]
