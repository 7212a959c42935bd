"""Letters of a PDF page that the text has apart, or together, and that a reader sees otherwise.

Words that a soft hyphen divides at the end of a line are joined, and so are values of which each letter stands in a box
of its own (drawn boxes, comb fields of a form). Raised words are set apart from the numbers that they touch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.content.limits import MAX_HYPHEN_OBJECTS, MAX_HYPHENS
from cinnabar.extraction.documents.content.marked_text import raised_text
from cinnabar.extraction.documents.pdf.glyphs import PageWords, address_of, raised_pairs, text_of_page

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
SOFT_HYPHEN = "\u00ad"
# pdfium writes this code for a hyphen between letters at the end of a line, a soft one or a real one.
_HYPHEN = 0x02


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
        if codes and codes[-1] == _HYPHEN and len(word) > 1 and hyphens < MAX_HYPHENS:
            owner = pdfium.FPDFText_GetTextObject(text_page, first[at + 1] - 1)
            ends.setdefault(address_of(owner), []).append(at)
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
    if count > MAX_HYPHEN_OBJECTS:
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
            if (address := address_of(one)) in owners:
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
    with text_of_page(page) as text_page:
        for at in range(pdfium.FPDFText_CountChars(text_page) - 1 if text_page else -1, -1, -1):
            code = pdfium.FPDFText_GetUnicode(text_page, at)
            if code > 0x20:
                return bool(code == ord(SOFT_HYPHEN))
    return False


_Floats = npt.NDArray[np.float64]
_Box = tuple[float, float, float, float]


def single_letters(words: PageWords) -> list[int]:
    """Returns the upright words of one letter or digit, line by line; none if there are too few or too many."""
    found = [at for at, word in enumerate(words.text) if len(word) == 1 and word.isalnum() and words.turn[at] == 0]
    if not BOXED_LEAST <= len(found) <= BOXED_MOST:
        return []
    return sorted(found, key=lambda at: (round(words.box[at, 3]), words.box[at, 0]))


def in_fields(letters: Sequence[int], words: PageWords, fields: Iterable[tuple[_Box, str]]) -> list[list[int]]:
    """Returns the letters of each word of a field's value that is drawn letter by letter.

    fields: boxes as displayed, and values.
    """
    groups: list[list[int]] = []
    boxes = words.box[letters]
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    order = np.argsort(middle[:, 0], kind="stable")
    for box, value in fields if letters else ():
        within = np.all((middle > box[:2]) & (middle < box[2:]), axis=1)
        inside = [letters[at] for at in order.tolist() if within[at]]
        if len(inside) >= BOXED_LEAST and "".join(words.text[at] for at in inside) == "".join(value.split()):
            drawn = iter(inside)
            groups += [list(islice(drawn, len(word))) for word in value.split()]
    return groups


def in_boxes(letters: Sequence[int], words: PageWords, shapes: _Floats) -> list[list[int]]:
    """Returns groups of letters in neighbouring boxes, which are drawn as boxes or as walls between them.

    shapes: [N, 4] boxes of what is drawn, as displayed. Cells above or below others belong to a table, and stay apart.
    """
    walls = np.concatenate([shapes[:, [0, 1, 3]], shapes[:, [2, 1, 3]]])
    groups: list[list[int]] = [[]]
    for before, after in pairwise(letters):
        if not _parts(walls, words.box[before], words.box[after]):
            groups.append([])
        else:
            groups[-1] += [after] if groups[-1] else [before, after]
    return list(filter(None, groups))


def _parts(walls: _Floats, a: _Floats, b: _Floats) -> bool:
    """Returns True if one wall, or two close ones, stands between two letters of a line, and none above or below it."""
    size = a[3] - a[1]
    high = walls[:, 2] - walls[:, 1]
    small = walls[(high > BOXED_WALLS[0] * size) & (high < BOXED_WALLS[1] * size)]
    between = (small[:, 0] > (a[0] + a[2]) / 2) & (small[:, 0] < (b[0] + b[2]) / 2)
    own = small[between & (small[:, 1] < a[3]) & (small[:, 2] > a[1])]
    if abs(b[3] - a[3]) > 0.3 * size or not 0 < b[0] - a[0] < BOXED_NEXT * size or not len(own):
        return False
    x, top, bottom = own[0]
    touching = (np.abs(small[:, 1] - bottom) < WALLS_TOUCH) | (np.abs(small[:, 2] - top) < WALLS_TOUCH)
    return bool(
        np.ptp(own[:, 0]) < BOXED_THICK * size and not (touching & (np.abs(small[:, 0] - x) < WALLS_TOUCH)).any()
    )


def join_letters(words: PageWords, groups: Iterable[Sequence[int]]) -> PageWords:
    """Returns the words with each group of letters as one word in the place of its first letter."""
    text, box = list(words.text), words.box.copy()
    keep = np.ones(len(text), np.bool_)
    for first, *others in groups:
        text[first] += "".join(text[at] for at in others)
        box[first, :2], box[first, 2:] = box[[first, *others], :2].min(axis=0), box[[first, *others], 2:].max(axis=0)
        keep[others] = False
    return PageWords(text, box, words.turn, words.rtl, words.vertical, words.first).only(keep)


def set_raised_apart(text: list[str], gaps: list[str], box: npt.NDArray[np.float64]) -> None:
    """Rewrites raised words that begin with a digit, and the blanks before them, in place.

    text, gaps: words in reading order and the blanks before each; box: [W, 4] their boxes as displayed.
    """
    high = box[:, 3] - box[:, 1]
    close = np.abs(box[1:, 0] - box[:-1, 2]) < RAISED_CLOSE * np.maximum(high[:-1], high[1:])
    behind, ahead = (pairs & close for pairs in raised_pairs(box))
    for at in (np.flatnonzero(behind) + 1).tolist():
        if "\n" not in gaps[at] and any(map(str.isdecimal, text[at][:2])):
            parts = zip(gaps[max(at - RAISED_TELLING, 0) : at], text[max(at - RAISED_TELLING, 0) : at], strict=True)
            before = "".join(part for pair in parts for part in pair).rpartition("\n")[2]
            after = gaps[at + 1] + text[at + 1] if at + 1 < len(text) else ""
            written = raised_text(before, text[at], after)
            gaps[at], text[at] = " " * written[:1].isspace(), written.strip()
    for at in np.flatnonzero(ahead).tolist():
        # A raised digit before a number is the mark of a note.
        if "\n" not in gaps[at + 1] and text[at].isdecimal() and text[at].isascii() and text[at + 1][0].isdecimal():
            text[at] = raised_text("a ", text[at])
