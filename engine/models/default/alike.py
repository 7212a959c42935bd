"""Lines of a page that look alike: what most of them are, a doubtful one is as well.

Each place is asked by itself whether an item of a list begins there, and in a long table one line in thirty
is missed. Where most of the lines that are made of the same cells begin items, a doubtful one is likelier to
begin one too (an empirical prior, after Robbins 1956, from the model's own probabilities).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

import numpy as np

from cinnabar.engine.models.default.columns import Columns
from cinnabar.engine.models.default.naming import Floats
from cinnabar.engine.models.default.wordpieces import CASES

#: Lines that are alike, at least, and cells of each: running text is alike everywhere.
ALIKE, CELLS = 3, 2
#: Lines that begin no item and as many that do, half of this each, counted beside those that were read.
OTHERS = 1.0
#: How much likelier (a natural logarithm) an item begins in a line, at most.
MOST = 3.0
#: How coarse their left edge is, in the units of `Pieces.left`.
COARSE = 40


def likened(odds: Floats, columns: Columns) -> Floats:
    """The log odds that an item begins at each piece, [T], raised where items begin in lines like its own.

    Of each line the likeliest piece is raised. Lines of zugferd's lists: F1 .65 to .68.
    """
    chances = probabilities(odds)
    raised = odds.copy()
    lines = defaultdict[Hashable, list[int]](list)
    for first, until, look in _lines(columns):
        lines[look].append(first + int(chances[first:until].argmax()))
    for places in lines.values():
        if len(places) < ALIKE:
            continue
        own = chances[places]
        others = own.sum() - own
        shared = np.log((others + OTHERS / 2) / (len(places) - 1 - others + OTHERS / 2))
        raised[places] += shared.clip(0.0, MOST)
    return raised


def probabilities(odds: Floats) -> Floats:
    """The probabilities of these log odds."""
    found: Floats = np.exp(-np.logaddexp(0.0, -odds))
    return found


def _lines(columns: Columns) -> Iterator[tuple[int, int, Hashable]]:
    """Lines of several cells, as pieces [first, until), and what they look like.

    That is where they begin, and which of their cells have figures.
    """
    pieces = columns.pieces
    begins = np.flatnonzero(np.diff(pieces.line, prepend=-1) > 0)
    until = np.append(begins[1:], len(pieces))
    cells = np.append(columns.cell[begins], len(columns.line))
    has_figures = np.logical_or.reduceat(pieces.case == CASES.index("digits"), columns.first[:-1])
    for first, end, cell, behind in zip(begins, until, cells[:-1], cells[1:], strict=True):
        if behind - cell >= CELLS:
            yield int(first), int(end), (columns.left[cell] // COARSE, *has_figures[cell:behind].tolist())
