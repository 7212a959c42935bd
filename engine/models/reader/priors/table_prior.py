"""Table prior: a list's fields stand below the heads of their columns, and its items begin on lines of the table.

A line of a few cells that name several fields of one list is the head of a table. All heads are assigned to fields
together: a head counts less for a field, the more similar it is to another field's name. Everything below, to the
table's end, belongs to one of the heads: a value there is likelier that of the head's field, and less likely that of
the fields of other heads. A line that fills the columns of its table likely begins an item; a line that fills few of
them, or stands outside, does not. It is a lexical prior for the pointers, as `priors.py` is for the record's fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.priors.config import PriorConfig, TablePriorConfig
from cinnabar.engine.models.reader.priors.name_matching import (
    FieldNames,
    Floats,
    NameSimilarity,
    Page,
    Words,
    asked_of,
    claims_of,
    most_of_others,
)
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores
from cinnabar.schemas.form.form import Form

#: The most cells of a line in a head of two lines.
HEAD_CELLS = 60
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PieceRun:
    """Pieces [first, until) of a line below a head of its table."""

    head: int
    first: int
    until: int


@dataclass(frozen=True, slots=True)
class PriorTable:
    """A table of one list: its F fields' paths, the certainty of each of H heads for each, and its lines.

    claims: [H, F]; body: the runs of each line of the table, by head.
    """

    fields: tuple[str, ...]
    claims: Floats
    body: list[list[PieceRun]]


@lru_cache(maxsize=256)
def fields_of_lists(form: Form) -> Mapping[str, Mapping[str, FieldNames]]:
    """Returns the fields of the items of each list of objects, by the list's path and their own."""
    fields: dict[str, dict[str, FieldNames]] = {}
    for slot, question in zip(form.slots, form_questions(form).slots, strict=True):
        array, star, name = slot.path.rpartition("/*")
        if star and name:
            fields.setdefault(array, {})[slot.path] = asked_of(slot.path, question)
    return fields


def tables_of(form: Form, page: Page, config: PriorConfig) -> dict[str, list[PriorTable]]:
    """Returns the tables of each list in their order, by its path."""
    least, columns = config.table_prior.heads, page.columns
    lists = {array: fields for array, fields in fields_of_lists(form).items() if len(fields) >= least}
    lines = _lines(page, least) if lists else {}
    if not lines:
        return {}
    both = {line: _join_cells(cells, lines.get(line - 1, {}), columns) for line, cells in lines.items()}
    every = [field for fields in lists.values() for field in fields.values()]
    names, notes = {name for field in every for name in field.names}, {field.note for field in every}
    words = {words for either in (lines, both) for cells in either.values() for words in cells.values()}
    naming = NameSimilarity(names, notes, words, page.words, config.name_matching)
    place = {words: i for i, words in enumerate(naming.cells)}
    tables = {}
    for array, fields in lists.items():
        alike = np.stack([naming.match_field(field) for field in fields.values()])
        heads: dict[int, dict[int, Floats]] = {}
        for line, cells in lines.items():
            own = _heads(cells, alike, place, config)
            # A head of two lines, if the upper one alone is no head.
            if own is None and line - 1 not in heads and both[line] != cells:
                own = _heads(both[line], alike, place, config)
            if own is not None:
                heads[line] = own
        begun = sorted(heads)
        ends = [*begun[1:], int(columns.line[-1]) + 1]
        if begun:
            tables[array] = [
                _table(tuple(fields), line, until, heads[line], columns, config.table_prior)
                for line, until in zip(begun, ends, strict=True)
            ]
    return tables


def _lines(page: Page, least: int) -> dict[int, dict[int, Words]]:
    """Returns by line the words of the cells that may be heads: short ones without figures that are no labels.

    Lines of fewer such cells than `least` are left out.
    """
    by_line: dict[int, dict[int, Words]] = {}
    columns = page.columns
    for short in page.short:
        end = int(columns.pieces.end[columns.first[short.cell + 1] - 1])
        if short.behind >= end - 1 and not short.has_figures:
            by_line.setdefault(int(columns.line[short.cell]), {})[short.cell] = short.words
    return {line: cells for line, cells in by_line.items() if len(cells) >= least}


def _join_cells(line: Mapping[int, Words], over: Mapping[int, Words], columns: Columns) -> dict[int, Words]:
    """Returns the words of a line's cells behind those of the cells above them."""
    if not over or max(len(line), len(over)) > HEAD_CELLS:
        return dict(line)
    own, upper = list(line), list(over)
    shared = np.minimum(columns.right[own][:, None], columns.right[upper])
    above = shared > np.maximum(columns.left[own][:, None], columns.left[upper])
    joined = {}
    for cell, under in zip(own, above, strict=True):
        cells_over = np.flatnonzero(under)
        joined[cell] = (*over[upper[int(cells_over[0])]], *line[cell]) if len(cells_over) == 1 else line[cell]
    return joined


def _heads(
    cells: Mapping[int, Words], alike: Floats, place: Mapping[Words, int], config: PriorConfig
) -> dict[int, Floats] | None:
    """Returns the certainty of each cell of a line as the head of each field, [F], or None if the line is no head.

    alike: [F, C], the similarity of fields to distinct cells' words; place: the places of these words.
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
) -> PriorTable:
    """Returns the table below the heads of one line, to the line `until` at most."""
    first, behind = np.searchsorted(columns.line, (line, line + 1))
    none = np.zeros(len(fields), np.float32)
    claimed = np.stack([claims.get(head, none) for head in range(first, behind)])
    order = np.argsort(columns.left[first:behind], kind="stable")
    claimed = claimed[order]
    edges = columns.left[first:behind][order], columns.right[first:behind][order]
    # A table that is over begins again, as on the next page, with a line that fills most of its columns.
    columns_of = set(np.flatnonzero(claimed.max(1) >= config.claimed).tolist())
    anew = max(config.heads + 1, config.filled * len(columns_of))
    body: list[list[PieceRun]] = []
    empty, above = 0, line
    last = int(np.searchsorted(columns.line, until))
    cuts = np.flatnonzero(np.diff(columns.line[behind:last])) + behind + 1
    for begin, end in pairwise([behind, *cuts.tolist(), last] if last > behind else []):
        runs = [run for cell in range(begin, end) for run in _runs(cell, *edges, columns)]
        filled = {run.head for run in runs}
        # Blank lines count too.
        empty += int(columns.line[begin]) - above
        above = int(columns.line[begin])
        if len(filled) >= config.heads and (empty <= config.over or len(filled & columns_of) >= anew):
            empty = 0
        if empty < config.over:
            body.append(runs)
    return PriorTable(fields, claimed, body)


def _runs(cell: int, left: Ints, right: Ints, columns: Columns) -> list[PieceRun]:
    """Returns the parts of a cell below heads with these edges: most often one part below one head."""
    first, until = int(columns.first[cell]), int(columns.first[cell + 1])
    own_left, own_right = columns.left[cell], columns.right[cell]
    between = (right[:-1] + left[1:]) / 2
    under = np.flatnonzero(np.minimum(right, own_right) > np.maximum(left, own_left))
    if len(under) == 1:
        return [PieceRun(int(under[0]), first, until)]
    if not len(under):
        return [PieceRun(int(np.searchsorted(between, (own_left + own_right) / 2)), first, until)]
    middle = columns.pieces.extents[first:until, :2].mean(1)
    heads = np.searchsorted(between, middle)
    cuts = [0, *(np.flatnonzero(np.diff(heads)) + 1).tolist(), until - first]
    return [PieceRun(int(heads[a]), first + a, first + b) for a, b in pairwise(cuts)]


def table_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the fields of lists, and of the beginnings of their items, by their tables."""
    config, tables = given.config.table_prior, tables_of(given.form, given.page, given.config)
    rows = {path: _row_scores(own, given.pieces, config) for path, own in tables.items()}
    return PriorScores(values=_field_scores(tables, given.pieces, config), rows=rows)


def _field_scores(
    tables: Mapping[str, Sequence[PriorTable]], pieces: int, config: TablePriorConfig
) -> dict[str, Floats]:
    """Returns the scores of each field, by its path: [T], -others to own."""
    scores: dict[str, Floats] = {}
    for own in tables.values():
        scores |= {path: np.zeros(pieces, np.float32) for path in own[0].fields}
        for table in own:
            claims = table.claims
            rivals = np.maximum(most_of_others(claims.T).T, most_of_others(claims))
            of_heads = (config.own * claims - config.others * rivals * (1 - claims)).astype(np.float32)
            behind = of_heads - config.inside * np.clip(of_heads / config.own, 0, 1).astype(np.float32)
            for run in (run for line in table.body for run in line):
                for path, first, later in zip(table.fields, of_heads[run.head], behind[run.head], strict=True):
                    scores[path][run.first : run.until] = later
                    scores[path][run.first] = first
    return scores


def _row_scores(tables: Sequence[PriorTable], pieces: int, config: TablePriorConfig) -> Floats:
    """Returns the scores of the beginnings of a list's items: [T], `row` at most."""
    trusted = [_trust(table, config) for table in tables]
    scores = np.full(pieces, -config.outside * max(trusted), np.float32)
    for table, trust in zip(tables, trusted, strict=True):
        columns = set(np.flatnonzero(table.claims.max(1) >= config.claimed).tolist())
        for line in table.body if trust else []:
            if line:
                share = len(columns & {run.head for run in line}) / max(1, len(columns))
                scores[line[0].first : line[-1].until] = -trust * config.no_row * (1 - share)
                scores[line[0].first] += trust * config.row * share
    return scores


def _trust(table: PriorTable, config: TablePriorConfig) -> float:
    """Returns how surely a table is the list's, 0 to 1, by the share of the fields that have a head."""
    share = table.claims.max(0).mean()
    return float(np.clip((share - config.few) / (config.many - config.few), 0, 1))
