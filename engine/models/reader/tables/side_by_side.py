"""Tables side by side in the same lines: columns whose heads name another list, or begin anew, are one of their own.

Columns of one table may name two lists as well: so the right ones are only a table if they begin with words, as what
tells rows apart does, or if a line has cells on one side alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.priors.name_matching import FieldNames
from cinnabar.engine.models.reader.tables.matched_columns import MATCH_TOLD
from cinnabar.engine.models.reader.tables.rival_heads import distinct_heads, name_shares
from cinnabar.engine.tables.table import PrintedTable, TableRow

#: The fewest columns of a table beside another, all named on its left and this many on its right; its fewest rows.
BESIDE_COLUMNS = BESIDE_ROWS = 2
Counts = npt.NDArray[np.int_]


def tables_beside(
    table: PrintedTable, lists: Mapping[int, Sequence[FieldNames]], text: str
) -> list[tuple[PrintedTable, int]]:
    """Returns the tables that stand side by side in the lines of one, from left to right, with the array of each.

    The table itself with -1 if none do. lists: the names of the fields of each list, by its array.
    """
    if not lists or len(table.heads) < 2 * BESIDE_COLUMNS:
        return [(table, -1)]
    arrays, heads = [*lists], distinct_heads(table, text)
    named = np.stack([(name_shares(fields, heads) >= MATCH_TOLD).sum(0) for fields in lists.values()])
    for column, one, two in (*_anew(heads, named), *_of_other_lists(table, named)):
        left, right = _part(table, 0, column), _part(table, column, len(heads))
        if min(len(left.rows), len(right.rows)) >= BESIDE_ROWS:
            parts = tables_beside(right, lists, text)
            return [(left, arrays[one]), *(parts if len(parts) > 1 else [(right, arrays[two])])]
    return [(table, -1)]


def _anew(heads: Sequence[str], named: Counts) -> Iterator[tuple[int, int, int]]:
    """Yields the columns from which on the first heads stand again, with their list, twice.

    named: [L, C], the fields of each list that a head names: a name of two fields may be of two things in one row.
    """
    for column in range(BESIDE_COLUMNS, len(heads) - BESIDE_COLUMNS + 1):
        again = heads[column:]
        until = next((at for at, head in enumerate(again) if at and head == heads[0]), len(again))
        own = np.flatnonzero((named[:, :until] == 1).all(1))
        if len(own) and until >= BESIDE_COLUMNS and again[:until] == heads[:until]:
            yield column, int(own[0]), int(own[0])


def _of_other_lists(table: PrintedTable, named: Counts) -> Iterator[tuple[int, int, int]]:
    """Yields the columns with which another list begins, with the list of the columns before, and with this one.

    named: [L, C], the fields of each list that a head names.
    """
    is_named = named > 0
    for column in range(BESIDE_COLUMNS, named.shape[1] - BESIDE_COLUMNS + 1):
        left, right = is_named[:, :column], is_named[:, column:]
        many = left.sum(1) >= BESIDE_COLUMNS, (right.sum(1) >= BESIDE_COLUMNS) & right[:, 0]
        for one, two in np.argwhere(many[0][:, None] & many[1]).tolist() if _is_apart(table, column) else ():
            if not right[one].any() and not left[two].any():
                yield column, one, two


def _is_apart(table: PrintedTable, column: int) -> bool:
    """Returns whether the columns from this one on tell of other things than those before."""
    sides = [(any(row.cells[:column]), any(row.cells[column:])) for row in table.rows]
    return column not in table.figures or not all(one == two for one, two in sides)


def _part(table: PrintedTable, first: int, until: int) -> PrintedTable:
    """Returns the columns [first, until) of a table as one of their own, with lines that are rows of these alone."""
    heads, count = table.heads[first:until], until - first
    figures = frozenset(column - first for column in table.figures if first <= column < until)
    rows = [own for row in table.rows if any(own := row.cells[first:until])]
    between = []
    for line in table.between:
        own = line.cells[first:until]
        if sum(map(bool, own)) > count / 2 and all(own[column] for column in figures):
            rows.append(own)
        elif any(own) or not line.cells:
            above = sum(any(row.cells[first:until]) for row in table.rows[: line.rows])
            between.append(replace(line, rows=above, cells=own))
    begins = sorted((min(span[0] for cell in own for span in cell), own) for own in rows)
    places = [at for own in (heads, *rows) for cell in own for span in cell for at in span]
    return PrintedTable(min(places), max(places), heads, tuple(TableRow(*one) for one in begins), (*between,), figures)
