"""Gathers the words of one PDF page from pdfium's characters."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.pdf.bidi import RTL_RANGES, read_word, split_ligatures

#: How much smaller a raised character is than the one beside it, and how much higher it ends, in heights of that one.
RAISED_SMALLER, RAISED_HIGHER = 0.85, 0.15
_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

OBLIQUE = 4


def by_address(name: str, *arguments: Any, gives: Any = ctypes.c_int) -> Any:
    """Returns a function of pdfium that takes addresses, without a ctypes object for each character or object.

    It keeps the interpreter's lock (2.4 ms for a page of 6,200 characters on one CPU core; 3.3 ms with a loop and calls
    that release it).
    """
    return ctypes.PYFUNCTYPE(gives, *arguments)(address_of(getattr(pdfium, name)))


def address_of(handle: Any) -> int:
    """Returns the address of an object of pdfium, 0 for none."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


@contextmanager
def text_of_page(page: Any) -> Iterator[Any]:
    """Gives the text page of an open page, None if it cannot be loaded, and closes it."""
    text_page = pdfium.FPDFText_LoadPage(page)
    try:
        yield text_page
    finally:
        if text_page:
            pdfium.FPDFText_ClosePage(text_page)


_OF_CHARACTER = ctypes.c_void_p, ctypes.c_int
_get_unicode = by_address("FPDFText_GetUnicode", *_OF_CHARACTER, gives=ctypes.c_uint)
_get_box = by_address("FPDFText_GetLooseCharBox", *_OF_CHARACTER, ctypes.c_void_p)
_get_angle = by_address("FPDFText_GetCharAngle", *_OF_CHARACTER, gives=ctypes.c_float)
_get_size = by_address("FPDFText_GetFontSize", *_OF_CHARACTER, gives=ctypes.c_double)

_WIDE_BLANKS = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
# Signs of accents, which some programs draw over a letter or before it, and their combining characters.
_ACCENTS = {ord(sign): normalize("NFKD", sign)[-1] for sign in "¨¯´¸˘˙˚˛˜˝"}
_ACCENTS |= dict(zip(map(ord, "`^~ˆˇˉ"), "\u0300\u0302\u0303\u0302\u030c\u0304", strict=True))
_IS_ACCENT = np.isin(np.arange(max(_ACCENTS) + 2), [*_ACCENTS])
_DOTLESS = {"ı": "i", "ȷ": "j"}
_BLANKS = np.array([0x00, 0x01, *range(0x03, 0x21), *_WIDE_BLANKS])


@dataclass(frozen=True, slots=True)
class PageWords:
    """Words in the order of the page's content stream.

    box: [W, 4] (x0, top, x1, bottom) in points as displayed, from the top left corner.
    turn: [W] quarter turns counter-clockwise of the text as displayed, 4 for any other angle.
    rtl: [W] true if the word is read from right to left.
    first: [W] the index of the word's first character in pdfium's page.
    vertical: [W] true if most of the word's characters stand below their predecessor (vertical writing).
    """

    text: list[str]
    box: _Floats
    turn: _Ints
    rtl: npt.NDArray[np.bool_]
    vertical: npt.NDArray[np.bool_]
    first: _Ints

    @classmethod
    def none(cls) -> PageWords:
        """Returns the words of a page without any."""
        nothing = np.empty(0, np.int64)
        none = np.empty(0, np.bool_)
        return cls([], np.empty((0, 4)), nothing, none, none, nothing)

    def only(self, keep: npt.NDArray[np.bool_]) -> PageWords:
        """Returns the words with a true entry in keep: [W]."""
        text = [word for word, kept in zip(self.text, keep.tolist(), strict=True) if kept]
        return PageWords(
            text, self.box[keep], self.turn[keep], self.rtl[keep], self.vertical[keep], self.first[keep]
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """A page's rectangle in user space and its rotation in clockwise quarter turns."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def size(self) -> tuple[float, float]:
        """Returns width and height as displayed, in points."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.rotation % 2 else (width, height)

    def to_display(self, box: npt.ArrayLike) -> _Floats:
        """Returns boxes [N, 4] (left, top, right, bottom) in user space, y upwards, as displayed, y downwards."""
        x0, y1, x1, y0 = np.asarray(box, np.float64).reshape(-1, 4).T
        if self.rotation == 1:
            sides = (y0 - self.bottom, x0 - self.left, y1 - self.bottom, x1 - self.left)
        elif self.rotation == 2:
            sides = (self.right - x1, y0 - self.bottom, self.right - x0, y1 - self.bottom)
        elif self.rotation == 3:
            sides = (self.top - y1, self.right - x1, self.top - y0, self.right - x0)
        else:
            sides = (x0 - self.left, self.top - y1, x1 - self.left, self.top - y0)
        return np.stack(sides, axis=1)


def turn_boxes(box: _Floats, turn: _Ints) -> _Floats:
    """Returns boxes rotated so that text of `turn` quarter turns runs to the right.

    box: [N, 4] as displayed; turn: [N]. The origin is arbitrary, the same for all boxes of one turn.
    """
    x0, y0, x1, y1 = box.T
    cases = [turn == 1, turn == 2, turn == 3]
    return np.stack(
        [
            np.select(cases, [-y1, -x1, y0], x0),
            np.select(cases, [x0, -y1, -x1], y0),
            np.select(cases, [-y0, -x0, y1], x1),
            np.select(cases, [x1, -y0, -x0], y1),
        ],
        axis=1,
    )


def page_words(text_page: Any, frame: Frame, limit: int, scan: bool = False) -> PageWords:
    """Returns the words of an open pdfium text page; it reads at most `limit` characters.

    scan: the text was read from an image, so that the sizes of characters tell of nothing raised.
    """
    count = min(pdfium.FPDFText_CountChars(text_page), limit)
    if count <= 0:
        return PageWords.none()
    address = address_of(text_page)
    code = np.fromiter(map(_get_unicode, repeat(address), range(count)), np.int64, count)
    code, owner = _whole_characters(code)
    ink = ~np.isin(code, _BLANKS)
    code, owner, at = code[ink], owner[ink], np.flatnonzero(ink)
    if not len(code):
        return PageWords.none()
    buffer = np.zeros((count, 4), np.float32)
    deque(map(_get_box, repeat(address), owner.tolist(), (buffer.ctypes.data + 16 * owner).tolist()), maxlen=0)
    box = frame.to_display(np.clip(np.nan_to_num(buffer[owner].astype(np.float64)), -1e6, 1e6))

    run = np.cumsum(np.diff(at, prepend=-2) > 1) - 1
    turn = _quarter_turns(_run_angles(address, owner, run, buffer[owner, 0]), frame.rotation)[run]
    seen = turn_boxes(box, turn)
    if (accents := _compose(code, seen)).any():
        code, owner, run, turn = code[~accents], owner[~accents], run[~accents], turn[~accents]
        box, seen = box[~accents], seen[~accents]
    rtl = np.zeros(len(code), np.bool_)
    for low, high in RTL_RANGES:
        rtl |= (code >= low) & (code <= high)
    letters = "".join(map(chr, code.tolist()))
    solid = np.fromiter(map(str.isalnum, letters), np.bool_, len(letters))
    digit = (code >= 0x30) & (code <= 0x39)
    split, stacked = _breaks(seen, rtl, solid, digit)
    if not scan:
        # Raised digits, also in brackets, join no number before or behind them.
        behind, ahead = raised_pairs(seen)
        split[1:] |= (behind & (digit | (code == 0x28) | (code == 0x5B))[1:]) | (ahead & digit[:-1] & digit[1:])
    begins = (np.diff(run, prepend=-1) != 0) | split
    starts = np.flatnonzero(begins)
    stacked &= ~begins
    ends = np.append(starts[1:], len(code))
    backward = np.logical_or.reduceat(rtl, starts)
    bounds = zip(starts.tolist(), ends.tolist(), backward.tolist(), strict=True)
    return PageWords(
        text=[
            split_ligatures(read_word(letters[a:b], seen[a:b, 0].tolist(), seen[a:b, 2].tolist()))
            if is_backward
            else split_ligatures(letters[a:b])
            for a, b, is_backward in bounds
        ],
        box=np.concatenate([np.minimum.reduceat(box[:, :2], starts), np.maximum.reduceat(box[:, 2:], starts)], axis=1),
        turn=turn[starts],
        rtl=backward,
        vertical=2 * np.add.reduceat(stacked.astype(np.int64), starts) > ends - starts - 1,
        first=owner[starts],
    )


def _run_angles(address: int, owner: _Ints, run: _Ints, left: npt.NDArray[np.float32]) -> _Floats:
    """Returns the angle of each run between blanks, whose characters share one.

    owner, run, left: [N], of each character: its place on the text page, its run and its left edge in user space.
    """
    first = owner[np.flatnonzero(np.diff(run, prepend=-1))].tolist()
    angle = np.fromiter(map(_get_angle, repeat(address), first), np.float64, len(first))
    # pdfium leaves the sign of the size out of it, which matters where letters are turned or run to the left.
    if angle.any() or (np.diff(left)[np.diff(run) == 0] < 0).any():
        size = np.fromiter(map(_get_size, repeat(address), first), np.float64, len(first))
        angle += np.pi * (size < 0)
    return angle


def _whole_characters(code: _Ints) -> tuple[_Ints, _Ints]:
    """Joins surrogate pairs; lone ones and codes without a character become U+FFFD.

    Returns the code points and, for each, the index of its first code unit.
    """
    owner = np.arange(len(code))
    # pdfium writes U+0002 (older versions U+FFFE) for a hyphen at the end of a line.
    code = np.where((code == 0x02) | (code == 0xFFFE) | (code == 0xAD), 0x2D, code)
    high = (code >= 0xD800) & (code < 0xDC00)
    low = (code >= 0xDC00) & (code < 0xE000)
    pair = np.flatnonzero(high[:-1] & low[1:])
    joined = code.copy()
    joined[pair] = 0x10000 + ((code[pair] - 0xD800) << 10) + (code[pair + 1] - 0xDC00)
    keep = np.ones(len(code), np.bool_)
    keep[pair + 1] = False
    joined, owner = joined[keep], owner[keep]
    bad = ((joined >= 0xD800) & (joined < 0xE000)) | (joined > 0x10FFFF) | (joined == 0xFFFF)
    bad |= (joined >= 0x7F) & (joined < 0xA0) & (joined != 0x85)
    return np.where(bad, 0xFFFD, joined), owner


def _compose(code: _Ints, box: _Floats) -> npt.NDArray[np.bool_]:
    """Joins accents to the letters that they stand over, in place, and marks the accents."""
    done = np.zeros(len(code), np.bool_)
    middle = (box[:, 0] + box[:, 2]) / 2
    for at in np.flatnonzero(_IS_ACCENT[np.minimum(code, len(_IS_ACCENT) - 1)]).tolist():
        for near in (at + 1, at - 1, at - 2, at + 2):
            if not 0 <= near < len(code) or not box[near, 0] < middle[at] < box[near, 2]:
                continue
            letter = chr(code[near])
            one = normalize("NFC", _DOTLESS.get(letter, letter) + _ACCENTS[int(code[at])])
            if letter.isalpha() and len(one) == 1 and min(box[at, 3], box[near, 3]) > max(box[at, 1], box[near, 1]):
                code[near], done[at] = ord(one), True
                break
    return done


def _quarter_turns(angle: _Floats, rotation: int) -> _Ints:
    """Turns angles (radians clockwise in user space) into counter-clockwise quarter turns as displayed, or OBLIQUE."""
    quarters = -angle / (np.pi / 2) - rotation
    nearest = np.round(quarters)
    return np.where(np.abs(quarters - nearest) < 0.12, nearest.astype(np.int64) % 4, OBLIQUE)


def _breaks(
    box: _Floats, rtl: npt.NDArray[np.bool_], solid: npt.NDArray[np.bool_], digit: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Marks characters that stand too far from the one before to belong to its word, although no blank separates them.

    `solid` marks letters and digits: one that stands before its predecessor begins a new cell, which the cell before it
    overlaps. Accents may stand anywhere. Also marks the characters that stand just below their predecessor.
    """
    split, stacked = np.zeros(len(box), np.bool_), np.zeros(len(box), np.bool_)
    if len(box) < 2:
        return split, stacked
    before, after = box[:-1], box[1:]
    height = np.maximum(np.minimum(before[:, 3] - before[:, 1], after[:, 3] - after[:, 1]), 1.0)
    both_rtl = rtl[:-1] & rtl[1:]
    # Letters that run to the left may come in either order.
    onward_gap, backward_gap = after[:, 0] - before[:, 2], before[:, 0] - after[:, 2]
    gap = np.where(both_rtl, np.maximum(onward_gap, backward_gap), onward_gap)
    rise = np.abs((after[:, 1] + after[:, 3]) - (before[:, 1] + before[:, 3])) / 2
    onward = ((after[:, 0] + after[:, 2]) - (before[:, 0] + before[:, 2])) / 2
    sideways = np.abs(onward)
    back = (onward < -0.02 * height) & solid[:-1] & solid[1:] & ~rtl[:-1] & ~rtl[1:]
    stacked[1:] = (sideways < 0.3 * height) & (after[:, 1] - before[:, 1] > 0.6 * height) & (rise < 2.0 * height)
    rising = (rise > 0.7 * height) & ~_subscripts(before, after, solid & ~digit, digit)
    jump = back | (gap > 0.6 * height) | (gap < -1.2 * height) | rising
    split[1:] = jump & ~stacked[1:]
    return split, stacked


def _subscripts(
    before: _Floats, after: _Floats, letter: npt.NDArray[np.bool_], digit: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Marks pairs of neighbours, a letter and a smaller digit that touches it and is set lower, as in a formula.

    A digit that is set higher may be the mark of a note, which does not belong to its word.
    """
    high, next_high = before[:, 3] - before[:, 1], after[:, 3] - after[:, 1]
    lower = after[:, 1] + after[:, 3] - before[:, 1] - before[:, 3]
    overlap = np.minimum(before[:, 3], after[:, 3]) - np.maximum(before[:, 1], after[:, 1])
    begins = letter[:-1] & digit[1:] & (next_high < 0.85 * high) & (lower > 0)
    ends = digit[:-1] & letter[1:] & (high < 0.85 * next_high) & (lower < 0)
    least = np.minimum(high, next_high)
    return (begins | ends) & (overlap > 0.4 * least) & (np.abs(after[:, 0] - before[:, 2]) < 0.2 * least)


def raised_pairs(box: _Floats) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Marks the pairs of neighbours, of boxes [N, 4], in which the second one is raised, and those with a raised first.

    A raised character is smaller than the one beside it and ends higher.
    """
    high, lift = box[:, 3] - box[:, 1], -np.diff(box[:, 3])
    before, after = high[:-1], high[1:]
    behind = (after < RAISED_SMALLER * before) & (lift > RAISED_HIGHER * before)
    return behind, (before < RAISED_SMALLER * after) & (-lift > RAISED_HIGHER * after)
