"""Lists that stand in tables: columns are matched to fields together, and rows are read by cell."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.support.cases import each

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader import model as model_module
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.memory.passage import LateStates
from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.tables.column_signs import ColumnFeatures
from cinnabar.engine.models.reader.tables.matched_columns import balance, match_columns
from cinnabar.engine.models.reader.tables.matched_lists import _is_running_text
from cinnabar.engine.models.reader.tables.sums import number_of, sum_rows, total_columns
from cinnabar.engine.models.reader.tables.values_above import filled_down
from cinnabar.engine.request import Filled, Passage, Request
from cinnabar.engine.tables.table import PrintedTable, tables_of, words_of
from cinnabar.schemas import compile_schema

CONFIG = TableConfig()
NONE = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 4), np.float32)
CARS = [(at, ("Ford", "Opel", "Fiat")[at % 3], ("IN", "OR", "DE", "ID")[at % 4], 1000 + 37 * at) for at in range(1, 13)]


def table_of(text: str) -> PrintedTable:
    (table,) = tables_of(text)
    return table


def listed(headings: bool) -> str:
    """Cars in a table with a total below, and with the depot in headings between rows."""
    lines = ["Schedule of cars", "", "No    Make    State     Value"]
    for number, make, state, value in CARS:
        if headings and number in (1, 7):
            lines.append(f"Depot: {'Salem' if number == 1 else 'Boise'}")
        lines.append(f"{number:<6}{make:8}{state:6}{value:>9,}")
    return "\n".join([*lines, f"{'Total':20}{sum(car[3] for car in CARS):>9,}", ""])


@given(arrays(np.float64, (4, 6), elements=st.floats(0.01, 1.0)))
def test_each_field_has_one_column_or_none_and_each_column_one_field_at_most(shares: Any) -> None:
    whole = balance(shares)
    assert np.allclose(whole.sum(1), 1.0) and (whole[:, :-1].sum(0) < 1.05).all()
    none, no = np.zeros((4, 5)), np.zeros(5, bool)
    alike, numbers, read = shares[:, :-1], np.ones(4, bool), np.zeros((4, 6))
    signs = ColumnFeatures(shares, alike, alike, none, no, none, none, numbers, no, no, none > 0, none > 0, read)
    found = match_columns(signs, np.zeros(4, bool), CONFIG)
    taken = [column for column in found.columns if column >= 0]
    assert len(set(taken)) == len(taken) and all(0 <= chance <= 1 for chance in found.chances)


def test_the_order_of_fields_and_columns_decides_where_votes_are_alike() -> None:
    votes = np.full((4, 5), 0.05)
    votes[[0, 1, 3], [0, 1, 3]] = 0.9
    votes[2, [0, 2]] = 0.4
    readable, none, no = np.ones((4, 4)), np.zeros((4, 4)), np.zeros(4, bool)
    signs = ColumnFeatures(
        votes, readable, none, none, no, none, none, ~no, no, no, none > 0, none > 0, np.zeros((4, 5))
    )
    assert match_columns(signs, np.zeros(4, bool), CONFIG).columns == (0, 1, 2, 3)


def test_a_number_that_each_item_has_is_in_no_column_with_empty_cells() -> None:
    votes = np.array([[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]])
    none, no, numbers = np.zeros((2, 2)), np.zeros(2, bool), np.ones(2, bool)
    for needed in (0, 1):
        empty = np.outer(np.arange(2) == needed, [0.4, 0.0])
        signs = ColumnFeatures(
            votes, np.ones((2, 2)), none, none, no, none, empty, numbers, no, no, none > 0, none > 0, np.zeros((2, 3))
        )
        found = match_columns(signs, no, CONFIG)
        assert found.columns[needed] == 1 and found.columns[1 - needed] == 0


def test_a_field_of_the_items_around_rows_stands_in_a_column_that_tells_groups() -> None:
    votes = np.array([[0.6, 0.3, 0.1], [0.05, 0.05, 0.9]])
    none, no, numbers = np.zeros((2, 2)), np.zeros(2, bool), np.zeros(2, bool)
    for ungrouped, column in ((none > 0, 0), (np.array([[True, False], [False, False]]), 1)):
        signs = ColumnFeatures(
            votes, np.ones((2, 2)), none, none, no, none, none, numbers, no, no, none > 0, ungrouped, np.zeros((2, 3))
        )
        assert match_columns(signs, no, CONFIG).columns[0] == column


@pytest.mark.parametrize(("elsewhere", "same", "is_sure"), [(0.1, 0, True), (0.6, 0, False), (0.1, 1, False)])
def test_what_a_language_model_reads_alone_makes_a_column_sure_if_nothing_is_against_it(
    elsewhere: float, same: int, is_sure: bool
) -> None:
    votes = np.array([[0.05, elsewhere, 0.95 - elsewhere]])
    none, no, read = np.zeros((1, 2)), np.zeros(2, bool), np.array([[0.95, 0.0, 0.02]])
    alike = np.array([bool(same), False])
    signs = ColumnFeatures(
        votes, np.ones((1, 2)), none, none, alike, none, none, no[:1], no, no, none > 0, none > 0, read
    )
    found = match_columns(signs, np.zeros(1, bool), CONFIG)
    assert found.columns == (0,) and (found.matches[0] >= 0.9) is is_sure


def test_rows_that_are_sums_of_those_above_are_found() -> None:
    text = "Name     Paid   Due\nAnna      10     20\nBen       15     30\nCarl       1      2\n"
    text += "Part      26     52\nDora       4      5\nEmil       6      7\nPart      10     12\nAll       36     64\n"
    assert sum_rows(table_of(text), MentionReader(text)) == {3, 6, 7}


@pytest.mark.parametrize("called", ["Part", "Part {}"])
def test_a_sum_that_is_misread_is_one_by_the_word_that_sums_begin_with(called: str) -> None:
    parts = [[(10, 20), (15, 30), (1, 2)], [(4, 5), (6, 7)], [(8, 0)]]
    lines = ["Name      No     Paid   Due    Day"]
    for at, part in enumerate(parts):
        own = enumerate(part)
        lines += [f"{('Anna', 'Ben', 'Carl')[k]:10}9{at}{k}    {paid:<7}{due:<7}0{k + 1}/03" for k, (paid, due) in own]
        paid, due = (sum(one) for one in zip(*part, strict=True))
        more = "09/03" if called == "Part" else ""
        lines.append(f"{called.format(at):10}{377 if at == 2 else '':7}{paid:<7}{due:<7}{more}".rstrip())
    text = "\n".join(lines)
    assert sum_rows(table_of(text), MentionReader(text)) == {3, 6, 8}


def test_a_row_below_a_merged_cell_that_has_the_same_numbers_is_no_sum() -> None:
    lines = ["School    Pupil     Marks  Points"]
    for school in range(3):
        for at, pupil in enumerate(("Ann", "Bob", "Carl", "Dora")):
            marks = 22 if at < 2 else 30 + at + school
            lines.append(f"{'' if at else f'Park {school}':10}{pupil:10}{marks:<7}{2 * marks}")
    text = "\n".join(lines)
    assert sum_rows(table_of(text), MentionReader(text)) == set()


@pytest.mark.parametrize(("wide", "often", "is_text"), [(20, 1, False), (120, 1, True), (20, 4, True)])
def test_paragraphs_behind_their_numbers_and_lines_that_fill_one_column_are_no_list(
    wide: int, often: int, is_text: bool
) -> None:
    words = "any of the parties may end this agreement with notice in writing to all of the others at any time "
    said = [(words * 3)[at * 13 % 90 :][:wide].strip() for at in range(40)]
    lines = [f"{f'{at}.' if at % often == 0 else '':8}{one}" for at, one in enumerate(said)]
    text = "\n".join(lines)
    (table,) = tables_of(text)
    assert not any(table.heads)
    assert _is_running_text(table, text, CONFIG) is is_text


def test_rows_that_begin_like_their_sums_are_no_sums() -> None:
    lines = ["Unit      Car     Paid   Due"]
    for unit, part in enumerate([[(37, 21), (15, 23)], [(14, 52), (6, 17)], [(18, 10), (11, 13)]], 1):
        lines += [f"Unit {unit}    {('Ford', 'Opel')[k]:8}{paid:<7}{due}" for k, (paid, due) in enumerate(part)]
        lines.append(f"Unit {unit}    total   {sum(a for a, _ in part):<7}{sum(b for _, b in part)}")
    text = "\n".join(lines)
    assert sum_rows(table_of(text), MentionReader(text)) == {2, 5, 8}


CARRIED = ("Brought forward", "Übertrag von Seite 1", "Report", "Saldo anterior", "Balance 2 of 3 pages")


@each("seed", range(40))
def test_rows_that_carry_a_sum_or_a_balance_over_a_page_are_found(seed: int) -> None:
    """A statement over pages: the words in any column, at the foot, at the head, or at both, of sums or balances."""
    rng = random.Random(seed)
    balances, tabs = rng.random() < 0.5, rng.random() < 0.3
    columns = ["Day", "Text", "Ref", "Amount", *(["Balance"] if balances else [])]
    words, where = rng.choice(CARRIED), rng.randrange(3)
    dated = where != 0 and rng.random() < 0.3
    foot, head, opening = rng.random() < 0.7, rng.random() < 0.7 or not balances, balances and rng.random() < 0.5

    def line(cells: list[str]) -> str:
        return "\t".join(cells) if tabs else "".join(cell.ljust(24) for cell in cells).rstrip()

    def carried(number: float) -> str:
        cells = [""] * len(columns)
        cells[0], cells[where], cells[-1] = "01.02." if dated else "", words, f"{number:,.2f}"
        return line(cells)

    lines, rows, gone, held = list[str](), 0, set[int](), rng.randint(1000, 9000) if balances else 0
    total = float(held)
    for page in range(3):
        lines += ["", line(columns)]
        if (page and head) or (opening and not page):
            lines.append(carried(total))
            gone.add(rows)
            rows += 1
        for _ in range(rng.randint(6, 10)):
            amount = rng.randint(100, 9999) / 100
            total = round(total + amount, 2)
            cells = [f"{rng.randint(1, 28):02}.03.", rng.choice(("Rent", "Fuel", "Paper")), f"R{rng.randint(10, 99)}"]
            lines.append(line([*cells, f"{amount:,.2f}", *([f"{total:,.2f}"] if balances else [])]))
            rows += 1
        if page < 2 and foot:
            lines.append(carried(total))
            gone.add(rows)
            rows += 1
    text = "\n".join(lines)
    table, reader = table_of(text), MentionReader(text)
    found = sum_rows(table, reader)
    items = [row for at, row in enumerate(table.rows) if at not in found]
    assert len(items) == rows - len(gone), text
    assert not any(words in words_of(cell, text) for row in items for cell in row.cells), text


SPILLED = {"forward        134.82": 134.82, "Seite 2\t1.234,50": 1234.5, "from page 1": 0.0, "12 EUR": 12.0}


@pytest.mark.parametrize(("cell", "number"), SPILLED.items())
def test_the_number_of_a_cell_is_its_last_part_and_none_among_words(cell: str, number: float) -> None:
    assert number_of(((0, len(cell)),), MentionReader(cell)) == number


def test_numbers_of_rows_and_single_numbers_are_no_sums() -> None:
    text = "No    Name      City\n" + "".join(f"{at:<6}{['Anna', 'Ben'][at % 2]:10}Oslo\n" for at in range(1, 13))
    assert sum_rows(table_of(text), MentionReader(text)) == set()
    text = "Name      Count\n" + "".join(f"Name{at:<6}{n:>5}\n" for at, n in enumerate((1, 1, 2, 4, 9, 3)))
    assert sum_rows(table_of(text), MentionReader(text)) == set()


def test_a_merged_cell_stands_for_the_rows_below_it_unless_its_field_may_be_empty_in_the_middle() -> None:
    text = "Depot   Car     Note    Km\n"
    rows = [("North", "A1", "", 5), ("", "A2", "old", 6), ("", "A3", "", 7), ("South", "B1", "", 8), ("", "B2", "", 9)]
    text += "".join(f"{a:8}{b:8}{c:8}{d:>2}\n" for a, b, c, d in rows)
    table = table_of(text)
    assert len(table.rows) == 5
    depots = [words_of(cell, text) for cell in filled_down(table, 0, True, text, CONFIG)]
    assert depots == ["North", "North", "North", "South", "South"]
    notes = [words_of(cell, text) for cell in filled_down(table, 2, True, text, CONFIG)]
    assert notes == ["", "old", "", "", ""]


STOCK = {
    "item": (("Item", "Part No.", "Article"), lambda _rng, at: f"A-{100 + at}"),
    "about": (("Description", "Product"), lambda rng, at: f"{rng.choice(('Pump', 'Valve', 'Hose'))} type {at}"),
    "quantity": (("On hand", "Qty on hand", "In stock"), lambda rng, _at: str(rng.randint(20, 90))),
    "least": (("Min.", "Min. stock", "Reorder level"), lambda rng, _at: str(rng.randint(2, 15))),
    "most": (("Max.", "Max. stock"), lambda rng, _at: str(rng.randint(100, 200))),
    "ordered": (("On order", "Ordered"), lambda rng, _at: str(rng.randint(0, 19))),
    "price": (("Unit price", "Price each"), lambda rng, _at: f"{rng.randint(99, 9999) / 100:.2f}"),
}
ASKED = {"item": "Item number.", "about": "What it is.", "quantity": "Quantity in stock.", "price": "Price of a unit."}


def stock_list(seed: int, rows: int) -> tuple[str, dict[str, Any], list[dict[str, str]]]:
    """A list of stocks with its schema and rows: its columns in any order, more of them than fields, heads of lines."""
    rng = random.Random(seed)
    names = [name for name in STOCK if name in ASKED or rng.random() < 0.6]
    rng.shuffle(names)
    cells = [{name: STOCK[name][1](rng, at) for name in names} for at in range(rows)]
    heads = {name: rng.choice(STOCK[name][0]) for name in names}
    for name, head in heads.items():
        upper, _, lower = head.rpartition(" ")
        heads[name] = (upper, lower) if upper and rng.random() < 0.7 else ("", head)
    wide = {name: max(len(one) for one in (*heads[name], *(row[name] for row in cells))) + 2 for name in names}

    def line(own: dict[str, str]) -> str:
        return "".join(own[n].ljust(wide[n]) if n in ("item", "about") else f"{own[n]:>{wide[n] - 2}}  " for n in names)

    printed = [*({name: heads[name][at] for name in names} for at in (0, 1)), *cells]
    fields = {name: {"type": {"quantity": "integer", "price": "number"}.get(name, "string"), "description": about}
              for name, about in sorted(ASKED.items(), key=lambda _: rng.random())}  # fmt: skip
    item = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
    schema = {"type": "object", "properties": {"stock": {"type": "array", "items": item}}, "required": ["stock"]}
    text = "\n".join(["Stock list", "", *filter(str.strip, map(line, printed)), ""])
    return text, schema | {"additionalProperties": False}, cells


@pytest.mark.slow
@pytest.mark.parametrize("rows", [12, 30])
def test_no_column_that_is_matched_wrongly_is_told_as_sure(rows: int) -> None:
    engine, sure, told = Engine(load_model("default"), "medium"), list[tuple[int, str]](), 0
    for seed in range(8):
        text, schema, cells = stock_list(seed, rows)
        form = compile_schema(schema).form
        (filled,) = engine.fill([Request("a", form, Passage(f"a{seed}", text, 0, *NONE))])
        assert isinstance(filled, Filled)
        found = json.loads(filled.record)["stock"]
        assert len(found) == rows
        for name in ASKED:
            right = sum(str(row[name]) == own[name] or row[name] == float(own[name]) if name in ("quantity", "price")
                        else row[name] == own[name] for row, own in zip(found, cells, strict=True))  # fmt: skip
            certain = sum(filled.leaves[f"/stock/{at}/{name}"].confidence for at in range(rows)) / rows >= 0.9
            told += certain
            sure += [(seed, name)] if certain and 2 * right < rows else []
    assert not sure and told >= 20


@pytest.mark.parametrize("headings", [False, True])
def test_a_list_in_a_table_is_read_whole_by_cell_without_its_total(headings: bool) -> None:
    kinds = {"no": "integer", "make": "string", "state": "string", "value": "number"}
    kinds |= {"depot": "string"} if headings else {}
    item = {"type": "object", "required": [*kinds], "properties": {name: {"type": one} for name, one in kinds.items()}}
    cars = {"type": "array", "items": item | {"additionalProperties": False}}
    schema = {"type": "object", "required": ["cars"], "properties": {"cars": cars}, "additionalProperties": False}
    text = listed(headings)
    form = compile_schema(schema).form
    (filled,) = Engine(load_model("default"), "medium").fill([Request("a", form, Passage("a", text, 0, *NONE))])
    assert isinstance(filled, Filled)
    found = json.loads(filled.record)["cars"]
    assert [(car["no"], car["make"], car["state"], car["value"]) for car in found] == CARS
    if headings:
        assert [car["depot"] for car in found] == ["Salem"] * 6 + ["Boise"] * 6
    leaf = filled.leaves["/cars/2/state"]
    assert [text[start:end] for start, end in leaf.spans] == ["ID"]


def test_a_column_that_is_the_sum_of_others_is_found_and_one_that_they_are_taken_from_is_not() -> None:
    rows = [(f"K{at}", at * 3.5, at * at, at * 3.5 + at * at, at * 9 - at * at) for at in range(2, 14)]
    text = "Code     Paid      Due      All      Left\n"
    text += "".join(f"{a:<8}{b:>5.2f}{c:>9.2f}{d:>9.2f}{e:>10.2f}\n" for a, b, c, d, e in rows)
    table = table_of(text)
    assert total_columns(table, table.rows, MentionReader(text)).tolist() == [False, False, False, True, False]
    text = "Code     Seen  Expected        More\n"
    text += "".join(f"{a:<8}{b:>5.2f}{c:>10.2f}{b - c:>12.2f}\n" for a, b, c, _, _ in rows)
    table = table_of(text)
    assert not total_columns(table, table.rows, MentionReader(text)).any()


def test_a_list_of_groups_with_their_rows_is_read_from_headings_and_rows() -> None:
    entry = {"type": "object", "required": ["day", "memo", "amount"], "additionalProperties": False}
    entry |= {"properties": {"day": {"type": "string"}, "memo": {"type": "string"}, "amount": {"type": "number"}}}
    group = {"type": "object", "required": ["account", "entries"], "additionalProperties": False}
    group |= {"properties": {"account": {"type": "string"}, "entries": {"type": "array", "items": entry}}}
    schema = {"type": "object", "required": ["accounts"], "properties": {"accounts": {"type": "array", "items": group}}}
    words = ("Rent", "Fuel", "Paper", "Water", "Wages")
    text = "Ledger\n\nDay         Memo      Amount\n"
    for account in (17, 23, 40):
        text += f"Account {account}-1\n"
        text += "".join(f"2024-03-{at + 10}  {word:10}{account * at + 0.5:>6.2f}\n" for at, word in enumerate(words))
    form = compile_schema(schema | {"additionalProperties": False}).form
    (filled,) = Engine(load_model("default"), "medium").fill([Request("a", form, Passage("a", text, 0, *NONE))])
    assert isinstance(filled, Filled)
    found = json.loads(filled.record)["accounts"]
    assert [(one["account"], [own["memo"] for own in one["entries"]]) for one in found] == [
        (f"{account}-1", [*words]) for account in (17, 23, 40)
    ]
    assert found[1]["entries"][4] == {"day": "2024-03-14", "memo": "Wages", "amount": 92.5}


@pytest.mark.parametrize("count", [12, 60])
def test_a_union_has_the_type_that_its_words_have(count: int) -> None:
    kinds: dict[str, Any] = {"no": "integer", "make": "string", "limit": ["number", "string"]}
    item = {"type": "object", "required": [*kinds], "properties": {name: {"type": one} for name, one in kinds.items()}}
    cars = {"type": "array", "items": item | {"additionalProperties": False}}
    schema = {"type": "object", "required": ["cars"], "properties": {"cars": cars}, "additionalProperties": False}
    printed = [("1,250", 1250), ("unlimited", "unlimited"), ("77.5", 77.5)]
    text = "No    Make      Limit\n"
    text += "".join(f"{at:<6}{['Ford', 'Opel'][at % 2]:10}{printed[at % 3][0]:>9}\n" for at in range(1, count + 1))
    form = compile_schema(schema).form
    (filled,) = Engine(load_model("default"), "medium").fill([Request("a", form, Passage("a", text, 0, *NONE))])
    assert isinstance(filled, Filled)
    limits = [car["limit"] for car in json.loads(filled.record)["cars"]]
    assert limits == [printed[at % 3][1] for at in range(1, count + 1)]


@pytest.mark.slow
def test_windows_of_a_long_list_are_read_only_where_a_field_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[LateStates] = []

    class Noted(LateStates):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(model_module, "LateStates", Noted)
    rows = [(f"K-{at}", ("Ford", "Opel", "Fiat")[at % 3], 1000 + 37 * at % 911) for at in range(2400)]
    text = "Schedule of cars\nOwner: Anna Lee\n\nNo        Make      Value\n"
    text += "".join(f"{number:<10}{make:<10}{value:>5}\n" for number, make, value in rows)
    item = {"type": "object", "required": ["no", "make", "value"], "additionalProperties": False}
    item |= {"properties": {"no": {"type": "string"}, "make": {"type": "string"}, "value": {"type": "integer"}}}
    schema = {"type": "object", "required": ["owner", "cars"], "additionalProperties": False}
    schema |= {"properties": {"owner": {"type": "string"}, "cars": {"type": "array", "items": item}}}
    form, model = compile_schema(schema).form, load_model("default")
    (memory,) = model.encode([Passage("long", text, 0, *NONE)])
    assert not made[0]._known
    (filled,) = Engine(model, "medium").fill([Request("a", form, Passage("long", text, 0, *NONE))])
    assert isinstance(filled, Filled)
    record = json.loads(filled.record)
    assert [(car["no"], car["make"], car["value"]) for car in record["cars"]] == rows and record["owner"] == "Anna Lee"
    assert 0 < len(made[1]._known) < len(memory.windows) / 4


def test_a_sum_below_another_that_is_no_row_sums_the_rows_between_them() -> None:
    lines = [
        ("Name", "City", "Car", "Unit", "Paid", "Due"), ("Anna", "Rome", "Opel", "A", "10", "20"),
        ("Ben", "Oslo", "Fiat", "B", "15", "30"), ("Part", "", "", "", "25", "50"),
        ("Carl", "Bern", "Seat", "C", "1", "2"), ("Dora", "Rome", "Saab", "D", "4", "5"),
        ("Sum", "of", "these", "", "5", "7"), ("Emil", "Kiel", "Ford", "E", "3", "4"),
    ]  # fmt: skip
    text = "".join("".join(f"{cell:<8}" for cell in line).rstrip() + "\n" for line in lines)
    table = table_of(text)
    assert [(line.rows, line.is_sum) for line in table.between] == [(2, True)]
    assert sum_rows(table, MentionReader(text)) == {4}


def test_a_cell_with_a_dash_gives_no_sign_to_the_cell_beside_it() -> None:
    rows = [("Anna", "    -   8.25"), ("Ben", "    - 112.50"), ("Carl", " 1.00   2.00"), ("Dora", " 3.00 117.00")]
    text = "Name     Paid    Due\n" + "".join(f"{name:8}{cells}\n" for name, cells in rows)
    reader = MentionReader(text)
    at = text.index("112.50")
    cell = at, at + 6
    assert reader.readings(cell)[1] == b"-112.5"
    assert reader.readings(cell, alone=True)[1] == b"112.5"


def test_a_column_that_is_the_product_of_others_is_found_unless_one_of_them_is_always_one() -> None:
    rows = [(f"K{at}", at, at * 1.25 + 2, at * (at * 1.25 + 2)) for at in range(2, 14)]
    text = "Code     Qty     Price      Total\n" + "".join(f"{a:<8}{b:>4}{c:>10.2f}{d:>11.2f}\n" for a, b, c, d in rows)
    table = table_of(text)
    assert total_columns(table, table.rows, MentionReader(text)).tolist() == [False, False, False, True]
    text = "Code     Qty     Price      Total\n" + "".join(f"{a:<8}{1:>4}{c:>10.2f}{c:>11.2f}\n" for a, _, c, _ in rows)
    table = table_of(text)
    assert not total_columns(table, table.rows, MentionReader(text)).any()


def test_a_dash_in_a_merged_column_is_no_merged_cell() -> None:
    text = "Date     Out      In\n" + "".join(
        f"2024-0{at}{at * 7:>6}.50      -\n2024-0{at}     -  {at * 9:>5}.25\n" for at in range(1, 6)
    )
    table = table_of(text)
    cells = [words_of(cell, text) for cell in filled_down(table, 1, False, text, CONFIG)]
    assert cells == [words for at in range(1, 6) for words in (f"{at * 7}.50", "-")]
