"""Text that runs from right to left: the letters of a word and the words of a line in reading order."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import groupby

# Right-to-left scripts: Hebrew to Arabic Extended, and the presentation forms.
RTL_RANGES = ((0x0590, 0x08FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFC))
# The ligatures of Latin letters, which readers copy as their letters.
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
# A long s is not what ﬅ stands for in print of today.
_LIGATURES[0xFB05] = "st"


def is_rtl(letter: str) -> bool:
    """Returns True for a letter or a mark of a right-to-left script; digits of these scripts run to the right."""
    return unicodedata.bidirectional(letter) in ("R", "AL") or (
        unicodedata.bidirectional(letter) == "NSM" and any(low <= ord(letter) <= high for low, high in RTL_RANGES)
    )


def split_ligatures(word: str) -> str:
    """Returns a word with the letters of its ligatures, and the plain letters of Hebrew and Arabic forms."""
    if word.isascii():
        return word
    if any("\ufb00" <= letter <= "\ufeff" for letter in word):
        word = word.translate(_LIGATURES)
        word = "".join(
            unicodedata.normalize("NFKC", letter) if "\ufb13" <= letter <= "\ufefc" and letter.isalpha() else letter
            for letter in word
        )
    return word


@cache
def _forms() -> frozenset[str]:
    """Returns the sequences of letters that single presentation forms stand for."""
    expanded = (unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB1D, 0xFEFD))
    return frozenset(text for text in expanded if len(text) > 1)


def read_word(letters: str, left: Sequence[float], right: Sequence[float]) -> str:
    """Returns the letters of a right-to-left word as they are read, by their places on the page.

    pdfium turns every run of such letters round, also one that the file holds in reading order, and the letters of one
    glyph with it. left, right: the sides of each letter, upright, in points.
    """
    glyphs: list[tuple[float, float, str]] = []
    for (begin, end), run in groupby(zip(left, right, letters, strict=True), key=lambda one: (one[0], one[1])):
        glyphs.append((begin, end, _glyph("".join(letter for _, _, letter in run))))
    glyphs = _with_marks(glyphs)
    # A sort that is stable keeps glyphs at one place in their order.
    glyphs.sort(key=lambda one: -(one[0] + one[1]))
    ordered: list[str] = []
    for backward, run_of in groupby(glyphs, key=lambda one: is_rtl(one[2][0])):
        part = [text for _, _, text in run_of]
        ordered += part if backward else _left_to_right(part)
    return "".join(ordered)


def _glyph(text: str) -> str:
    """Returns the letters of one glyph in reading order; pdfium expands a presentation form in the right order."""
    if len(text) == 1 or not any(map(is_rtl, text)) or text in _forms():
        return text
    return text[::-1]


def _with_marks(glyphs: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Joins marks that are glyphs of their own to the letters that they stand at."""
    bases = [one for one in glyphs if not _is_mark(one[2])]
    if len(bases) == len(glyphs) or not bases:
        return glyphs
    # The base at each middle that counts there: of several the one that begins furthest right, and of those the first.
    best: dict[float, tuple[float, int]] = {}
    for at, (left, right, _) in enumerate(bases):
        best.setdefault((left + right) / 2, (-left, at))
        best[(left + right) / 2] = min(best[(left + right) / 2], (-left, at))
    middles = sorted(best)
    marks: dict[int, list[str]] = {}
    for left, right, text in glyphs:
        if _is_mark(text):
            middle = (left + right) / 2
            above = bisect_left(middles, middle)
            near = middles[max(0, above - 1) : above + 1]
            # Between two letters it belongs to the right one, which is read first.
            at = min((abs(one - middle), *best[one]) for one in near)[2]
            marks.setdefault(at, []).append(text)
    return [(left, right, text + "".join(marks.get(at, ()))) for at, (left, right, text) in enumerate(bases)]


def _is_mark(text: str) -> bool:
    return all(unicodedata.category(letter) == "Mn" for letter in text)


def _left_to_right(part: list[str]) -> list[str]:
    """Returns glyphs between right-to-left ones: numbers and Latin letters run to the right, other signs do not."""
    solid = [at for at, text in enumerate(part) if text[0].isalnum()]
    if not solid:
        return part
    first, last = solid[0], solid[-1] + 1
    return [*part[:first], *part[first:last][::-1], *part[last:]]


def read_line(rtl: Sequence[bool], words: Sequence[str]) -> list[int]:
    """Returns the reading order of words that stand side by side, given from left to right.

    A line runs to the left if most of its words with letters do. Runs of words of the other direction keep their own;
    in a line that runs to the left, words without a letter stand for themselves.
    """
    order = list(range(len(words)))
    if not any(rtl):
        return order
    strong = [backward or any(map(str.isalpha, word)) for backward, word in zip(rtl, words, strict=True)]
    leftward = 2 * sum(rtl) > sum(strong)
    against = [is_strong and backward != leftward for is_strong, backward in zip(strong, rtl, strict=True)]
    # Words without letters between two words of the other direction belong to their run.
    runs: list[list[int]] = []
    run: list[int] | None = None
    pending: list[int] = []
    for at in order:
        if against[at]:
            if run is None:
                run = []
                runs.append(run)
            run += [*(pending if run else []), at]
            pending = []
        elif strong[at]:
            run, pending = None, []
        else:
            pending.append(at)
    reversed_runs = {run[0]: run for run in runs}
    joined: list[int] = []
    at = 0
    while at < len(order):
        turned_run = reversed_runs.get(at, [at])
        # Within a line that is turned round as a whole, a run of the other direction is turned round twice.
        joined += turned_run[::-1]
        at += len(turned_run)
    return joined[::-1] if leftward else joined
