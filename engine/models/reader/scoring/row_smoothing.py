"""Row smoothing: similar lines begin items alike, so a doubtful line among lines with items likely begins one too.

The network decides for each place by itself whether an item of a list begins there, and in a long table it misses one
line in thirty. If most lines with the same cells begin items, a doubtful one is likelier to begin one too (an empirical
prior, after Robbins 1956, from the model's own probabilities).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from itertools import pairwise

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.wordpieces import CASES
from cinnabar.engine.models.reader.priors.config import RowSmoothingConfig
from cinnabar.engine.models.reader.priors.name_matching import Floats


def smooth_rows(odds: Floats, columns: Columns, config: RowSmoothingConfig, least: float) -> Floats:
    """Returns the log odds that an item begins at each piece, [T], raised if items begin in similar lines.

    Only the likeliest piece of each line is raised, and only if the next similar lines above and below are near and
    begin items: sums and carried-forward amounts stand at the ends of a table. Lines of one cell stay unchanged. least:
    the probability from which on a line begins an item.
    """
    alike = defaultdict[Hashable, list[int]](list)
    for first, until, look in _lines(columns, config):
        alike[look].append(first + int(odds[first:until].argmax()))
    raised = odds.copy()
    for lines_alike in alike.values():
        if len(lines_alike) < config.alike:
            continue
        places = np.array(lines_alike)
        own = probabilities(odds[places])
        begun = own.sum() - own + config.unread / 2
        shared = np.log(begun / (len(lines_alike) - 1 + config.unread - begun)).clip(0.0, config.most)
        apart = np.diff(columns.pieces.line[places])
        near, begins = apart <= config.near * np.median(apart), own >= least
        above, below = np.append(False, near & begins[:-1]), np.append(near & begins[1:], False)
        raised[places] += np.where(above & below, shared, 0.0)
    return raised


def probabilities(odds: Floats) -> Floats:
    """Returns the probabilities of these log odds."""
    found: Floats = np.exp(-np.logaddexp(0.0, -odds))
    return found


def _lines(columns: Columns, config: RowSmoothingConfig) -> Iterator[tuple[int, int, Hashable]]:
    """Yields the lines of several cells as pieces [first, until), with their look.

    The look is the left edge of the line, and which of its cells have figures.
    """
    first = columns.first.tolist()
    has_figures = np.logical_or.reduceat(columns.pieces.case == CASES.index("digits"), columns.first[:-1])
    cells = np.append(np.flatnonzero(np.diff(columns.line, prepend=-1)), len(columns.line))
    for cell, behind in pairwise(cells.tolist()):
        if behind - cell >= config.cells:
            look = (int(columns.left[cell]) // config.coarse, *has_figures[cell:behind].tolist())
            yield first[cell], first[behind], look
