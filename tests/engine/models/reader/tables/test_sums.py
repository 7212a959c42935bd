"""Columns whose numbers are factors of others, or balances."""

from __future__ import annotations

import pytest

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.tables.sums import adding_columns, balance_columns, factor_columns, payment_rows
from cinnabar.engine.tables.table import tables_of

#: A table, the columns of its factors, of what is taken off their product, of its balances, and of its bookings.
TABLES = {
    "hours and rates": (
        "Work            Hours     Rate    Amount\nWorkshop            2   925.00   1850.00\n"
        "Guide               3   400.00   1200.00\nPosters            25    18.40    460.00\n",
        [1, 2], [], [], [],
    ),
    "debit, credit and balance": (
        "What            Debit   Credit   Balance\nDeposit                  80.00    -80.00\n"
        "Room           128.00              48.00\nBreakfast       16.50              64.50\n"
        "Sauna           22.00              86.50\nCard                     86.50      0.00\n",
        [], [], [3], [1, 2],
    ),
    "amounts without any relation": (
        "What             Net      Tax\nRoom           128.00    12.80\nBar             16.50     3.14\n"
        "Sauna           22.00     4.18\nParking         14.00     2.66\n",
        [], [], [], [],
    ),
    "a price with a discount in some rows": (
        "Item             Pieces    Each    Off   Code     Amount\n"
        "Flour 25 kg          10   18.45            1     184.50\n"
        "Sunflower oil        13   21.90      3     2     276.16\n"
        "Napkins              10   27.60      5     1     262.20\n"
        "Tomatoes             19    4.85            2      92.15\n"
        "Gloves               23    6.99     10     1     144.69\n"
        "Freight                                                27.50\n",
        [1, 2], [3], [], [],
    ),
    "a rate of few rows above another table": (
        "Work            Hours     Rate    Amount\nWorkshop            2   925.00   1850.00\n"
        "Guide               3   400.00   1200.00\nPosters            25    18.40    460.00\n"
        "Journey             2    45.00     90.00\nLantern Ltd                12        48\n",
        [1, 2], [], [], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_factors_and_balances_are_told_by_arithmetic(case: str) -> None:
    text, factors, discounts, balances, steps = TABLES[case]
    (table,) = tables_of(text)
    reader = MentionReader(text)
    assert [one.nonzero()[0].tolist() for one in factor_columns(table, table.rows, reader)] == [factors, discounts]
    assert [one.nonzero()[0].tolist() for one in balance_columns(table, reader)] == [balances, steps]


#: Bookings, up to the last of them.
BOOKINGS = (
    "Day     What            Debit   Credit   Balance\n01/02   Deposit                  80.00    -80.00\n"
    "01/02   Room           128.00              48.00\n01/02   Breakfast       16.50              64.50\n"
    "02/02   Sauna           22.00              86.50\n02/02   Room           128.00             214.50\n"
    "03/02   Bar             14.00             228.50\n03/02   Card                    "
)


@pytest.mark.parametrize(("last", "payments"), [("228.50      0.00\n", {0, 6}), ("200.00     28.50\n", set())])
def test_bookings_that_add_up_are_told_from_what_pays_for_them(last: str, payments: set[int]) -> None:
    reader = MentionReader(BOOKINGS + last)
    (table,) = tables_of(reader.text)
    _, steps = balance_columns(table, reader)
    assert payment_rows(table, 2, steps, reader) == payments
    assert adding_columns(table, [27.75, 308.5], steps, reader).nonzero()[0].tolist() == [2]
    assert not adding_columns(table, [27.75], steps, reader).any()
