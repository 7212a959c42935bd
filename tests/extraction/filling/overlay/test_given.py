"""Given values: who counts of several givers, and what a request and a record make of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.remote_forms import form_of

from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.filling.overlay.given import GIVERS, Given, Giver, gather, known_to_model, put
from cinnabar.schemas.form.form import ArrayNode, ObjectNode
from cinnabar.schemas.pointers import MISSING

TEXT: dict[str, Any] = {"type": ["string", "null"]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "zip": TEXT}, "required": ["city"]}
FORM = form_of(
    {
        "type": "object",
        "properties": {"name": TEXT, "cc": {"type": "array", "items": {"type": "string"}}, "seller": CITY},
        "required": ["name", "cc"],
    }
)
assert isinstance(FORM.root, ObjectNode)
NODES = {place.name: place.node for place in FORM.root.properties}
SLOTS = {slot.path: slot for slot in FORM.slots}


def one(giver: Giver, text: str | None, pointer: str = "/name") -> Given:
    slot = SLOTS[pointer]
    return Given.scalar(pointer, slot, giver, Leaf(text, 1.0, origin="fact", slot=slot.index))


def several(giver: Giver, *texts: str) -> Given:
    cells = {f"/cc/{at}": Leaf(json.dumps(text), 1.0, origin="fact") for at, text in enumerate(texts)}
    rows = {at: (7 * number, 1.0) for number, at in enumerate(cells)}
    return Given("/cc", NODES["cc"], giver, [*texts], cells, rows, {"/cc": 1.0})


def filled(record: dict[str, Any], **leaves: str | None) -> Filled:
    own = {f"/{at.replace('__', '/')}": Leaf(text, 0.5) for at, text in leaves.items()}
    return Filled("", record, own, {}, 1, 0)


def test_givers_stand_in_one_order() -> None:
    assert GIVERS == ("beside", "sure", "box", "constant", "fact", "stored")


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ([], []),
        ([one("fact", '"f"')], ["f"]),
        ([one("stored", '"s"'), one("fact", '"f"')], ["s"]),
        ([one("fact", '"f"'), one("stored", '"s"')], ["s"]),
        ([one("fact", '"f"'), one("fact", '"g"')], ["f", "g"]),
        ([one("fact", '"f"'), one("stored", '"s"', "/seller/city")], ["f", "s"]),
        ([several("fact", "f"), several("stored", "s")], [["s"]]),
        ([several("stored", "s"), one("fact", '"f"')], [["s"], "f"]),
        ([one("fact", None), one("constant", '"c"'), one("box", '"b"')], [None]),
        ([one("box", '"b"'), one("constant", '"c"'), one("sure", '"s"')], ["c"]),
        ([one("sure", '"s"'), one("box", '"b"')], ["b"]),
    ],
)
def test_of_two_values_for_one_place_that_of_the_later_giver_is_left(given: list[Given], left: list[Any]) -> None:
    assert [None if one.value is MISSING else one.value for one in gather(given)] == left


def test_of_one_givers_values_for_a_place_the_later_counts_in_a_request_and_in_a_record() -> None:
    both = gather([one("fact", '"f"')], [one("fact", '"g"')])
    assert known_to_model(both).known == {"/name": '"g"'}
    assert put(FORM, filled({"name": None, "cc": []}, name="null"), both).value["name"] == "g"


def test_a_request_tells_cells_one_by_one_and_counts_the_lists_that_are_given() -> None:
    array = NODES["cc"]
    assert isinstance(array, ArrayNode)
    known, counted, rows = known_to_model([one("stored", None), several("fact", "a", "b")])
    assert known == {"/name": None, "/cc/0": '"a"', "/cc/1": '"b"'}
    assert counted == {array.index} and rows == ((array.index, 0), (array.index, 7))
    assert known_to_model([Given("/cc", array, "stored", None, {})]) == ({}, {array.index}, ())
    assert known_to_model([one("box", '"b"'), one("constant", '"c"')]) == ({}, set(), ())


def test_a_list_is_put_whole_with_its_cells_rows_and_certainty() -> None:
    before = filled({"name": "n", "cc": ["x", "y"]}, name='"n"', cc__0='"x"', cc__1='"y"')
    after = put(FORM, before, [several("fact", "a")])
    assert after.record == '{"name":"n","cc":["a"]}'
    assert {at: leaf.text for at, leaf in after.leaves.items()} == {"/name": '"n"', "/cc/0": '"a"'}
    assert after.rows == {"/cc/0": (0, 1.0)} and after.lists == {"/cc": 1.0}


def test_a_place_given_as_absent_whose_value_the_schema_demands_is_missing() -> None:
    before = filled({"name": None, "cc": [], "seller": {"city": "", "zip": "1"}}, seller__city='""', seller__zip='"1"')
    leaf = put(FORM, before, [one("stored", None, "/seller/city")]).leaves["/seller/city"]
    assert (leaf.text, leaf.missing, leaf.confidence, leaf.origin) == ('""', True, 0.0, "minimal")


def test_a_value_of_a_place_that_the_record_does_not_have_is_not_put() -> None:
    before = filled({"name": "n", "cc": []}, name='"n"')
    assert put(FORM, before, [one("fact", '"Ulm"', "/seller/city")]) == before
