"""The kinds of values that the reader tells apart, beside what a question asks.

Each piece of a window has soft tags of these kinds, learned from texts in which all mentions of a kind are labelled.
The pointer of a slot adds how much its question asks for them.
"""

from __future__ import annotations

#: The kinds of value; the tags of a piece are these and, as the last, no value at all.
VALUE_KINDS = (
    "person", "organisation", "place", "job", "date", "time", "duration", "money", "measure", "count", "identifier",
    "work", "thing", "term", "people",
)  # fmt: skip
TAGS = len(VALUE_KINDS) + 1
NO_VALUE = TAGS - 1
