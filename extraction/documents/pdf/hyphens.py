"""Joins words that a soft hyphen divides at the end of a line."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.pdf.glyphs import PageWords

SOFT_HYPHEN = "\u00ad"
# pdfium writes this code for a hyphen between letters at the end of a line, a soft one or a real one.
_HYPHEN = 0x02
# Hyphens of a page, and objects of it, that are looked at.
_MAX_HYPHENS, _MAX_OBJECTS = 200, 20_000


def mark_soft_hyphens(page: Any, text_page: Any, words: PageWords) -> None:
    """Puts the soft hyphens at the ends of lines into the words of an open page, in place; other hyphens stay `-`.

    A page that draws soft hyphens within its lines uses them as hyphens, so that they tell nothing.
    """
    ends: dict[int, list[int]] = {}
    hyphens = 0
    first = words.first.tolist()
    for at, word in enumerate(words.text[:-1]):
        if "-" not in word:
            continue
        codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(first[at], first[at + 1])]
        if ord(SOFT_HYPHEN) in codes:
            return
        if codes and codes[-1] == _HYPHEN and len(word) > 1 and hyphens < _MAX_HYPHENS:
            owner = pdfium.FPDFText_GetTextObject(text_page, first[at + 1] - 1)
            ends.setdefault(_address(owner), []).append(at)
            hyphens += 1
    if ends:
        for address in _soft(page, set(ends)):
            at = ends[address][-1]
            words.text[at] = words.text[at][:-1] + SOFT_HYPHEN


def join_words(words: Sequence[str], gaps: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns words in reading order and the blanks before each, without soft hyphens.

    The next line's first word follows without a blank, and the line breaks after it. A soft hyphen elsewhere is `-`.
    """
    words, gaps = list(words), list(gaps)
    for at, word in enumerate(words):
        if not word.endswith(SOFT_HYPHEN):
            continue
        after = at + 1
        onward = after < len(words) and gaps[after].startswith("\n") and not gaps[after].startswith("\n\n")
        if not (onward and _continues(word[:-1], words[after][0])):
            words[at] = word[:-1] + "-"
            continue
        if after + 1 < len(words) and "\n" not in gaps[after + 1]:
            gaps[after + 1] = "\n"
        words[at], gaps[after] = word[:-1], ""
    return words, gaps


def _continues(begun: str, letter: str) -> bool:
    """Returns True if a letter may go on within a word; a capital after small letters begins another."""
    return letter.isalpha() and (not letter.isupper() or begun.isupper())


def _soft(page: Any, owners: set[int]) -> list[int]:
    """Returns the addresses of those text objects that end in a soft hyphen: alone on its page one keeps the code."""
    count = pdfium.FPDFPage_CountObjects(page)
    if count > _MAX_OBJECTS:
        return []
    active = []
    flag = ctypes.c_int()
    for index in range(count):
        one = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetIsActive(one, flag) and flag.value:
            active.append(one)
    addresses = []
    try:
        for one in active:
            pdfium.FPDFPageObj_SetIsActive(one, False)
        for one in active:
            if (address := _address(one)) in owners:
                pdfium.FPDFPageObj_SetIsActive(one, True)
                if _ends_softly(page):
                    addresses.append(address)
                pdfium.FPDFPageObj_SetIsActive(one, False)
    finally:
        for one in active:
            pdfium.FPDFPageObj_SetIsActive(one, True)
    return addresses


def _ends_softly(page: Any) -> bool:
    """Returns True if the last character of the active objects of a page is a soft hyphen."""
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return False
    try:
        for at in range(pdfium.FPDFText_CountChars(text_page) - 1, -1, -1):
            code = pdfium.FPDFText_GetUnicode(text_page, at)
            if code > 0x20:
                return bool(code == ord(SOFT_HYPHEN))
        return False
    finally:
        pdfium.FPDFText_ClosePage(text_page)


def _address(one: Any) -> int:
    return ctypes.cast(one, ctypes.c_void_p).value or 0
