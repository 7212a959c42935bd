"""Tables side by side in the same lines: each gives its list, and one table of two lists' words stays one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.tables.rival_heads import field_words
from cinnabar.engine.models.reader.tables.side_by_side import tables_beside
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.engine.tables.table import tables_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

TEXT, NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
PARTS = {"item": TEXT, "quantity": NUMBER, "price": NUMBER}
PEOPLE = {"contact": TEXT, "phone": TEXT}

LISTS = (
    "Order 7714\n\n"
    "Item               Quantity   Price      Contact       Phone\n"
    "Copper pipe 15 mm  12         4.20       Ines Farrow   020 7946 0021\n"
    "Elbow joint        30         0.85       Tom Aldous    020 7946 0044\n"
    "Ball valve         4          11.90      Ray Okoro     020 7946 0077\n"
    "Hemp               2          3.10\n"
)
SAME_HEADS = (
    "Order 7714\n\n"
    "Item               Quantity   Price      Item          Quantity\n"
    "Copper pipe 15 mm  12         4.20       Sealant       5\n"
    "Elbow joint        30         0.85       Tape          9\n"
    "Ball valve         4          11.90      Clips         40\n"
    "Hemp               2          3.10\n"
)
LONGER_RIGHT = (
    "Order 7714\n\n"
    "Contact       Phone              Item               Quantity   Price\n"
    "Ines Farrow   020 7946 0021      Copper pipe 15 mm  12         4.20\n"
    "Tom Aldous    020 7946 0044      Elbow joint        30         0.85\n"
    "                                 Ball valve         4          11.90\n"
    "                                 Hemp               2          3.10\n"
)
#: The values of the rows of each list.
ITEMS = [["Copper pipe 15 mm", 12, 4.2], ["Elbow joint", 30, 0.85], ["Ball valve", 4, 11.9], ["Hemp", 2, 3.1]]
CONTACTS = [["Ines Farrow", "020 7946 0021"], ["Tom Aldous", "020 7946 0044"], ["Ray Okoro", "020 7946 0077"]]


@pytest.fixture(scope="module")
def reader() -> Engine:
    return Engine(load_model())


def form_of(**lists: dict[str, Any]) -> Form:
    arrays = {
        name: {"type": "array", "items": {"type": "object", "properties": fields, "required": [*fields]}}
        for name, fields in lists.items()
    }
    return compile_schema({"type": "object", "properties": arrays, "required": [*arrays]}).form


def filled(engine: Engine, text: str, **lists: dict[str, Any]) -> Filled:
    (found,) = engine.fill([Request("", form_of(**lists), text_passage(text))])
    assert isinstance(found, Filled)
    return found


def rows_of(found: Filled, name: str) -> list[list[Any]]:
    return [[*item.values()] for item in json.loads(found.record)[name]]


@pytest.mark.parametrize(("text", "people"), [(LISTS, CONTACTS), (LONGER_RIGHT, CONTACTS[:2])])
def test_each_of_two_tables_in_the_same_lines_gives_its_list(reader: Engine, text: str, people: list[Any]) -> None:
    found = filled(reader, text, items=PARTS, contacts=PEOPLE)
    assert rows_of(found, "items") == ITEMS
    assert rows_of(found, "contacts") == people


def test_a_table_under_the_same_heads_goes_on_with_the_rows_of_the_one_on_its_left(reader: Engine) -> None:
    found = filled(reader, SAME_HEADS, items=PARTS, contacts=PEOPLE)
    assert rows_of(found, "items") == [*ITEMS, ["Sealant", 5, None], ["Tape", 9, None], ["Clips", 40, None]]
    assert rows_of(found, "contacts") == []


#: Tables of one thing a row, though their heads name fields of two lists, or one name twice.
ALONE = {
    "the right columns are figures of every row": (
        "Item          Quantity   Tax rate   Net\nCopper pipe   12         20%        50.40\n"
        "Elbow joint   30         20%        25.50\nBall valve    4          5%         47.60\n",
        {"items": {"item": TEXT, "quantity": NUMBER}, "taxes": {"tax_rate": NUMBER, "net": NUMBER}},
    ),
    "one name for the two parties of a payment": (
        "Name          Account   Name          Account\nInes Farrow   4410      Tom Aldous    5520\n"
        "Ray Okoro     4411      Ines Farrow   5521\nAnna Berg     4412      Paul Stein    5522\n",
        {"payments": {"payer_name": TEXT, "payer_account": TEXT, "payee_name": TEXT, "payee_account": TEXT}},
    ),
    "the right heads name one list as well as the left ones": (
        "Item          Quantity   Place     Note\nCopper pipe   12         Hall A    long\n"
        "Elbow joint   30         Hall B    old\nBall valve    4          Hall A    new\n",
        {
            "items": {"item": TEXT, "quantity": NUMBER, "place": TEXT, "note": TEXT},
            "places": {"place": TEXT, "note": TEXT},
        },
    ),
}


@pytest.mark.parametrize("case", ALONE)
def test_columns_of_one_row_are_no_table_beside_others(case: str) -> None:
    text, lists = ALONE[case]
    form = form_of(**lists)
    questions = form_questions(form).slots
    names = {
        at: [field_words(slot.path, questions[slot.index]) for slot in form.slots if slot.path.startswith(f"/{name}/")]
        for at, name in enumerate(lists)
    }
    (table,) = tables_of(text)
    assert tables_beside(table, names, text) == [(table, -1)]
