"""Tables that go on behind the edge of a page, or behind what stands between their parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from cinnabar.engine.tables.heads import form_of, words_of
from cinnabar.engine.tables.table import Between, PrintedTable, TableRow

#: The share of the cells of a column of figures whose forms the table above has, for a table to go on with it.
CONTINUED_FORMS = 0.5


def join_continued(tables: Sequence[PrintedTable], text: str) -> list[PrintedTable]:
    """Returns tables, those without heads joined to the one above if their columns are of the same kinds."""
    found: list[PrintedTable] = []
    for table in tables:
        if found and _goes_on(found[-1], table, text):
            found[-1] = _joined(found[-1], table, text)
        else:
            found.append(table)
    return found


def _goes_on(one: PrintedTable, two: PrintedTable, text: str) -> bool:
    if any(two.heads) or not any(one.heads) or len(one.heads) != len(two.heads) or one.figures != two.figures:
        return False
    for column in one.figures:
        known = {form_of(words_of(row.cells[column], text)) for row in one.rows}
        forms = [form_of(words_of(row.cells[column], text)) for row in two.rows if row.cells[column]]
        if sum(form in known for form in forms) < CONTINUED_FORMS * len(forms):
            return False
    return bool(one.figures)


def _joined(one: PrintedTable, two: PrintedTable, text: str) -> PrintedTable:
    """Returns two tables as one; what stands between them is between its rows."""
    count = len(one.rows)
    lines = [line.span() for line in re.finditer(r"[^\n]*\S[^\n]*", text[one.end : two.start])]
    between = [*one.between, *(Between(one.end + start, one.end + end, count) for start, end in lines)]
    between += [replace(line, rows=line.rows + count) for line in two.between]
    repeated = one.repeated | {count} | {at + count for at in two.repeated}
    rows: tuple[TableRow, ...] = (*one.rows, *two.rows)
    return replace(one, end=two.end, rows=rows, between=tuple(between), repeated=repeated, sums_at=two.sums_at)
