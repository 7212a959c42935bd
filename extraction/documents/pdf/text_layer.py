"""Tells whether the text layer of a page is text: layers without a usable mapping to Unicode hold nonsense."""

from __future__ import annotations

import unicodedata
from typing import Any

import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.pdf.glyphs import PageWords

# Of this share of bad characters on, a layer is none. Of 1,162 pages of contracts, forms, invoices, tables and odd
# files all but one had a share of 0, and that one, with formulas, .3.
_MOST_BAD = 0.5
# Text without a mapping comes as numbers of glyphs, in most fonts 29 below the characters: "6XPPD" for "Summa". There
# small letters become capitals and signs; of 4 such pages 2 were sound, and had small letters.
_LEAST_SMALL = 0.2
_SAMPLE = 200
_BAD = {"Co", "Cn", "Cc", "Cs"}


def mostly_unknown(words: PageWords) -> bool:
    """Returns True if most characters of a page's words have no meaning: U+FFFD, private and unassigned ones."""
    letters = "".join(words.text[:_SAMPLE])
    bad = sum(letter == "\ufffd" or unicodedata.category(letter) in _BAD for letter in letters)
    return bad > _MOST_BAD * len(letters)


def is_text(words: PageWords, text_page: Any) -> bool:
    """Returns True if a page's words are text: with a letter or digit, and mostly of characters with a meaning."""
    letters = "".join(words.text[:_SAMPLE])
    if not any(map(str.isalnum, letters)) and not any(map(str.isalnum, "".join(words.text))):
        return False
    if mostly_unknown(words):
        return False
    first = words.first[:_SAMPLE].tolist()
    unmapped = sum(pdfium.FPDFText_HasUnicodeMapError(text_page, at) == 1 for at in first)
    if unmapped <= _MOST_BAD * len(first):
        return True
    small, capital = sum(map(str.islower, letters)), sum(map(str.isupper, letters))
    return small >= _LEAST_SMALL * (small + capital)
