"""Repeats: rows about the same thing become one row; others stay."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.filling.merge.merging import merge
from cinnabar.schemas import compile_schema

TEXT, NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
FORM = compile_schema({
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": TEXT, "city": TEXT, "sum": NUMBER,
                    "tags": {"type": "array", "items": {"type": "object", "properties": {"tag": TEXT}}},
                },
                "required": ["name", "city", "sum", "tags"],
            },
        },
    },
    "required": ["rows"],
}).form  # fmt: skip
#: A value and the place where it was read, or None for absence.
Value = tuple[Any, int] | None


def filled(*rows: dict[str, Value], origin: str = "copied") -> Filled:
    leaves: dict[str, Leaf] = {}
    record = []
    for at, row in enumerate(rows):
        for name in ("name", "city", "sum"):
            value = row.get(name)
            leaves[f"/rows/{at}/{name}"] = (
                Leaf("null", 0.9, origin="absent")
                if value is None
                else Leaf(json.dumps(value[0]), 0.9, ((value[1], value[1] + 3),), origin=origin)  # type: ignore[arg-type]
            )
        record.append({name: row[name][0] if row.get(name) else None for name in ("name", "city", "sum")})  # type: ignore[index]
    value = {"rows": [row | {"tags": []} for row in record]}
    return Filled("0", value, leaves, {f"/rows/{at}": (10 * at, 0.9) for at in range(len(rows))}, 1, 0)


def united(*rows: dict[str, Value]) -> list[dict[str, Any]]:
    merged = merge(FORM, [Chunk(0, 10_000)], [filled(*rows)])
    found: list[dict[str, Any]] = json.loads(merged.record)["rows"]
    return [{name: value for name, value in row.items() if value not in (None, [])} for row in found]


def test_rows_that_share_half_of_their_places_become_one_with_all_values() -> None:
    one: dict[str, Value] = {"name": ("Ada", 0), "sum": (7, 20)}
    other: dict[str, Value] = {"city": ("Rome", 9), "sum": (7, 20)}
    assert united(one, other) == [{"name": "Ada", "city": "Rome", "sum": 7}]


def test_rows_that_share_less_stay() -> None:
    one: dict[str, Value] = {"name": ("Ada", 0), "city": ("Rome", 9), "sum": (7, 20)}
    other: dict[str, Value] = {"name": ("Bob", 30), "city": ("Rome", 9), "sum": (8, 40)}
    assert len(united(one, other)) == 2


def test_two_rows_of_a_short_list_that_complete_each_other_are_one() -> None:
    heading: dict[str, Value] = {"name": ("Ada", 0), "city": ("Rome", 9)}
    foot: dict[str, Value] = {"city": ("Rome", 39), "sum": (7, 50)}
    assert united(heading, foot) == [{"name": "Ada", "city": "Rome", "sum": 7}]


def test_rows_that_differ_in_anything_or_add_nothing_do_not_complete_each_other() -> None:
    heading: dict[str, Value] = {"name": ("Ada", 0), "city": ("Rome", 9)}
    assert len(united(heading, {"city": ("Oslo", 39), "sum": (7, 50)})) == 2
    assert len(united(heading | {"sum": (7, 15)}, {"city": ("Rome", 39), "sum": (7, 50)})) == 2


def test_rows_of_a_long_table_that_complete_each_other_stay() -> None:
    rows: list[dict[str, Value]] = []
    for at, (name, city) in enumerate((("Ada", "Rome"), ("Bob", "Oslo"), ("Cem", "Bonn"))):
        rows.append({"name": (name, 90 * at), "city": (city, 90 * at + 9)})
        rows.append({"city": (city, 90 * at + 39), "sum": (at, 90 * at + 50)})
    assert len(united(*rows)) == 6
    assert len(united(*rows[:2])) == 1


def test_a_place_shared_by_more_than_two_rows_unites_none_of_them() -> None:
    rows: list[dict[str, Value]] = [
        {"name": (name, 20 * at), "city": ("Rome", 5)} for at, name in enumerate("ABC", 1)
    ]
    assert [row["name"] for row in united(*rows)] == ["A", "B", "C"]
    assert len(united(*rows[:2])) == 1


def test_equal_words_at_another_place_make_no_second_row() -> None:
    assert united({"name": ("Ada", 0), "city": ("Rome", 9)}, {"name": ("Ada", 50)}) == [
        {"name": "Ada", "city": "Rome"}
    ]
    assert (
        len(united({"name": ("Ada", 0), "city": ("Rome", 9)}, {"name": ("Ada", 50), "city": ("Oslo", 59)}))
        == 2
    )


def test_a_name_in_capitals_or_without_its_comma_is_the_same_name() -> None:
    assert united({"name": ("Ada, Inc.", 0)}, {"name": ("ADA INC", 50)}) == [{"name": "Ada, Inc."}]


def test_equal_lines_of_a_bill_are_two() -> None:
    night: list[dict[str, Value]] = [{"name": ("Room", at), "sum": (245, at + 9)} for at in (0, 50)]
    assert len(united(*night)) == 2


def test_united_rows_keep_the_surer_value() -> None:
    found = filled({"name": ("Ada", 0), "city": ("Rome", 9)}, {"name": ("Adam", 0), "city": ("Rome", 9)})
    leaves = dict(found.leaves)
    leaves["/rows/1/name"] = Leaf('"Adam"', 0.95, ((0, 4),))
    merged = merge(FORM, [Chunk(0, 99)], [Filled("0", found.value, leaves, found.rows, 1, 0)])
    assert json.loads(merged.record)["rows"][0]["name"] == "Adam"
    assert merged.rows == {"/rows/0": (0, 0.9)}


@pytest.mark.parametrize("origin", ["known", "copied"])
def test_known_rows_stay_row_for_row(origin: str) -> None:
    found = filled({"name": ("Ada", 0)}, {"name": ("Ada", 0)}, origin=origin)
    assert len(merge(FORM, [Chunk(0, 99)], [found]).rows) == (2 if origin == "known" else 1)


def test_a_record_without_repeats_stays_unchanged() -> None:
    found = filled({"name": ("Ada", 0)}, {"name": ("Bob", 30)})
    assert merge(FORM, [Chunk(0, 99)], [found]) is found


@pytest.mark.slow
def test_thousands_of_rows_with_one_text_take_linear_time() -> None:
    rows: list[dict[str, Value]] = [
        {"name": (f"N{at}", 20 * at), "city": ("Rome", 20 * at + 9)} for at in range(4000)
    ]
    found = filled(*rows)
    begin = time.thread_time()
    assert merge(FORM, [Chunk(0, 99)], [found]) is found
    assert time.thread_time() - begin < 20


def test_a_name_that_many_rows_have_is_one_thing() -> None:
    assert united(*({"name": ("Anna Berg", 20 * at)} for at in range(50))) == [{"name": "Anna Berg"}]
