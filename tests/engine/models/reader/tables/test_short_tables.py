"""Short tables, whose rows the network finds: columns of choices, and rows that it misses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.schemas import compile_schema

TEXT, NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
STATES = ["open", "closed", "waiting"]


@pytest.fixture(scope="module")
def reader() -> Engine:
    return Engine(load_model())


def filled(engine: Engine, text: str, **fields: Any) -> Filled:
    item = {"type": "object", "properties": fields, "required": list(fields)}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}}, "required": ["items"]}
    (found,) = engine.fill([Request("", compile_schema(schema).form, text_passage(text))])
    assert isinstance(found, Filled)
    return found


#: A table's name, its lines, its fields, and the values of the choice in each row.
CHOICES = {
    "two choices of a demanded kind": (
        "Ticket  Subject                 Priority  Status\nT-101   Printer does not print  high      open\n"
        "T-102   Mail bounces            low       closed\nT-103   Screen flickers         medium    open\n",
        {"ticket": {"type": "string"}, "status": {"enum": STATES}, "priority": {"enum": ["low", "medium", "high"]}},
        "priority", ["high", "low", "medium"],
    ),
    "the choice stands first": (
        "Status  Name        Since\nopen    Anna Berg   2026-01-03\nclosed  Paul Stein  2026-01-07\n"
        "open    Rita Voss   2026-02-01\n",
        {"status": {"enum": STATES}, "name": TEXT, "since": TEXT}, "status", ["open", "closed", "open"],
    ),
    "codes of the options": (
        "Room  Guest  Board  Nights\n101   Berg   HB     3\n102   Stein  FB     1\n103   Voss   BB     2\n",
        {"room": TEXT, "guest": TEXT, "board": {"enum": ["half board", "full board", "bed and breakfast"]}},
        "board", ["half board", "full board", "bed and breakfast"],
    ),
    "yes and no below their name": (
        "Name        Paid  Amount\nAnna Berg   yes   12.00\nPaul Stein  no    15.00\nRita Voss   yes   9.50\n",
        {"name": TEXT, "paid": {"type": "boolean"}, "amount": NUMBER}, "paid", [True, False, True],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHOICES)
def test_a_column_of_options_is_read_by_cell_in_all_rows_of_a_short_table(reader: Engine, case: str) -> None:
    text, fields, asked, values = CHOICES[case]
    found = filled(reader, text, **fields)
    items = json.loads(found.record)["items"]
    assert [item[asked] for item in items] == values
    assert not any(leaf.missing for leaf in found.leaves.values())


def test_two_choices_of_the_same_options_that_no_head_tells_have_no_column(reader: Engine) -> None:
    text = "Name        A     B\nAnna Berg   yes   no\nPaul Stein  no    no\nRita Voss   yes   yes\n"
    found = filled(reader, text, name=TEXT, paid={"type": ["boolean", "null"]}, late={"type": ["boolean", "null"]})
    assert all(leaf.confidence < 0.9 for at, leaf in found.leaves.items() if not at.endswith("name"))


def test_a_value_ends_before_the_column_of_another_field(reader: Engine) -> None:
    text, fields, *_ = CHOICES["codes of the options"]
    items = json.loads(filled(reader, text, **fields).record)["items"]
    assert [item["guest"] for item in items] == ["Berg", "Stein", "Voss"]


#: A table of few rows whose heads are in another language than the fields, and its rows: what, how many, price, rate,
#: amount.
PRICED = {
    "German, with positions and freight": (
        "Pos  Bezeichnung        Menge  Einzelpreis   Gesamt\n1    Gartenschlauch         1        32,00    32,00\n"
        "2    Regentonne             2        58,50   117,00\n     Versandkosten                             7,90\n\n"
        "                               Nettobetrag  156,90\n                               USt 19 %      29,81\n",
        [
            ("Gartenschlauch", 1, 32, None, 32),
            ("Regentonne", 2, 58.5, None, 117),
            ("Versandkosten", None, None, None, 7.9),
        ],
    ),
    "Italian, with stamp duty": (
        "Prestazione           Ore    Tariffa    Totale\nConsulenza fiscale      4      85,00    340,00\n"
        "Bilancio annuale        6      85,00    510,00\nBollo                                     2,00\n\n"
        "Totale da pagare: 852,00 euro\n",
        [
            ("Consulenza fiscale", 4, 85, None, 340),
            ("Bilancio annuale", 6, 85, None, 510),
            ("Bollo", None, None, None, 2),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PRICED)
def test_blank_cells_of_a_short_table_have_no_value_of_another_row(reader: Engine, case: str) -> None:
    text, rows = PRICED[case]
    names = {"description": TEXT, "quantity": NUMBER, "unit_price": NUMBER, "vat_rate": NUMBER, "amount": NUMBER}
    items = json.loads(filled(reader, text, **names).record)["items"]
    assert [tuple(item.values()) for item in items] == rows


@pytest.mark.parametrize("heading", ["", "Position {}\n"], ids=["bare", "numbered"])
def test_three_blocks_of_labels_are_three_items(reader: Engine, heading: str) -> None:
    said = [("Desk lamp, brass", 2, 34), ("Reading chair", 1, 210), ("Wool throw", 3, 25)]
    blocks = [
        f"{heading.format(at)}Item: {what}\nQuantity: {many}\nPrice: {price}.00\n"
        for at, (what, many, price) in enumerate(said, 1)
    ]
    text = "Order 3003\n\n" + "\n".join(blocks)
    items = json.loads(filled(reader, text, item=TEXT, quantity=NUMBER, price=NUMBER).record)["items"]
    assert [tuple(item.values()) for item in items] == said


def test_a_cell_over_rows_is_the_value_of_each(reader: Engine) -> None:
    text = (
        "Order number  Article  Quantity\nPO-1001       Hammer   4\n              Saw      2\n"
        "              Pliers   10\nPO-1002       Brush    6\n              Ladder   1\n"
    )
    items = json.loads(filled(reader, text, order_number=TEXT, article=TEXT, quantity=NUMBER).record)["items"]
    assert [item["order_number"] for item in items] == ["PO-1001"] * 3 + ["PO-1002"] * 2


@pytest.mark.parametrize(("last", "is_sure"), [("", True), ("Mean of all", False)])
def test_a_list_whose_last_row_lacks_cells_of_all_others_is_not_told_as_whole(
    reader: Engine, last: str, is_sure: bool
) -> None:
    rows = [(f"A-{at}", f"Oak panel {at}", f"{at % 7 + 2}", f"{at * 1.25:.2f}") for at in range(10, 22)]
    rows = [("Code", "Article", "Quantity", "Price"), *rows, *([("", last, "4", "2.07")] if last else [])]
    text = "".join("{:<10}{:<26}{:>10}{:>12}\n".format(*row) for row in rows)
    found = filled(reader, text, code=TEXT, article=TEXT, quantity=NUMBER, price=NUMBER)
    assert (found.lists["/items"] >= 0.9) == is_sure


#: The head of a table, and its lines: what, how many, price, what is taken off in percent or a code of the tax, amount.
RATELESS = {
    "a discount": (
        "Article           Quantity    Price    Less %     Amount\n",
        [("Oak board", 12, 18.4, 5, 209.76), ("Brass hinge", 40, 2.35, 3, 91.18), ("Wood glue", 6, 7.9, None, 47.4),
         ("Sandpaper", 25, 0.88, 10, 19.8), ("Varnish", 3, 22.6, 5, 64.41)],
    ),
    "codes of taxes": (
        "Article           Quantity    Price     VAT       Amount\n",
        [("Oak board", 12, 18.4, 1, 220.8), ("Brass hinge", 40, 2.35, 1, 94.0), ("Honey", 6, 7.9, 2, 47.4),
         ("Sandpaper", 25, 0.88, 1, 22.0), ("Flour", 3, 2.6, 2, 7.8)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("many", [1, 2], ids=["short", "listed"])
@pytest.mark.parametrize("case", RATELESS)
def test_what_is_taken_off_a_price_and_a_code_are_no_rate_of_tax(reader: Engine, case: str, many: int) -> None:
    head, own = RATELESS[case]
    rows = own * many
    lines = [f"{a:<18}{b:>8}{c:>9.2f}{'' if d is None else d:>10}{e:>11.2f}\n" for a, b, c, d, e in rows]
    net = [sum(e for *_, d, e in rows if (d == 2) == is_less) for is_less in (False, True)]
    taxes = f"1   20   {net[0]:.2f}   {net[0] / 5:.2f}\n2   5   {net[1]:.2f}   {net[1] / 20:.2f}\n" if net[1] else ""
    text = f"{head}{''.join(lines)}\nNet total: {sum(net):.2f}\n\nThank you for your order.\n\n{taxes}"
    rate = {"type": ["number", "null"], "description": "Rate of tax in percent; null where none stands in the line."}
    fields = {"description": TEXT, "quantity": NUMBER, "unit_price": NUMBER, "tax_rate": rate, "amount": NUMBER}
    items = json.loads(filled(reader, text, **fields).record)["items"]
    assert [tuple(item.values()) for item in items[: len(rows)]] == [(a, b, c, None, e) for a, b, c, _, e in rows]
