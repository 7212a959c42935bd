"""The thresholds by which boxes, ticks and lines to write on are found: sides in points, shares of ink from 0 to 1.

A changed threshold changes values: raise the part `parsing` (engine/version.py).
"""

from __future__ import annotations

# Boxes (`boxes_and_lines.py`).

#: The sides of a box in points, and how far two of them may differ.
LEAST_SIDE, MOST_SIDE, BOX_ASPECT = 5.5, 26.0, 1.3
#: Shares of ink within a box: an empty one has less than the first, a ticked one more than the second (tuned on designs
#: of `bench.marks`); beyond the third it is solid.
EMPTY_BELOW, TICKED_FROM, SOLID_FROM = 0.022, 0.04, 0.6
#: Cells in a row stand so near to each other in points, with their borders.
TOUCHING = 2.5
#: Boxes of one size differ by less than this share.
ALIKE_SIZES = 0.3
#: The radius of the middle of a box, without an outline that may lean, as a share of its side.
MIDDLE_RADIUS = 0.3
#: Less contrast between the outline and the paper is no outline.
OUTLINE_CONTRAST = 40.0
#: Ink of less than the first share of the outline's darkness is grain; from the second on it counts in full.
INK_GRAIN, INK_FULL, INK_DARK = 0.22, 0.6, 0.45
#: Of each side of an outline at least this share is dark, and of a circle.
BOX_SIDE, BOX_RING = 0.8, 0.82
#: Around a box, between these shares of its side, the paper is bare, except for a label; within a line of letters it is
#: not.
BARE_NEAR, BARE_FAR, CROWDED_FROM, LABELLED_FROM = 0.12, 0.32, 0.22, 0.5

# Lines that people write on (`boxes_and_lines.py`).

#: Lengths of such lines in points.
SHORTEST_LINE, LONGEST_LINE = 70.0, 360.0
#: Points above a line in which people write, and below it in which its label begins; and beside its beginning.
WRITTEN_ABOVE, LABEL_BELOW, LABEL_BESIDE = 22.0, 16.0, 24.0
#: A label that ends with a colon may end so far before its line, as lines begin in one column.
LABEL_FAR = 150.0
#: A label below that begins so near to its line counts more than one before it.
LABEL_CLOSE = 7.0
#: Shares of a line's columns with ink above it: an empty one has less than the first, a written one more.
LINE_EMPTY_BELOW, LINE_WRITTEN_FROM = 0.03, 0.12
#: The ends of two rows of a table are so near to each other.
ROW_ENDS = 6.0
#: Ink is darker than the paper by so much of 255.
INK_BELOW_PAPER = 50

# Scans (`scanned.py`).

#: Points of a line without a break; in a line of letters no piece is so long.
LINE_PIECE = 10.0
#: Points that each piece is made longer, so that pieces touch between which a pen crossed the line.
JOINED_PIECES = 10.0
#: A place has a likeness of at least this share with a pattern.
PATTERN_LIKENESS = 0.84
