"""How far the surroundings of a value reach, and how sure it is when they speak against it.

A changed threshold changes values: raise the part `merging` (engine/version.py).
"""

from __future__ import annotations

#: The most confidence of a value whose surroundings speak against it, and of one that they correct.
DOUBTED, CORRECTED = 0.45, 0.85
#: A denial counts among so many words before a choice.
DENIAL_WORDS = 5
#: The most lines, for each field of yes and no, of a form whose labels are in other words than the fields.
FORM_LINES = 15
#: The fewest letters of a word that a statement must have of its field's description.
STATEMENT_LETTERS = 4
#: The fewest letters of a currency's name that tells it alone ("yen" and "real" are words too).
CURRENCY_NAME = 4
#: How sure it is that a field has no date, if the one that was read has another label.
UNLABELLED = 0.6
#: The most characters of a text in which a label, or the one period, is looked for.
LONGEST_REGION = 40_000
#: The most characters between a cell of a table and the head of its column.
FARTHEST_HEAD = 4_000
#: Surroundings that agree with a value leave its confidence as it is.
AGREED = 1.0
