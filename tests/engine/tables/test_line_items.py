"""Items of several lines without labels: the same number of lines again and again."""

from __future__ import annotations

import pytest

from cinnabar.engine.tables.heads import words_of
from cinnabar.engine.tables.table import tables_of

PARTS = [(f"V{300 + n}", ("Orba", "Timm & Co", "Keld")[n % 3], f"{60 + 7.35 * n:.2f}") for n in range(12)]
MORE = [(("brass", "steel 1.4571", "cast iron")[n % 3], f"{1 + 0.7 * n:.1f}", f"{n} Mill Lane") for n in range(12)]


def _cells(text: str) -> list[list[str]]:
    (table,) = tables_of(text)
    return [[words_of(cell, text) for cell in cells] for cells in (table.heads, *(row.cells for row in table.rows))]


def test_lines_that_stand_in_below_a_line_are_of_its_item_and_have_heads_of_their_own() -> None:
    text = "Valves kept\n\nPart   Maker          Price\n   Material     Weight  Kept at\n\n"
    for (code, maker, price), (material, weight, place) in zip(PARTS, MORE, strict=True):
        text += f"{code:7}{maker:12}{price:>8}\n   {material:14}{weight:>5}   {place}\n"
    heads, *rows = _cells(text)
    assert heads == ["Part", "Maker", "Price", "Material", "Weight", "Kept at"]
    assert rows == [[*part, *more] for part, more in zip(PARTS, MORE, strict=True)]


def test_a_head_of_several_lines_on_each_page_is_no_item() -> None:
    head = "\nPrice list\n\nPart   Maker          Price\n   Material     Weight\n\n"
    text = ""
    for at, ((code, maker, price), (material, weight, _)) in enumerate(zip(PARTS, MORE, strict=True)):
        text += head if at % 6 == 0 else ""
        text += f"{code:7}{maker:12}{price:>8}\n   {material:14}{weight:>5}\n"
    heads, *rows = _cells(text)
    assert heads == ["Part", "Maker", "Price", "Material", "Weight"]
    assert rows == [[*part, material, weight] for part, (material, weight, _) in zip(PARTS, MORE, strict=True)]


def test_lines_between_empty_ones_are_an_item() -> None:
    text = "Members\n\n"
    for (code, maker, _), (material, weight, place) in zip(PARTS, MORE, strict=True):
        text += f"{maker} {code}\n{place}\n{material:14}     {weight:>5}\n\n"
    _, *rows = _cells(text)
    whole = [[f"{maker} {code}", place] for (code, maker, _), (*_, place) in zip(PARTS, MORE, strict=True)]
    assert [row[:2] for row in rows] == whole
    assert [row[-1] for row in rows] == [weight for _, weight, _ in MORE]


def test_a_line_of_prose_below_most_rows_is_a_cell_of_its_row() -> None:
    said = ["Torn at the seam of both sides.", "Lost on its way and never found.", "Wet, and dried in the sun."]
    text = "Northwind\nClosed claims\n\nClaim  Claimant       Paid\n"
    for at, (code, maker, price) in enumerate(PARTS):
        text += f"{code:7}{maker:12}{price:>8}\n" + (f"       {said[at % 3]}\n" if at != 7 else "")
    heads, *rows = _cells(text)
    assert heads == ["Claim", "Claimant", "Paid", ""]
    assert rows == [[*part, said[at % 3] if at != 7 else ""] for at, part in enumerate(PARTS)]


@pytest.mark.parametrize("of_a_shelf", [2, 3])
def test_rows_below_a_heading_are_items_of_their_own(of_a_shelf: int) -> None:
    text = "Part          Maker          Price\n"
    for at, (code, maker, price) in enumerate(PARTS * 2):
        text += f"Shelf {at}\n" if at % of_a_shelf == 0 else ""
        text += f"   {code:11}{maker:12}{price:>8}\n"
    _, *rows = _cells(text)
    assert rows == [list(part) for part in PARTS * 2]


def test_cells_of_two_lines_stay_cells() -> None:
    text = "Part   Maker          Price  Note\n"
    for (code, maker, price), (_, _, place) in zip(PARTS, MORE, strict=True):
        text += f"{code:7}{maker:12}{price:>8}  made with care\n{'':29}in {place}\n"
    _, *rows = _cells(text)
    assert rows[3] == [*PARTS[3], f"made with care in {MORE[3][2]}"]


def test_rows_with_a_value_that_is_printed_once_stay_rows() -> None:
    text = "Date    Train   From       To         Time\n"
    for at in range(9):
        text += f"{at + 1:02}.03.  RE{at + 10}    Ulm        Bonn      08:1{at}\n"
        text += f"        IC{at + 50}    Bonn       Kiel      10:2{at}\n"
    heads, *rows = _cells(text)
    assert heads == ["Date", "Train", "From", "To", "Time"] and len(rows) == 18


def test_groups_of_rows_between_empty_lines_stay_rows() -> None:
    text = "Shift   Name            From    To\n\n"
    for at, day in enumerate(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")):
        text += f"{day}\nEarly   {PARTS[at][1]:14}  06:00  14:00\nLate    {PARTS[at + 1][1]:14}  14:00  22:00\n\n"
    _, *rows = _cells(text)
    assert len(rows) == 14


def test_tables_above_and_below_the_items_stay() -> None:
    items, prices = "", "Item        Qty    Price\n"
    for at, (code, maker, price) in enumerate(PARTS):
        items += f"{maker:14}{20 + at}  Ulm\nphone {5500 + at}   room {at}\n\n"
        prices += f"{code:10}{at + 1:5}{price:>9}\n"
    for text in (f"Members\n\n{items}{prices}", f"{prices}\nMembers\n\n{items}"):
        found = {words_of(cell, text) for table in tables_of(text) for row in table.rows for cell in row.cells}
        assert {code for code, _, _ in PARTS} <= found and {f"phone {5500 + at}" for at in range(12)} <= found, text


def test_the_first_item_may_begin_the_text() -> None:
    text = "".join(f"{maker} {code}\n{place}\n{material:14}     {weight:>5}\n\n"
                   for (code, maker, _), (material, weight, place) in zip(PARTS, MORE, strict=True))  # fmt: skip
    _, *rows = _cells(text)
    assert rows[0][0] == "Orba V300" and len(rows) == 12


def test_lines_of_a_sparse_plan_make_no_items() -> None:
    places = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (0, 1, 6), (0, 2, 5), (0, 3, 6), (0, 4, 5), (0, 2, 4)]
    text = "\n"
    for at, own in enumerate(places):
        cells = {place: f"08:{10 + at}" if place else f"P{at + 10}" for place in own}
        text += "".join(cells.get(place, "").ljust(10) for place in range(7)).rstrip() + f"\nroom {at}\n\n"
    assert {words_of(row.cells[0], text) for table in tables_of(text) for row in table.rows} >= {"P10", "P17"}


def test_a_sum_below_the_items_is_none_of_them() -> None:
    text = "Claim  Claimant       Paid\n"
    for at, (code, maker, price) in enumerate(PARTS):
        text += f"{code:7}{maker:12}{price:>8}\n       Torn at the seam, part {at}.\n"
        text += f"Subtotal            {800.5 + at:6.2f}\n" if at % 4 == 3 else ""
    (table,) = tables_of(text)
    assert len(table.rows) == 12 and sum(one.is_sum for one in table.between) == 2
