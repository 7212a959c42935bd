"""The thresholds by which answers become records: when two readings are one, how sure a value is, what is doubted.

Confidence and likeness are from 0 to 1. A changed threshold changes values: raise the part `merging`
(engine/version.py).
"""

from __future__ import annotations

# Documents and their two models (`filling/pipeline.py`, `filling/tiers.py`).

#: The mean confidence below which a model does not know a kind of document, and one that no value has.
KNOWN_KIND, ANY_CONFIDENCE = 0.5, 1.01
#: What the reader's confidence in a single value weighs against a language model's where they differ: of kinds that it
#: has not learned the reader is surer than it is right. F1 of 14 such sets .670 with 1, .672 with .6; of 12 that it
#: learned .782 with both. With lists weighed too .684, but .745: those it tells better.
READER_WEIGHT = 0.6
#: The fewest rows of a record whose values name the columns of tables that they stand in.
COLUMN_ROWS = 4

# Passages and rows (`merging.py`, `repeats.py`).

#: The most confidence that comes of two readings that agree.
AGREED = 0.98
#: Least share of values that were read at the same places, for two rows to be one.
SAME_PLACES = 0.5
#: A place that more rows than this share belongs to a group of rows.
OWN_PLACE_ROWS = 2
#: A list of more rows than this is a table: its rows need not complete each other.
COMPLETED_ROWS = 4

# Evidence (`evidence.py`, `indirect_evidence.py`).

#: Two words stand on one line if they share this part of the lower one's height.
SAME_LINE = 0.5
#: The most characters between words that belong together, and the most characters of a document that are searched.
WORDS_CLOSE, FARTHEST = 80, 400_000
#: A value with more letters than this is not searched as a whole.
LONGEST_SEARCHED = 120

# Doubts (`doubts.py`).

#: The most confidence of an amount that means two numbers: the likelier reading is right in about half of them.
AMBIGUOUS_CONFIDENCE = 0.5

# Boxes and lines of a form (`marks.py`).

#: The confidence of a value from a box, and of a null from one in doubt: their shares of right ones in `bench.marks`.
BOX_CONFIDENCE, DOUBTFUL_BOX_CONFIDENCE = 0.98, 0.8
#: That of a list with a box in doubt, or with a ticked box that is none of its options.
DOUBTFUL_BOXES_CONFIDENCE = 0.4
#: The least likeness of a field and a label, and how much nearer they are than others.
LABEL_LIKENESS, LABEL_NEARER = 0.5, 0.04
#: A faint likeness counts if it is twice that of all others.
FAINT_LABEL_LIKENESS = 0.3
#: In a form boxes answer so many boolean fields at least, and this share of them.
ANSWERED_FIELDS, ANSWERED_SHARE = 2, 0.5
#: Words are of one family if they begin alike, by so many letters and this share of the shorter one.
FAMILY_LETTERS, FAMILY_SHARE = 4, 0.66

# Lists with gaps, and options (`doubts.py`, `indirect_evidence.py`).

#: The fewest rows of a list of which anything is told, and the most gaps and numbers that a sentence names.
GAP_ROWS, NAMED_GAPS = 4, 8
#: The fewest letters of a meaningful word in an option's name, and in a description.
OPTION_LETTERS, NOTE_LETTERS = 4, 5
