"""Readings of a list are weighed by sums, products, counts and places; rows that are sums are none of its items."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.filling.merge.list_evidence import (
    contradicted_lists,
    doubt_contradicted_lists,
    lists_without_sum,
    place_numbers,
    put_other_readings,
    remove_sum_rows,
    settled_lists,
)
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

NUMBER: dict[str, Any] = {"type": ["number", "null"]}
ITEM = {"what": {"type": ["string", "null"]}, "count": NUMBER, "price": NUMBER, "amount": NUMBER}
Row = tuple[Any, ...]


def form_of(*names: str, demanded: bool = False) -> Form:
    fields = {name: {"type": "number"} if demanded and name == "count" else ITEM[name] for name in names}
    items = {"type": "object", "properties": fields, "required": [*names]}
    listed = {"total": NUMBER, "items": {"type": "array", "items": items}}
    return compile_schema({"type": "object", "properties": listed, "required": [*listed]}).form


def read(form: Form, text: str, rows: list[Row], names: tuple[str, ...], total: float | None = None) -> Filled:
    """A reading of these rows, with each value where the text prints it behind the one before, if it does."""
    slots = {slot.path.rsplit("/", 1)[1]: slot.index for slot in form.slots}
    sure, begin = 0.9, 0
    leaves = {"/total": Leaf(json.dumps(total), sure, slot=slots["total"])}
    for at, row in enumerate(rows):
        for name, value in zip(names, row, strict=True):
            printed = "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
            place = text.find(printed, begin) if printed else -1
            spans = ((place, place + len(printed)),) if place >= 0 else ()
            begin = spans[0][1] if spans else begin
            origin = "absent" if value is None else "copied" if spans else "generated"
            leaf = Leaf(json.dumps(value), sure, spans, origin, slot=slots[name])  # type: ignore[arg-type]
            leaves[f"/items/{at}/{name}"] = leaf
    record = {"total": total, "items": [dict(zip(names, row, strict=True)) for row in rows]}
    places = {f"/items/{at}": (0, sure) for at in range(len(rows))}
    return Filled("", record, leaves, places, 1, 0, {"/items": sure})


TWO, FOUR = ("what", "amount"), ("what", "count", "price", "amount")
BILL = """Pos  Chair      2.00   40.00    80.00
     Table      3.00   60.50   181.50
     Freight                    12.40
     Zwischensumme             273.90
     Steuer 19 %                52.04
     Gesamt                    325.94
     Bar                       400.00
"""
CHAIRS: list[Row] = [("Chair", 2.0, 40.0, 80.0), ("Table", 3.0, 60.5, 181.5), ("Freight", None, None, 12.4)]
TAIL: list[Row] = [(what, None, None, amount) for what, amount in (
    ("Zwischensumme", 273.9), ("Steuer 19 %", 52.04), ("Gesamt", 325.94), ("Bar", 400.0)
)]  # fmt: skip
SLIP = "Tea  3.20\nCake  4.35\nSum  7.55\nVAT  0.50\nCash  10.00\n"
TEA: list[Row] = [("Tea", 3.2), ("Cake", 4.35)]
BOX = "Desk  2.00  60.00  120.00\nLamp  3.00  25.67  77.00\nNet  197.00\nTax  39.40\nAccount 12 947.00\n"
DESK: list[Row] = [("Desk", 2.0, 60.0, 120.0), ("Lamp", 3.0, 25.67, 77.0)]
FOLIO = "Card  25.00\nRoom  40.00\nBar  15.40\nSpa  20.00\nTax  10.00\nCard  60.40\nTotal  85.40\n"
CHARGES = {"Room": 40.0, "Bar": 15.4, "Spa": 20.0, "Tax": 10.0}
NIGHTS: list[Row] = [(what, None, None, amount) for what, amount in CHARGES.items()]
CARDS: list[Row] = [("Card", None, 25.0, None), ("Card", None, 60.4, None)]
LEDGER = "Rent  100.00\nTax  19.00\nBank  119.00\nDebit  119.00\nCredit  119.00\n"
BOOKED: list[Row] = [("Rent", None, None, 100.0), ("Tax", None, None, 19.0), ("Bank", None, 119.0, None)]
EVEN = "Apple  5.00\nPear  5.00\nMelon  10.00\nTotal  20.00\n"
FRUIT: list[Row] = [("Apple", 5.0), ("Pear", 5.0), ("Melon", 10.0)]


@pytest.mark.parametrize(
    ("text", "names", "items", "tail", "total"),
    [
        pytest.param(BILL, FOUR, CHAIRS, TAIL, 325.94, id="a subtotal, a tax, a total and a payment below the rows"),
        pytest.param(BILL, FOUR, CHAIRS[:2], [], 325.94, id="rows without a sum"),
        pytest.param(SLIP, TWO, TEA, [("Sum", 7.55), ("VAT", 0.5), ("Cash", 10.0)], 7.55, id="rows of two fields"),
        pytest.param(SLIP, TWO, [*TEA, ("Sum", 7.55)], [], None, id="a list of all amounts"),
        pytest.param(FOLIO, FOUR, NIGHTS, CARDS, None, id="payments"),
        pytest.param(BOX, FOUR, DESK, [(None, None, None, 39.4), ("Account", None, None, 947.0)], None, id="a box"),
        pytest.param(
            "1  Annex\n2  Map\n3  List\n4  Plan\n3 pages\n", ("count", "what"),
            [(1, "Annex"), (2, "Map"), (3, "List"), (4, "Plan")], [], 3, id="numbers of rows",
        ),
        pytest.param(EVEN, TWO, FRUIT, [], 20.0, id="a row that is the sum of those above by chance"),
        pytest.param(EVEN, TWO, FRUIT, [("Total", 20.0)], 20.0, id="a total behind such a row"),
        pytest.param(LEDGER, FOUR, BOOKED, [], None, id="two sides of a ledger"),
        pytest.param("Saw  1.00  10.00\nFreight  10.00\nGross  23.80\n", ("what", "count", "amount"),
            [("Saw", 1.0, 10.0), ("Freight", None, 10.0)], [], None, id="a charge as high as the row above"),
        pytest.param("Fee  9.00\nFee  9.00\n", TWO, [("Fee", 9.0), ("Fee", 9.0)], [], 9.0, id="two rows alike"),
    ],
)  # fmt: skip
def test_sums_of_the_rows_above_and_what_stands_below_them_are_no_rows(
    text: str, names: tuple[str, ...], items: list[Row], tail: list[Row], total: float | None
) -> None:
    form = form_of(*names)
    found = remove_sum_rows(form, read(form, text, items + tail, names, total), text)
    assert json.loads(found.record)["items"] == [dict(zip(names, row, strict=True)) for row in items]
    assert {at.split("/")[2] for at in found.leaves if at != "/total"} == {str(at) for at in range(len(items))}
    assert len(found.rows) == len(items)


def test_a_next_part_of_the_list_behind_a_subtotal_stays() -> None:
    text = "A  1.00  5.00  5.00\nB  2.00  7.50  15.00\nPart   20.00\nC  3.00  4.00  12.00\n"
    rows: list[Row] = [("A", 1.0, 5.0, 5.0), ("B", 2.0, 7.5, 15.0), ("Part", None, None, 20.0), ("C", 3.0, 4.0, 12.0)]
    form = form_of(*FOUR)
    found = remove_sum_rows(form, read(form, text, rows, FOUR), text)
    assert [row["what"] for row in json.loads(found.record)["items"]] == ["A", "B", "C"]
    assert found.leaves["/items/2/amount"].text == "12.0"


def test_a_thin_row_of_the_next_part_stays() -> None:
    text = "A  1.00  5.00  5.00\nB  2.00  7.50  15.00\nPart   20.00\nPost  5.00\nC  3.00  4.00  12.00\n"
    rows: list[Row] = [("A", 1.0, 5.0, 5.0), ("B", 2.0, 7.5, 15.0), ("Post", None, None, 5.0), ("C", 3.0, 4.0, 12.0)]
    form = form_of(*FOUR)
    found = remove_sum_rows(form, read(form, text, rows, FOUR), text)
    assert len(json.loads(found.record)["items"]) == 4


def test_a_running_balance_of_four_times_the_rows_takes_no_cubic_time() -> None:
    def seconds(count: int) -> float:
        rows: list[Row] = [(f"Booking {at}", 1.0, 2.0 * at, 2.0) for at in range(1, count + 1)]
        text = "".join(f"{what}  {one:.2f}  {balance:.2f}  {amount:.2f}\n" for what, one, balance, amount in rows)
        form = form_of(*FOUR)
        reading, begun = read(form, text, rows, FOUR), time.process_time()
        assert len(json.loads(remove_sum_rows(form, reading, text).record)["items"]) == count
        return time.process_time() - begun

    # The first one loads what all need.
    _, few, many = seconds(10), seconds(150), seconds(600)
    assert many < 40 * few


@pytest.mark.parametrize(
    ("text", "names", "rows", "total", "found"),
    [
        pytest.param(BILL, FOUR, CHAIRS[:2], 325.94, True, id="a row is missing"),
        pytest.param(BILL, FOUR, CHAIRS, 325.94, False, id="the rows add up to a sum that is not the total"),
        pytest.param(BILL, FOUR, CHAIRS[:2], 12.4, False, id="no total is stated"),
        pytest.param(FOLIO, FOUR, [CARDS[0], *NIGHTS], 85.4, True, id="an amount is not in the sum"),
        pytest.param(FOLIO, FOUR, [*NIGHTS, ("Card", None, None, None)], 85.4, False, id="a row without an amount"),
        pytest.param("A  1.25\nB  2.50\nAll  7\n", TWO, [("A", 1.25), ("B", 2.5)], 7.0, False, id="no amount beyond"),
        pytest.param(
            "In  8.25\nOut  -2.50\nBalance  20.00\n", TWO, [("In", 8.25), ("Out", -2.5)], 20.0, False, id="bookings",
        ),
        pytest.param("Balance  20.00\n", TWO, [], 20.0, False, id="no row"),
    ],
)  # fmt: skip
def test_a_list_that_does_not_add_up_below_a_total_is_in_doubt(
    text: str, names: tuple[str, ...], rows: list[Row], total: float, found: bool
) -> None:
    form = form_of(*names)
    reading = read(form, text, rows, names, total)
    at = text.rindex(f"{total:.2f}" if f"{total:.2f}" in text else "7")
    stated = replace(reading.leaves["/total"], spans=((at, at + len(f"{total:.2f}")),))
    reading = replace(reading, leaves={**reading.leaves, "/total": stated})
    assert lists_without_sum(form, reading, text) == ({"/items"} if found else set())
    assert doubt_contradicted_lists(form, reading, text).lists["/items"] == (0.69 if found else 0.9)


def test_lists_of_thousands_of_rows_are_weighed_in_time() -> None:
    rows: list[Row] = [(f"Part {at}", at + 0.25) for at in range(3000)]
    text = "".join(f"{what}  {amount:.2f}\n" for what, amount in rows)
    form = form_of(*TWO)
    reading, begun = read(form, text, rows, TWO, 5.0), time.process_time()
    assert remove_sum_rows(form, reading, text) == doubt_contradicted_lists(form, reading, text) == reading
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "count", "demanded", "found"),
    [
        pytest.param("Page 1\nChair 80.00\n", 1, False, (None, 0.5), id="one digit that stands elsewhere"),
        pytest.param("Chair 80.00\n", 1, True, (1, 0.5), id="a number that may not be null"),
        pytest.param("Chair 80.00\nplus 19 %\n", 19, False, (19, 0.5), id="a rate below the rows"),
        pytest.param("3 x Chair 80.00\n", 3, False, (3, 0.9), id="figures in the row"),
        pytest.param("three Chair 80.00\n", 3, False, (3, 0.9), id="a word in the row"),
        pytest.param("1 200 Chair 80.00\n", 1200, False, (1200, 0.9), id="thousands with a blank"),
    ],
)
def test_a_number_that_stands_nowhere_near_its_row_is_null_or_in_doubt(
    text: str, count: int, demanded: bool, found: tuple[int | None, float]
) -> None:
    form, names = form_of("what", "count", "amount", demanded=demanded), ("what", "count", "amount")
    reading = read(form, text, [("Chair", count, 80.0)], names)
    assert place_numbers(form, reading, text, ["/items/0/count"]).leaves == reading.leaves
    made = place_numbers(form, reading, text)
    (row,), leaf = json.loads(made.record)["items"], made.leaves["/items/0/count"]
    assert (row["count"], leaf.confidence) == found and leaf.text == json.dumps(found[0])
    assert made.leaves["/items/0/amount"].confidence == 0.9


@pytest.mark.parametrize(
    ("text", "names", "one", "other", "settled"),
    [
        pytest.param(BILL, FOUR, CHAIRS[1:], CHAIRS, True, id="the second one adds up"),
        pytest.param(BILL, FOUR, CHAIRS, CHAIRS[:1], False, id="the first one adds up"),
        pytest.param(BILL, FOUR, CHAIRS[:1], CHAIRS[:2], None, id="neither adds up"),
        pytest.param(
            BILL, FOUR, CHAIRS[:2], [CHAIRS[0], ("Table", 3.0, 60.5, 80.0)], False, id="a product of as many rows",
        ),
        pytest.param(
            "1.  Tea\n2.  Cake\n3.  Milk\n", ("what",), [("Tea",), ("Cake",)], [("Tea",), ("Cake",), ("Milk",)], True,
            id="the rows are numbered",
        ),
        pytest.param(
            "Tea\nCake\nMilk\n2 items\n", ("what",), [("Tea",), ("Cake",)], [("Tea",), ("Cake",), ("Milk",)], False,
            id="the rows are counted",
        ),
        pytest.param(BILL, FOUR, CHAIRS, [*CHAIRS[:2], ("Bench", 1.0, 9.9, 9.9)], False, id="a row stands nowhere"),
    ],
)  # fmt: skip
def test_sums_numbers_and_counts_settle_which_reading_is_right(
    text: str, names: tuple[str, ...], one: list[Row], other: list[Row], settled: bool | None
) -> None:
    form = form_of(*names)
    both = [read(form, text, rows, names) for rows in (one, other)]
    assert settled_lists(form, text, *both).get("/items") is settled
    assert settled_lists(form, text, *both, kept=["/items"]) == {}


def test_one_printed_number_is_that_of_the_surer_of_two_fields() -> None:
    form, text = form_of("what", "price", "amount"), "Chair 80.00\nTable 60.00  60.00\n"
    rows: list[Row] = [("Chair", 80.0, 80.0), ("Table", 60.0, 60.0)]
    reading = read(form, text, rows, ("what", "price", "amount"))
    leaves = {at: replace(leaf, confidence=0.95) if "amount" in at else leaf for at, leaf in reading.leaves.items()}
    made = place_numbers(form, replace(reading, leaves=leaves), text)
    sure = [made.leaves[f"/items/{row}/{name}"].confidence for row in (0, 1) for name in ("price", "amount")]
    assert sure == [0.5, 0.95, 0.9, 0.95]


def test_a_list_that_nothing_settles_is_in_doubt_and_keeps_the_other_reading() -> None:
    form = form_of(*FOUR)
    one, other = read(form, BILL, CHAIRS[:1], FOUR), read(form, BILL, CHAIRS[:2], FOUR)
    found = put_other_readings(form, other, (one, other), ())
    assert found.lists == {"/items": 0.69} and json.loads(found.others["/items"]) == json.loads(one.record)["items"]
    assert put_other_readings(form, other, (one, other), ["/items"]) == other
    assert put_other_readings(form, other, (other, other), ()) == other


@pytest.mark.parametrize(("told", "contradicted"), [("3 items", {"/items"}), ("2 items", set()), ("Slip", set())])
def test_a_count_that_the_document_tells_contradicts_a_list(told: str, contradicted: set[str]) -> None:
    form, text = form_of(*TWO), f"{told}\nTea  3.20\nCake  4.35\n"
    assert contradicted_lists(form, read(form, text, TEA, TWO), text) == contradicted
