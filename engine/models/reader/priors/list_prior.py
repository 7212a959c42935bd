"""Where the items of a list of texts, dates or numbers begin, by the list's label.

"Present: Anna, Ben", or a name on each line behind or below "Present:", with or without bullets: items begin
at lines, or behind commas, of what the label stands before (labels.py). A prior for the places where items
begin, as `tables.py` is for lists of objects.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.priors.label_prior import Label, fields_of_record
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.schemas.form.form import Form

#: How much likelier (a natural logarithm) an item begins at a line or behind a comma of what its list's label
#: stands before, how much less elsewhere in it, and how much less on the rest of the page.
ITEM, INSIDE, OUTSIDE = 5.0, 3.0, 2.0
#: Words of the last item, at most, for it to begin behind an "and".
BRIEF = 4
#: How much likelier the text of an item starts where it begins.
OWN = 2.0
#: How far left of the first line the others may begin, in the units of `Pieces.left`.
INDENT = 30
#: Lines that are looked at for a list, behind all of its labels.
LINES = 10_000
#: Words of a list's lines, in the mean, from which on they are no list but a paragraph.
PROSE = 9.0
#: Lines from which on a list may go on behind its end, up to the next label: where a page ends, its number
#: and a heading stand in between. Of 400 items on nine pages 57 were found without this, 393 with it.
LONG = 8
#: "A. Smith" is marked by nothing.
_MARK = re.compile(
    r"\s*(?:[-–—•*·▪◦‣○●□■]|\(?(?:\d{1,3}|[a-z]|[ivx]{2,4}|[IVX]{2,4})[.)]|\(?[A-Z]\))\s+"
)
#: Between two figures a comma separates nothing.
_SEPARATOR = re.compile(r"(?<!\d),|,(?!\d)|[;()\[\]]")
_AND = re.compile(r"\s(?:and|&|or|und|oder|et|ou|y|en)\s+")


class Line(NamedTuple):
    """A line of what a label stands before, pieces [first, until), and what marks it as an item."""

    first: int
    until: int
    mark: re.Match[str] | None


def told_by_listings(
    form: Form, labels: Sequence[Label], page: Page
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """What labels say of where the items of lists of texts begin, by the lists' paths, [T], ITEM at most.

    And of where their texts do, behind what marks an item, by the items' paths: OWN at most.
    """
    items_of, texts_of = dict[str, Floats](), dict[str, Floats]()
    paths = {array.path for array in form.arrays}
    lists = [(i, path) for i, path in enumerate(fields_of_record(form)) if path in paths]
    if not labels or not lists:
        return items_of, texts_of
    others = {label.cell for label in labels}
    others |= {one.cell for one in page.short if page.text.startswith(":", one.behind)}
    ends = sorted(one.cell for one in labels if _mark_of(int(page.columns.first[one.cell]), page) is None)
    for i, path in lists:
        listed, left = list[tuple[float, list[Line]]](), LINES
        for label in labels:
            if label.claims[i] > 0 and left > 0:
                lines = _lines(label, others, page, left)
                left -= len(lines)
                if not _is_prose(lines, page):
                    listed.append((float(label.claims[i]), lines))
        if not listed:
            continue
        pieces = len(page.columns.pieces)
        items = np.full(pieces, -OUTSIDE * max(sure for sure, _ in listed), np.float32)
        texts = np.zeros(pieces, np.float32)
        for _, lines in listed:
            if len(lines) >= LONG:
                items[lines[-1].until : _first_of(ends, lines[-1].until, page)] = 0.0
        if left <= 0:
            _, last = listed[-1]
            items[last[-1].until :] = 0.0
        for sure, lines in listed:
            for line in lines:
                items[line.first : line.until] = -INSIDE * sure
            for item, text in _beginnings(lines, page):
                items[item], texts[text] = ITEM * sure, OWN * sure
        items_of[path], texts_of[f"{path}/*"] = items, texts
    return items_of, texts_of


def _lines(label: Label, others: Container[int], page: Page, most: int) -> list[Line]:
    """The lines of what a label stands before, `most` of them.

    They end before a cell of `others`, which are labels.
    """
    columns, pieces = page.columns, page.columns.pieces
    cell = int(columns.cell[label.first])
    below = columns.line[cell] > columns.line[label.cell]
    left = int(columns.left[label.cell] if below else pieces.extents[label.first, 0])
    lines = [Line(label.first, _end_of_line(label.first, others, columns), _mark_of(label.first, page))]
    while len(lines) < most:
        above, first = lines[-1].first, lines[-1].until
        if first == len(pieces) or pieces.line[first] == pieces.line[above]:
            break
        mark, cell = _mark_of(first, page), int(columns.cell[first])
        gap = 1 if mark is None else 2
        if int(pieces.line[first] - pieces.line[above]) > gap or columns.left[cell] < left - INDENT:
            break
        if cell in others and mark is None:
            break
        lines.append(Line(first, _end_of_line(first, others, columns), mark))
    return lines


def _is_prose(lines: Sequence[Line], page: Page) -> bool:
    """Whether these lines are a paragraph: long ones, of which none is marked."""
    if len(lines) < 2 or any(line.mark for line in lines):
        return False
    start, end = page.columns.pieces.start, page.columns.pieces.end
    words = [len(page.text[start[line.first] : end[line.until - 1]].split()) for line in lines]
    return bool(np.mean(words) >= PROSE)


def _first_of(cells: Sequence[int], piece: int, page: Page) -> int:
    """The first piece of the next of these cells, ascending, from this piece on; else the end of the page."""
    columns = page.columns
    if piece == len(columns.pieces):
        return piece
    nearest = bisect_left(cells, int(columns.cell[piece]))
    return int(columns.first[cells[nearest]]) if nearest < len(cells) else len(columns.pieces)


def _end_of_line(piece: int, others: Container[int], columns: Columns) -> int:
    """The piece behind the cells of a line, from that of this piece up to one of `others`."""
    cell = int(columns.cell[piece])
    line = columns.line[cell]
    cell += 1
    while cell < len(columns.line) and columns.line[cell] == line and cell not in others:
        cell += 1
    return int(columns.first[cell])


def _mark_of(first: int, page: Page) -> re.Match[str] | None:
    """What marks the line that begins with this piece as an item."""
    return _MARK.match(page.text, int(page.columns.pieces.start[first]))


def _beginnings(lines: Sequence[Line], page: Page) -> Iterator[tuple[int, int]]:
    """The pieces at which items, and their texts, begin: at marked lines, at all lines, or behind commas."""
    pieces, text = page.columns.pieces, page.text
    if any(line.mark for line in lines):
        for first, _, mark in lines:
            words = pieces.at(mark.end()) if mark is not None else lines[-1].until
            if mark is not None and words < lines[-1].until:
                # Training has items begin at their line, unless letters stand before them.
                yield words if any(map(str.isalpha, mark[0])) else first, words
        return
    start, end = int(pieces.start[lines[0].first]), int(pieces.end[lines[-1].until - 1])
    first_line = text[start : pieces.end[lines[0].until - 1]].rstrip()
    if len(lines) > 1 and not first_line.endswith((",", ";")):
        yield from ((line.first, line.first) for line in lines)
        return
    for place in (start, *_behind_separators(text, start, end)):
        yield pieces.at(place), pieces.at(place)


def _behind_separators(text: str, start: int, end: int) -> Iterator[int]:
    """The characters behind commas that stand in no brackets; behind semicolons where there are some.

    And behind the "and" of a short last item.
    """
    found: dict[str, list[int]] = {",": [], ";": []}
    depth = 0
    for match in _SEPARATOR.finditer(text, start, end):
        if match[0] in found:
            if depth == 0 and match.end() < end:
                found[match[0]].append(match.end())
        else:
            depth = max(0, depth + (1 if match[0] in "([" else -1))
    behind = found[";"] or found[","]
    yield from behind
    last = _AND.search(text, behind[-1], end) if behind else None
    if last is not None and len(text[last.end() : end].split()) <= BRIEF:
        yield last.end()
