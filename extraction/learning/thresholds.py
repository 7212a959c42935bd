"""The thresholds by which models are tuned and kept, and lists paired with the expected ones."""

from __future__ import annotations

# Tuning (`improving.py`, `fine_tuning.py`, `tuning_sets.py`).

#: The fewest corrected documents that training starts with.
FEWEST_CORRECTED = 10
#: The fewest steps that a training is planned with, however slow the machine is; the clock may cut it short.
LEAST_STEPS = 30
#: The number of held-back values whose reading may change by chance.
CHANCE_VALUES = 1.5
#: The fewest labelled documents of a set.
FEWEST_LABELLED = 10
#: From so many documents on, the stopping part and the measured part are different documents.
PARTS_APART = 50
#: Most documents of a set in the stopping part and in the measured part: more say little more.
STOPPING, MEASURED = 20, 30

# Lists (`pairing.py`).

#: Longer lists are paired by shared values, because the assignment takes time cubic in their length.
MAX_ASSIGNMENT = 300
#: Items with the same value that an item of a long list is compared with: the nearest on each side.
NEAREST_ITEMS = 20
#: Items, of those that share the rarest values with it, whose leaves are all compared with its own.
CANDIDATE_ITEMS = 8
#: Numbers that are not integers may differ by this share.
NUMBER_TOLERANCE = 1e-6
