"""A record that its schema cuts is changed a little, towards what is likelier, until it is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from random_model import SteeredModel, request

from cinnabar.engine.engine import Engine
from cinnabar.engine.layout import lay_out
from cinnabar.engine.models.base import Row
from cinnabar.engine.request import Failed, Filled
from cinnabar.engine.writing import Value, Writer
from cinnabar.schemas import compile_schema

TEXT = {"type": "string"}
MAYBE = {"type": ["string", "null"]}


def obj(required: list[str], rules: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **rules,
    }


def steered(schema: dict[str, Any], record: Any) -> Filled:
    """What is written when the scores are peaked on this record, whether it is allowed or not."""
    compiled = compile_schema(schema)
    (got,) = Engine(SteeredModel("copy"), "low").fill([request(compiled.form, text=json.dumps(record))])
    assert isinstance(got, Filled), got
    assert compiled.accepts(got.record)
    return got


@pytest.mark.parametrize(
    ("schema", "record", "wanted"),
    [
        (obj([], {"maxProperties": 1}, a=TEXT, b=MAYBE), {"a": "x"}, {"a": "x"}),
        (obj([], {"dependentRequired": {"b": ["c"]}}, b=MAYBE, c=TEXT), {}, {}),
        (obj([], {"not": {"required": ["a", "b"]}}, a=MAYBE, b=TEXT), {"b": "y"}, {"b": "y"}),
        (obj([], {"maxProperties": 1}, a=TEXT, b={"type": "array", "items": TEXT}), {"a": "x"}, {"a": "x"}),
        (obj([], {"maxProperties": 1}, a=TEXT, b=obj([], {}, c=MAYBE)), {"a": "x"}, {"a": "x"}),
    ],
    ids=["a count", "a dependency", "a denial", "an empty list", "an empty object"],
)
def test_what_is_not_there_is_left_out_where_null_is_not_allowed(
    schema: dict[str, Any], record: Any, wanted: Any
) -> None:
    assert json.loads(steered(schema, record).record) == wanted


def test_what_is_demanded_by_what_is_there_is_made_up_and_flagged_or_given_up() -> None:
    schema = obj([], {"dependentRequired": {"a": ["b"]}}, a=TEXT, b=obj(["c"], {}, c=TEXT))
    got = json.loads(steered(schema, {"a": "x"}).record)
    assert got in ({"a": "x", "b": {"c": ""}}, {})


def test_a_branch_that_does_not_go_with_the_rest_is_exchanged() -> None:
    kinds = [obj(["k", "n"], {}, k={"const": k}, n=TEXT) for k in ("one", "two")]
    rule = {"if": {"properties": {"t": {"const": 1}}}, "then": {"properties": {"v": kinds[0]}}}
    schema = obj(["t", "v"], rule, t={"enum": [1, 2]}, v={"oneOf": kinds})
    got = json.loads(steered(schema, {"t": 1, "v": {"k": "two", "n": "x"}}).record)
    assert got["v"]["k"] == "one" or got["t"] == 2


def test_items_that_repeat_are_written_once() -> None:
    schema = {"type": "array", "items": {"type": ["string", "integer"]}, "uniqueItems": True}
    assert json.loads(steered(schema, ["x", 1, "x", 1, "y", 1]).record) == ["x", 1, "y"]


def test_thirty_items_that_repeat_cost_no_search() -> None:
    schema = obj(["i"], {}, i={"type": "array", "items": obj(["n"], {}, n=TEXT), "uniqueItems": True})
    rows = [{"n": f"{at % 3}"} for at in range(30)]
    assert json.loads(steered(schema, {"i": rows}).record) == {"i": rows[:3]}


def test_minimal_items_of_an_array_differ_where_items_are_unique() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3}
    assert sorted(json.loads(steered(schema, ["c", "c"]).record)) == ["a", "b", "c"]


def test_many_faults_of_one_record_are_met_one_after_the_other() -> None:
    item = obj([], {"dependentRequired": {"a": ["b"]}}, a=TEXT, b=TEXT, c=TEXT)
    rows = [{"a": "x", "c": "y"} if at % 2 else {"c": f"{at}"} for at in range(24)]
    got = json.loads(steered({"type": "array", "items": item}, rows).record)
    assert len(got) == 24 and all(row["c"] == old["c"] for row, old in zip(got, rows, strict=True))


def test_open_properties_never_take_the_name_of_a_declared_one() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": TEXT}
    form = compile_schema(schema).form
    layout = lay_out(form, [Row(0, -1, 0, 1.0)] * 3, {})
    values = {"/a": b"1", "/*/name": b'"a"', "/*": b'"x"'}
    absent = Writer(layout, [Value(values[slot.path], slot.path == "/a") for slot in layout.slots])
    assert absent.record == "{}"
    there = Writer(layout, [Value(values[slot.path], False) for slot in layout.slots])
    assert there.record == '{"a":1}'


def test_known_values_that_no_record_may_have_together_fail_their_request_only() -> None:
    compiled = compile_schema(obj([], {"not": {"required": ["a", "b"]}}, a=TEXT, b=TEXT, c=TEXT))
    requests = [
        request(compiled.form, str(k), known=known, text='{"c":"z"}')
        for k, known in enumerate([{"/a": '"x"'}, {"/a": '"x"', "/b": '"y"'}, {}])
    ]
    one, both, none = Engine(SteeredModel("copy"), "low").fill(requests)
    assert isinstance(one, Filled) and json.loads(one.record) == {"a": "x", "c": "z"}
    assert isinstance(both, Failed) and both.code == "known"
    assert isinstance(none, Filled) and json.loads(none.record) == {"c": "z"}
