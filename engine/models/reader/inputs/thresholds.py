"""The thresholds by which a page and a question become what the reader's network sees.

A changed threshold changes values: raise the part `engine` (engine/version.py).
"""

from __future__ import annotations

# Cells of a page (`wordpieces.py`).

#: The lines above a cell that are searched for the next cell over it; a cell farther up is no neighbour.
LINES_ABOVE = 12
#: The most cells that are searched for it: no page has so many on these lines, but a text without pages may.
CELLS_ABOVE = 2000
#: The least share of the narrower of two cells that must lie under the other cell, for that one to be above it.
UNDER_SHARE = 0.3

# Questions (`questions.py`).

#: The values of a description that are used: its last ones, because descriptions name the default at the end.
NAMED_VALUES = 4
#: The characters of a description that are searched; the encoder reads no more (QUESTION_PIECES).
NAMED_WITHIN = 240
#: How much less likely (a natural logarithm) a value from a header is for a field that asks for none.
HEADER_WEIGHT = 3.0

# Views (`views.py`).

#: The most slots that look at a window together. Training has about as many; more would dilute their attention.
SLOTS_IN_VIEW = 40
