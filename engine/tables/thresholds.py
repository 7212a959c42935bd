"""The thresholds by which tables are found in a text: shares of lines, cells and gaps from 0 to 1, counts and widths.

A changed threshold changes values: raise the part `engine` (engine/version.py).
"""

from __future__ import annotations

# Lines and the parts of a page (`lines.py`).

#: How far the middles of two parts of a line may lie from each other, in the line's height; a line that begins this far
#: above the one before it begins another part.
LINE_APART = 0.35
#: The share of the lines of a part that must stand beside others, and the median of cells of one of the two parts: two
#: columns of running text stay apart.
LINE_BESIDE, LINE_MEDIAN_CELLS = 0.5, 2

# Grids of lines with common columns (`grid.py`).

#: The fewest lines of a grid; the most other lines in a row, empty ones among them, that do not end it.
GRID_LINES, GRID_OTHER_LINES = 3, 14
#: A gap between columns is at least this many characters wide; in a grid of many lines, which agree by no chance, this
#: many.
GRID_GAP, GRID_GAP_OF_MANY, GRID_MANY_LINES = 1.2, 0.35, 12
#: The share of a young grid's gaps that a further line must leave free, and the lines that make it old.
GRID_FREE_GAPS, GRID_YOUNG_LINES = 0.6, 6
#: A line of fewer cells than this share of the gaps is no line of the grid.
GRID_FILLED = 0.4
#: A line that fills this share of the columns that most lines fill tells the gaps between columns.
GRID_FULL = 0.75
#: The share of these lines that may cross a gap between columns, and the share of all lines at first.
GRID_CROSSED, GRID_CROSSED_AT_FIRST = 0.02, 0.2
#: The lines of a run that tells columns, and the share of all lines that such runs must have.
GRID_RUN_LINES, GRID_RUNS_SHARE = 4, 0.6
#: A line that was in so many runs without common columns begins no other: time stays in proportion to the lines.
GRID_REFUSED_RUNS = 4

# Heads of columns (`heads.py`).

#: The most lines of a head, the most headings between it and the first row, and the most empty lines.
HEAD_LINES, HEAD_HEADINGS, HEAD_EMPTY_LINES = 4, 3, 2
#: The share of the columns that a head names at least; a line that names this share stands over single columns.
HEAD_NAMED, HEAD_SINGLE = 0.5, 0.4
#: The share of a column's cells of a form from which on a cell of that form is no head.
HEAD_USUAL_CELLS = 0.1
#: How much farther from its middle a column more of a group may be, in the group's width.
HEAD_MIDDLE = 0.02

# Rows (`table.py`).

#: The lines above a grid in which its head may stand.
TABLE_HEAD_LINES = 6
#: So many lines between rows that begin like a line above them tell that it is a heading as they are.
TABLE_LIKE_HEADINGS = 2
#: The share of a column's cells with a figure from which on it is a column of figures.
TABLE_FIGURES = 0.7
#: The share of the usual columns that a row fills; a column is usual if this share of the fullest lines fills it, and a
#: line is one of the fullest with this share of the columns that these fill.
TABLE_FILLED, TABLE_USUAL, TABLE_FULLEST = 0.5, 0.6, 0.7
#: The share of rows with a sign between two columns, or a first cell that begins with a label, that makes them labels.
TABLE_LABELS = 0.6
#: A line that did not tell the columns is a row if this share of its figures has the usual forms of their columns.
TABLE_FITTING = 0.6
#: The rows found in items of several lines, in those of an item, or the share of these lines in no row, from which on
#: the items are the rows; the share of lines among them that must be theirs.
TABLE_ITEM_ROWS, TABLE_LOST_LINES, TABLE_OWN_LINES = 1.5, 0.25, 0.6

# Headings between and above rows (`headings.py`).

#: The most words of a heading, and of one that is the only one of its kind; the share of the headings of a kind that
#: fill a column, at least.
HEADING_WORDS, HEADING_ALONE_WORDS, HEADING_FILLED = 14, 5, 0.5
#: The share of numbers that are counts of rows, or of pages, for all of them to be such.
HEADING_COUNTED = 0.8
#: How often a first word must stand, beside the commonest one, to make a kind of headings.
HEADING_OFTEN = 0.2
#: The characters above a table in which the first heading may stand, above the table's head.
HEADING_REACH = 1500
#: The share of the rows below which a line stands, for it to belong to its row.
HEADING_ROW_LINES = 0.8
#: So many rows are no number of something else.
HEADING_MANY_ROWS = 20
#: The most labelled values above a table that are columns of it.
HEADING_PAIRS = 12

# Items of several lines, and blocks (`periods.py`).

#: The fewest items, the most lines of one, and the share of all that have the usual number of lines.
ITEMS_FEWEST, ITEM_LINES, ITEM_USUAL = 6, 6, 0.8
#: How far lines that begin at one place may lie apart, in characters.
ITEM_INDENT = 0.8
#: The share of items whose first line fills a column, for all that lack lines to do so.
ITEM_FILLED = 0.9
#: The parts of a line from which on it has several columns.
ITEM_PARTS = 2
#: The share of a column's cells that are figures, for it to be one of figures.
ITEM_FIGURES = 0.7
#: A gap of at most so many blanks, in this share of the rows, is one within a column.
GAP_BLANKS, GAP_ROWS = 1.5, 0.9
#: The fewest blocks, and labels of a block; the share of the blocks that have a label, for it to be one of theirs; the
#: share of a label's places that are in blocks of their own.
BLOCKS_FEWEST, BLOCK_LABELS, BLOCK_USUAL, BLOCK_ONCE = 4, 3, 0.2, 0.8
#: The most characters of a label, and of a value.
BLOCK_LABEL_LENGTH, BLOCK_VALUE_LENGTH = 40, 300

# Printed numbers of rows (`list_length.py`).

#: Numbers of neighbouring rows that differ by this or more are no numbering; the share of steps that may be no one, but
#: for a first of them.
COUNT_STEP, COUNT_ODD_STEPS = 10, 0.02
#: The share of the lines of a kind that count right, and the fewest of them, for the others to be trusted.
COUNT_RIGHT, COUNT_LINES = 0.6, 3
#: A count that is this much away from the rows found, in shares of it, may be one of them; the most words of its line.
COUNT_NEAR, COUNT_NEAR_WORDS = 0.05, 3
#: A number beside the list's name alone that is so many times the rows found is a year.
COUNT_YEAR = 20
#: The most words of a count whose line does not name the list.
COUNT_WORDS = 5
#: The letters of a word that must agree.
COUNT_STEM = 5
