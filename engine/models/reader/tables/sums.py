"""Arithmetic in tables: rows that are sums of the rows above them, and columns that are sums of others."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.tables.heads import Span
from cinnabar.engine.tables.table import Row, Table

#: The share of a row's numbers that are sums of those above, for the row to be a sum; the fewest rows that it sums.
_SUMS, _FEWEST = 0.6, 2
#: The share of the rows in which a column is the sum of others, and in which at least two of these have a number; the
#: most columns of numbers that are tried, and the most that are summed.
_HOLDS, _TOGETHER, _COLUMNS, _SUMMED = 0.9, 0.3, 12, 4
#: How far a sum may be from what is printed, for numbers rounded to two places.
_ROUNDED = 0.011


def sum_rows(table: Table, reader: MentionReader) -> set[int]:
    """Returns the places of the rows whose numbers are the sums of all rows above, or of those since the last sum."""
    columns = sorted(table.figures)
    numbers = [[_number(row.cells[column], reader) for column in columns] for row in table.rows]
    counting = [at for at in range(len(columns)) if _counts_up([own[at] for own in numbers])]
    numbers = [[0.0 if at in counting else number for at, number in enumerate(own)] for own in numbers]
    filled = [sum(map(bool, row.cells)) for row in table.rows]
    whole = [0.0] * len(columns)
    part = [0.0] * len(columns)
    found: set[int] = set()
    rows = since = 0
    # A sum that fills too few columns for a row ends a part as well.
    ends = {line.rows for line in table.between if line.is_sum}
    for at, own in enumerate(numbers):
        if at in ends:
            part, since = [0.0] * len(columns), 0
        known = [(c, number) for c, number in enumerate(own) if number]
        # A sum of one row repeats it, and lacks what is no number that one can sum.
        fewer = at > 0 and filled[at] < filled[at - 1]
        # One number may be the sum of those above by chance.
        if rows and (len(known) > 1 or (known and fewer)):
            of_all = sum(_is(number, whole[c]) for c, number in known) if rows >= _FEWEST or fewer else 0
            of_part = sum(_is(number, part[c]) for c, number in known) if since >= _FEWEST or (fewer and since) else 0
            if max(of_all, of_part) >= max(1.0, _SUMS * len(known)):
                found.add(at)
                part, since = [0.0] * len(columns), 0
                continue
        rows, since = rows + 1, since + 1
        for c, number in known:
            whole[c] += number
            part[c] += number
    return found


def sum_columns(table: Table, rows: Sequence[Row], reader: MentionReader) -> npt.NDArray[np.bool_]:
    """Returns the columns whose number is the sum of two to four others in nearly all of these rows: [C].

    None of the others is negative: in a difference the column that it is taken from would be a sum as well.
    """
    found = np.zeros(len(table.heads), bool)
    columns = sorted(table.figures)[:_COLUMNS]
    if not rows:
        return found
    numbers = np.array([[_number(row.cells[column], reader) for row in rows] for column in columns])
    for at, column in enumerate(columns):
        others = [k for k in range(len(columns)) if k != at and numbers[k].any() and (numbers[k] >= 0).all()]
        for count in range(2, _SUMMED + 1):
            for some in combinations(others, count):
                parts = numbers[list(some)]
                holds = np.abs(parts.sum(0) - numbers[at]) < _ROUNDED
                together = (parts != 0).sum(0) > 1
                if holds.mean() >= _HOLDS and together.mean() >= _TOGETHER:
                    found[column] = True
    return found


def _counts_up(numbers: Sequence[float]) -> bool:
    """Returns whether numbers number their rows: nearly all are one more than the one before."""
    return sum(two == one + 1 for one, two in pairwise(numbers)) >= _HOLDS * (len(numbers) - 1)


def _is(number: float, total: float) -> bool:
    return math.isclose(number, total, rel_tol=1e-9, abs_tol=0.006)


def _number(cell: Sequence[Span], reader: MentionReader) -> float:
    """Returns the number of a cell, 0 if it is none."""
    for reading in reader.readings(*cell, alone=True) if cell else ():
        if reading[:1] in b"-0123456789":
            return float(json.loads(reading))
    return 0.0
