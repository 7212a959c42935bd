"""The thresholds by which a document gets its schema. A changed one changes routes: raise the part `routing`."""

from __future__ import annotations

#: A name counts as printed from this likeness on.
PRINTED_NAME = 0.6
#: A common kind differs from a schema's kind below this cosine of their headings.
DIFFERENT_KIND = 0.4
#: A text of this many words or more is not short.
SHORT_TEXT = 25
#: So many of the likest examples count.
LIKEST_EXAMPLES = 3
#: Added to the deviation of a feature among the common kinds, by which the feature is divided.
LEAST_DEVIATION = 0.01
#: The most fields of a schema that are compared, in the order of the form.
COMPARED_FIELDS = 24
#: The fewest documents of a schema that count as examples, and the most that are kept.
FEWEST_EXAMPLES, MOST_EXAMPLES = 3, 200
