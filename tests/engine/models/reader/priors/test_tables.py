"""Table detection: the tables of a page that hold a form's lists."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.prior_pages import page_of
from tests.support.tiny_network import form_of, wordpieces

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.table_prior import PriorTable, tables_of
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}


def list_of(*names: str, **described: str) -> dict[str, Any]:
    """A list of objects with these fields, some of them with a description."""
    properties = dict.fromkeys(names, TEXT) | {n: TEXT | {"description": d} for n, d in described.items()}
    return {"type": "array", "items": {"type": "object", "properties": properties, "required": [*properties]}}


GOODS = form_of(goods=list_of("quantity", "article_number", "price"))


def tables(text: str, form: Form = GOODS) -> dict[str, list[PriorTable]]:
    """The tables of a text."""
    return tables_of(form, page_of(text), DEFAULT_PRIORS)


def lines_of(table: PriorTable, text: str) -> list[dict[str, str]]:
    """The lines of a table, each with its text below the likeliest head of each field."""
    pieces = wordpieces().pieces(text)
    heads = {path.rpartition("/")[2]: int(table.claims[:, i].argmax()) for i, path in enumerate(table.fields)}
    lines = []
    for line in table.body:
        below = {run.head: text[pieces.start[run.first] : pieces.end[run.until - 1]] for run in line}
        lines.append({name: below[head] for name, head in heads.items() if head in below})
    return lines


TABLE = """\
Quantity   Article number   Price
2          A-17             3.50
1          B-4              12.00
"""


def test_a_line_with_the_names_of_several_fields_is_the_head_of_a_table() -> None:
    (table,) = tables(TABLE)["/goods"]
    assert lines_of(table, TABLE) == [
        {"quantity": "2", "article_number": "A-17", "price": "3.50"},
        {"quantity": "1", "article_number": "B-4", "price": "12.00"},
    ]


def test_one_name_alone_is_no_table() -> None:
    assert not tables("Quantity   Weather   Mood\n2          A-17      3.50\n")


def test_the_words_of_running_text_are_no_heads() -> None:
    text = "The   price   of   any   good   and   its   quantity   say   less\n2   of   them   were   sold\n"
    assert not tables(text)


def test_labels_and_values_are_no_heads() -> None:
    assert not tables("Quantity: 2      Price: 3.50\n")
    assert not tables("Quantity 2      Price 3\n2               4\n")


def test_a_head_of_two_lines_is_read_whole() -> None:
    text = "             Article\nQuantity     number     Price\n2            A-17       3.50\n"
    (table,) = tables(text)["/goods"]
    assert lines_of(table, text)[0] == {"quantity": "2", "article_number": "A-17", "price": "3.50"}


def test_a_head_belongs_to_the_field_with_the_most_similar_name() -> None:
    form = form_of(goods=list_of("unit", "unit_price", "description"))
    text = "Description   Unit   Unit price\nwater         kg     3.50\n"
    (table,) = tables(text, form)["/goods"]
    assert lines_of(table, text) == [{"unit": "kg", "unit_price": "3.50", "description": "water"}]


def test_the_words_of_a_description_name_a_head() -> None:
    form = form_of(results=list_of("parameter", method="Method or standard used"))
    text = "Parameter   Standard\nwater       EN 12127\n"
    (table,) = tables(text, form)["/results"]
    assert lines_of(table, text) == [{"parameter": "water", "method": "EN 12127"}]


def test_a_cell_without_a_head_above_it_belongs_to_the_nearest() -> None:
    text = "Quantity   Article number   Price\n2          A-17                      3.50\n"
    (table,) = tables(text)["/goods"]
    assert lines_of(table, text)[0]["price"] == "3.50"


def test_a_table_ends_after_text_and_continues_with_a_full_line() -> None:
    between = "water\n" * 12
    text = TABLE + between + "4          C-9              1.00\n"
    (table,) = tables(text)["/goods"]
    lines = lines_of(table, text)
    assert lines[-1] == {"quantity": "4", "article_number": "C-9", "price": "1.00"}
    assert len(lines) < 2 + 12 + 1


def test_the_next_head_begins_another_table() -> None:
    first, second = tables(TABLE + "\n" + TABLE)["/goods"]
    assert len(first.body) == len(second.body) == 2


@pytest.mark.parametrize("text", ["", "\n", "   ", ":"])
def test_an_empty_page_has_no_tables(text: str) -> None:
    assert not tables(text)


@pytest.mark.parametrize("text", ["Quantity   Price", "Quantity   Price\n\n"])
def test_a_head_without_lines_makes_an_empty_table(text: str) -> None:
    (table,) = tables(text)["/goods"]
    assert not table.body


def test_the_lists_of_a_list_have_their_own_tables() -> None:
    orders = list_of("number")
    orders["items"]["properties"]["goods"] = list_of("quantity", "price")
    form = form_of(orders=orders)
    assert set(tables("Quantity   Price\n2          3.50\n", form)) == {"/orders/*/goods"}
