"""Compares a page of a packet with the pages around it, as numbers that a model weighs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.reading.packets.signs import Line, PageMark, PageSigns

Floats = npt.NDArray[np.float32]
#: The features of a pair of pages.
_PAIR = (
    "continues", "continues_sure", "follows", "marks_differ", "head", "foot", "head_line", "foot_line", "size",
    "turned", "scanned", "height", "left", "right", "top", "identifiers", "no_identifiers", "names", "vocabulary",
    "begin_begin", "end_begin", "begin_end", "item",
)  # fmt: skip
#: Those of the page itself, and of the one before it.
_OWN = (
    "one", "one_of", "later", "no_mark", "title", "capitals", "starts_low", "labels", "at", "starts_at", "few",
    "first_lines",
)  # fmt: skip
_BEFORE = ("last_of", "not_last", "room", "stops", "hyphen", "before_few", "before_mark")
#: All features, in the order of the model's weights; `next_…` compares the page with the one after it.
FEATURES = (*_PAIR, *(f"next_{one}" for one in _PAIR), *_OWN, *_BEFORE, "next_two", "blank", "separator")

_STOPS = ".:;!?。)\"”'"


def pair_features(pages: Sequence[PageSigns], meaning: Floats, gaps: Sequence[tuple[bool, bool]]) -> Floats:
    """Returns the features of each page but the first as one that a document begins on: [N - 1, FEATURES].

    meaning: [N, 2, 384] vectors of the beginning and of the end of each page. gaps: whether a blank page and whether a
    separator sheet lie before each page.
    """
    pairs = [_pair(a, b, meaning[at], meaning[at + 1]) for at, (a, b) in enumerate(zip(pages, pages[1:], strict=False))]
    rows = []
    for at in range(1, len(pages)):
        following = pairs[at] if at < len(pairs) else [0.0] * len(_PAIR)
        after = pages[at + 1].marks() if at + 1 < len(pages) else []
        two = any(mark.number == 2 and mark.sure for mark in after)
        rows.append(
            [*pairs[at - 1], *following, *_own(pages[at]), *_before(pages[at - 1]), two, *map(float, gaps[at])]
        )
    return np.array(rows, np.float32).reshape(-1, len(FEATURES))


def _pair(a: PageSigns, b: PageSigns, first: Floats, second: Floats) -> list[float]:
    ours, theirs = a.marks(), b.marks()
    keyed = {(mark.key, mark.number, mark.total) for mark in ours}
    sure = {mark.number for mark in ours if mark.sure}
    later = [mark for mark in theirs if (mark.key, mark.number - 1, mark.total) in keyed]
    follows = any(mark.sure and mark.number - 1 in sure for mark in theirs)
    own, other = _body_shape(a), _body_shape(b)
    known, same = a.identifiers(), b.identifiers()
    return [
        bool(later),
        any(mark.sure for mark in later),
        follows,
        bool(sure) and any(mark.sure for mark in theirs) and not follows,
        _alike(a.head, b.head),
        _alike(a.foot, b.foot),
        bool(a.head and b.head) and a.head[0].key == b.head[0].key,
        bool(a.foot and b.foot) and a.foot[-1].key == b.foot[-1].key,
        math.dist(sorted(a.size), sorted(b.size)) > 3,
        (a.size[0] > a.size[1]) != (b.size[0] > b.size[1]),
        a.scanned != b.scanned,
        min(1.0, 3 * abs(math.log(own[0] / other[0]))) if own[0] > 0 and other[0] > 0 else 0.0,
        min(1.0, 10 * abs(own[1] - other[1])),
        min(1.0, 5 * abs(own[2] - other[2])),
        min(1.0, 10 * abs(own[3] - other[3])),
        _contained(known, same),
        not (known and same),
        _contained(a.names(), b.names()),
        _contained(a.vocabulary(), b.vocabulary()),
        float(first[0] @ second[0]),
        float(first[1] @ second[0]),
        float(first[0] @ second[1]),
        _goes_on(a.last_item(), b.first_item()),
    ]


def _own(page: PageSigns) -> list[float]:
    marks, body = page.marks(), page.body()
    sure = [mark for mark in marks if mark.sure]
    usual = _body_shape(page)[0]
    upper = [line for line in page.lines if line.top < 0.4]
    tallest = max((line.height for line in upper), default=0.0)
    first = body[0] if body else ""
    return [
        any(mark.number == 1 for mark in sure),
        any(mark.number == 1 and mark.total for mark in marks),
        any(mark.number > 1 for mark in sure),
        not sure,
        min(2.0, math.log(tallest / usual)) if usual > 0 and tallest > usual else 0.0,
        _capitals(body[:3]),
        first[:1].islower(),
        page.labels(),
        any("@" in line for line in body[:8]),
        page.lines[0].top if page.lines and page.lines[0].top == page.lines[0].top else 0.0,
        page.words < 60,
        min(1.0, float(np.mean([len(line) for line in body[:4]])) / 80) if body else 0.0,
    ]


def _before(page: PageSigns) -> list[float]:
    marks, body = page.marks(), page.body()
    bottoms = [line.bottom for line in page.lines[: -1 if any(m.sure for m in marks) else None] if line.bottom > 0]
    last = body[-1] if body else ""
    return [
        any(mark.total and mark.number == mark.total for mark in marks),
        any(mark.number < mark.total for mark in marks),
        1 - max(bottoms, default=1.0),
        last[-1:] in _STOPS,
        last[-1:] in "-,",
        page.words < 60,
        any(mark.sure for mark in marks),
    ]


def _body_shape(page: PageSigns) -> tuple[float, float, float, float]:
    """Returns the usual height of words in points, the left and right edge and the first line, as shares of the page.
    """
    lines = [line for line in page.lines if line.height > 0]
    if not lines:
        return 0.0, 0.0, 1.0, 0.0
    left, right = np.quantile([line.left for line in lines], 0.2), np.quantile([line.right for line in lines], 0.9)
    return float(np.median([line.height for line in lines])), float(left), float(right), lines[0].top


def _alike(ours: Sequence[Line], theirs: Sequence[Line]) -> float:
    """Returns how much of the edges of two pages is the same, 0 to 1."""
    a = {word for line in ours for word in line.key.split()}
    b = {word for line in theirs for word in line.key.split()}
    return len(a & b) / len(a | b) if a | b else 0.0


def _contained(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _capitals(lines: Sequence[str]) -> float:
    letters = [c for line in lines for c in line if c.isalpha()]
    return sum(c.isupper() for c in letters) / len(letters) if letters else 0.0


def _goes_on(last: str, first: str) -> float:
    """Returns 1 if one numbered item follows another, -1 if the numbers begin again, else 0."""
    if last.isdigit() and first.isdigit():
        return 1.0 if int(first) == int(last) + 1 else -1.0 if int(first) <= 1 else 0.0
    return 1.0 if len(last) == len(first) == 1 and ord(first) == ord(last) + 1 else 0.0
