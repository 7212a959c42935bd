"""Rows of a table that are sums of the rows above them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.tables.table import Span, Table

#: The share of a row's numbers that are sums of those above, for the row to be a sum; the fewest rows that it sums.
_SUMS, _FEWEST = 0.6, 2


def sum_rows(table: Table, reader: MentionReader) -> set[int]:
    """Returns the places of the rows whose numbers are the sums of all rows above, or of those since the last sum."""
    columns = sorted(table.figures)
    numbers = [[_number(row.cells[column], reader) for column in columns] for row in table.rows]
    filled = [sum(bool(row.cells[column]) for column in columns) for row in table.rows]
    whole = [0.0] * len(columns)
    part = [0.0] * len(columns)
    found: set[int] = set()
    rows = since = 0
    for at, own in enumerate(numbers):
        known = [(c, number) for c, number in enumerate(own) if number]
        # A sum of one row repeats it, and lacks what is no number that one can sum.
        fewer = at > 0 and len(known) > 1 and filled[at] < filled[at - 1]
        if known and rows:
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


def _is(number: float, total: float) -> bool:
    return math.isclose(number, total, rel_tol=1e-9, abs_tol=0.006)


def _number(cell: Sequence[Span], reader: MentionReader) -> float:
    """Returns the number of a cell, 0 if it is none."""
    for reading in reader.readings(*cell) if cell else ():
        if reading[:1] in b"-0123456789":
            return float(json.loads(reading))
    return 0.0
