"""The words of heads that tell columns apart, and the fields that they name."""

from __future__ import annotations

import numpy as np
import pytest

from cinnabar.engine.models.reader.inputs.questions import Question
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.tables.column_signs import ColumnFeatures
from cinnabar.engine.models.reader.tables.matched_columns import match_columns
from cinnabar.engine.models.reader.tables.rival_heads import distinct_heads, field_words, lowest_words, name_shares
from cinnabar.engine.tables.table import PrintedTable, tables_of

ROWS = "".join(f"K{at:02}   {20 + at}       {300 + 7 * at}      {at}.10\n" for at in range(1, 15))
#: Heads of the same rows, with what tells their columns apart.
HEADS = {
    "Part  Quantity           Price\n      minimum  on hand\n": ["Part", "minimum", "on hand", "Price"],
    "      Qty on   Qty on    Unit\nPart  order    hand      price\n": ["Part", "order", "hand", "price"],
    "      Issue    Due       Unit\nPart  day      day       price\n": ["Part", "Issue day", "Due day", "price"],
    "      Under    Left in   Unit\nPart  18       year      price\n": ["Part", "18", "year", "price"],
    "Part  Stock              Price\n": ["Part", "Stock", "Stock", "Price"],
}


def table_of(text: str) -> PrintedTable:
    (table,) = tables_of(text)
    return table


@pytest.mark.parametrize(("head", "apart"), HEADS.items())
def test_upper_words_that_may_be_those_of_a_group_tell_nothing(head: str, apart: list[str]) -> None:
    assert distinct_heads(table_of(head + ROWS), head + ROWS) == apart


def test_the_words_beside_the_cells_are_a_columns_own() -> None:
    # The head of a last column may lie above another one's.
    text = "      Returned           Total\nPart  minimum  on hand   other\n" + ROWS
    lowest = lowest_words(table_of(text), text)
    assert lowest == ["Part", "minimum", "on hand", "other"]
    assert name_shares([field_words("/parts/*/total", Question("total", "Sum of the row"))], lowest).max() == 0


@pytest.mark.parametrize("rows", [4, 6, 9])
def test_a_head_over_two_columns_does_not_join_them_in_a_short_table(rows: int) -> None:
    text = "Part   Quantity          Price\n       minimum  on hand\n"
    text += "".join(f"A-{at:03}  {at + 10}       {100 + 7 * at}      {at}.09\n" for at in range(rows))
    assert [len(row.cells) for row in table_of(text).rows] == [4] * rows


def test_a_description_names_by_words_and_short_forms_but_not_by_what_it_is_not() -> None:
    heads = ["Min.", "On hand", "Tare", "Quantity", "Quantity max"]
    told = {"Quantity on hand, in stock": 1, "Minimum to keep": 0, "Weight, without tare, at minimum": 0, "Largest": 3}
    for note, column in told.items():
        shares = name_shares([field_words("/parts/*/quantity", Question("quantity", note))], heads)[0]
        assert shares[column] == 1.0 and (shares == 1.0).sum() == (1 if column == 3 else 2), note


def signs(names: list[list[float]], likeness: float) -> ColumnFeatures:
    """Two columns of numbers and one of names, of a name and a number; the network points at the first number."""
    votes = np.array([[0.97, 0.01, 0.01, 0.01], [0.01, 0.94, 0.04, 0.01]])
    readable, alike = np.array([[1.0, 0, 0], [0, 1, 1]]), np.array([[0.7, 0.1, 0.1], [0.1, 0.3, 0.3 + likeness]])
    none, even = np.zeros(3, bool), np.zeros((2, 3))
    return ColumnFeatures(
        votes, readable, alike, even, none, np.array(names), even, np.array([False, True]), none, none, even > 0,
        even > 0, np.zeros((2, 4)),
    )


def test_words_decide_against_the_network_and_without_any_no_column_is_sure() -> None:
    config, free = TableConfig(), np.zeros(2, bool)
    told = match_columns(signs([[1.0, 0, 0], [0, 0, 1.0]], 0.15), free, config)
    assert told.columns == (0, 2) and told.named == (False, True)
    silent = match_columns(signs([[1.0, 0, 0], [0, 0, 0]], -0.1), free, config)
    assert silent.columns == (0, 1) and silent.doubtful == (False, True) and silent.matches[1] <= config.doubtful < 0.8
    alike = match_columns(signs([[1.0, 0, 0], [0, 0, 0]], -0.3), free, config)
    assert alike.doubtful == (False, False)
