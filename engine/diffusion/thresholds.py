"""The thresholds by which a form is denoised, checked and repaired, and the room that its answer gets.

A changed threshold changes values: raise the part `language` (engine/version.py).
"""

from __future__ import annotations

# Repairs (`denoiser.py`, `decoded.py`).

#: How often an answer that the judge refuses goes back to the block in which it left the accepted states; in the second
#: half one choice more, so that a list whose next item would repeat another one ends.
REPAIRS = 16
#: The last block is checked only if one of its tokens had a lower posterior at its commit: as many values were right
#: (60 pages), and a record took 9.9 passes in place of 10.6.
SURE_TOKEN = 0.97
#: How many times an answer goes back although no beginning of it is accepted.
BLIND_REPAIRS = 4

# The room of an answer, and what the prompt names (`settings.py`, `engine.py`, `prompt.py`).

#: No block is longer than this, so a level with as many passes commits one token a pass where all are unsure.
MOST_PASSES = 64
#: Divisor of the model's window: the share that is kept for an answer.
ANSWER_DIVISOR = 4
#: Tokens for each place of the form beside its name and its value: punctuation, `null`, spellings of dates.
PLACE_TOKENS = 12
#: How often each token of the document may stand in the record: most values are copied from it, some of them twice.
TOKEN_COPIES = 2
#: The fewest tokens of a passage that are worth a request.
LEAST_PASSAGE = 64
#: The most options of a field that are named: the constraint knows them all.
NAMED_OPTIONS = 20
