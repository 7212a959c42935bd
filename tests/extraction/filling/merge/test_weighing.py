"""The confidence of values and nulls of a record that was put together from two readings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.filling.merge.merging import prefer_confident_record
from cinnabar.extraction.filling.merge.weighing import LEAST, weighed
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}
NOTE = {
    "type": "object",
    "properties": {
        "city": TEXT,
        "place": TEXT,
        "kind": {"enum": ["inn", "Ulm", None]},
        "left_out": {"type": "string"},
        "text": TEXT | {"x-cinnabar-written": True},
        "stops": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}},
    },
    "required": ["city", "place"],
}


def note() -> Form:
    return compile_schema(NOTE).form


def reading(form: Form, record: dict[str, Any], **sure: float) -> Filled:
    """A reading of these fields; `stops` are the names of the stops."""
    slots = {slot.path: slot.index for slot in form.slots}
    whole = {"city": None, "place": None, "kind": None} | record
    names = whole.get("stops", [])
    leaves = {
        f"/{name}": Leaf(text(value), sure.get(name, 0.5), origin=origin(value), slot=slots[f"/{name}"])
        for name, value in whole.items()
        if name != "stops"
    }
    if "left_out" not in whole:
        leaves["/left_out"] = Leaf(None, sure.get("left_out", 0.5), origin="absent", slot=slots["/left_out"])
    for at, name in enumerate(names):
        leaves[f"/stops/{at}/name"] = Leaf(text(name), 0.5, origin=origin(name), slot=slots["/stops/*/name"])
    whole["stops"] = [{"name": name} for name in names]
    rows = {f"/stops/{at}": (at, 0.5) for at in range(len(names))}
    return Filled("", whole, leaves, rows, 1, 0, lists={"/stops": sure.get("stops", 0.5)})


def text(value: Any) -> str:
    return json.dumps(value)


def origin(value: Any) -> Any:
    return "absent" if value is None else "copied"


def both(one: Filled, other: Filled, told: tuple[str, ...] = (), kept: tuple[str, ...] = ()) -> Filled:
    form = note()
    return weighed(form, prefer_confident_record(form, one, other, kept), one, other, told, kept)


@pytest.mark.parametrize("place", ["Köln", "ulm", None, "Ulm"])
def test_a_value_that_both_readings_have_is_surer_than_one_of_one_reading(place: str | None) -> None:
    form = note()
    alone = both(reading(form, {"city": "Ulm"}), reading(form, {"city": "Bonn"})).leaves["/city"].confidence
    same = both(reading(form, {"city": "Ulm"}), reading(form, {"city": "ULM"})).leaves["/city"].confidence
    assert same > alone + 0.15
    # A value that stands in another field too is less sure, but for an option of a choice.
    found = both(reading(form, {"city": "Ulm", "place": place}), reading(form, {"city": "Ulm"}))
    is_taken = place is not None and place.casefold() == "ulm"
    assert (found.leaves["/city"].confidence < same - 0.02) == is_taken
    chosen = both(reading(form, {"city": "Ulm", "kind": "Ulm"}), reading(form, {"city": "Ulm"}))
    assert chosen.leaves["/kind"].confidence == pytest.approx(
        both(reading(form, {"kind": "inn"}), reading(form, {})).leaves["/kind"].confidence, abs=0.01
    )


def test_a_null_of_both_is_surer_than_one_against_a_value_and_a_sure_null_beats_a_doubtful_value() -> None:
    form = note()
    for surer, city in ((0.3, "Ulm"), (0.99, None)):
        one, other = reading(form, {}, city=surer), reading(form, {"city": "Ulm"}, city=0.5)
        found = both(one, other)
        assert json.loads(found.record)["city"] == city
        leaf = found.leaves["/city"]
        assert (leaf.text, leaf.origin) == ((text("Ulm"), "copied") if city else ("null", "absent"))
        agreed = both(one, reading(form, {}, city=surer)).leaves["/city"]
        assert leaf.absence < agreed.confidence


def test_an_unlikely_value_is_null_or_left_out_where_it_may_be() -> None:
    form = note()
    record = {"city": "Ulm", "kind": "inn", "left_out": "x", "text": "Worded.", "stops": ["A", "B"]}
    sure = dict.fromkeys(record, 0.05) | {"text": 0.2}
    found = both(reading(form, {}, text=0.05), reading(form, record, **sure))
    assert json.loads(found.record) == {
        "city": None, "place": None, "kind": None, "text": "Worded.", "stops": [{"name": "A"}, {"name": "B"}],
    }  # fmt: skip
    assert found.leaves["/left_out"].text is None and found.leaves["/text"].confidence < LEAST
    # What the model words counts, but for a reader's copy where it finds nothing to word.
    copied = both(reading(form, {"text": "Copied."}, text=0.0), reading(form, {"text": None}, text=0.4))
    assert json.loads(copied.record)["text"] is None
    # One that both have may not be left out.
    again = both(reading(form, record, **sure), reading(form, record | {"left_out": "y"}, **sure))
    assert json.loads(again.record)["left_out"] == "x"


def test_values_of_rows_are_compared_with_all_rows_of_the_other_reading() -> None:
    form = note()
    one, other = reading(form, {"stops": ["B"]}, stops=0.1), reading(form, {"stops": ["A", "B", None]}, stops=0.9)
    found = both(one, other)
    sure = [found.leaves[f"/stops/{at}/name"].confidence for at in range(3)]
    assert [row["name"] for row in json.loads(found.record)["stops"]] == ["A", "B", None] and sure[1] > sure[0] + 0.15


def test_what_was_told_or_kept_stays_as_it_is() -> None:
    form = note()
    one, other = reading(form, {"city": "Ulm"}, city=0.1), reading(form, {"place": "Bonn", "stops": ["A"]}, place=0.1)
    found = both(one, other, told=("/city",), kept=("/place", "/stops"))
    assert json.loads(found.record) | {"kind": None} == {"city": "Ulm", "place": None, "kind": None, "stops": []}
    assert found.leaves["/city"] == one.leaves["/city"] and found.leaves["/place"] == one.leaves["/place"]
    fact = Leaf(text("Ulm"), 1.0, origin="fact", slot=0)
    given = weighed(form, Filled("", one.value, {"/city": fact}, {}, 1, 0), one, other)
    assert given.leaves == {"/city": fact}
