"""The thresholds of the reader's scores: what is read of a window, and what a description or an option counts.

Probabilities are from 0 to 1, scores are natural logarithms. A changed threshold changes values: raise the part
`reader` (engine/version.py).
"""

from __future__ import annotations

# Spans (`spans.py`, `answering.py`).

#: The most windows whose spans are read, those that most likely hold the value.
READ_WINDOWS = 4
#: The number of starts for each slot and window, and of ends for each start.
STARTS, ENDS = 8, 2
#: The most candidates of a slot.
CANDIDATES = 8
#: For texts without a pattern, spans less likely than the likeliest by this are not read: none was ever chosen.
NEGLIGIBLE = 9.0

# Minus signs of numbers (`answering.py`).

#: Added to the network's log odds that a printed minus is not part of the value. Without it descriptions of all kinds
#: had probabilities of .4 to .86 on the shipped weights, and half of the negative numbers lost their sign.
SIGN_KEPT = -4.0
#: The log odds where the description says it.
SIGN_STATED = 6.0

# Options that are described (`described_options.py`).

#: Words of a passage, and words from the beginning of one to that of the next.
PASSAGE_WORDS, PASSAGE_STEP = 80, 60
#: The most stretches of one kind that are read; of a longer text they are taken evenly, so that its cost is bounded.
MOST_STRETCHES = 40
#: A stretch with fewer words than this belongs to the sentence before it.
SHORTEST_SENTENCE = 4
#: The share of words of one piece in texts that the encoder does not know, and in those that it does; the words of a
#: text that are looked at, and how many must be in small letters.
FOREIGN_WORDS, ENGLISH_WORDS, FAMILIAR_WORDS, FEW_WORDS = 0.6, 0.8, 400, 8
#: The logits of an item's absence once its option is listed, and what is added to that of its option.
LISTED_ABSENCE, LISTED_OPTION = -20.0, 1e-3
#: The greatest probability of a listed option: rows that were known before have probability one.
SUREST_OPTION = 0.9999
