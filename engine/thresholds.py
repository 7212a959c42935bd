"""The thresholds by which values are chosen, written and repaired. Probabilities are from 0 to 1, costs are in nats.

The rooms below have a `thresholds.py` of their own. A changed threshold changes values: raise the part
`engine` (engine/version.py).
"""

from __future__ import annotations

# Choices (`choices.py`, `writing.py`).

#: The fewest options whose meanings are compared with the document.
COMPARED_OPTIONS = 3
#: The letters of the longest name that is always a code.
CODE_NAME_LETTERS = 3
#: A choice that is less probable than the first is rather wrong than right. Where it may be left out it is, if absence
#: has the second probability: with less the document states a value, and the reader does not know which.
LEAST_CHOICE, LEAST_ABSENCE = 0.5, 0.1
#: The least probability of a branch that its selector alone tells.
LEAST_BRANCH = 0.5

# Repair (`repair.py`).

#: The most records that the search judges, and the most times slots; large forms get fewer records.
REPAIR_RECORDS, REPAIR_SLOTS = 200, 60_000
#: The least and the greatest cost of a change: a few unlikely changes come before many likely ones.
LEAST_COST, MOST_COST = 0.05, 12.0
#: The cost of writing a place for which nothing was found, or one item more of it.
INVENTED_COST = 6.0
#: The cost of each further value if several are left out at once.
FURTHER_COST = 0.5
#: The most changes that are tried from one record; with at most the second number of slots near a fault, unlikely texts
#: are tried too.
TRIED_CHANGES, FEW_SLOTS = 96, 100
