"""Puts marks among the words of a page; a box to tick takes the place of letters that stand for it or in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cinnabar.extraction.documents.marks.boxes import Mark
from cinnabar.extraction.documents.pdf.glyphs import PageWords

# Points that a letter within a box may reach beyond it, across and down.
_ACROSS, _DOWN = 1.0, 4.0
# A word with so much of it in a box is no other word's: OCR reads a box as a letter, and a tick may be one.
_WITHIN = 0.6
# OCR does not read a box or a tick as a digit, nor as these letters of a longer word.
_DIGITS = frozenset("123456789")
_LETTERS = _DIGITS | frozenset("abcdefghijklmnpqrstuvwyz")


def with_marks(words: PageWords, marks: Sequence[Mark]) -> PageWords:
    """Returns the words of a page without those under its marks, and its marks behind them, for a layout to order.

    `first` of a mark counts from the last one backwards: -1 is the last.
    """
    if not marks:
        return words
    text, box, own = list(words.text), words.box.copy(), list[int]()
    places = np.array([mark.place or mark.box for mark in marks], np.float64)
    for number, (x0, top, x1, bottom) in enumerate(places.tolist()):
        middle = (box[:, 1] + box[:, 3]) / 2
        level = (middle > top - _DOWN) & (middle < bottom + _DOWN) & (box[:, 0] < x1) & (box[:, 2] > x0)
        # The place of a line is no box.
        under = np.flatnonzero(level).tolist() if x1 - x0 > 0.5 * (bottom - top) else []
        rests = [_rest(text[at], box[at, 0], box[at, 2], x0, x1) for at in under]
        if None in rests:
            continue
        for at, rest in zip(under, rests, strict=True):
            if rest is not None:
                text[at], box[at, [0, 2]] = rest[0], rest[1:]
        own.append(number)
    if not own:
        return words
    many = len(own)
    none = np.zeros(many, np.bool_)
    added = (places[own], np.full(many, np.bincount(words.turn).argmax()), none, none, np.array(own) - len(marks))
    kept = replace(words, text=text, box=box).only(np.array(text) != "")
    old = (kept.box, kept.turn, kept.rtl, kept.vertical, kept.first)
    return PageWords([*kept.text, *(marks[at].sign for at in own)], *map(np.append, old, added, (0, *[None] * 4)))


def _rest(word: str, left: float, right: float, x0: float, x1: float) -> tuple[str, float, float] | None:
    """Returns a word and its ends beside a box from x0 to x1, without what stands for it; None if it is a letter."""
    share = (min(right, x1 + _ACROSS) - max(left, x0 - _ACROSS)) / (right - left)
    count = len(word) if share > _WITHIN else int(share * len(word))
    first = left >= x0 - _ACROSS
    over, rest = (word[:count], word[count:]) if first else (word[len(word) - count :], word[: len(word) - count])
    if set(over.lower()) & (_LETTERS if len(word) > 1 else _DIGITS):
        return None
    return (rest, x1 if count and first else left, x0 if count and not first else right)
