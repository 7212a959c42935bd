"""Finds the words of a page that a line goes through, drawn or as an annotation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.limits import MAX_SEARCHED_PAIRS
from cinnabar.extraction.documents.pdf.glyphs import PageWords

#: How far from the middle of a word such a line is at most, and how far it goes on beside its words, in heights of one.
STRUCK_BAND, STRUCK_REACH = 0.2, 0.6
#: Points that it is thick at most, the share of it that lies on words, and the share of a word that it covers. Of 449
#: PDFs these find the words of two, which are struck.
STRUCK_THICK, STRUCK_LINE, STRUCK_WORD = 3.0, 0.6, 0.7
_Floats = npt.NDArray[np.float64]


def struck_words(words: PageWords, shapes: _Floats, quads: _Floats) -> npt.NDArray[np.bool_]:
    """Returns [W], true for words with a thin line at half their height over most of their width.

    A line that goes on beside the words is one of a table or a chart. shapes: [N, 4] the boxes of what is drawn. quads:
    [Q, 4] the boxes of what annotations strike out. All as displayed.
    """
    x0, top, x1, bottom = words.box.T
    high, middle = bottom - top, (top + bottom) / 2
    drawn, marked = np.zeros(len(high)), np.zeros(len(high))
    for a, b, c, d in quads.tolist():
        marked += ((middle > b) & (middle < d)) * np.maximum(np.minimum(x1, c) - np.maximum(x0, a), 0)
    thick, long = shapes[:, 3] - shapes[:, 1], shapes[:, 2] - shapes[:, 0]
    lines = shapes[thick <= np.minimum(STRUCK_THICK, 0.3 * long)]
    level = (words.turn == 0) | (words.turn == 2)
    for a, b, c, d in lines.tolist() if len(lines) * len(high) <= MAX_SEARCHED_PAIRS else ():
        through = level & (np.abs((b + d) / 2 - middle) < STRUCK_BAND * high) & (x0 < c) & (x1 > a)
        over = through * (np.minimum(x1, c) - np.maximum(x0, a))
        if over.sum() > STRUCK_LINE * (c - a):
            beyond = max(x0[through].min() - a, c - x1[through].max())
            drawn += over * (beyond < STRUCK_REACH * high[through].min())
    struck: npt.NDArray[np.bool_] = np.maximum(drawn, marked) > STRUCK_WORD * (x1 - x0)
    for at in np.flatnonzero(struck).tolist():
        struck[at] = any(map(str.isalnum, words.text[at]))
    return struck
