"""Lines of a page that look alike: what most of them are, a doubtful one among them is as well.

Each place is asked by itself whether an item of a list begins there, and in a long table one line in thirty
is missed. Where most of the lines that are made of the same cells begin items, a doubtful one is likelier to
begin one too (an empirical prior, after Robbins 1956, from the model's own probabilities).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from itertools import pairwise

import numpy as np

from cinnabar.engine.models.reader.answers.rows import ROW_FROM
from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.wordpieces import CASES
from cinnabar.engine.models.reader.priors.name_matching import Floats

#: Lines that are alike, at least, and cells of each: running text is alike everywhere.
ALIKE, CELLS = 3, 2
#: Lines counted beside those that were read, of which half begin an item.
UNREAD = 1.0
#: How much likelier (a natural logarithm) an item begins in a line, at most.
MOST = 3.0
#: The left edges of lines that are alike differ by less, in the units of `Pieces.left`.
COARSE = 40
#: The next such line is near up to so many times of how far apart such lines are (the median).
NEAR = 1.5


def likened(odds: Floats, columns: Columns) -> Floats:
    """The log odds that an item begins at each piece, [T], raised where items begin in lines like its own.

    Of each line the likeliest piece is raised, where the next such line above and below is near and begins an
    item: at the ends of a table stand sums, and what is carried forward. Lines of one cell are told nothing.
    """
    alike = defaultdict[Hashable, list[int]](list)
    for first, until, look in _lines(columns):
        alike[look].append(first + int(odds[first:until].argmax()))
    raised = odds.copy()
    for found in alike.values():
        if len(found) < ALIKE:
            continue
        places = np.array(found)
        own = probabilities(odds[places])
        begun = own.sum() - own + UNREAD / 2
        shared = np.log(begun / (len(found) - 1 + UNREAD - begun)).clip(0.0, MOST)
        apart = np.diff(columns.pieces.line[places])
        near, begins = apart <= NEAR * np.median(apart), own >= ROW_FROM
        above, below = np.append(False, near & begins[:-1]), np.append(near & begins[1:], False)
        raised[places] += np.where(above & below, shared, 0.0)
    return raised


def probabilities(odds: Floats) -> Floats:
    """The probabilities of these log odds."""
    found: Floats = np.exp(-np.logaddexp(0.0, -odds))
    return found


def _lines(columns: Columns) -> Iterator[tuple[int, int, Hashable]]:
    """Lines of several cells, as pieces [first, until), and what they look like.

    That is where they begin, and which of their cells have figures.
    """
    first = columns.first.tolist()
    has_figures = np.logical_or.reduceat(columns.pieces.case == CASES.index("digits"), columns.first[:-1])
    cells = np.append(np.flatnonzero(np.diff(columns.line, prepend=-1)), len(columns.line))
    for cell, behind in pairwise(cells.tolist()):
        if behind - cell >= CELLS:
            look = (int(columns.left[cell]) // COARSE, *has_figures[cell:behind].tolist())
            yield first[cell], first[behind], look
