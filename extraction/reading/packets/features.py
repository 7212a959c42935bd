"""Compares a page of a packet with the pages around it, as numbers that a model weighs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.reading.packets.signs import Line, PageSigns

Floats = npt.NDArray[np.float32]
#: The features of a page and the page before it, in the order of their weights: page numbers that go on, headers and
#: footers, size, turn and scan, edges of the text, numbers and dates of both, likeness in meaning, numbered lines that
#: go on; then those of the page itself, of the one before, of the one after, and of what lies between.
FEATURES = (
    "continues", "follows", "head", "foot", "size", "turned", "scanned", "left", "right", "identifiers",
    "no_identifiers", "begin_begin", "end_begin", "item",
    "one", "title", "capitals", "labels", "first_lines", "starts_low",
    "last_of", "not_last", "room", "hyphen", "next_two", "blank", "separator",
)  # fmt: skip
# The first lines of a page that a letterhead may take, and those among which labels are counted.
_FIRST, _LABELLED = 4, 8


def pair_features(pages: Sequence[PageSigns], meaning: Floats, gaps: Sequence[tuple[bool, bool]]) -> Floats:
    """Returns the features of each page but the first as one that a document begins on: [N - 1, FEATURES].

    meaning: [N, 2, 384] unit vectors of the beginning and of the end of each page. gaps: whether a blank page and
    whether a separator sheet lie before each page.
    """
    rows = []
    for at in range(1, len(pages)):
        before, page = pages[at - 1], pages[at]
        following = pages[at + 1].marks if at + 1 < len(pages) else []
        two = any(mark.number == 2 and mark.alone for mark in following)
        alike = float(meaning[at - 1, 0] @ meaning[at, 0]), float(meaning[at - 1, 1] @ meaning[at, 0])
        rows.append([*_pair(before, page, alike), *_own(page), *_before(before), two, *gaps[at]])
    return np.array(rows, np.float32).reshape(-1, len(FEATURES))


def _pair(before: PageSigns, page: PageSigns, alike: tuple[float, float]) -> list[float]:
    ours = {(mark.key, mark.number, mark.total) for mark in before.marks}
    alone = {mark.number for mark in before.marks if mark.alone}
    known, now = before.identifiers, page.identifiers
    (left, right, _), (own_left, own_right, _) = _shape(before), _shape(page)
    return [
        any((mark.key, mark.number - 1, mark.total) in ours for mark in page.marks),
        any(mark.alone and mark.number - 1 in alone for mark in page.marks),
        _alike(before.lines[:3], page.lines[:3]),
        _alike(before.lines[-3:], page.lines[-3:]),
        math.dist(sorted(before.size), sorted(page.size)) > 3,
        (before.size[0] > before.size[1]) != (page.size[0] > page.size[1]),
        before.scanned != page.scanned,
        min(1.0, 10 * abs(left - own_left)),
        min(1.0, 5 * abs(right - own_right)),
        len(known & now) / min(len(known), len(now)) if known and now else 0.0,
        not (known and now),
        *alike,
        _goes_on(before.items[-1], page.items[0]) if before.items and page.items else 0.0,
    ]


def _own(page: PageSigns) -> list[float]:
    usual = _shape(page)[2]
    tallest = max((line.height for line in page.lines if line.top < 0.4), default=0.0)
    first = page.body[:_FIRST]
    letters = [character for line in first[:3] for character in line if character.isalpha()]
    labelled = [":" in line[2:26] for line in page.order[:_LABELLED]]
    return [
        any(mark.number == 1 and mark.alone for mark in page.marks),
        min(2.0, math.log(tallest / usual)) if 0 < usual < tallest else 0.0,
        sum(map(str.isupper, letters)) / max(1, len(letters)),
        sum(labelled) / max(1, len(labelled)),
        min(1.0, sum(map(len, first)) / max(1, len(first)) / 80),
        bool(first) and first[0][:1].islower(),
    ]


def _before(page: PageSigns) -> list[float]:
    """Returns the features of the page before: its number is the last one, or is not, its lower part is empty, a
    sentence goes on.
    """
    numbered = any(mark.alone for mark in page.marks)
    bottoms = [line.bottom for line in page.lines[: -1 if numbered else None] if line.bottom > 0]
    return [
        any(mark.total and mark.number == mark.total for mark in page.marks),
        any(mark.number < mark.total for mark in page.marks),
        1 - max(bottoms, default=1.0),
        bool(page.body) and page.body[-1][-1:] in "-,",
    ]


def _shape(page: PageSigns) -> tuple[float, float, float]:
    """Returns the left and right edge of the text as shares of the page, and the usual height of words in points."""
    lines = [(line.left, line.right, line.height) for line in page.lines if line.height > 0]
    if not lines:
        return 0.0, 1.0, 0.0
    left, right, height = np.array(lines).T
    return float(np.quantile(left, 0.2)), float(np.quantile(right, 0.9)), float(np.median(height))


def _alike(ours: Sequence[Line], theirs: Sequence[Line]) -> float:
    """Returns the share of words, numbers aside, that two edges have in common."""
    a, b = ({word for line in lines for word in line.key.split()} for lines in (ours, theirs))
    return len(a & b) / len(a | b) if a | b else 0.0


def _goes_on(last: str, first: str) -> float:
    """Returns 1 if one numbered item follows another, -1 if the numbers begin again, else 0."""
    if last.isdigit() and first.isdigit():
        return 1.0 if int(first) == int(last) + 1 else -1.0 if int(first) <= 1 else 0.0
    return float(len(last) == len(first) == 1 and ord(first) == ord(last) + 1)
