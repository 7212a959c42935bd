"""Arranges the words of a page in lines as a reader sees them: columns apart, table rows on one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.pdf.bidi import read_line
from cinnabar.extraction.documents.pdf.glyphs import OBLIQUE, PageWords, turn_boxes

#: A gutter between columns of prose needs this many lines on each side, so many words a line, and lines that fill this
#: share of their column. Tables have cells of one to three words and stay row by row.
COLUMN_LINES = 6
COLUMN_WORDS = 4
COLUMN_FILL = 0.6
COLUMN_DIGITS = 0.3
#: A word belongs to a later line only if that line overlaps it by this much more than an earlier one.
CLEARLY_LATER = 0.1
_Floats = npt.NDArray[np.float64]

_MAX_GAP = 8
# Vertical writing runs down, and its columns from right to left, as text does that is turned by a quarter to the right.
_DOWNWARD, _MAX_PAIRS = 3, 2_000_000
# Boxes to tick, drawn and typed: a column whose lines begin with them has its questions in the column beside it.
_BOX = re.compile(r"[☐☒⍰]|\[[xX]?\]?|_+[xX]?_*")


@dataclass(slots=True)
class WordLine:
    """Indices of words that stand side by side, and their mean extent (points, downwards)."""

    words: list[int] = field(default_factory=list)
    top: float = 0.0
    bottom: float = 0.0


def linearise(page: PageWords) -> tuple[list[int], list[str]]:
    """Returns the reading order of a page's words, and the blanks before each.

    The commonest angle comes first; text at other angles follows, each angle apart.
    """
    order: list[int] = []
    gaps: list[str] = []
    turn_of = np.where(_in_columns(page), _DOWNWARD, page.turn)
    counts = np.bincount(turn_of, minlength=OBLIQUE + 1)
    for turn in sorted(range(OBLIQUE + 1), key=lambda t: (t == OBLIQUE, -int(counts[t]))):
        index = np.flatnonzero(turn_of == turn).tolist()
        if not index:
            continue
        box = turn_boxes(page.box, turn_of)
        own_order, blanks = _read(index, box, page)
        if order and blanks:
            blanks[0] = "\n\n"
        order += own_order
        gaps += blanks
    return order, gaps


def _in_columns(page: PageWords) -> npt.NDArray[np.bool_]:
    """Returns [W], true for upright words in vertical writing, also for single characters above or below such words."""
    columns: npt.NDArray[np.bool_] = page.vertical & (page.turn == 0)
    single = np.array([len(word) == 1 for word in page.text]) & (page.turn == 0)
    # The bound keeps a page of a million characters from a search without end.
    if 0 < int(columns.sum()) * int(single.sum()) < _MAX_PAIRS:
        sides = page.box[columns]
        middle = (page.box[:, :2] + page.box[:, 2:]) / 2
        for at in np.flatnonzero(single).tolist():
            x, y = middle[at]
            within = (sides[:, 0] < x) & (x < sides[:, 2])
            near = np.maximum(sides[:, 1] - y, y - sides[:, 3]) < 2.0 * (sides[:, 2] - sides[:, 0])
            columns[at] = bool((within & near).any())
    return columns


def _read(index: list[int], box: _Floats, page: PageWords) -> tuple[list[int], list[str]]:
    rows = box.tolist()
    index = _without_doubles(index, rows, page.text)
    has_rtl = bool(page.rtl[index].any())
    order: list[int] = []
    gaps: list[str] = []
    for region in _regions(index, box, rows, page.text, depth=0):
        # The usual distance between lines in points; fewer than four lines have none.
        pitch = float(np.median(np.diff([line.bottom for line in region]))) if len(region) >= 4 else 0.0
        left = min(rows[i][0] for line in region for i in line.words)
        above: WordLine | None = None
        for line in region:
            words = line.words
            beside = [True] * len(words)
            if has_rtl:
                order_of = read_line(page.rtl[words].tolist(), [page.text[i] for i in words])
                words = [words[at] for at in order_of]
                beside = [abs(one - other) == 1 for one, other in pairwise(order_of)]
            height = max(line.bottom - line.top, 1.0)
            if not order:
                first = ""
            elif above is None:
                first = "\n\n"
            else:
                space, step = line.top - above.bottom, line.bottom - above.bottom
                first = "\n\n" if space > 0.5 * height and step > 1.3 * pitch else "\n"
            indent = 0.0 if page.rtl[words[0]] else rows[words[0]][0] - left
            first += " " * (min(_MAX_GAP, round(indent / height)) if indent > 2.0 * height else 0)
            order += words
            gaps.append(first)
            narrow = 0.75 * height
            for (before, after), near in zip(pairwise(words), beside, strict=False):
                a, b = rows[before], rows[after]
                # The ends of two runs of different directions stand apart, however close the runs are.
                gap = max(b[0] - a[2], a[0] - b[2]) if near else 0.0
                gaps.append(" " if gap <= narrow else _blanks(gap, height))
            above = line
    return order, gaps


def _blanks(gap: float, height: float) -> str:
    """Returns two to eight blanks for a gap wider than a letter is high."""
    return " " * max(2, min(_MAX_GAP, 1 + round(gap / height)))


def _without_doubles(index: list[int], rows: list[list[float]], text: list[str]) -> list[int]:
    """Returns `index` without words that are printed twice at one place to look bold."""
    # By the square of two points that they begin in; a double begins there or in a square beside it.
    seen: dict[tuple[str, int, int], list[list[float]]] = {}
    kept = []
    times = Counter(text[i] for i in index)
    for i in index:
        if times[text[i]] == 1:
            kept.append(i)
            continue
        row = rows[i]
        across, down = int(row[0] // 2.0), int(row[1] // 2.0)
        near = (seen.get((text[i], across + x, down + y), ()) for x in (-1, 0, 1) for y in (-1, 0, 1))
        if any(abs(row[0] - one[0]) < 2.0 and abs(row[1] - one[1]) < 2.0 for ones in near for one in ones):
            continue
        seen.setdefault((text[i], across, down), []).append(row)
        kept.append(i)
    return kept


def _segments(index: npt.NDArray[np.int64], box: _Floats) -> npt.NDArray[np.int64]:
    """Returns the places in `index`, words in reading order, at which a segment begins.

    Neighbours in the content stream that are not close on one line belong to two. The segments save most of the search
    for lines, and keep a skewed line whole.
    """
    before, after = box[index[:-1]], box[index[1:]]
    height = np.maximum(np.minimum(before[:, 3] - before[:, 1], after[:, 3] - after[:, 1]), 0.1)
    overlap = np.minimum(before[:, 3], after[:, 3]) - np.maximum(before[:, 1], after[:, 1])
    gap = after[:, 0] - before[:, 2]
    apart = (overlap < 0.7 * height) | (gap < -0.3 * height) | (gap > 0.7 * height)
    return np.concatenate(([0], np.flatnonzero(apart) + 1))


def _sides_of(words: _Floats, start: npt.NDArray[np.int64]) -> list[tuple[float, float, float, float]]:
    """Returns the left end, the mean top, the right end and the mean bottom of each segment.

    words: [W, 4] the boxes of the words. start: [S] the first word of each segment.
    """
    size = np.diff(start, append=len(words))
    left, right = np.minimum.reduceat(words[:, 0], start), np.maximum.reduceat(words[:, 2], start)
    middle = np.add.reduceat(words[:, [1, 3]], start) / size[:, None]
    return list(zip(left.tolist(), middle[:, 0].tolist(), right.tolist(), middle[:, 1].tolist(), strict=True))


def _covers(taken: Sequence[tuple[float, float]], x0: float, x1: float, plain: bool) -> bool:
    """Returns True if a piece from x0 to x1 and a taken one share more than half of the narrower one.

    plain: true if no piece is turned inside out.
    """
    for a, b in taken:
        if plain and (a >= x1 or b <= x0):
            continue
        if min(x1, b) - max(x0, a) > 0.5 * min(x1 - x0, b - a):
            return True
    return False


def _lines(index: Sequence[int], box: _Floats, rows: list[list[float]]) -> list[WordLine]:
    """Joins words in a line if their extents overlap by half of the smaller one and they do not cover each other."""
    ordered = np.sort(np.asarray(index, np.int64))
    start = _segments(ordered, box)
    sides = _sides_of(box[ordered], start)
    all_words, bounds = ordered.tolist(), [*start.tolist(), len(ordered)]
    lines: list[WordLine] = []
    taken: list[list[tuple[float, float]]] = []
    # The sides of each line; a piece beside them covers nothing of it, unless some box is turned inside out.
    plain = all(x0 <= x1 for x0, _, x1, _ in sides)
    ends: list[tuple[float, float]] = []
    for s in sorted(range(len(sides)), key=lambda s: sides[s][1] + sides[s][3]):
        x0, top, x1, bottom = sides[s]
        height = max(bottom - top, 0.1)
        best, best_overlap = -1, 0.5
        for candidate in range(max(0, len(lines) - 4), len(lines)):
            line = lines[candidate]
            low, high = line.bottom, line.top
            overlap = (bottom if bottom < low else low) - (top if top > high else high)
            depth = low - high if low - high > 0.1 else 0.1
            share = overlap / (height if height < depth else depth)
            # A word printed over another one begins a line of its own, about as high: later words belong to the older
            # line.
            if share <= best_overlap + (CLEARLY_LATER if best >= 0 else 0.0):
                continue
            left, right = ends[candidate]
            beside = plain and (x0 >= right or x1 <= left)
            if not beside and _covers(taken[candidate], x0, x1, plain):
                continue
            best, best_overlap = candidate, share
        words = all_words[bounds[s] : bounds[s + 1]]
        if best < 0:
            lines.append(WordLine(words, top, bottom))
            taken.append([(x0, x1)])
            ends.append((x0, x1))
        else:
            line = lines[best]
            weight = len(words) / (len(line.words) + len(words))
            line.top += (top - line.top) * weight
            line.bottom += (bottom - line.bottom) * weight
            line.words += words
            taken[best].append((x0, x1))
            ends[best] = min(x0, ends[best][0]), max(x1, ends[best][1])
    lines.sort(key=lambda line: line.top + line.bottom)
    for line in lines:
        line.words.sort(key=lambda i: rows[i][0])
    return lines


def _regions(
    index: Sequence[int], box: _Floats, rows: list[list[float]], text: list[str], depth: int
) -> list[list[WordLine]]:
    """Cuts the page into regions, each read line by line, and returns them in reading order."""
    if not index:
        return []
    lines = _lines(index, box, rows)
    if depth >= 6 or len(lines) < COLUMN_LINES:
        return [lines]
    gutter = _gutter(lines, box, text)
    if gutter is None:
        return [lines]
    first, last, x = gutter
    above = [i for line in lines[:first] for i in line.words]
    inside = [i for line in lines[first:last] for i in line.words]
    below = [i for line in lines[last:] for i in line.words]
    left = [i for i in inside if rows[i][0] + rows[i][2] < 2 * x]
    right = [i for i in inside if rows[i][0] + rows[i][2] >= 2 * x]
    pieces = (above, left, right, below)
    return [region for piece in pieces for region in _regions(piece, box, rows, text, depth + 1)]


def _gutter(lines: list[WordLine], box: _Floats, text: list[str]) -> tuple[int, int, float] | None:
    """Returns a vertical gap with prose on both sides: its lines [first, last) and its middle x; None without one."""
    words = np.array([i for line in lines for i in line.words])
    row = np.repeat(np.arange(len(lines)), [len(line.words) for line in lines])
    x0, x1 = box[words, 0], box[words, 2]
    height = max(float(np.median(box[words, 3] - box[words, 1])), 1.0)
    left, right = float(x0.min()), float(x1.max())
    if right - left < 20 * height:
        return None
    step = max(0.25 * height, (right - left) / 400)
    columns = int((right - left) / step) + 2
    change = np.zeros((len(lines), columns + 1), np.int32)
    np.add.at(change, (row, ((x0 - left) / step).astype(int)), 1)
    np.add.at(change, (row, np.minimum(((x1 - left) / step).astype(int) + 1, columns)), -1)
    filled = np.cumsum(change, axis=1)[:, :columns] > 0
    # A window of 0.75 line heights around each x must be free.
    half = max(1, round(0.375 * height / step))
    total = np.cumsum(np.pad(filled, ((0, 0), (half + 1, half))), axis=1)
    free = total[:, 2 * half + 1 :] == total[:, : -2 * half - 1]
    width = free.shape[1]
    has_left = np.cumsum(filled, axis=1)[:, :width] > 0
    has_right = np.cumsum(filled[:, ::-1], axis=1)[:, ::-1][:, :width] > 0
    both = free & has_left & has_right
    score = both.sum(axis=0)
    edge = max(1, int(0.15 * width))
    score[:edge] = 0
    score[width - edge :] = 0
    peak = int(score.max())
    if peak < COLUMN_LINES:
        return None
    at = np.flatnonzero(score == peak)
    # The middle of the first plateau.
    plateau = at[: int(np.argmax(np.append(np.diff(at) > 1, True))) + 1]
    x = int(plateau[len(plateau) // 2])
    first, last = _longest(free[:, x], both[:, x])
    # Lines with one side at the beginning stand above the columns; the left column may be the longer one.
    while first < last and not both[first, x]:
        first += 1
    for row_ in range(first + 1, last):
        if lines[row_].top - lines[row_ - 1].bottom > 3.0 * height and not both[row_:last, x].any():
            last = row_
            break
    middle = left + x * step
    sides = ([], []) if last - first < COLUMN_LINES else _sides(lines[first:last], box, middle)
    ticked = sum(any(_BOX.fullmatch(text[word]) for word in line[:2]) for line in sides[1])
    if 2 * ticked > len(sides[1]):
        return None
    if all(_is_prose(side, box, text, height, right - left) for side in sides):
        return first, last, middle
    return None


def _longest(free: npt.NDArray[np.bool_], both: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Returns the run [first, last) of free lines that holds most lines with words on both sides."""
    walls = np.concatenate(([-1], np.flatnonzero(~free), [len(free)]))
    sums = np.concatenate(([0], np.cumsum(both)))
    held = sums[walls[1:]] - sums[walls[:-1] + 1]
    best = int(np.argmax(held))
    return int(walls[best]) + 1, int(walls[best + 1])


def _sides(lines: Sequence[WordLine], box: _Floats, x: float) -> tuple[list[list[int]], list[list[int]]]:
    left: list[list[int]] = []
    right: list[list[int]] = []
    for line in lines:
        a = [i for i in line.words if box[i, 0] + box[i, 2] < 2 * x]
        b = [i for i in line.words if box[i, 0] + box[i, 2] >= 2 * x]
        if a:
            left.append(a)
        if b:
            right.append(b)
    return left, right


def _is_prose(side: list[list[int]], box: _Floats, text: list[str], height: float, page: float) -> bool:
    """Returns True if one side of a gutter is prose: full lines of several words with one left edge."""
    if len(side) < COLUMN_LINES:
        return False
    starts = np.array([box[line[0], 0] for line in side])
    ends = np.array([box[line[-1], 2] for line in side])
    width = float(np.quantile(ends, 0.9) - np.quantile(starts, 0.1))
    if width < 0.15 * page or float(np.median([len(line) for line in side])) < COLUMN_WORDS:
        return False
    if float(np.median(ends - starts)) < COLUMN_FILL * width:
        return False
    edge = np.median(starts)
    if float(np.mean(np.abs(starts - edge) < 1.5 * height)) < 0.6:
        return False
    letters = "".join(text[i] for line in side for i in line)
    return sum(map(str.isdigit, letters)) <= COLUMN_DIGITS * len(letters)
