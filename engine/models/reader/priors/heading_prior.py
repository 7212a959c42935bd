"""Heading prior: the fields of an object, and the items of a list, stand below a heading with its name.

Two parties of a document have fields of the same names, and the label before a value tells only its field. The prior
searches the cells of the page for the names of the objects: a short cell with the words of a name is a heading. The
values below it, up to the next heading, are likelier that object's. It is a lexical prior for the pointers, as
`priors.py` is for fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.questions import words_of
from cinnabar.engine.models.reader.priors.config import HeadingPriorConfig, PriorConfig
from cinnabar.engine.models.reader.priors.name_matching import (
    Floats,
    NameSimilarity,
    Page,
    ShortCell,
    Words,
    asked_for,
)
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores
from cinnabar.schemas.form.form import Form, Slot, walk
from cinnabar.schemas.pointers import above, unescape


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object or list: its names and those of its parents, the names of its fields, its description.

    The fields of a list do not belong to the record: any two lists are rivals.
    """

    names: tuple[Words, ...]
    fields: frozenset[str]
    note: Words = ()

    def is_rival(self, other: NamedObject, same_names: float) -> bool:
        """Returns whether the label of a value may also belong to the other object.

        same_names: the least share of names that both have, of the one with fewer fields.
        """
        return len(self.fields & other.fields) >= same_names * min(len(self.fields), len(other.fields))


Objects = Mapping[str, NamedObject]


@dataclass(frozen=True, slots=True)
class Heading:
    """A cell that names objects: its line and left edge, the edge of the next cell, and its certainty.

    Its own words end before the character `behind`; `reach` is the number of lines over which its weight falls to a
    third.
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
    """Returns the record's lists, and its objects that have fields of their own, by their paths."""
    titles = {n.path: n.title for n in walk(form.root) if not isinstance(n, Slot) and n.path}
    fields: dict[str, set[str]] = {}
    for slot in form.slots:
        path, _, name = slot.path.rpartition("/")
        if path and "*" not in slot.path:
            fields.setdefault(path, set()).add(name)
    objects = {}
    for path, own in fields.items():
        names = [words_of(unescape(part)) for part in path.split("/")[1:]]
        names += [words_of(titles[p]) for p in above(path) if titles.get(p)]
        objects[path] = NamedObject(asked_for(names).names, frozenset(own))
    for array in form.arrays:
        if "*" not in array.path:
            names = [words_of(unescape(array.path.rpartition("/")[2])), words_of(array.title)]
            asked = asked_for(names, array.description)
            objects[array.path] = NamedObject(asked.names, frozenset({"*"}), asked.note)
    return objects


def heading_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of objects by their headings, -others to own, and of the items of lists in their blocks."""
    config, objects = given.config.heading_prior, objects_of(given.form)
    scores = _object_scores(objects, given.page, given.config)
    rows = {}
    for array in given.form.arrays:
        own = scores.get(array.path)
        if own is not None and own.max() > 0:
            outside = -config.outside * own.max()
            rows[array.path] = np.where(own > 0, config.items * own, outside).astype(np.float32)
    return PriorScores(objects=scores, rows=rows)


def _object_scores(objects: Objects, page: Page, config: PriorConfig) -> dict[str, Floats]:
    """Returns the scores of each object, [T], by its path; no scores if the page has no heading."""
    names = {name for own in objects.values() for name in own.names}
    notes = {own.note for own in objects.values()}
    if not names or not page.short:
        return {}
    cells = {cell.words for cell in page.short}
    naming = NameSimilarity(names, notes, cells, page.words, config.name_matching)
    sure = dict(zip(naming.cells, _sure(objects, naming).T, strict=True))
    own = config.heading_prior
    candidates = [_heading_of(cell, objects, sure[cell.words], page.columns, own) for cell in page.short]
    headings = [heading for heading in candidates if heading is not None]
    return _block_scores(headings, objects, page.columns, own) if headings else {}


def _sure(objects: Objects, naming: NameSimilarity) -> Floats:
    """Returns how surely each of C cells names each of P objects: [P, C]."""
    sure = np.zeros((len(objects), len(naming.cells)), np.float32)
    for best, own in zip(sure, objects.values(), strict=True):
        for name in own.names:
            mine, theirs = naming.shares(name)
            np.maximum(best, mine * (0.4 + 0.6 * theirs), out=best)
            np.maximum(best, naming.as_phrases(name), out=best)
        if own.note:
            # One word of a description is most often a word of another cell, too.
            several = np.asarray([len(words) > 1 for words in naming.cells])
            np.maximum(best, several * naming.match_description(own.note), out=best)
    return sure


def _heading_of(
    short: ShortCell, objects: Objects, sure: Floats, columns: Columns, config: HeadingPriorConfig
) -> Heading | None:
    """Returns a cell as a heading if it names any object surely enough, by the certainties `sure`, [P]; else None."""
    most = float(sure.max())
    if most < config.least:
        return None
    own = frozenset(path for path, one in zip(objects, sure.tolist(), strict=True) if one >= most - 0.1)
    cell, behind = short.cell, short.behind
    line, last = int(columns.line[cell]), len(columns.line) - 1
    beside = cell < last and int(columns.line[cell + 1]) == line
    goes_on = int(columns.pieces.end[columns.first[cell + 1] - 1]) > behind + 1
    until = int(columns.left[cell + 1]) if beside else np.iinfo(np.int32).max
    reach = config.beside if goes_on else config.alone
    return Heading(line, int(columns.left[cell]), until, behind, cell, own, most, reach)


def _block_scores(
    headings: Sequence[Heading], objects: Objects, columns: Columns, config: HeadingPriorConfig
) -> dict[str, Floats]:
    """Returns the scores of each piece from the nearest heading above it, by object."""
    pieces = columns.pieces
    scores = {path: np.zeros(len(pieces), np.float32) for path in objects}
    rivals = {
        path: {
            other
            for other in objects
            if other != path and own.is_rival(objects[other], config.same_names)
        }
        for path, own in objects.items()
    }

    def mark(heading: Heading, first: int, until: int, lines: int) -> None:
        """Gives the pieces [first, until), so many lines below a heading, its scores."""
        weight = heading.sure * math.exp(-lines / heading.reach)
        for path, own in scores.items():
            if path in heading.objects:
                own[first:until] = weight * config.own
            else:
                own[first:until] = -weight * config.others if heading.objects & rivals[path] else 0.0

    by_cell = {h.cell: h for h in headings}
    recent: list[Heading] = []
    lines, lefts = columns.line.tolist(), columns.left.tolist()
    for cell, (line, left) in enumerate(zip(lines, lefts, strict=True)):
        recent = [h for h in recent if h.line >= line - config.over]
        covering = [h for h in recent if _is_below(line, left, h, config.indent)]
        first, until = int(columns.first[cell]), int(columns.first[cell + 1])
        heading = by_cell.get(cell)
        if heading is not None:
            recent.append(heading)
            behind = int(np.searchsorted(pieces.start[first:until], heading.behind)) + first
            mark(heading, behind, until, 0)
            until = behind
        if covering:
            nearest = max(covering, key=lambda h: (h.line, h.left))
            mark(nearest, first, until, line - nearest.line)
    return scores


def _is_below(line: int, left: int, heading: Heading, indent: int) -> bool:
    """Returns whether a cell stands behind a heading on its line, or below it."""
    if line == heading.line:
        return left > heading.left
    return heading.left - indent <= left < heading.until
