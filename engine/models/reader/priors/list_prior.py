"""List prior: the items of a list of texts, dates or numbers begin at lines or commas behind the list's label.

"Present: Anna, Ben", or a name on each line behind or below "Present:", with or without bullets: items begin at lines,
or behind commas, of the labelled text (labels.py). It is a prior for the beginnings of items, as `table_prior.py` is
for lists of objects.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.priors.config import ListPriorConfig
from cinnabar.engine.models.reader.priors.labels import Label, fields_of_record
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores

#: The bullets and numbers of items. "A. Smith" has none.
_MARK = re.compile(
    r"\s*(?:[-–—•*·▪◦‣○●□■]|\(?(?:\d{1,3}|[a-z]|[ivx]{2,4}|[IVX]{2,4})[.)]|\(?[A-Z]\))\s+"
)
#: A comma between two figures separates nothing.
_SEPARATOR = re.compile(r"(?<!\d),|,(?!\d)|[;()\[\]]")
_AND = re.compile(r"\s(?:and|&|or|und|oder|et|ou|y|en)\s+")


class LabelledLine(NamedTuple):
    """A line of the text behind a label, pieces [first, until), and its mark as an item."""

    first: int
    until: int
    mark: re.Match[str] | None


def list_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the beginnings of the items of lists of texts by their labels, `item` at most.

    It also returns those of the items' texts, which begin behind the mark of an item: `text` at most.
    """
    items_of, texts_of = dict[str, Floats](), dict[str, Floats]()
    form, page, labels, config = given.form, given.page, given.labels, given.config.list_prior
    paths = {array.path for array in form.arrays}
    lists = [(i, path) for i, path in enumerate(fields_of_record(form)) if path in paths]
    if not labels or not lists:
        return PriorScores()
    others = {label.cell for label in labels}
    others |= {one.cell for one in page.short if page.text.startswith(":", one.behind)}
    ends = sorted(one.cell for one in labels if _mark_of(int(page.columns.first[one.cell]), page) is None)
    for i, path in lists:
        listed, left = list[tuple[float, list[LabelledLine]]](), config.lines
        for label in labels:
            if label.claims[i] > 0 and left > 0:
                lines = _lines(label, others, page, left, config.indent)
                left -= len(lines)
                if not _is_prose(lines, page, config.prose):
                    listed.append((float(label.claims[i]), lines))
        if listed:
            items_of[path], texts_of[f"{path}/*"] = _scores(listed, ends, left <= 0, page, config)
    return PriorScores(values=texts_of, rows=items_of)


def _scores(
    listed: Sequence[tuple[float, list[LabelledLine]]],
    ends: Sequence[int],
    is_cut: bool,
    page: Page,
    config: ListPriorConfig,
) -> tuple[Floats, Floats]:
    """Returns the scores of one list's items and of their texts, [T] each, by the certainty of its labels and lines.

    ends: the cells of labels, which end a list; is_cut: whether there were more lines than the most that are searched.
    """
    pieces = len(page.columns.pieces)
    items = np.full(pieces, -config.outside * max(sure for sure, _ in listed), np.float32)
    texts = np.zeros(pieces, np.float32)
    for _, lines in listed:
        if len(lines) >= config.long:
            items[lines[-1].until : _first_of(ends, lines[-1].until, page)] = 0.0
    if is_cut:
        _, last = listed[-1]
        items[last[-1].until :] = 0.0
    for sure, lines in listed:
        for line in lines:
            items[line.first : line.until] = -config.inside * sure
        for item, text in _beginnings(lines, page, config.brief):
            items[item], texts[text] = config.item * sure, config.text * sure
    return items, texts


def _lines(label: Label, others: Container[int], page: Page, most: int, indent: int) -> list[LabelledLine]:
    """Returns at most `most` lines of the text behind a label.

    They end before a cell of `others`, which are labels, and before a line that begins more than `indent` left of the
    first one.
    """
    columns, pieces = page.columns, page.columns.pieces
    cell = int(columns.cell[label.first])
    below = columns.line[cell] > columns.line[label.cell]
    left = int(columns.left[label.cell] if below else pieces.extents[label.first, 0])
    lines = [LabelledLine(label.first, _end_of_line(label.first, others, columns), _mark_of(label.first, page))]
    while len(lines) < most:
        above, first = lines[-1].first, lines[-1].until
        if first == len(pieces) or pieces.line[first] == pieces.line[above]:
            break
        mark, cell = _mark_of(first, page), int(columns.cell[first])
        gap = 1 if mark is None else 2
        if int(pieces.line[first] - pieces.line[above]) > gap or columns.left[cell] < left - indent:
            break
        if cell in others and mark is None:
            break
        lines.append(LabelledLine(first, _end_of_line(first, others, columns), mark))
    return lines


def _is_prose(lines: Sequence[LabelledLine], page: Page, most: float) -> bool:
    """Returns whether these lines are a paragraph: none has a mark, and their mean is `most` words or more."""
    if len(lines) < 2 or any(line.mark for line in lines):
        return False
    start, end = page.columns.pieces.start, page.columns.pieces.end
    words = [len(page.text[start[line.first] : end[line.until - 1]].split()) for line in lines]
    return bool(np.mean(words) >= most)


def _first_of(cells: Sequence[int], piece: int, page: Page) -> int:
    """Returns the first piece of the next of these cells, ascending, from this piece on; else the end of the page."""
    columns = page.columns
    if piece == len(columns.pieces):
        return piece
    nearest = bisect_left(cells, int(columns.cell[piece]))
    return int(columns.first[cells[nearest]]) if nearest < len(cells) else len(columns.pieces)


def _end_of_line(piece: int, others: Container[int], columns: Columns) -> int:
    """Returns the piece behind the cells of a line, from that of this piece up to one of `others`."""
    cell = int(columns.cell[piece])
    line = columns.line[cell]
    cell += 1
    while cell < len(columns.line) and columns.line[cell] == line and cell not in others:
        cell += 1
    return int(columns.first[cell])


def _mark_of(first: int, page: Page) -> re.Match[str] | None:
    """Returns the item mark of the line that begins with this piece."""
    return _MARK.match(page.text, int(page.columns.pieces.start[first]))


def _beginnings(lines: Sequence[LabelledLine], page: Page, brief: int) -> Iterator[tuple[int, int]]:
    """Yields the pieces at which items, and their texts, begin: at marked lines, at all lines, or behind commas."""
    pieces, text = page.columns.pieces, page.text
    if any(line.mark for line in lines):
        for first, _, mark in lines:
            words = pieces.at(mark.end()) if mark is not None else lines[-1].until
            if mark is not None and words < lines[-1].until:
                # In training an item begins at its line, unless the mark has letters.
                yield words if any(map(str.isalpha, mark[0])) else first, words
        return
    start, end = int(pieces.start[lines[0].first]), int(pieces.end[lines[-1].until - 1])
    first_line = text[start : pieces.end[lines[0].until - 1]].rstrip()
    if len(lines) > 1 and not first_line.endswith((",", ";")):
        yield from ((line.first, line.first) for line in lines)
        return
    for place in (start, *_behind_separators(text, start, end, brief)):
        yield pieces.at(place), pieces.at(place)


def _behind_separators(text: str, start: int, end: int, brief: int) -> Iterator[int]:
    """Yields the characters behind commas outside of brackets; behind semicolons instead if there are some.

    It also yields the character behind the "and" of a last item of at most `brief` words.
    """
    ends: dict[str, list[int]] = {",": [], ";": []}
    depth = 0
    for match in _SEPARATOR.finditer(text, start, end):
        if match[0] in ends:
            if depth == 0 and match.end() < end:
                ends[match[0]].append(match.end())
        else:
            depth = max(0, depth + (1 if match[0] in "([" else -1))
    behind = ends[";"] or ends[","]
    yield from behind
    last = _AND.search(text, behind[-1], end) if behind else None
    if last is not None and len(text[last.end() : end].split()) <= brief:
        yield last.end()
