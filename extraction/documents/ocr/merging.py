"""Puts the words that OCR read into their document: everything behind them moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.document import Document, Fact, Part, Picture, Places, Words
from cinnabar.extraction.documents.content.limits import MAX_CHARACTERS
from cinnabar.extraction.documents.ocr.page_text import PageText

_Ints = npt.NDArray[np.int64]
_BREAK = "\n\n"
# OCR is never certain: a probability of 1 is that of a text layer, whose values do not get the flag `ocr`.
_MOST_SURE = np.float32(0.9999)


@dataclass(frozen=True, slots=True)
class _Insertion:
    """Words that go to the end of a part: at a character of the old text, from `start` on in the new one."""

    part: int
    at: int
    start: int
    picture: Picture
    page: PageText

    @property
    def end(self) -> int:
        return self.start + _length(self.page)


@dataclass(frozen=True, slots=True)
class _Shift:
    """How far the old characters move: those from `at[i]` on by `by[i]`."""

    at: _Ints
    by: _Ints

    def starts(self, place: _Ints) -> _Ints:
        """Returns the new places of old characters."""
        moved: _Ints = place + np.append(0, self.by)[np.searchsorted(self.at, place, side="right")]
        return moved

    def ends(self, place: _Ints) -> _Ints:
        """Returns the new ends of old intervals with a character."""
        return self.starts(place - 1) + 1

    def start(self, place: int) -> int:
        return int(self.starts(np.array([place], np.int64))[0])

    def end(self, place: int) -> int:
        return int(self.ends(np.array([place], np.int64))[0])


def merge_pages(document: Document, read: Sequence[tuple[Picture, PageText]]) -> Document:
    """Returns the document with the words of its pictures at the end of their parts, and without pictures.

    Beyond the limit of characters pages are left out, and the document is flagged `truncated`.
    """
    text, insertions, shift = _text(document, [one for one in read if one[1].text])
    flags = set(document.flags)
    if len(insertions) < sum(1 for _, page in read if page.text):
        flags.add("truncated")
    if insertions:
        flags.add("ocr")
    return replace(
        document,
        text=text,
        parts=tuple(_parts(document.parts, insertions, shift)),
        words=_words(document, insertions, shift),
        flags=tuple(sorted(flags)),
        facts={name: _fact(fact, shift) for name, fact in document.facts.items()},
        places=Places(tuple(map(shift.start, document.places.start)), document.places.label),
        pictures=(),
    )


def _length(page: PageText) -> int:
    return sum(map(len, page.text)) + sum(map(len, page.gap))


def _text(document: Document, read: list[tuple[Picture, PageText]]) -> tuple[str, list[_Insertion], _Shift]:
    """Returns the new text, the insertions in its order, and how the old text moves."""
    pieces: list[str] = []
    insertions: list[_Insertion] = []
    at: list[int] = []
    by: list[int] = []
    length = cursor = 0
    room = MAX_CHARACTERS - len(document.text)

    def append(piece: str) -> None:
        nonlocal length
        pieces.append(piece)
        length += len(piece)

    def old_text(end: int) -> None:
        """Appends the old text up to `end`, on a new line after an insertion."""
        nonlocal cursor
        piece = document.text[cursor:end]
        if piece and insertions and insertions[-1].at == cursor and not piece.startswith(_BREAK):
            append(_BREAK)
            by[-1] += len(_BREAK)
        append(piece)
        cursor = end

    # A sort keeps the pictures of one part in their order.
    for picture, page in sorted(read, key=lambda one: (document.parts[one[0].part].end, one[0].part)):
        size = _length(page) + 2 * len(_BREAK)
        if size > room:
            continue
        room -= size
        end = document.parts[picture.part].end
        old_text(end)
        before = length
        if length and not "".join(pieces[-2:]).endswith(_BREAK):
            append(_BREAK)
        insertions.append(_Insertion(picture.part, end, length, picture, page))
        append("".join(piece for pair in zip(page.gap, page.text, strict=True) for piece in pair))
        at.append(end)
        by.append((by[-1] if by else 0) + length - before)
    old_text(len(document.text))
    return "".join(pieces), insertions, _Shift(np.array(at, np.int64), np.array(by, np.int64))


def _parts(parts: Sequence[Part], insertions: Sequence[_Insertion], shift: _Shift) -> list[Part]:
    """Returns the parts at their new places; a part reaches over all that went into it or into parts within it."""
    held: dict[int, list[_Insertion]] = {}
    for one in insertions:
        index = one.part
        while index >= 0:
            held.setdefault(index, []).append(one)
            index = parts[index].parent
    moved: list[Part] = []
    for index, part in enumerate(parts):
        inside = held.get(index, [])
        starts = [one.start for one in inside]
        ends = [one.end for one in inside]
        if part.end > part.start:
            starts.append(shift.start(part.start))
            ends.append(shift.end(part.end))
        if not starts:
            # It stays behind the insertions of the parts before it, and within the part around it.
            before = [one.end for one in insertions if (one.at, one.part) < (part.start, index)]
            behind = shift.end(part.start) if part.start else 0
            place = max([behind, *before])
            if part.parent >= 0:
                around = moved[part.parent]
                place = min(max(place, around.start), around.end)
            starts = ends = [place]
        moved.append(replace(part, start=min(starts), end=max(ends)))
    return moved


def _words(document: Document, insertions: Sequence[_Insertion], shift: _Shift) -> Words:
    """Returns the old words at their new places and the inserted ones, sorted."""
    old = document.words
    start = [shift.starts(old.start.astype(np.int64))]
    end = [shift.ends(old.end.astype(np.int64))]
    box, part = [old.box], [old.part]
    sure = [np.ones(len(old), np.float32) if old.sure is None else old.sure]
    for one in insertions:
        gap = np.fromiter(map(len, one.page.gap), np.int64, len(one.page.gap))
        size = np.fromiter(map(len, one.page.text), np.int64, len(one.page.text))
        behind = one.start + np.cumsum(gap + size)
        start.append(behind - size)
        end.append(behind)
        on_page = document.parts[one.part].width > 0
        box.append(one.page.box / np.float32(one.picture.scale) if on_page else np.full_like(one.page.box, np.nan))
        part.append(np.full(len(size), one.part, np.int32))
        sure.append(np.minimum(one.page.sure, _MOST_SURE))
    order = np.argsort(np.concatenate(start), kind="stable")
    return Words(
        np.concatenate(start)[order].astype(np.int32),
        np.concatenate(end)[order].astype(np.int32),
        np.concatenate(box)[order],
        np.concatenate(part)[order],
        np.concatenate(sure)[order],
    )


def _fact(fact: Fact, shift: _Shift) -> Fact:
    return replace(fact, spans=tuple((shift.start(start), shift.end(end)) for start, end in fact.spans))
