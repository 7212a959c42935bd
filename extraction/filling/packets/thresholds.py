"""The thresholds by which the pages of a packet begin documents."""

from __future__ import annotations

#: The most that a page with the next of numbered pages ("2 of 3") begins a document.
NUMBERED_GOES_ON = 0.02
#: Words at either end of a page whose meaning is compared, and the most of a sheet that only separates documents.
COMPARED_WORDS, SEPARATOR_WORDS = 90, 12
