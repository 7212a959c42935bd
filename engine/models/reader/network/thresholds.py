"""The thresholds of the signals that the reader's network gets beside the words: likeness of words, and bonuses.

The network was trained with them. A changed threshold changes values: raise the part `reader` (engine/version.py).
"""

from __future__ import annotations

# Words of labels and descriptions (`lexical_signals.py`).

#: The similarity of two words that says nothing; similarity is counted from there.
UNLIKE_WORDS = 0.4
#: A cell wider than this share of a page is a line of text: the wider, the less is it a column's head.
WIDE_CELL = 0.2
#: How fast a phrase counts less, the more similar it is to the name of another slot on the board.
RIVAL_NAMES = 3.0
#: Words above are left out if their best similarity is below this.
FAINT_WORD = 0.05
#: Similarity in a column is summed over a label's words up to these values; all words of a phrase have the same one.
MOST_SIMILARITY = (3.0, 3.0, 3.0, 1.0)

# Phrases (`lexical_signals.py`), and support (`support.py`).

#: The most words of a phrase.
PHRASE_WORDS = 4
#: Added to the length of a vector before the vector is divided by it: a phrase with few known letters is similar to
#: none.
UNKNOWN_LETTERS = 0.3
#: The similarity that counts as 0, and the one that counts as 1.
UNLIKE_PHRASES, ALIKE_PHRASES = 0.3, 0.65
#: The bonus of a text's beginning: it tells what kind of document it is.
BEGINNING_BONUS = 0.15
