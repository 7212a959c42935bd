"""The tables of a page that hold a form's lists, by the heads of their columns.

A line of a few cells that go by the names of several fields of one list is the head of a table. Which head is
which field's is settled for all of them together: a head is the less one field's, the more it is like another
one's name. What stands below, to the table's end, stands below one of the heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.priors.config import PriorConfig, TablePriorConfig
from cinnabar.engine.models.reader.priors.name_matching import (
    Asked,
    Floats,
    Naming,
    Page,
    Words,
    asked_of,
    claims_of,
)
from cinnabar.schemas.form.form import Form

#: Cells of a line that is a table's at most, for heads of two lines.
_MANY = 60

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Run:
    """Pieces [first, until) of a line below a head of its table."""

    head: int
    first: int
    until: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one list: its F fields' paths, how surely each of H heads is each one's, and its lines.

    claims: [H, F]; body: of each line of the table, what stands below which head.
    """

    fields: tuple[str, ...]
    claims: Floats
    body: list[list[Run]]


@lru_cache(maxsize=256)
def fields_of_lists(form: Form) -> Mapping[str, Mapping[str, Asked]]:
    """The fields of the items of each list of objects, by the list's path and their own."""
    found: dict[str, dict[str, Asked]] = {}
    for slot, question in zip(form.slots, form_questions(form).slots, strict=True):
        array, star, name = slot.path.rpartition("/*")
        if star and name:
            found.setdefault(array, {})[slot.path] = asked_of(slot.path, question)
    return found


def tables_of(form: Form, page: Page, config: PriorConfig) -> dict[str, list[Table]]:
    """The tables of each list in their order, by its path."""
    least, columns = config.table_prior.heads, page.columns
    lists = {array: fields for array, fields in fields_of_lists(form).items() if len(fields) >= least}
    lines = _lines(page, least) if lists else {}
    if not lines:
        return {}
    both = {line: _joined(cells, lines.get(line - 1, {}), columns) for line, cells in lines.items()}
    every = [field for fields in lists.values() for field in fields.values()]
    names, notes = {name for field in every for name in field.names}, {field.note for field in every}
    words = {words for either in (lines, both) for cells in either.values() for words in cells.values()}
    naming = Naming(names, notes, words, page.words, config.name_matching)
    place = {words: i for i, words in enumerate(naming.cells)}
    found = {}
    for array, fields in lists.items():
        alike = np.stack([naming.named(field) for field in fields.values()])
        heads: dict[int, dict[int, Floats]] = {}
        for line, cells in lines.items():
            own = _heads(cells, alike, place, config)
            # A head of two lines, if the upper one is none by itself.
            if own is None and line - 1 not in heads and both[line] != cells:
                own = _heads(both[line], alike, place, config)
            if own is not None:
                heads[line] = own
        begun = sorted(heads)
        ends = [*begun[1:], int(columns.line[-1]) + 1]
        if begun:
            found[array] = [
                _table(tuple(fields), line, until, heads[line], columns, config.table_prior)
                for line, until in zip(begun, ends, strict=True)
            ]
    return found


def _lines(page: Page, least: int) -> dict[int, dict[int, Words]]:
    """By line, the words of the cells that may be heads: short ones without figures that are no labels.

    Lines of fewer such cells than `least` are left out.
    """
    by_line: dict[int, dict[int, Words]] = {}
    columns = page.columns
    for short in page.short:
        end = int(columns.pieces.end[columns.first[short.cell + 1] - 1])
        if short.behind >= end - 1 and not short.has_figures:
            by_line.setdefault(int(columns.line[short.cell]), {})[short.cell] = short.words
    return {line: cells for line, cells in by_line.items() if len(cells) >= least}


def _joined(line: Mapping[int, Words], over: Mapping[int, Words], columns: Columns) -> dict[int, Words]:
    """The words of a line's cells behind those of the cells above them."""
    if not over or max(len(line), len(over)) > _MANY:
        return dict(line)
    own, upper = list(line), list(over)
    shared = np.minimum(columns.right[own][:, None], columns.right[upper])
    above = shared > np.maximum(columns.left[own][:, None], columns.left[upper])
    joined = {}
    for cell, under in zip(own, above, strict=True):
        found = np.flatnonzero(under)
        joined[cell] = (*over[upper[int(found[0])]], *line[cell]) if len(found) == 1 else line[cell]
    return joined


def _heads(
    cells: Mapping[int, Words], alike: Floats, place: Mapping[Words, int], config: PriorConfig
) -> dict[int, Floats] | None:
    """How surely each cell of a line is the head of each field, [F]; None where the line is no table's head.

    alike: [F, C], the likeness of fields to distinct cells' words; place: where these words are.
    """
    own = alike[:, [place[words] for words in cells.values()]]
    claims = claims_of(own, config.name_matching.rivals)
    table = config.table_prior
    sure = claims >= table.least
    if min(sure.any(0).sum(), sure.any(1).sum()) < table.heads or sure.any(0).mean() < table.share:
        return None
    return dict(zip(cells, claims.T, strict=True))


def _table(
    fields: tuple[str, ...],
    line: int,
    until: int,
    claims: Mapping[int, Floats],
    columns: Columns,
    config: TablePriorConfig,
) -> Table:
    """The table below the heads of one line, to the line `until` at most."""
    first, behind = np.searchsorted(columns.line, (line, line + 1))
    none = np.zeros(len(fields), np.float32)
    claimed = np.stack([claims.get(head, none) for head in range(first, behind)])
    order = np.argsort(columns.left[first:behind], kind="stable")
    claimed = claimed[order]
    edges = columns.left[first:behind][order], columns.right[first:behind][order]
    # A table that is over begins anew, as on the next page, with a line that fills most of its columns.
    columns_of = set(np.flatnonzero(claimed.max(1) >= config.claimed).tolist())
    anew = max(config.heads + 1, config.filled * len(columns_of))
    body: list[list[Run]] = []
    empty, above = 0, line
    last = int(np.searchsorted(columns.line, until))
    cuts = np.flatnonzero(np.diff(columns.line[behind:last])) + behind + 1
    for begin, end in pairwise([behind, *cuts.tolist(), last] if last > behind else []):
        runs = [run for cell in range(begin, end) for run in _runs(cell, *edges, columns)]
        filled = {run.head for run in runs}
        # Blank lines are lines, too.
        empty += int(columns.line[begin]) - above
        above = int(columns.line[begin])
        if len(filled) >= config.heads and (empty <= config.over or len(filled & columns_of) >= anew):
            empty = 0
        if empty < config.over:
            body.append(runs)
    return Table(fields, claimed, body)


def _runs(cell: int, left: Ints, right: Ints, columns: Columns) -> list[Run]:
    """The parts of a cell that stand below heads with these edges: most often all of it below one."""
    first, until = int(columns.first[cell]), int(columns.first[cell + 1])
    own_left, own_right = columns.left[cell], columns.right[cell]
    between = (right[:-1] + left[1:]) / 2
    under = np.flatnonzero(np.minimum(right, own_right) > np.maximum(left, own_left))
    if len(under) == 1:
        return [Run(int(under[0]), first, until)]
    if not len(under):
        return [Run(int(np.searchsorted(between, (own_left + own_right) / 2)), first, until)]
    middle = columns.pieces.extents[first:until, :2].mean(1)
    heads = np.searchsorted(between, middle)
    cuts = [0, *(np.flatnonzero(np.diff(heads)) + 1).tolist(), until - first]
    return [Run(int(heads[a]), first + a, first + b) for a, b in pairwise(cuts)]
