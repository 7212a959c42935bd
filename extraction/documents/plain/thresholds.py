"""The thresholds by which a text gets its charset, and the boxes of a laid out page their lines.

A changed threshold changes values: raise the part `plain` (engine/version.py).
"""

from __future__ import annotations

# Charsets (`charsets.py`, `guessing.py`).

#: The characters beyond ASCII that have to be right, for a wrong one, in a text of its declared charset. In UTF-8, one:
#: hardly a text of another charset holds any.
RIGHT_CHARACTERS = 10
#: In a language with an alphabet of its own nearly all letters lie beyond ASCII, in French or Polish every sixth.
FOREIGN_LETTERS = 0.6
#: Shorter Latin texts, and those of a doubtful language, are Western.
LEAST_LETTERS, LEAST_LATIN, LEAST_PROBABILITY = 4, 40, 0.7

# Pages of HTML (`html_layout.py`).

#: A narrower space, in points, is one between letters.
LEAST_GAP = 3.0
#: Elements of more than a mark or a letter, and the characters of a label, which is repeated.
FEW_ELEMENTS, LONGEST_LABEL = 9, 200
#: The least size of letters, in points; that of PDFs.
LEAST_HEIGHT = 0.5
