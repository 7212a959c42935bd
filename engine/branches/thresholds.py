"""The thresholds by which a value of a branch is copied, worded, told or sought on. Shares are from 0 to 1.

A changed threshold changes values: raise the part `language` (engine/version.py).
"""

from __future__ import annotations

# Values (`branch_model.py`, `decoding.py`).

#: A copied value stays unless the one that is written freely has so many times its share, and all its numbers and names
#: are the document's.
FREE_BETTER = 4.0
#: The share from which a value, or its absence, is sure: it is told, and is not asked for again. The most characters of
#: a value that is told, and of all of them together.
SURE_VALUE, LONGEST_TOLD, TOLD_CHARACTERS = 0.9, 100, 1_200
#: Below this share of the model's mass, somewhere in a copied text, the value is written freely too, in so many tokens:
#: of one that goes on the model is wording, not putting together.
COMPOSED_SHARE, COMPOSED_TOKENS = 0.05, 48
#: The most tokens of a value, and items of a list.
VALUE_TOKENS, LIST_ITEMS = 400, 200
#: The next item of a list is sought within so many times the usual way between two items so far, at first within so
#: many bytes, if the places there have this part of the model's mass: it skips items where nothing holds it.
ITEM_FURTHER, ITEM_NEAR, ITEM_MEANT = 2, 400, 0.1

# Tokens and copied texts (`constraint.py`, `prompt.py`).

#: The tokens that are looked at, the likeliest first, where an automaton cannot list what it allows.
LOOKED_AT_TOKENS = 512
#: The share of all tokens below which none of them is looked at any more.
LOST_SHARE = 1e-5
#: The bytes of a text that a draft is made of, and the fewest and the most of a written text that are looked for.
DRAFT_BYTES, FEWEST_WRITTEN, MOST_WRITTEN = 80, 2, 16
#: The most bytes of a text that is copied.
LONGEST_COPY = 1200
#: The most options of a field that the prompt names; the constraint knows them all.
NAMED_OPTIONS = 20
