"""Columns whose numbers are factors of others, or balances."""

from __future__ import annotations

import pytest

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.tables.sums import balance_columns, factor_columns
from cinnabar.engine.tables.table import tables_of

#: A table, the columns of its factors, and those of its balances.
TABLES = {
    "hours and rates": (
        "Work            Hours     Rate    Amount\nWorkshop            2   925.00   1850.00\n"
        "Guide               3   400.00   1200.00\nPosters            25    18.40    460.00\n",
        [1, 2], [],
    ),
    "debit, credit and balance": (
        "What            Debit   Credit   Balance\nDeposit                  80.00    -80.00\n"
        "Room           128.00              48.00\nBreakfast       16.50              64.50\n"
        "Sauna           22.00              86.50\nCard                     86.50      0.00\n",
        [], [3],
    ),
    "amounts without any relation": (
        "What             Net      Tax\nRoom           128.00    12.80\nBar             16.50     3.14\n"
        "Sauna           22.00     4.18\nParking         14.00     2.66\n",
        [], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_factors_and_balances_are_told_by_arithmetic(case: str) -> None:
    text, factors, balances = TABLES[case]
    (table,) = tables_of(text)
    reader = MentionReader(text)
    assert factor_columns(table, table.rows, reader).nonzero()[0].tolist() == factors
    assert balance_columns(table, reader).nonzero()[0].tolist() == balances
