"""Whose block a place of a page lies in: the heading above it may name an object or a list of the form.

Two parties of a document have fields of the same names, and the label before a value tells only which field
it is. The names of the objects are looked for among the cells of the page: a short cell with the words of one
is its heading, and what stands below it, up to the next heading, is told of that object. A lexical prior for
the pointers, as `labels.py` is for fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.questions import words_of
from cinnabar.engine.models.reader.priors.name_matching import (
    Floats,
    Naming,
    Page,
    Short,
    Words,
    asked_for,
)
from cinnabar.schemas.form.form import Form, Slot, walk
from cinnabar.schemas.pointers import above, unescape

#: How much likelier (a natural logarithm) a value starts below its object's heading, and how much less below
#: that of an object with fields of the same names.
OWN, OTHERS = 2.5, 2.5
#: Of the fields of the one with fewer, the share of names that makes two objects rivals.
SAME_NAMES = 0.5
#: Least share of an object's words, and of the heading's, that makes a heading.
LEAST = 0.65
#: Lines below a heading over which it counts for a third, where nothing stands behind it, and where its line
#: goes on; and lines after which it is over.
ALONE, BESIDE, OVER = 14.0, 6.0, 16
#: How far left of its heading a block may begin, in the units of `Pieces.left`.
INDENT = 40


@dataclass(frozen=True, slots=True)
class Thing:
    """An object or list: the names that it and those around it go by, those of its fields, its description.

    The fields of a list are none of the record: any two lists are rivals.
    """

    names: tuple[Words, ...]
    fields: frozenset[str]
    note: Words = ()

    def is_rival(self, other: Thing) -> bool:
        """Whether a value may be taken for one of the other's, by its label."""
        return len(self.fields & other.fields) >= SAME_NAMES * min(len(self.fields), len(other.fields))


Objects = Mapping[str, Thing]


@dataclass(frozen=True, slots=True)
class Heading:
    """A cell that names objects: its line and left edge, the edge of the next cell, and how surely it does.

    Its own words end before the character `behind`; `reach` is the number of lines over which it counts for
    a third.
    """

    line: int
    left: int
    until: int
    behind: int
    cell: int
    objects: frozenset[str]
    sure: float
    reach: float


@lru_cache(maxsize=256)
def objects_of(form: Form) -> Objects:
    """The record's lists, and its objects that have fields of their own, by their paths."""
    titles = {n.path: n.title for n in walk(form.root) if not isinstance(n, Slot) and n.path}
    fields: dict[str, set[str]] = {}
    for slot in form.slots:
        path, _, name = slot.path.rpartition("/")
        if path and "*" not in slot.path:
            fields.setdefault(path, set()).add(name)
    found = {}
    for path, own in fields.items():
        names = [words_of(unescape(part)) for part in path.split("/")[1:]]
        names += [words_of(titles[p]) for p in above(path) if titles.get(p)]
        found[path] = Thing(asked_for(names).names, frozenset(own))
    for array in form.arrays:
        if "*" not in array.path:
            names = [words_of(unescape(array.path.rpartition("/")[2])), words_of(array.title)]
            asked = asked_for(names, array.description)
            found[array.path] = Thing(asked.names, frozenset({"*"}), asked.note)
    return found


def told_by_headings(form: Form, page: Page) -> dict[str, Floats]:
    """What the headings say of each piece, by object: [T], OWN at most, -OTHERS at least, 0 for nothing."""
    objects = objects_of(form)
    names = {name for own in objects.values() for name in own.names}
    notes = {own.note for own in objects.values()}
    if not names or not page.short:
        return {}
    naming = page.naming(names, notes, {cell.words for cell in page.short})
    sure = dict(zip(naming.cells, _sure(objects, naming).T, strict=True))
    found = [_heading(cell, objects, sure[cell.words], page.columns) for cell in page.short]
    headings = [heading for heading in found if heading is not None]
    return _told(headings, objects, page.columns) if headings else {}


def _sure(objects: Objects, naming: Naming) -> Floats:
    """How surely each of C cells names each of P objects: [P, C]."""
    sure = np.zeros((len(objects), len(naming.cells)), np.float32)
    for best, own in zip(sure, objects.values(), strict=True):
        for name in own.names:
            mine, theirs = naming.shares(name)
            np.maximum(best, mine * (0.4 + 0.6 * theirs), out=best)
            np.maximum(best, naming.as_phrases(name), out=best)
        if own.note:
            # One word of a description is most often a word of something else, too.
            several = np.asarray([len(words) > 1 for words in naming.cells])
            np.maximum(best, several * naming.noted(own.note), out=best)
    return sure


def _heading(short: Short, objects: Objects, sure: Floats, columns: Columns) -> Heading | None:
    """The heading that a cell is, if it names any object as surely as [P] of `sure` says."""
    most = float(sure.max())
    if most < LEAST:
        return None
    own = frozenset(path for path, one in zip(objects, sure.tolist(), strict=True) if one >= most - 0.1)
    cell, behind = short.cell, short.behind
    line, last = int(columns.line[cell]), len(columns.line) - 1
    beside = cell < last and int(columns.line[cell + 1]) == line
    goes_on = int(columns.pieces.end[columns.first[cell + 1] - 1]) > behind + 1
    until = int(columns.left[cell + 1]) if beside else np.iinfo(np.int32).max
    reach = BESIDE if goes_on else ALONE
    return Heading(line, int(columns.left[cell]), until, behind, cell, own, most, reach)


def _told(headings: Sequence[Heading], objects: Objects, columns: Columns) -> dict[str, Floats]:
    """For each piece the heading that is next above it, and what it says."""
    pieces = columns.pieces
    told = {path: np.zeros(len(pieces), np.float32) for path in objects}
    rivals = {
        path: {other for other in objects if other != path and own.is_rival(objects[other])}
        for path, own in objects.items()
    }

    def note(heading: Heading, first: int, until: int, lines: int) -> None:
        weight = heading.sure * math.exp(-lines / heading.reach)
        for path, said in told.items():
            if path in heading.objects:
                said[first:until] = weight * OWN
            else:
                said[first:until] = -weight * OTHERS if heading.objects & rivals[path] else 0.0

    by_cell = {h.cell: h for h in headings}
    recent: list[Heading] = []
    lines, lefts = columns.line.tolist(), columns.left.tolist()
    for cell, (line, left) in enumerate(zip(lines, lefts, strict=True)):
        recent = [h for h in recent if h.line >= line - OVER]
        over = [h for h in recent if _is_below(line, left, h)]
        first, until = int(columns.first[cell]), int(columns.first[cell + 1])
        own = by_cell.get(cell)
        if own is not None:
            recent.append(own)
            behind = int(np.searchsorted(pieces.start[first:until], own.behind)) + first
            note(own, behind, until, 0)
            until = behind
        if over:
            nearest = max(over, key=lambda h: (h.line, h.left))
            note(nearest, first, until, line - nearest.line)
    return told


def _is_below(line: int, left: int, heading: Heading) -> bool:
    """Whether a cell stands behind a heading on its line, or below it."""
    if line == heading.line:
        return left > heading.left
    return heading.left - INDENT <= left < heading.until
