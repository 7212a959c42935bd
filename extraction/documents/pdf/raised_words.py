"""Raised words of a PDF page as plain text, apart from the numbers that they touch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.raised import raised_text
from cinnabar.extraction.documents.pdf.glyphs import raised_pairs

# A raised word stands as close to its neighbour as letters do, in shares of the neighbour's height.
_CLOSE = 0.12
# Words before a raised one that tell what it is.
_TELLING = 6


def set_raised_apart(text: list[str], gaps: list[str], box: npt.NDArray[np.float64]) -> None:
    """Rewrites raised words that begin with a digit, and the blanks before them, in place.

    text, gaps: words in reading order and the blanks before each; box: [W, 4] their boxes as displayed.
    """
    high = box[:, 3] - box[:, 1]
    close = np.abs(box[1:, 0] - box[:-1, 2]) < _CLOSE * np.maximum(high[:-1], high[1:])
    behind, ahead = (pairs & close for pairs in raised_pairs(box))
    for at in (np.flatnonzero(behind) + 1).tolist():
        if "\n" not in gaps[at] and any(map(str.isdecimal, text[at][:2])):
            parts = zip(gaps[max(at - _TELLING, 0) : at], text[max(at - _TELLING, 0) : at], strict=True)
            before = "".join(part for pair in parts for part in pair).rpartition("\n")[2]
            after = gaps[at + 1] + text[at + 1] if at + 1 < len(text) else ""
            written = raised_text(before, text[at], after)
            gaps[at], text[at] = " " * written[:1].isspace(), written.strip()
    for at in np.flatnonzero(ahead).tolist():
        # A raised digit before a number is the mark of a note.
        if "\n" not in gaps[at + 1] and text[at].isdecimal() and text[at].isascii() and text[at + 1][0].isdecimal():
            text[at] = raised_text("a ", text[at])
