"""The thresholds by which the values of a chat model are found in its document, and how sure they are.

A changed threshold changes values: raise the part `replies` (engine/version.py).
"""

from __future__ import annotations

#: Confidence of a value that stands in the text, of one among its readings, of one that is similar to a stretch (times
#: the similarity), of an option without words of its own, of a value that stands nowhere; and of an absent value.
STANDS, READ, LIKE, CHOSEN, NOWHERE, ABSENT = 0.9, 0.85, 0.75, 0.6, 0.3, 0.7
#: The least similarity (0 to 1) of a stretch to a value, and the least length of such a value in characters.
LEAST_LIKENESS, LEAST_LETTERS = 0.88, 5
#: Places of one value that are compared; characters before a place that may name its field.
COMPARED_PLACES, NAMED_AROUND = 60, 80
#: Places on either side of a row's anchor that are compared; characters that a line break adds to a distance.
NEAR_PLACES, LINE_DISTANCE = 4, 200
#: Texts longer than this, in characters, are not searched for similar stretches.
LONGEST_SEARCHED = 400_000
#: Characters that a text may have in any case; a longer one than its document is stated nowhere in that.
WRITTEN_LENGTH = 1000
