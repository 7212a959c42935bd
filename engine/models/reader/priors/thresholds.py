"""The thresholds by which cells are taken for names of fields, and examples for values. Weights are in `config.py`.

A changed threshold changes values: raise the part `reader` (engine/version.py).
"""

from __future__ import annotations

# Names (`name_matching.py`).

#: The most words of a cell, or of its beginning up to its colon, that may be a name.
NAME_WORDS = 6
#: The most characters of such a beginning, and the words before a colon that count if a longer line ends with it.
NAME_LONGEST, NAME_TAIL = 80, 2
#: The letters in which two words must agree; one may be longer by fewer letters than this.
NAME_STEM = 4
#: Words of fewer letters are similar only to themselves.
NAME_SHORTEST = 3
#: Frequent words stand first in the vocabulary: a description's words before this place say nothing.
FREQUENT_WORDS = 2200

# Heads and examples (`tables.py`, `priors.py`).

#: The most cells of a line in a head of two lines.
HEAD_CELLS = 60
#: The most characters of an example; the fewest of its parts, because "550" looks like any number; the characters that
#: are searched for several examples.
EXAMPLE_LONGEST, EXAMPLE_PARTS, EXAMPLES_WITHIN = 40, 2, 160
