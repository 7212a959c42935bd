"""Labels: the printed places of a true record's values, rows in order and values within their rows."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.tiny_network import BILL, bill, form_of
from training.synthetic import label_by_pointers

from cinnabar.engine.training.labels import Labels, label_by_search
from cinnabar.schemas import compile_schema

ROW = {
    "type": "object",
    "required": ["name", "price"],
    "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
}
TABLE = form_of(lines={"type": "array", "items": ROW})


def found(text: str, labels: Labels) -> list[str]:
    """The line at which each row begins, "" for a row without a place."""
    return [
        text[row.anchor : text.index("\n", row.anchor)] if row.anchor >= 0 else "" for row in labels.rows
    ]


def rows(*pairs: tuple[str, float]) -> dict[str, Any]:
    return {"lines": [{"name": name, "price": price} for name, price in pairs]}


def test_rows_are_found_in_order_even_where_their_values_repeat() -> None:
    text = "Bill for apples\n\napples 2.50\npears 2.50\napples 2.50\napples 4.00\n\nTotal 11.50\n"
    truth = rows(("apples", 2.5), ("pears", 2.5), ("apples", 2.5), ("apples", 4))
    labels = label_by_search(text, TABLE, truth)
    assert found(text, labels) == ["apples 2.50", "pears 2.50", "apples 2.50", "apples 4.00"]
    anchors = [row.anchor for row in labels.rows]
    assert anchors == sorted(set(anchors))
    assert [row.until for row in labels.rows[:-1]] == anchors[1:]
    for leaf in labels.leaves:
        own = labels.rows[leaf.row]
        assert leaf.spans and all(own.anchor <= a and b <= own.until for a, b in leaf.spans[:1])


def test_a_row_that_is_not_printed_goes_without_a_place() -> None:
    text = "apples 2.50\npears 3.75\n"
    labels = label_by_search(text, TABLE, rows(("apples", 2.5), ("melons", 99.25), ("pears", 3.75)))
    assert found(text, labels) == ["apples 2.50", "", "pears 3.75"]
    assert [leaf.spans for leaf in labels.leaves if leaf.row == 1] == [[], []]


@examples(30)
@given(st.lists(st.sampled_from(["apples", "pears", "plums"]), min_size=1, max_size=9))
def test_anchors_ascend_whatever_repeats(names: list[str]) -> None:
    text = "".join(f"{name} 5.00\n" for name in names)
    labels = label_by_search(text, TABLE, rows(*((name, 5.0) for name in names)))
    assert found(text, labels) == [f"{name} 5.00" for name in names]


def test_rows_within_rows_lie_in_theirs() -> None:
    form = form_of(
        orders={"type": "array", "items": {"type": "object", "required": ["number", "parts"], "properties": {
            "number": {"type": "string"}, "parts": {"type": "array", "items": {"type": "string"}},
        }}},
    )  # fmt: skip
    text = "Order A-100\n bolt\n nut\nOrder A-200\n nut\n wheel\n"
    truth = {"orders": [{"number": "A-100", "parts": ["bolt", "nut"]}, {"number": "A-200", "parts": ["nut"]}]}
    labels = label_by_search(text, form, truth)
    assert [row.array.path for row in labels.rows] == [
        "/orders", "/orders/*/parts", "/orders/*/parts", "/orders", "/orders/*/parts",
    ]  # fmt: skip
    assert [row.parent for row in labels.rows] == [-1, 0, 0, -1, 3]
    assert labels.rows[4].anchor == text.rindex("nut")
    assert labels.rows[2].until <= labels.rows[3].anchor


def test_a_value_that_the_document_does_not_say_has_no_place() -> None:
    text, truth = bill(0)
    labels = label_by_search(text, compile_schema(BILL).form, truth | {"due": None, "lines": None})
    by_path = {leaf.slot.path: leaf for leaf in labels.leaves}
    assert (by_path["/due"].value, by_path["/due"].spans) == (None, [])
    assert not labels.rows
    assert by_path["/kind"].spans == by_path["/paid"].spans == []


def test_a_date_is_found_however_it_is_written() -> None:
    text = "Delivered on 3 May 2024.\n"
    labels = label_by_search(text, form_of(day={"type": "string", "format": "date"}), {"day": "2024-05-03"})
    assert [text[a:b] for a, b in labels.leaves[0].spans] == ["3 May 2024"]


def test_labels_by_pointers_take_the_given_places() -> None:
    form = form_of(**{"a/b": {"type": "string"}, "lines": {"type": "array", "items": ROW}})
    truth = {"a/b": "x", **rows(("apples", 2.5), ("pears", 3.0), ("plums", 1.0))}
    spans = {"/a~1b": [(0, 1)], "/lines/0/name": [(10, 16)], "/lines/2/price": [(50, 53)]}
    labels = label_by_pointers("x" * 60, form, truth, spans, {"/lines/0": 10, "/lines/2": 40})
    assert [(row.anchor, row.until) for row in labels.rows] == [(10, 40), (-1, 40), (40, 60)]
    assert [leaf.spans for leaf in labels.leaves] == [[(0, 1)], [(10, 16)], [], [], [], [], [(50, 53)]]
    assert [leaf.row for leaf in labels.leaves] == [-1, 0, 0, 1, 1, 2, 2]
