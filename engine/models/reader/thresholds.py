"""The thresholds of the signs that confidence is calibrated by.

A changed threshold changes values: raise the part `engine` (engine/version.py).
"""

from __future__ import annotations

#: The most confidence of a list below the last level of a recursive schema, of which nothing is read.
UNREAD_LIST = 0.3
#: The characters before a value that are searched for words of its field's name, and the letters of a word that must
#: agree.
NAME_NEAR, NAME_STEM = 60, 5
#: The sign `length` distinguishes passages from e^5 to e^11 characters.
SHORTEST_PASSAGE, LONGEST_PASSAGE = 5.0, 11.0
#: The least sign of a sum of log probabilities.
LOWEST_SIGN = -12.0
#: The first parts of a line's shape that are compared.
SHAPE_PARTS = 6
#: The share of the rows whose lines have a shape that is the list's own.
OWN_SHAPE = 0.25
#: A sum below this, without decimals, may be any number of the page.
SMALL_SUM = 100
