"""Tables: columns by the gaps that all rows leave, heads, rows over several lines, and what stands between rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.tables import grid
from cinnabar.engine.tables.lines import lines_of
from cinnabar.engine.tables.table import PrintedTable, tables_of, words_of


def tables_in(text: str) -> list[PrintedTable]:
    return tables_of(text)


def heads_of(table: PrintedTable, text: str) -> list[str]:
    return [table.head(column, text) for column in range(len(table.heads))]


def rows_of(table: PrintedTable, text: str) -> list[list[str]]:
    return [[words_of(cell, text) for cell in row.cells] for row in table.rows]


FLEET = """\
Fleet list

Unit  Vehicle             Value
      Make     Model
Depot North
1     Ford     T          1,200
2     VW       Golf GTI
                estate      900
Page 1 of 2

Unit  Vehicle             Value
      Make     Model
3     Opel     X             55
Depot South
4     Fiat     Panda         70
Total                     2,225
"""


def test_a_table_has_its_heads_rows_and_the_lines_in_between() -> None:
    (table,) = tables_in(FLEET)
    assert heads_of(table, FLEET) == ["Unit", "Vehicle Make", "Model", "Value"]
    assert rows_of(table, FLEET) == [
        ["1", "Ford", "T", "1,200"], ["2", "VW", "Golf GTI estate", "900"], ["3", "Opel", "X", "55"],
        ["4", "Fiat", "Panda", "70"],
    ]  # fmt: skip
    between = [(FLEET[line.start : line.end].split("  ")[0], line.rows) for line in table.between]
    assert between == [("Depot North", 0), ("Page 1 of 2", 2), ("Depot South", 3), ("Total", 4)]


def test_running_text_has_no_table() -> None:
    text = "One may write  wide gaps\nin a text that goes on and on\nand has no columns at all,\nwhatever  happens.\n"
    assert tables_in(text) == []


def test_columns_are_told_by_all_lines_where_one_has_a_narrow_gap() -> None:
    text = "".join(f"AB{at:02d} {'T' * (at % 3 + 1):4}{at * 7:>6} x\n" for at in range(20))
    text = "Code Kind  Size y\n" + text
    (table,) = tables_in(text)
    assert [row[:3] for row in rows_of(table, text)[:2]] == [["AB00", "T", "0"], ["AB01", "TT", "7"]]


@pytest.mark.parametrize("pages", [1, 3])
def test_words_of_a_head_above_no_cells_belong_to_the_column_beside_them(pages: int) -> None:
    head = "Bus No    Maker    Excess Fire"
    rows = [f"{at:>6}    {('Volvo', 'MAN')[at % 2]:9}{100 * at:>11}" for at in range(1, 19)]
    text = "\n".join(f"{head}\n" + "\n".join(rows[page :: pages]) for page in range(pages))
    (table,) = tables_in(text)
    assert heads_of(table, text) == ["Bus No", "Maker", "Excess Fire"] and len(table.rows) == 18


def test_tables_below_each_other_in_the_same_columns_are_two() -> None:
    cars = "".join(f"{at:<5}{('Volvo', 'MAN')[at % 2]:12}B {200 + at:<10}{900 * at:>6}\n" for at in range(1, 13))
    drivers = "".join(f"{at:<5}{('Ann', 'Bob')[at % 2]:12}B {200 + at:<10}{2000 + at:>6}\n" for at in range(1, 7))
    head = "No   Vehicle     Plate        Value\n"
    text = f"{head}{cars}Page 1\n\n{head}{cars}\nDrivers\n\nNo   Driver      Plate        Since\n{drivers}"
    first, second = tables_in(text)
    assert heads_of(first, text) == ["No", "Vehicle", "Plate", "Value"] and len(first.rows) == 24
    assert heads_of(second, text) == ["No", "Driver", "Plate", "Since"] and len(second.rows) == 6


def test_a_count_below_a_single_row_goes_on_with_none_of_its_cells() -> None:
    lines = ["School          Pupil     Marks"]
    for part, many in enumerate((3, 1, 4)):
        lines += [f"{'' if at else f'Park {part}':16}{('Ann', 'Bob')[at % 2]:10}{7 * at + 20:>5}" for at in range(many)]
        lines.append(f"Entries: {many}")
    text = "\n".join(lines)
    (table,) = tables_in(text)
    assert [words_of(row.cells[0], text) for row in table.rows if row.cells[0]] == ["Park 0", "Park 1", "Park 2"]
    assert len(table.rows) == 8


def test_a_labelled_number_that_counts_no_rows_stays_with_its_row() -> None:
    items = [("Widget", 4711), ("Gadget", 4724), ("Sprocket", 4737), ("Flange", 4750)]
    lines = ["Item            Count     Price"]
    for at, (name, lot) in enumerate(items):
        lines += [f"{name:16}{at + 2:<10}{3 * at + 20}.50", f"Lot: {lot}"]
    text = "\n".join([*lines, f"{'Bolt':16}9         12.50"])
    (table,) = tables_in(text)
    assert rows_of(table, text)[1][0] == "Gadget Lot: 4724" and len(table.rows) == 5


def test_a_head_whose_word_begins_headings_too_stays_the_head() -> None:
    lines = ["Account   Payee     Debit     Credit"]
    for part in range(3):
        lines.append(f"Account 400{part} Office")
        lines += [f"{100 * part + at:<10}{('Rent', 'Fuel')[at % 2]:10}{at + 20}.50     {at + 70}.25" for at in range(5)]
    text = "\n".join(lines)
    (table,) = tables_in(text)
    assert heads_of(table, text) == ["Account", "Payee", "Debit", "Credit"] and len(table.rows) == 15


@pytest.mark.parametrize("between", ["", "\n"])
@pytest.mark.parametrize("above", [False, True])
def test_a_heading_beside_the_head_is_no_part_of_it(between: str, above: bool) -> None:
    heads, widths = ["Day", "By", "Voucher", "Memo", "Debit", "Credit", "Left"], (13, 5, 9, 14, 8, 8, 8)

    def line(*cells: str) -> str:
        return "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()

    head, lines = [line(*heads), *([between] if between else [])], list[str]()
    for part in range(3):
        heading = f"{f'Acct 40-87{part}':18}Office Expense"
        lines += [heading, *head] if above and not part else [*head, heading] if not part else [heading]
        for day in range(1, 7):
            lines.append(line(f"0{day}/03", "PR", f"JE-{day}7", "Rent", f"{day}0.50", f"{day}.00", f"{day}7.25"))
    text = "\n".join(lines)
    (table,) = tables_in(text)
    assert heads_of(table, text) == heads and len(table.rows) == 18
    assert [text[line.start : line.end].split()[0] for line in table.between] == ["Acct"] * (2 if above else 3)


def test_places_on_the_page_count_where_words_have_boxes() -> None:
    text = "No Name Sum\n" + "".join(f"{at} Anna Lee {at}.50\n" for at in range(1, 6))
    starts, boxes = [], []
    begin = 0
    for line in text.splitlines(keepends=True):
        words = line.split()
        places = [0.1, 0.3, 0.8] if len(words) == 3 else [0.1, 0.3, 0.35, 0.8]
        at = begin
        for word, left in zip(words, places, strict=True):
            at = text.index(word, at)
            starts.append(at)
            boxes.append((left, 0.0, left + 0.01 * len(word), 0.1))
            at += len(word)
        begin += len(line)
    # The text has single blanks alone, so that only the boxes tell the columns.
    lines = lines_of(text, np.asarray(starts, np.int32), np.asarray(boxes, np.float32))
    assert {line.boxed for line in lines} == {True}
    assert [len(line.words) for line in lines] == [3, 4, 4, 4, 4, 4]


@given(
    st.lists(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=3, max_size=3), min_size=3, max_size=20)
)
def test_the_cells_of_a_plain_table_are_found_whatever_their_words(cells: list[list[str]]) -> None:
    text = "".join("".join(cell.ljust(12) for cell in row).rstrip() + "\n" for row in [["aa", "bb", "cc"], *cells])
    (table,) = tables_in(text)
    found = rows_of(table, text)
    # A row that repeats the head is left out.
    assert found == [row for row in cells if row != ["aa", "bb", "cc"]]
    assert heads_of(table, text) == ["aa", "bb", "cc"]


@given(st.text(alphabet="ab1.  \n\t€", max_size=300))
def test_any_text_has_tables_whose_cells_are_words_of_it_in_order(text: str) -> None:
    for table in tables_in(text):
        assert 0 <= table.start <= table.end <= len(text)
        for row in table.rows:
            assert len(row.cells) == len(table.heads)
            spans = sorted(span for cell in row.cells for span in cell)
            assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
            assert all(one[1] <= two[0] for one, two in pairwise(spans))


def test_lines_that_share_no_columns_are_not_tried_again_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    stairs = lines_of("".join(f"{' ' * at}a  b\n" for at in range(300)))
    runs = 0
    grown = grid._grown

    def counted(*given: Any) -> list[int]:
        nonlocal runs
        runs += 1
        return grown(*given)

    monkeypatch.setattr(grid, "_grown", counted)
    assert grid.grids_of(stairs) == [] and runs < 20


def test_a_word_that_begins_each_cell_of_a_column_is_no_column_of_its_own() -> None:
    names = ["Major LEE", "Captain JEREMY DUNN", "Private First Class OLA HOLT", "Sergeant KIM"] * 4
    lines = [f"United States v. {name:40}{2020 + at}0{at}  10/{at + 10}/2023" for at, name in enumerate(names)]
    text = "\n".join(["RSS Feed", "1 - 16 of 1206", f"{'Subject':57}Number  Day", *lines])
    (table,) = tables_of(text)
    assert [words_of(row.cells[0], text) for row in table.rows] == [f"United States v. {name}" for name in names]


def test_the_last_row_goes_on_below_it_where_other_rows_do() -> None:
    text = (
        "Job                    Hours    Amount\nPaint the hall,            4    180.00\nwhite, two coats\n"
        "Sand the floor             6    240.00\nVarnish the stairs,        2     95.00\nsilk matt\n\nThank you\n"
    )
    (table,) = tables_of(text)
    assert words_of(table.rows[-1].cells[0], text) == "Varnish the stairs, silk matt"


def test_another_head_below_a_blank_line_begins_another_table() -> None:
    text = (
        "Item              Qty    Price   Amount\nOlive oil 5 l      40    31.50  1260.00\n"
        "Olives 3 kg        24    12.80   307.20\nVinegar            36     6.45   232.20\n\n"
        "              Net base     Rate      Tax\n               1260.00     4.00    50.40\n"
        "                539.40    10.00    53.94\n"
    )
    one, two = tables_of(text)
    assert [len(one.rows), len(two.rows)] == [3, 2]
    assert two.head(0, text) == "Net base"


@pytest.mark.parametrize("turned", [1, 2, 3])
def test_a_table_on_its_side_has_the_rows_of_the_upright_one(turned: int) -> None:
    printed = [["Item", "Qty", "Amount"], ["Pipe", "4", "50.00"], ["Valve", "2", "36.50"], ["Seal", "10", "9.50"]]
    text = "\n".join("        ".join(own) for own in printed)
    starts, boxes, at = list[int](), list[list[float]](), 0
    for down, own in enumerate(printed):
        for across, word in enumerate(own):
            at = text.index(word, at)
            left, top = 0.1 + 0.3 * across, 0.1 + 0.05 * down
            right, bottom = left + 0.02 * len(word), top + 0.03
            for _ in range(turned):
                left, top, right, bottom = 1 - bottom, left, 1 - top, right
            starts.append(at)
            boxes.append([left, top, right, bottom])
    (table,) = tables_of(text, np.array(starts, np.int32), np.array(boxes, np.float32))
    assert [[words_of(cell, text) for cell in row.cells] for row in table.rows] == printed[1:]
