"""The thresholds by which words of OCR are believed, and pages turned, scaled and cut. Probabilities are from 0 to 1.

A changed threshold changes values: raise the part `ocr` (engine/version.py).
"""

from __future__ import annotations

# Words and directions (`rapid.py`, `tesseract.py`, `text_lines.py`).

#: The lines that tell whether a page stands on its head, and the mean probability of their letters that settles it
#: without a look at the reverse. Upright lines of the samples had .93 and more, reversed ones .75 and less.
TURNED_LINES, TURNED_SETTLED = 6, 0.9
#: Fewer letters for each height of a line that it is long are those of another script: the recogniser leaves letters
#: out that it does not know. Latin text has 1.2 to 2.5, Cyrillic .3.
SPARSE_LETTERS = 0.6
#: So are letters with a smaller mean probability: Greek ones have .82, Latin and Chinese ones .98 even on poor scans.
FOREIGN_LETTERS = 0.9
#: A word with a smaller probability is a picture's or a pen's stroke.
LEAST_WORD = 0.05
#: A page that is read with this mean probability stands upright. The program's own guess of the direction was wrong for
#: a page with large letters.
UPRIGHT_SETTLED = 0.75
#: A line leans only if it is so many times as long as high.
LEANING_LINE = 5.0
#: A rectangle so many times as long as high tells the direction of its text.
TELLING_LINE = 3.0
#: The probability of a mark: a box in doubt has a sign of its own.
MARK_SURE = 0.99
#: OCR is so sure of words that are printed.
PRINTED_WORD = 0.9

# Pictures and tiles (`pictures.py`, `rapid.py`).

#: Fewer pixels on a side show no letter: such images are lines and counters in mails.
LEAST_SIDE = 8
#: A resolution outside of these is not believed; without one the longer side is as long as A4, within these bounds.
LEAST_DPI, MOST_DPI = 50.0, 1_300.0
#: A taller picture is read in tiles of so many times its width, of which neighbours share a part. A wide one is not
#: cut, because its lines would be.
TILE_HEIGHT, TILE_SHARED = 2.0, 0.25
#: RapidOCR's own settings: the least probability of a pixel and of a line, and how far a line's rectangle grows, as a
#: share of its area by its outline (the network marks only the core of letters). The least height is in its pixels.
PIXEL_PROBABILITY, LINE_PROBABILITY, LINE_GROWTH, LEAST_HEIGHT = 0.3, 0.5, 1.6, 3.0
