"""The thresholds by which models are tuned and kept, and lists paired with the expected ones."""

from __future__ import annotations

# Tuning (`improving.py`).

#: The fewest corrected documents that training starts with.
FEWEST_CORRECTED = 10
#: The fewest steps that a training is planned with, however slow the machine is; the clock may cut it short.
LEAST_STEPS = 30
# Lists (`pairing.py`).

#: Longer lists are paired by shared values, because the assignment takes time cubic in their length.
MAX_ASSIGNMENT = 300
#: Items with the same value that an item of a long list is compared with: the nearest on each side.
NEAREST_ITEMS = 20
#: Items, of those that share the rarest values with it, whose leaves are all compared with its own.
CANDIDATE_ITEMS = 8
#: Numbers that are not integers may differ by this share.
NUMBER_TOLERANCE = 1e-6
