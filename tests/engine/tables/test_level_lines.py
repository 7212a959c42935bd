"""Lines of tables that stand side by side at two heights are lines of one table."""

from __future__ import annotations

import re

import numpy as np

from cinnabar.engine.tables.heads import words_of
from cinnabar.engine.tables.table import PrintedTable, tables_of

LEFT = ["Item      Quantity", "Pipe      12", "Joint     30", "Valve     4", "Hemp      2"]
RIGHT = ["Contact     Phone", "Farrow      0021", "Aldous      0044", "Okoro       0077"]
#: Lines of a page: their height, and of a part of a line that is set lower how far.
HEIGHT, LOWER = 0.02, 0.014


def tables_at(parts: list[tuple[str, int, float]]) -> tuple[list[PrintedTable], str]:
    """Returns the tables of lines with their first column in characters and their top in lines, and the text."""
    text = "\n".join(line for line, _, _ in parts)
    starts, boxes, begin = [], [], 0
    for line, left, top in parts:
        for word in re.finditer(r"\S+", line):
            starts.append(begin + word.start())
            across = [(left + at) / 100 for at in word.span()]
            boxes.append([across[0], top * HEIGHT, across[1], top * HEIGHT + HEIGHT * 0.9])
        begin += len(line) + 1
    return tables_of(text, np.array(starts, np.int32), np.array(boxes, np.float32)), text


def test_rows_of_a_table_set_lower_stand_in_the_lines_of_the_one_beside_it() -> None:
    parts = [(line, 0, 2.0 * at) for at, line in enumerate(LEFT)]
    parts += [(line, 40, 2.0 * at + LOWER / HEIGHT) for at, line in enumerate(RIGHT)]
    (table,), text = tables_at(sorted(parts, key=lambda part: part[2]))
    rows = [[words_of(cell, text) for cell in row.cells] for row in table.rows[:3]]
    assert [table.head(column, text) for column in range(4)] == ["Item", "Quantity", "Contact", "Phone"]
    assert rows == [
        ["Pipe", "12", "Farrow", "0021"], ["Joint", "30", "Aldous", "0044"], ["Valve", "4", "Okoro", "0077"],
    ]  # fmt: skip


def test_a_pair_of_lines_beside_each_other_is_no_line() -> None:
    parts = [(line, 0, 2.0 * at) for at, line in enumerate(LEFT)]
    parts.insert(2, (RIGHT[1], 40, 2.0 + LOWER / HEIGHT))
    (table,), text = tables_at(parts)
    assert [table.head(column, text) for column in range(2)] == ["Item", "Quantity"]
    assert all("Farrow" not in words_of(row.cells[0], text) for row in table.rows)
