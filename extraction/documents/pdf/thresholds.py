"""The thresholds by which the words of a page are seen, joined and ordered. Shares are from 0 to 1, lengths in points.

A changed threshold changes values: raise the part `pdf` (engine/version.py).
"""

from __future__ import annotations

# Order and columns (`layout.py`).

#: A gutter between columns of prose needs this many lines on each side, so many words a line, and lines that fill this
#: share of their column. Tables have cells of one to three words and stay row by row.
COLUMN_LINES = 6
COLUMN_WORDS = 4
COLUMN_FILL = 0.6
COLUMN_DIGITS = 0.3
#: A word belongs to a later line only if that line overlaps it by this much more than an earlier one.
CLEARLY_LATER = 0.1

# Letters (`glyphs.py`, `joined_letters.py`).

#: How much smaller a raised character is than the one beside it, and how much higher it ends, in heights of that one.
RAISED_SMALLER, RAISED_HIGHER = 0.85, 0.15
#: Letters of a value at least, and of a page at most.
BOXED_LEAST, BOXED_MOST = 4, 2_000
#: In heights of a letter: the next letter, the walls between two boxes, and how far these are from each other.
BOXED_NEXT, BOXED_WALLS, BOXED_THICK = 2.5, (0.3, 2.5), 0.6
#: Points between the ends of walls that touch each other, whose bounds contain the width of their lines.
WALLS_TOUCH = 3.5
#: A raised word stands as close to its neighbour as letters do, in shares of the neighbour's height.
RAISED_CLOSE = 0.12
#: Words before a raised one that tell what it is.
RAISED_TELLING = 6

# What can be seen, and what is a scan (`visibility.py`, `page_content.py`, `rendering.py`).

#: Letters below this height in points cannot be seen. Filings hold the text of their scans in letters of .9 points.
LEAST_HEIGHT = 0.5
#: Colours from this value of each channel on are near white; below this opacity nothing shows.
NEAR_WHITE, OPAQUE_FROM = 225, 24
#: An image over this share of a page is its scan, and text at it what OCR read there.
SCAN_SHARE = 0.5
#: Words of a scan may lie beside the page by this share of its width.
SCAN_BESIDE = 0.05
#: Of this share of bad characters on, a layer is none. Of 1,162 pages of contracts, forms, invoices, tables and odd
#: files all but one had a share of 0, and that one, with formulas, .3.
BAD_CHARACTERS = 0.5
#: Text without a mapping comes as numbers of glyphs, in most fonts 29 below the characters: "6XPPD" for "Summa". There
#: small letters become capitals and signs; of 4 such pages 2 were sound, and had small letters.
SMALL_LETTERS = 0.2
SMALL_LETTERS_OF = 200
#: So many filled shapes may be letters in outline.
OUTLINED_LETTERS = 30
#: Words only in these shares of a scan, at its top and bottom, are a stamp and not its text.
STAMP_MARGIN, STAMPED_SCAN = 0.1, 0.6
#: Less contrast on a whole page is an empty one.
PAGE_CONTRAST = 24

# Words that a line goes through (`struck_words.py`).

#: How far from the middle of a word such a line is at most, and how far it goes on beside its words, in heights of one.
STRUCK_BAND, STRUCK_REACH = 0.2, 0.6
#: Points that it is thick at most, the share of it that lies on words, and the share of a word that it covers. Of 449
#: PDFs these find the words of two, which are struck.
STRUCK_THICK, STRUCK_LINE, STRUCK_WORD = 3.0, 0.6, 0.7

# Marks (`drawn_marks.py`), and the time of a document (`pages.py`).

#: Points that a letter within a box may reach beyond it, across and down.
LETTER_ACROSS, LETTER_DOWN = 1.0, 4.0
#: A word with so much of it in a box is no other word's: OCR reads a box as a letter, and a tick may be one.
WORD_WITHIN = 0.6
#: Shares of a document's time: after the first, pages are read as plain text; after the second, none. In a second try a
#: page may take the third.
PLAIN_AFTER, STOP_AFTER, PAGE_SHARE = 0.5, 0.75, 0.15
