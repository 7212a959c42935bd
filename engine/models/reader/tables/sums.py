"""Arithmetic in tables: rows that are sums of the rows above them or carry one over to the next page, and columns that
are sums or products of others.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations, pairwise
from statistics import median

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.readings.readings import is_amount
from cinnabar.engine.tables.heads import Span, is_figure, words_of
from cinnabar.engine.tables.table import PrintedTable, TableRow

#: The share of a row's numbers that are sums of those above, for the row to be a sum; the fewest rows that it sums.
SUM_ROW_SHARE, SUM_FEWEST_ROWS = 0.6, 2
#: The share of the rows with a first cell that are sums, for all of them to be such; and of those that begin with a
#: word, for those of few cells.
SUM_NAMED_ROWS, SUM_CALLED_ROWS = 0.5, 0.4
#: The share of the rows in which a column is the sum of others, and in which at least two of these have a number; the
#: most columns of numbers that are tried, and the most that are summed.
SUM_COLUMN_SHARE, SUM_TOGETHER, SUM_COLUMNS, SUM_SUMMED = 0.9, 0.3, 12, 4
#: The share of the rows in which a column has a number, for it to be one of numbers; the share in which what is summed
#: may have another sign than usual.
SUM_NUMBERS, SUM_OTHER_SIGN = 0.2, 0.2
#: The fewest rows that tell a column of balances.
SUM_BALANCES = 4
#: The share of the rows that have both factors of a product.
SUM_MULTIPLIED = 0.6
#: How far a sum may be from what is printed, for numbers rounded to two places.
SUM_ROUNDED = 0.011
_WIDE = re.compile(r"\t[ \t]*| {2,}\t?")


class _Sum:
    """The sums of the columns of some rows."""

    def __init__(self, columns: int) -> None:
        self._rows = 0
        self._sums = [0.0] * columns

    def add(self, row: Sequence[float]) -> None:
        """Adds the numbers of a row."""
        self._rows += 1
        self._sums = [one + two for one, two in zip(self._sums, row, strict=True)]

    def is_met(self, row: Sequence[float], fewer: bool) -> bool:
        """Returns whether the numbers of a row are these sums. fewer: it fills fewer cells than the row above."""
        known = [(number, one) for number, one in zip(row, self._sums, strict=True) if number]
        # One number may be the sum of those above by chance.
        if not self._rows or not known or not (fewer or (len(known) > 1 and self._rows >= SUM_FEWEST_ROWS)):
            return False
        return sum(is_about(number, one) for number, one in known) >= max(1.0, SUM_ROW_SHARE * len(known))

    def ends(self, row: Sequence[float]) -> bool:
        """Returns whether the last number of a row is its sum."""
        return _says_again(row, self._sums)


def sum_rows(table: PrintedTable, reader: MentionReader) -> set[int]:
    """Returns the places of the rows whose numbers are the sums of all rows above, or of those since the last sum.

    A row of fewer cells at a repeated head, or right below a sum, that ends with the last number above, or with the sum
    of all, carries it over to another page; so does a first row with the words of such a row. Where sums have one name,
    or begin with one word, rows that do too are sums, whatever their numbers.
    """
    columns = sorted(table.figures)
    numbers = [[number_of(row.cells[column], reader) for column in columns] for row in table.rows]
    counting = [at for at in range(len(columns)) if counts_up([own[at] for own in numbers])]
    numbers = [[0.0 if at in counting else number for at, number in enumerate(own)] for own in numbers]
    # Where merged cells stand, the rows below the first one lack theirs.
    often = table.filled_columns()
    filled = [sum(bool(row.cells[c]) for c in often) for row in table.rows]
    # A sum that fills too few columns for a row may end a part as well.
    ends = {line.rows for line in table.between if line.is_sum}
    whole, part, since_end = (_Sum(len(columns)) for _ in range(3))
    found: set[int] = set()
    carried: set[tuple[str, ...]] = set()
    words = [_words(row, reader.text) for row in table.rows]
    edges = [at for at in range(len(table.rows)) if not table.repeated.isdisjoint((at, at + 1))]
    said = Counter(words[at] for at in edges)
    last = -1
    for at, own in enumerate(numbers):
        if at in ends:
            since_end = _Sum(len(columns))
        # A sum of one row repeats it, and lacks what is no number that one can sum.
        fewer = last >= 0 and filled[at] < filled[last if at - len(found) > 1 else at - 1]
        is_edge = at in edges
        # A booking without an amount has no other balance, and lacks one cell.
        few = fewer and (filled[at] + 1 < filled[last] or said[words[at]] > 1)
        again = few and (is_edge or at - 1 in found) and _says_again(own, numbers[at - 1])
        again |= few and is_edge and whole.ends(own)
        if again or any(one.is_met(own, fewer) for one in (whole, part, since_end)):
            found.add(at)
            carried |= {words[at]} if is_edge else set()
            part, since_end = _Sum(len(columns)), _Sum(len(columns))
            continue
        last = at
        for one in (whole, part, since_end):
            one.add(own)
    return found | _called_sums(table, found, filled, reader.text) | ({0} if words[0] in carried else set())


def _called_sums(table: PrintedTable, sums: Collection[int], filled: Sequence[int], text: str) -> set[int]:
    """Returns the rows that have the name of sums, or begin with their word and fill fewer cells than other rows.

    A subtotal that is no sum of numbers, for one is misread, leaves those below it without their beginning.
    """
    labels = [next((words_of(cell, text) for cell in row.cells if cell), "") for row in table.rows]
    first = [label.partition(" ")[0] for label in labels]
    usual = median(many for at, many in enumerate(filled) if at not in sums) if len(sums) < len(filled) else 0
    named, begun = _names_of_sums(labels, sums, SUM_NAMED_ROWS), _names_of_sums(first, sums, SUM_CALLED_ROWS)
    return {at for at in range(len(first)) if labels[at] in named or (first[at] in begun and filled[at] < usual)}


def _names_of_sums(names: Sequence[str], sums: Collection[int], share: float) -> set[str]:
    """Returns the names by which several sums are called, and at least such a share of all rows with the name."""
    rows, called = Counter(names), Counter(names[at] for at in sums)
    return {name for name, many in called.items() if name[:1].isalpha() and many > 1 and many >= share * rows[name]}


def total_columns(table: PrintedTable, rows: Sequence[TableRow], reader: MentionReader) -> npt.NDArray[np.bool_]:
    """Returns the columns whose number is in nearly all of these rows the sum of two to four others, or the product of
    two: [C].

    The column that a difference is taken from would be a sum too. So no summand has both signs, or it has another one
    in a few rows, as refunds have, where the sum has both too.
    """
    found = np.zeros(len(table.heads), bool)
    if not rows:
        return found
    every = np.array([[number_of(row.cells[c], reader) for row in rows] for c in range(len(table.heads))])
    # Where most cells have a dash, a column of figures is none by its forms.
    columns = np.flatnonzero((every != 0).mean(1) >= SUM_NUMBERS)[:SUM_COLUMNS].tolist()
    numbers = every[columns]
    mixed = np.minimum((numbers > 0).mean(1), (numbers < 0).mean(1))
    for at, column in enumerate(columns):
        most = SUM_OTHER_SIGN if mixed[at] else 0.0
        others = [k for k in range(len(columns)) if k != at and mixed[k] <= most]
        for count in range(2, SUM_SUMMED + 1):
            for some in combinations(others, count):
                parts = numbers[list(some)]
                holds = np.abs(parts.sum(0) - numbers[at]) < SUM_ROUNDED
                together = (parts != 0).sum(0) > 1
                if holds.mean() >= SUM_COLUMN_SHARE and together.mean() >= SUM_TOGETHER:
                    found[column] = True
        for one, two in combinations(others, 2):
            holds = np.abs(numbers[one] * numbers[two] - numbers[at]) < SUM_ROUNDED
            # Once a price is no product.
            several = (numbers[one] > 1) & (numbers[two] > 1)
            if holds.mean() >= SUM_COLUMN_SHARE and several.mean() >= SUM_TOGETHER:
                found[column] = True
    return found


def factor_columns(
    table: PrintedTable, rows: Sequence[TableRow], reader: MentionReader
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Returns the columns that are factors of a product, and those of the percents that are taken off it: twice [C].

    The product is that of two columns in nearly all of the rows that have both, which are most; others are charges.
    """
    factors, discounts = np.zeros((2, len(table.heads)), bool)
    every = np.array([[number_of(row.cells[c], reader) for row in rows] for c in range(len(table.heads))])
    columns = np.flatnonzero((every != 0).mean(1) >= SUM_NUMBERS)[:SUM_COLUMNS].tolist() if rows else []
    for one, two in combinations(columns, 2):
        both = (every[one] != 0) & (every[two] != 0)
        if both.mean() < SUM_MULTIPLIED or ((every[one] > 1) & (every[two] > 1))[both].mean() < SUM_TOGETHER:
            continue
        product = every[one] * every[two]
        others = [c for c in columns if c not in (one, two)]
        for total in others:
            left = [*(c for c in others if c != total), None]
            taken = [np.zeros(len(rows)) if off is None else every[off] for off in left]
            shares = [(np.abs(product * (1 - off / 100) - every[total]) < SUM_ROUNDED)[both].mean() for off in taken]
            factors[[one, two]] |= max(shares) >= SUM_COLUMN_SHARE
            for off, share in zip(left[:-1], shares, strict=False):
                discounts[off] |= share >= SUM_COLUMN_SHARE > shares[-1]
    return factors, discounts


def balance_columns(table: PrintedTable, reader: MentionReader) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Returns the columns whose number nearly always is that of the row above and what another column has, and these
    others: twice [C].
    """
    found, steps = np.zeros((2, len(table.heads)), bool)
    if len(table.rows) < SUM_BALANCES:
        return found, steps
    every = np.array([[number_of(row.cells[c], reader) for row in table.rows] for c in range(len(table.heads))])
    for column in np.flatnonzero((every != 0).mean(1) >= SUM_TOGETHER).tolist():
        others = np.abs(every[:, 1:])
        others[column] = 0
        holds = (np.abs(others - np.abs(np.diff(every[column]))) < SUM_ROUNDED) & (others > 0)
        if holds.any(0).mean() >= SUM_COLUMN_SHARE:
            found[column] = True
            steps |= (holds.sum(1) >= SUM_COLUMN_SHARE * (others > 0).sum(1)) & holds.any(1)
    return found, steps


def payment_rows(table: PrintedTable, column: int, steps: npt.NDArray[np.bool_], reader: MentionReader) -> set[int]:
    """Returns the rows without a number in a column of bookings whose numbers in another one have its sum.

    column, steps: the columns between which a balance goes up and down.
    """
    numbers = np.array([number_of(row.cells[column], reader) for row in table.rows])
    for other in np.flatnonzero(steps).tolist():
        paid = np.array([number_of(row.cells[other], reader) for row in table.rows])
        if other != column and is_about(paid.sum(), numbers.sum()) and ((paid != 0) == (numbers == 0)).all():
            return {*np.flatnonzero(paid).tolist()}
    return set()


def adding_columns(
    table: PrintedTable, behind: Sequence[float], columns: npt.NDArray[np.bool_], reader: MentionReader
) -> npt.NDArray[np.bool_]:
    """Returns which of these columns adds up to a number behind a table, if one alone does: [C].

    Where all is paid, what pays adds up to the same, in fewer rows.
    """
    found = np.zeros(len(columns), np.int64)
    for column in np.flatnonzero(columns).tolist():
        numbers = [number for row in table.rows if (number := number_of(row.cells[column], reader))]
        if len(numbers) > 1 and any(is_about(number, math.fsum(numbers)) for number in behind):
            found[column] = len(numbers)
    most = (found == found.max()) & (found > 0)
    return most if most.sum() == 1 else np.zeros_like(most)


def counts_up(numbers: Sequence[float]) -> bool:
    """Returns whether numbers number their rows: nearly all are one more than the one before."""
    return sum(two == one + 1 for one, two in pairwise(numbers)) >= SUM_COLUMN_SHARE * (len(numbers) - 1)


def _says_again(row: Sequence[float], above: Sequence[float]) -> bool:
    """Returns whether the last number of a row is that of its column in the row above."""
    both = [(number, other) for number, other in zip(row, above, strict=True) if number]
    return bool(both) and is_about(*both[-1])


def _words(row: TableRow, text: str) -> tuple[str, ...]:
    """Returns the words of a row's cells that have no figure."""
    cells = (words_of(cell, text) for cell in row.cells)
    return tuple(cell for cell in cells if cell and not any(map(str.isdigit, cell)))


def is_about(number: float, total: float) -> bool:
    """Returns whether two numbers are one amount, but for what is rounded."""
    return math.isclose(number, total, rel_tol=1e-9, abs_tol=0.006)


def number_of(cell: Sequence[Span], reader: MentionReader) -> float:
    """Returns the number of a cell, 0 if it is none; one among words ("from page 1") is none.

    Words before a wide gap come from the column beside it.
    """
    if cell:
        start, end = cell[-1]
        behind = [gap.end() for gap in _WIDE.finditer(reader.text, start, end)]
        cell = ((behind[-1], end),) if behind else cell
    is_number = is_figure(cell, reader.text) or is_amount(words_of(cell, reader.text))
    for reading in reader.readings(*cell, alone=True) if cell and is_number else ():
        if reading[:1] in b"-0123456789":
            return float(json.loads(reading))
    return 0.0
