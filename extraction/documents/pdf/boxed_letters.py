"""Joins values of which each letter stands in a box of its own: drawn boxes, and comb fields of a form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.pdf.glyphs import PageWords

_Floats = npt.NDArray[np.float64]
_Box = tuple[float, float, float, float]

# Letters of a value at least, and of a page at most.
_LEAST, _MOST = 4, 2_000
# In heights of a letter: the next letter, the walls between two boxes, and how far these are from each other.
_NEXT, _WALLS, _THICK = 2.5, (0.3, 2.5), 0.6
# Points between the ends of walls that touch each other, whose bounds contain the width of their lines.
_TOUCH = 3.5


def single_letters(words: PageWords) -> list[int]:
    """Returns the upright words of one letter or digit, line by line; none if there are too few or too many."""
    found = [at for at, word in enumerate(words.text) if len(word) == 1 and word.isalnum() and words.turn[at] == 0]
    if not _LEAST <= len(found) <= _MOST:
        return []
    return sorted(found, key=lambda at: (round(words.box[at, 3]), words.box[at, 0]))


def in_fields(letters: Sequence[int], words: PageWords, fields: Iterable[tuple[_Box, str]]) -> list[list[int]]:
    """Returns the letters of each word of a field's value that is drawn letter by letter.

    fields: boxes as displayed, and values.
    """
    groups: list[list[int]] = []
    boxes = words.box[letters]
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    order = np.argsort(middle[:, 0], kind="stable")
    for box, value in fields if letters else ():
        within = np.all((middle > box[:2]) & (middle < box[2:]), axis=1)
        inside = [letters[at] for at in order.tolist() if within[at]]
        if len(inside) >= _LEAST and "".join(words.text[at] for at in inside) == "".join(value.split()):
            drawn = iter(inside)
            groups += [list(islice(drawn, len(word))) for word in value.split()]
    return groups


def in_boxes(letters: Sequence[int], words: PageWords, shapes: _Floats) -> list[list[int]]:
    """Returns groups of letters in neighbouring boxes, which are drawn as boxes or as walls between them.

    shapes: [N, 4] boxes of what is drawn, as displayed. Cells above or below others belong to a table, and stay apart.
    """
    walls = np.concatenate([shapes[:, [0, 1, 3]], shapes[:, [2, 1, 3]]])
    groups: list[list[int]] = [[]]
    for before, after in pairwise(letters):
        if not _parts(walls, words.box[before], words.box[after]):
            groups.append([])
        else:
            groups[-1] += [after] if groups[-1] else [before, after]
    return list(filter(None, groups))


def _parts(walls: _Floats, a: _Floats, b: _Floats) -> bool:
    """Returns True if one wall, or two close ones, stands between two letters of a line, and none above or below it."""
    size = a[3] - a[1]
    high = walls[:, 2] - walls[:, 1]
    small = walls[(high > _WALLS[0] * size) & (high < _WALLS[1] * size)]
    between = (small[:, 0] > (a[0] + a[2]) / 2) & (small[:, 0] < (b[0] + b[2]) / 2)
    own = small[between & (small[:, 1] < a[3]) & (small[:, 2] > a[1])]
    if abs(b[3] - a[3]) > 0.3 * size or not 0 < b[0] - a[0] < _NEXT * size or not len(own):
        return False
    x, top, bottom = own[0]
    touching = (np.abs(small[:, 1] - bottom) < _TOUCH) | (np.abs(small[:, 2] - top) < _TOUCH)
    return bool(np.ptp(own[:, 0]) < _THICK * size and not (touching & (np.abs(small[:, 0] - x) < _TOUCH)).any())


def with_joined(words: PageWords, groups: Iterable[Sequence[int]]) -> PageWords:
    """Returns the words with each group of letters as one word in the place of its first letter."""
    text, box = list(words.text), words.box.copy()
    keep = np.ones(len(text), np.bool_)
    for first, *others in groups:
        text[first] += "".join(text[at] for at in others)
        box[first, :2], box[first, 2:] = box[[first, *others], :2].min(axis=0), box[[first, *others], 2:].max(axis=0)
        keep[others] = False
    return PageWords(text, box, words.turn, words.rtl, words.vertical, words.first).only(keep)
