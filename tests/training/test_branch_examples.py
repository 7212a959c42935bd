"""What an adapter is taught has the form in which branches are asked."""

from __future__ import annotations

import random

from training.branch_examples import branch_example

from cinnabar.engine.branches.prompt import head, item_head
from cinnabar.schemas import compile_schema

SCHEMA = {
    "title": "order",
    "type": "object",
    "properties": {
        "number": {"type": ["string", "null"], "description": "number of the order"},
        "total": {"type": ["number", "null"]},
        "paid": {"type": ["boolean", "null"]},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}},
        },
    },
}
TEXT = "Order A-17\nBolt M4 1.50\nNut 0,75\nTotal 2.25"
TRUTH = {
    "number": "A-17", "total": 2.25, "paid": None,
    "items": [{"name": "Bolt M4", "price": 1.5}, {"name": "Nut", "price": 0.75}],
}  # fmt: skip


def branches(seed: int) -> dict[str, str]:
    example = branch_example("orders", SCHEMA, TEXT, TRUTH, random.Random(seed))
    return {branch.head: branch.answer for branch in example.branches}


def test_a_branch_is_the_head_of_a_field_and_its_printed_words() -> None:
    named = next(found for seed in range(20) if head("number") in (found := branches(seed)))
    assert named[head("number")] == ' "A-17"}'
    assert named.get(head("total"), ' "2.25"}') == ' "2.25"}'
    assert named.get(head("paid"), " null}") == " null}"


def test_a_list_is_the_first_words_of_its_items_whose_fields_are_branches() -> None:
    found: dict[str, str] = {}
    for seed in range(20):
        found |= branches(seed)
    array = compile_schema(SCHEMA).form.arrays[0]
    assert found[head("items")] == ' ["Bolt M4 1.50", "Nut 0,75"]}'
    assert found[item_head(array, "Bolt M4 1.50", "items.price")] == ' "1.50"}]}'
    assert found[item_head(array, "Nut 0,75", "items.name")] == ' "Nut"}]}'
