"""Tells on which pages of a packet a document begins, with probabilities (`training.packets.fit` fits the model)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cinnabar.extraction.documents.content.document import Document, Part

#: The file with the model's weights.
FITTED = Path(__file__).with_name("boundaries.json")
#: Names the rules and the weights. The number goes up if the code finds other boundaries with the same weights.
VERSION = f"3-{hashlib.sha256(FITTED.read_bytes()).hexdigest()[:12]}"
#: The flag of a document whose page numbers begin again: it may be several in one file.
SEVERAL = "several_documents"
# The most that a page with the next of numbered pages ("2 of 3") begins a document.
_NUMBERED_GOES_ON = 0.02
# Words at either end of a page whose meaning is compared, and the most of a sheet that only separates documents.
_COMPARED_WORDS, _SEPARATOR_WORDS = 90, 12
_OF = re.compile(r"(?<![\d/.,-])(\d{1,4})\s{0,2}(?:/|\||[^\W\d_]{1,7}\.?)\s{0,2}(\d{1,4})(?![\d/.,-]\d)")
_ALONE = re.compile(r"\W*(?:[^\W\d_]{1,10}\W{0,3})?(\d{1,4})\W*")
_IDENTIFIER = re.compile(r"(?=(?:[^\s,;()]*\d){3})[^\s,;()]+")
_ITEM = re.compile(r"^\W{0,2}(\d{1,3})[.)]\s", re.MULTILINE)


class PageMark(NamedTuple):
    """A number that a page may bear, of how many (0 if that is not said), and the line around it without numbers.

    `alone`: nothing else is in the line but a word or two.
    """

    number: int
    total: int
    key: str
    alone: bool = True


class EdgedLine(NamedTuple):
    """A line with its edges as shares of the page, and the usual height of its words in points; NaN if not known."""

    text: str
    top: float = math.nan
    bottom: float = math.nan
    height: float = math.nan

    @property
    def key(self) -> str:
        """Returns the line without its numbers, by which headers and footers are known again."""
        return re.sub(r"\d+", "#", self.text.lower())

    def marks(self) -> Iterator[PageMark]:
        """Yields the numbers that may be that of the page."""
        for of in _OF.finditer(self.text):
            if 1 <= int(of[1]) <= int(of[2]):
                yield PageMark(int(of[1]), int(of[2]), self.key, len(self.text) <= 24)
                return
        if match := _ALONE.fullmatch(self.text):
            yield PageMark(int(match[1]), 0, self.key)


class PageFeatures(NamedTuple):
    """A page of a packet: its number, width and height in points, its text, and its lines from the top down."""

    number: int
    size: tuple[float, float]
    text: str
    lines: tuple[EdgedLine, ...]


def page_features(document: Document) -> list[PageFeatures]:
    """Returns the features of the pages of a document, in their order; parts within pages count to them."""
    return [_signs(document, part) for part in document.parts if part.kind == "page"]


def _signs(document: Document, part: Part) -> PageFeatures:
    words, lines, begin, text = document.words, list[EdgedLine](), part.start, document.text[part.start : part.end]
    for line in text.split("\n"):
        own = slice(*np.searchsorted(words.start, [begin, begin + len(line)]))
        begin += len(line) + 1
        top, bottom = words.box[own, 1], words.box[own, 3]
        if len(top) and part.height and not np.isnan(bottom).any():
            places = top.min() / part.height, bottom.max() / part.height, np.median(bottom - top)
            lines.append(EdgedLine(line.strip(), *map(float, places)))
        elif line.strip():
            lines.append(EdgedLine(line.strip()))
    from_top = sorted(lines, key=lambda line: line.top if line.top > 0 else 0.0)
    return PageFeatures(part.page, (part.width, part.height), text, tuple(from_top))


def edge_words(page: PageFeatures) -> list[str]:
    """Returns the first and the last words of a page."""
    words = page.text.split()
    return [" ".join(words[:_COMPARED_WORDS]), " ".join(words[-_COMPARED_WORDS:])]


def boundaries(pages: Sequence[PageFeatures]) -> tuple[dict[int, float], tuple[int, ...]]:
    """Returns the probability that a document begins on each page but the first with words, and the separator sheets.

    A sheet of few words that occurs again, word for word, separates documents. A blank page belongs to the document
    before it.
    """
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.sentences.encoder import load_sentence_encoder

    words = {page.number: page.text.split() for page in pages}
    often = Counter(tuple(own) for own in words.values() if 0 < len(own) <= _SEPARATOR_WORDS)
    sheets = tuple(number for number, own in words.items() if often[tuple(own)] > 1)
    printed = [page for page in pages if words[page.number] and page.number not in sheets]
    if len(printed) < 2:
        return {}, sheets if printed else ()
    meaning = load_sentence_encoder().embed([text for page in printed for text in edge_words(page)])
    fitted, likely = json.loads(FITTED.read_text(encoding="utf-8")), {}
    for at, (before, page) in enumerate(pairwise(printed)):
        between = {*range(before.number + 1, page.number)}
        alike = float(meaning[2 * at + 1] @ meaning[2 * at + 2])
        signs = features(before, page, alike, not between.issubset(sheets), not between.isdisjoint(sheets))
        odds = fitted["bias"] + sum(fitted["features"][name] * value for name, value in signs.items())
        chance = round(float(1 / (1 + np.exp(-odds))), 4)
        likely[page.number] = min(chance, _NUMBERED_GOES_ON) if _goes_on(before, page) else chance
    return likely, sheets


def _goes_on(before: PageFeatures, page: PageFeatures) -> bool:
    """Returns whether a line of a page, wherever it stands, bears the number after that of the page before.

    The lines are alike but for their numbers, and both tell how many pages there are.
    """
    numbered = {mark[:3] for line in before.lines for mark in line.marks() if mark.total}
    return any((mark.number - 1, mark.total, mark.key) in numbered for line in page.lines for mark in line.marks())


def is_several(document: Document) -> bool:
    """Returns whether a page that is the first of some follows one that is the last of some, by their numbers."""
    texts = (document.text[part.start : part.end] for part in document.parts if part.kind == "page")
    lines = ((EdgedLine(line.strip()) for line in text.split("\n")) for text in texts)
    pages = ([mark for line in own for mark in line.marks() if mark.total and mark.alone] for own in lines)
    return any(
        any(mark.number == mark.total for mark in before) and any(mark.number == 1 for mark in page)
        for before, page in pairwise(pages)
    )


def features(before: PageFeatures, page: PageFeatures, alike: float, blank: bool, separator: bool) -> dict[str, float]:
    """Returns what the model weighs of a page and the page before it, as numbers from -1 to 2 by their names.

    `alike` is the cosine of the meanings of one's end and of the other's beginning; `blank` and `separator` tell
    whether a blank page and a separator sheet lie between them.
    """
    ours, marks = _marks(before), _marks(page)
    alone = {mark.number for mark in ours if mark.alone}
    usual = float(np.median([line.height for line in page.lines if line.height > 0] or [math.inf]))
    tallest = max((line.height for line in page.lines if line.top < 0.4), default=0.0)
    letters = [one for line in page.lines[:3] for one in line.text if one.isalpha()]
    labelled = [":" in line[2:26] for line in page.text.split("\n")[:8]]
    known, now = ({token.strip(".:#'\"") for token in _IDENTIFIER.findall(one.text)} for one in (before, page))
    last, first = ([*map(int, _ITEM.findall(one.text))] for one in (before, page))
    item = first[0] - last[-1] if first and last else 0
    return {
        "continues": any((one.number + 1, one.total, one.key) == mark[:3] for one in ours for mark in marks),
        "follows": any(mark.alone and mark.number - 1 in alone for mark in marks),
        "one": any(mark.alone and mark.number == 1 for mark in marks),
        "last_of": any(0 < mark.number == mark.total for mark in ours),
        "not_last": any(mark.number < mark.total for mark in ours),
        "head": _alike(before.lines[:3], page.lines[:3]),
        "foot": _alike(before.lines[-3:], page.lines[-3:]),
        "room": 1 - max((line.bottom for line in before.lines[: -1 if alone else None] if line.bottom > 0), default=1),
        "title": min(2.0, math.log(tallest / usual)) if usual < tallest else 0.0,
        "capitals": sum(map(str.isupper, letters)) / max(1, len(letters)),
        "labels": sum(labelled) / len(labelled),
        "identifiers": len(known & now) / min(len(known), len(now)) if known and now else 0.0,
        "meaning": alike,
        "starts_low": page.text.lstrip()[:1].islower(),
        "item": 1.0 if item == 1 else -1.0 if item < 0 and first[0] <= 1 else 0.0,
        "size": math.dist(sorted(before.size), sorted(page.size)) > 3,
        "blank": blank,
        "separator": separator,
    }


def _marks(page: PageFeatures) -> list[PageMark]:
    return [mark for line in dict.fromkeys((*page.lines[:3], *page.lines[-3:])) for mark in line.marks()]


def _alike(ours: Sequence[EdgedLine], theirs: Sequence[EdgedLine]) -> float:
    """Returns the share of words, numbers aside, that two edges have in common."""
    a, b = ({word for line in lines for word in line.key.split()} for lines in (ours, theirs))
    return len(a & b) / len(a | b) if a | b else 0.0
