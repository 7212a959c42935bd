"""The thresholds by which names, places and marks around a value count. A changed threshold changes values."""

from __future__ import annotations

# Names of countries, currencies and months (`cldr.py`, `codes.py`).

#: A longer run of letters is not looked up: no word of a name is that long.
LONGEST_WORD = 40
#: In running text a shorter name is more often another word.
SHORTEST_NAME = 4
#: The longest name in CLDR has 103 characters.
LONGEST_NAME = 120

# Dates and countries of a document (`locale.py`), and what stands around a span (`readings.py`, `marks.py`).

#: A mail rather names a day up to so many days before it was sent than one of another month.
DAYS_BEFORE_MAIL = 10
#: Countries are named at the beginning and the end of a text, in so many characters, on a line of their own or as the
#: last part of an address.
COUNTRY_WITHIN = 6_000
#: The characters on each side of a span that its readings may use (a sign, a currency, "pm" after a range).
READING_CONTEXT = 40
#: Lines above a box that its question may stand on, and those that the heads of a column may stand above.
QUESTION_LINES_ABOVE, HEAD_LINES_ABOVE = 3, 40
