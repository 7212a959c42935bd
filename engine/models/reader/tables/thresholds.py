"""The thresholds by which columns of tables are matched to fields: shares and probabilities from 0 to 1, and counts.

A changed threshold changes values: raise the part `reader` (engine/version.py).
"""

from __future__ import annotations

# Fields and the cells of columns (`columns.py`).

#: The rows of a long table that the network is asked about, and of a short one; those whose cells are read as values of
#: each field.
COLUMN_ASKED_ROWS, COLUMN_FEW_ROWS, COLUMN_READ_ROWS = 10, 6, 60
#: The share of a column's cells that are a value of a field that may be matched to it.
COLUMN_READABLE = 0.3
#: The characters before and behind a table in which its codes may be explained.
CODE_REACH = 3000
#: What is added to a field's share of being the sum.
COLUMN_DOUBT = 0.02
#: The longest code, in letters, and the words behind it that a legend may have for its option.
CODE_LETTERS, CODE_WORDS = 5, 4
#: The most codes of a column.
CODES_MOST = 40
#: The share of a column's cells whose codes stand for an option, for short forms to count at all.
CODES_TOLD = 0.95

# Columns matched to fields (`matched_columns.py`).

#: The rounds of balancing; the shares change by less than a thousandth after them.
MATCH_ROUNDS = 60
#: How often the order of the columns found so far is looked at again.
MATCH_REORDERED = 4
#: What keeps a column, or a field, with hardly any vote from being claimed by one.
MATCH_EVEN = 0.05
#: The share of its cells that are values, of those of a field's column, from which on another column is its rival.
MATCH_RIVAL = 0.5
#: The least probability of a column that is no rival of others; the least share of its head's words that tell a column.
MATCH_CLAIMED, MATCH_TOLD = 0.5, 0.6
#: How sure a column is at most that only the words of its head tell; how sure a language model's reading is of cells
#: that are all the same.
MATCH_NAMED, MATCH_ONE_READING = 0.95, 0.75

# Lists of matched rows (`lists.py`).

#: The log probability that is left to what a matched cell does not say.
LIST_LEAST_SHARE = 1e-4
#: The characters of a short cell.
LIST_SHORT_CELL = 80
#: The most columns of a table that is matched.
LIST_COLUMNS = 200

# Rows that the network reads (`carried.py`).

#: The characters above a table that are looked at.
CARRIED_REACH = 1500
#: The rows of a table that are read.
CARRIED_ROWS = 3
#: The most layouts of tables in a document of which rows are read.
CARRIED_LAYOUTS = 6
#: What keeps columns of which the model holds hardly any from all of the share.
CARRIED_SURELY = 0.1

# Tables that share a key (`joined.py`).

#: The share of the values of a key that are distinct in both tables, and of those of the second that the first has; the
#: share of other values that are the same where both tables have one.
JOINED_DISTINCT, JOINED_KNOWN, JOINED_SAME = 0.95, 0.7, 0.6
#: How surely the name and the value in a line such as `Size: 40 cm` are those of its property.
JOINED_LINE_SURE = 0.95

# Words of heads and names (`namesakes.py`).

#: The letters in which two words agree; one may be longer by fewer letters than this. The fewest of a short form.
NAMESAKE_STEM, NAMESAKE_SHORT = 4, 3

# Rows and columns that are sums (`sums.py`).

#: The share of a row's numbers that are sums of those above, for the row to be a sum; the fewest rows that it sums.
SUM_ROW_SHARE, SUM_FEWEST_ROWS = 0.6, 2
#: The share of the rows with a first cell that are sums, for all of them to be such; and of those that begin with a
#: word, for those of few cells.
SUM_NAMED_ROWS, SUM_CALLED_ROWS = 0.5, 0.4
#: The share of the rows in which a column is the sum of others, and in which at least two of these have a number; the
#: most columns of numbers that are tried, and the most that are summed.
SUM_COLUMN_SHARE, SUM_TOGETHER, SUM_COLUMNS, SUM_SUMMED = 0.9, 0.3, 12, 4
#: The share of the rows in which a column has a number, for it to be one of numbers; the share in which what is summed
#: may have another sign than usual.
SUM_NUMBERS, SUM_OTHER_SIGN = 0.2, 0.2
#: How far a sum may be from what is printed, for numbers rounded to two places.
SUM_ROUNDED = 0.011
