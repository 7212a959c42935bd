"""The head of a table: the lines above its first row, whatever stands between, and the gaps that its words leave."""

from __future__ import annotations

import pytest

from cinnabar.engine.tables.table import PrintedTable, has_labels, tables_of


def heads_in(text: str) -> list[str]:
    (table,) = tables_of(text)
    return [table.head(column, text) for column in range(len(table.heads))]


def printed(rows: list[tuple[str, ...]], *widths: int) -> str:
    lines = ("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(line.rstrip() + "\n" for line in lines)


ROWS = [(f"KR-{at}", f"Bolt M{at}", f"{at * 7}", f"{at}.50") for at in range(10, 22)]


def test_figures_in_a_head_are_no_row() -> None:
    text = printed([("Code", "Name", "Ppr 1", "Ppr 2"), *ROWS], 10, 12, 10, 8)
    assert heads_in(text) == ["Code", "Name", "Ppr 1", "Ppr 2"]


def test_headings_of_the_first_rows_may_stand_between_the_head_and_them() -> None:
    text = printed([("Code", "Name", "Count", "Cost"), *ROWS], 10, 12, 10, 8)
    head, _, rest = text.partition("\n")
    assert heads_in(f"{head}\nWarehouse 12 at the northern harbour\n{rest}") == ["Code", "Name", "Count", "Cost"]


def test_lines_of_labels_above_an_empty_line_are_no_head() -> None:
    above = [("Policy", "A-1", "Insured", "Anna"), ("", "", "", "")]
    text = printed([*above, ("Code", "Name", "Count", "Cost"), *ROWS], 10, 12, 10, 8)
    assert heads_in(text) == ["Code", "Name", "Count", "Cost"]


def test_a_head_of_two_lines_is_read_from_top_to_bottom() -> None:
    text = printed([("Item", "", "Number", ""), ("Code", "Name", "seen", "Cost"), *ROWS], 10, 12, 10, 8)
    assert heads_in(text) == ["Item Code", "Name", "Number seen", "Cost"]


def test_lines_that_only_sum_up_do_not_hide_a_gap() -> None:
    sums = [("Subtotal of all bolts", "", "99", "9.50")] * 6
    rows = [row for pair in zip(ROWS[:6], sums, strict=True) for row in pair] + ROWS[6:]
    text = "Code      Name        Count     Cost\n" + "".join(
        f"{a:<10}{b:<12}{c:<10}{d}\n" if b else f"{a:<22}{c:<10}{d}\n" for a, b, c, d in rows
    )
    assert heads_in(text) == ["Code", "Name", "Count", "Cost"]


@pytest.mark.parametrize("sign", ["=", ":"])
def test_lines_of_labels_are_no_rows_of_a_list(sign: str) -> None:
    text = printed([(f"Label {at}", sign, f"value {at * at}") for at in range(12)], 12, 4, 12)
    (table,) = tables_of(text)
    assert has_labels(table, text)


def test_rows_with_dashes_for_nothing_are_no_labels() -> None:
    rows = [*((a, b, "-", d) for a, b, _, d in ROWS[:-1]), ROWS[-1]]
    text = printed([("Code", "Name", "Count", "Cost"), *rows], 10, 12, 10, 8)
    (table,) = tables_of(text)
    assert isinstance(table, PrintedTable) and not has_labels(table, text)


def test_lines_above_a_head_that_stands_within_a_grid_are_another_table() -> None:
    gap, cities = " " * 29, ("Rome", "Oslo")
    text = f"Year{gap}Amount\n" + "".join(f"202{number}{gap}{number}17.5\n" for number in range(3))
    text += "\nFile        Loss        City      Paid     Left\n"
    text += "".join(f"K-{at}27      2021-04-{at}  {cities[at % 2]}     {at}17.5    {at}9.2\n" for at in range(10, 22))
    first, second = tables_of(text)
    assert [len(first.rows), len(second.rows)] == [3, 12]
    assert [second.head(column, text) for column in range(5)] == ["File", "Loss", "City", "Paid", "Left"]


def test_cells_that_begin_with_a_label_are_labels_and_times_are_none() -> None:
    text = "".join(f"{label}: {value:<16}{other}\n" for label, value, other in (
        ("Phone", "555 1234", "Oslo"), ("Fax", "555 1235", "Kiel"), ("Mail", "a@b.de", "Rome"), ("Web", "b.de", "Bern"),
    ))  # fmt: skip
    (table,) = tables_of(text)
    assert has_labels(table, text)
    times = "".join(f"1{at}:30       Train {at}      Oslo\n" for at in range(8))
    (table,) = tables_of(times)
    assert not has_labels(table, times)
