"""Lines of few cells that are rows of a table: charges, discounts and freight, told from sums and taxes by arithmetic.

Such a line has words where the rows have theirs, and an amount. It is a row if a number that follows is the sum of all
rows with it, or becomes another printed number with one more that stands there: a total with its tax.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.tables.sums import counts_up, is_about, number_of
from cinnabar.engine.tables.heads import Cells, words_of
from cinnabar.engine.tables.table import Between, PrintedTable, TableRow

#: The characters behind a table in which its sums may stand, and the share of its rows that fill the column of amounts.
CHARGE_REACH, CHARGE_FILLED = 1200, 0.8
#: The rows from which on a table has parts with sums of their own, whose end no sum tells; the most numbers behind it.
CHARGE_MANY_ROWS, CHARGE_NUMBERS = 16, 24
#: The most rows of a table that is looked at.
CHARGE_MOST_ROWS = 64
#: How far a sum of amounts may be from what is printed; how far a tax may be from its rate.
CHARGE_ROUNDED, CHARGE_TAX_ROUNDED = 0.006, 0.011
#: The rates, in percent, that a line without its rate may be a tax of.
CHARGE_RATES = range(4, 28)
_NUMBER, _PERCENT = re.compile(r"-?\d[\d.,'’]*(?: \d{3}(?!\d)[\d.,'’]*)*"), re.compile(r"(\d+(?:[.,]\d+)?) ?%")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a table with its amount. row: its number, -1 if it is none; is_few: it fills fewer cells than rows do;
    is_named: it has words where the rows have theirs.
    """

    start: int
    cells: Cells
    amount: float
    row: int
    is_few: bool
    is_named: bool


def add_charges(table: PrintedTable, reader: MentionReader) -> PrintedTable:
    """Returns a table with the lines of few cells that are rows, and without what stands below its sum."""
    entries = _entries(table, reader)
    found = _end(entries, numbers_behind(table.end, reader), reader.text) if entries else None
    if found is None:
        return table
    added, end = found
    until = len(table.rows)
    is_short = until < CHARGE_MANY_ROWS
    if end is not None and is_short:
        until = sum(row.start < end for row in table.rows)
    new = [TableRow(entry.start, entry.cells) for entry in entries if entry.row < 0 and entry in added]
    if not new and until == len(table.rows):
        return replace(table, sums_at=end) if is_short and end is not None else table
    rows = sorted([*table.rows[:until], *new], key=lambda row: row.start)

    def before(number: int) -> int:
        """Returns the number of the new rows before what had so many of the old rows before it."""
        edge = table.rows[number].start if number < len(table.rows) else table.end
        return sum(row.start < edge for row in rows)

    starts = {row.start for row in new}
    kept = [replace(one, rows=sum(row.start < one.start for row in rows)) for one in table.between]
    kept += [Between(row.start, max(_ends(row)), len(rows)) for row in table.rows[until:]]
    between = sorted((one for one in kept if one.start not in starts), key=lambda one: one.start)
    repeated = frozenset(map(before, table.repeated))
    return replace(
        table, rows=tuple(rows), between=tuple(between), repeated=repeated, sums_at=end if is_short else None
    )


def _ends(row: TableRow) -> list[int]:
    return [end for cell in row.cells for _, end in cell]


def _entries(table: PrintedTable, reader: MentionReader) -> list[_Entry]:
    """Returns the lines with an amount from the first row on; none if the table has no column of words or amounts."""
    text, many = reader.text, len(table.rows)
    often = [sum(bool(row.cells[c]) for row in table.rows) for c in range(len(table.heads))]
    amounts = [c for c in table.figures if often[c] >= CHARGE_FILLED * many]
    words = [c for c in range(len(often)) if c not in table.figures and 2 * often[c] > many]
    last, lead = max(amounts, default=-1), min(words, default=0)
    # Numbers of the rows are no amounts, and these stand right of the words.
    numbers = [number_of(row.cells[last], reader) for row in table.rows]
    if last <= lead or many > CHARGE_MOST_ROWS or (many > 2 and counts_up(numbers)):
        return []
    usual = max(sum(map(bool, row.cells)) for row in table.rows)
    lines = [(row.start, row.cells, at) for at, row in enumerate(table.rows)]
    lines += [(one.start, one.cells, -1) for one in table.between if one.cells and one.start > table.rows[0].start]
    found = []
    for start, cells, row in sorted(lines):
        filled = sum(map(bool, cells))
        own = words_of(cells[lead], text)
        beside = any(cells[c] for c in range(len(cells)) if c != lead and c not in table.figures)
        is_named = any(map(str.isalpha, own)) and (row >= 0 or not beside)
        found.append(_Entry(start, cells, number_of(cells[last], reader), row, filled < usual, is_named))
    return found


def numbers_behind(end: int, reader: MentionReader) -> list[float]:
    """Returns the numbers that stand behind the end of a table."""
    spans = [match.span() for match in _NUMBER.finditer(reader.text, end, end + CHARGE_REACH)]
    return [number for span in spans[:CHARGE_NUMBERS] if (number := number_of((span,), reader))]


def coded_columns(table: PrintedTable, end: int, reader: MentionReader) -> npt.NDArray[np.bool_]:
    """Returns the columns of codes: lines behind the table have them before a rate, a number and its tax: [C]."""
    codes = set[float]()
    for line in re.compile(r".+").finditer(reader.text, end, end + CHARGE_REACH):
        numbers = [number_of((match.span(),), reader) for match in _NUMBER.finditer(reader.text, *line.span())]
        if len(numbers) == 4 and abs(numbers[1] * numbers[2] / 100 - numbers[3]) <= CHARGE_TAX_ROUNDED:
            codes.add(numbers[0])
    columns = [{number_of(row.cells[c], reader) for row in table.rows} - {0.0} for c in range(len(table.heads))]
    return np.array([bool(own) and own <= codes for own in columns])


def _end(entries: Sequence[_Entry], behind: Sequence[float], text: str) -> tuple[list[_Entry], int | None] | None:
    """Returns the lines that are rows and where the sum of them begins, None if it stands behind the table.

    None if no sum is found.
    """
    rows = [entry for entry in entries if entry.row >= 0 and not (entry.is_few and not entry.is_named)]
    last = max((at for at, one in enumerate(entries) if one.row >= 0 and not one.is_few), default=0)
    items: list[_Entry] = []
    for at, entry in enumerate(entries):
        total = math.fsum(one.amount for one in items)
        rest = [one.amount for one in entries[at + 1 :]] + [*behind]
        # A payment slip below the sums may fill the columns.
        sums = [one.amount for one in takewhile(lambda one: one.row < 0, entries[at + 1 :])]
        is_last = at > last or (entry.row < 0 and len(items) > 1 and _becomes_another(total, sums))
        is_below = (entry.is_few and is_last) or (entry.row >= 0 and len(items) > 1)
        # Where all lines fill all columns, 10 + 20 = 30 is chance unless what follows has the sum, or goes on with it.
        is_told = entry.is_few or any(_is(one, total) for one in rest) or _becomes_another(total, rest)
        if items and is_below and is_told and _is(entry.amount, total):
            return _without_tax(items, entry, rest, text)
        # A sum of a part stands between rows: of the last two, or of more.
        sums = [*accumulate(one.amount for one in reversed(items))][1:]
        is_part = entry.row < 0 and any(_is(entry.amount, one) for one in sums)
        if entry.amount and entry.is_named and not is_part:
            items.append(entry)
    if len(items) == len(rows):
        return None
    tail = sum(one.start > entries[last].start for one in items)
    for most in range(len(items), max(0, len(items) - tail - 1), -1):
        own = items[:most]
        rest = [one.amount for one in entries if one.start > own[-1].start] + [*behind]
        total = math.fsum(one.amount for one in own)
        if any(_is(number, total) for number in rest) or _becomes_another(total, rest):
            return own, next((one.start for one in entries if one.is_few and one.start > own[-1].start), None)
    return None


def _without_tax(items: list[_Entry], total: _Entry, rest: Sequence[float], text: str) -> tuple[list[_Entry], int]:
    """Returns the rows above a total, without a last one that is the tax on the others, and where their sum begins."""
    last = items[-1]
    net = math.fsum(one.amount for one in items[:-1])
    if len(items) < 2 or (last.row >= 0 and not last.is_few) or last.amount <= 0 or net <= 0:
        return items, total.start
    words = " ".join(words_of(cell, text) for cell in last.cells)
    rates = [float(match[1].replace(",", ".")) for match in _PERCENT.finditer(words)] or [*map(float, CHARGE_RATES)]
    is_tax = any(abs(last.amount - net * rate / 100) <= CHARGE_TAX_ROUNDED for rate in rates)
    # What a tax is added to again was none.
    return (items[:-1], last.start) if is_tax and not _becomes_another(total.amount, rest) else (items, total.start)


def _becomes_another(total: float, numbers: Sequence[float]) -> bool:
    """Returns whether a number, with one of these that is smaller, is a later one of them."""
    return any(_is(total + one, two) for at, one in enumerate(numbers) if 0 < one < total for two in numbers[at + 1 :])


def _is(number: float, total: float) -> bool:
    return abs(number) > CHARGE_ROUNDED and is_about(number, total)
