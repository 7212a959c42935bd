"""Repair: a record that its schema refuses is changed a little, towards likelier values, until it is allowed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.random_model import SteeredModel, request

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.fill.layout import lay_out
from cinnabar.engine.fill.repair import repair_record
from cinnabar.engine.fill.writing import Writer, WrittenValue
from cinnabar.engine.model import Row
from cinnabar.engine.request import Failed, Filled
from cinnabar.schemas import compile_schema
from cinnabar.schemas.judging.judge import Judge

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
    """The record written when the scores peak on this one, allowed or not."""
    compiled = compile_schema(schema)
    (got,) = Engine(SteeredModel(), "low").fill([request(compiled.form, text=json.dumps(record))])
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
def test_an_absent_value_is_omitted_where_null_is_not_allowed(
    schema: dict[str, Any], record: Any, wanted: Any
) -> None:
    assert json.loads(steered(schema, record).record) == wanted


def test_items_that_repeat_are_written_once() -> None:
    schema = {"type": "array", "items": {"type": ["string", "integer"]}, "uniqueItems": True}
    assert json.loads(steered(schema, ["x", 1, "x", 1, "y", 1]).record) == ["x", 1, "y"]


def test_minimal_items_of_an_array_differ_where_items_are_unique() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3}
    assert sorted(json.loads(steered(schema, ["c", "c"]).record)) == ["a", "b", "c"]


def test_many_faults_of_one_record_are_repaired_in_turn() -> None:
    item = obj([], {"dependentRequired": {"a": ["b"]}}, a=TEXT, b=TEXT, c=TEXT)
    rows = [{"a": "x", "c": "y"} if at % 2 else {"c": f"{at}"} for at in range(24)]
    got = json.loads(steered({"type": "array", "items": item}, rows).record)
    assert len(got) == 24 and all(row["c"] == old["c"] for row, old in zip(got, rows, strict=True))


def test_open_properties_never_take_the_name_of_a_declared_one() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": TEXT}
    form = compile_schema(schema).form
    layout = lay_out(form, [Row(0, -1, 0, 1.0)] * 3, {})
    values = {"/a": b"1", "/*/name": b'"a"', "/*": b'"x"'}
    absent = Writer(layout, [WrittenValue(values[slot.path], slot.path == "/a") for slot in layout.slots])
    assert absent.value == {}
    there = Writer(layout, [WrittenValue(values[slot.path], False) for slot in layout.slots])
    assert there.value == {"a": 1}


def test_known_values_that_no_record_may_have_together_fail_their_request_only() -> None:
    compiled = compile_schema(obj([], {"not": {"required": ["a", "b"]}}, a=TEXT, b=TEXT, c=TEXT))
    requests = [
        request(compiled.form, str(k), known=known, text='{"c":"z"}')
        for k, known in enumerate([{"/a": '"x"'}, {"/a": '"x"', "/b": '"y"'}, {}])
    ]
    one, both, none = Engine(SteeredModel(), "low").fill(requests)
    assert isinstance(one, Filled) and json.loads(one.record) == {"a": "x", "c": "z"}
    assert isinstance(both, Failed) and both.code == "known"
    assert isinstance(none, Filled) and json.loads(none.record) == {"c": "z"}


Found = list[tuple[float, bytes]]


def near(
    schema: dict[str, Any],
    values: dict[str, tuple[str | None, float]],
    others: dict[str, Found] | None = None,
    rows: int = 0,
) -> tuple[Any, int]:
    """The allowed record found near these values, and how many records were judged.

    Each value is a text or None by its path, with its confidence. `others` are the other candidates of a slot; a slot
    without candidates may be absent, or else as it is.
    """
    form = compile_schema(schema).form
    layout = lay_out(form, [Row(0, -1, at, 1.0) for at in range(rows)], {})
    paths = [slot.path if row < 0 else slot.path.replace("*", f"{row}") for slot, row in zip(
        layout.slots, layout.row_of, strict=True)]  # fmt: skip
    now = []
    for path, slot in zip(paths, layout.slots, strict=True):
        text, sure = values.get(path, (None, 0.9))
        guess = (slot.minimal if text is None else text).encode()
        absence = sure if text is None else round(1 - sure, 4)
        now.append(WrittenValue(guess, text is None, 1 - sure if text is None else sure, absence))

    def alternatives(at: int) -> list[tuple[float, WrittenValue]]:
        value = now[at]
        found = [(value.absent_confidence, replace(value, absent=True))]
        return found + [
            (chance, replace(value, text=text, absent=False, confidence=chance))
            for chance, text in (others or {}).get(paths[at], [])
        ]

    assert form.judge is not None
    judge = Counting(form.judge)
    found = repair_record(Writer(layout, now), judge, alternatives)  # type: ignore[arg-type]
    return None if found is None else found.value, judge.asked


class Counting:
    """A judge that counts the records that it judged."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.asked = judge, 0

    def violation(self, record: Any) -> Any:
        self.asked += 1
        return self.judge.violation(record)


def test_a_record_that_is_allowed_stays_as_it_is() -> None:
    schema = obj([], {"maxProperties": 2}, a=TEXT, b=TEXT)
    assert near(schema, {"/a": ('"x"', 0.1), "/b": ('"y"', 0.1)}) == ({"a": "x", "b": "y"}, 1)


@pytest.mark.parametrize("weak", ["a", "b", "c"])
def test_the_least_sure_value_is_left_out(weak: str) -> None:
    schema = obj([], {"maxProperties": 2}, a=TEXT, b=TEXT, c=TEXT)
    values: dict[str, Any] = {f"/{name}": (f'"{name}"', 0.7 if name == weak else 0.9) for name in "abc"}
    assert near(schema, values)[0] == {name: name for name in "abc" if name != weak}


@pytest.mark.parametrize(("y", "z", "wanted"), [(0.1, 0.3, "z"), (0.3, 0.1, "y"), (0.2, 0.2, "y")])
def test_a_value_is_exchanged_for_the_next_likelier_one(y: float, z: float, wanted: str) -> None:
    schema = obj(["t"], {"not": {"properties": {"t": {"const": "x"}}}}, t={"enum": ["x", "y", "z"]})
    others = {"/t": [(0.6, b'"x"'), (y, b'"y"'), (z, b'"z"')]}
    assert near(schema, {"/t": ('"x"', 0.6)}, others)[0] == {"t": wanted}


NO_BAD = {"not": {"contains": {"properties": {"n": {"const": "bad"}}}}}


@pytest.mark.parametrize(
    ("chance", "leaves", "wanted"),
    [
        # At 0.9 for each value, dropping the row costs log 9, and 0.5 for each value beyond the first; the other text
        # costs the logarithm of 0.9 to its chance.
        (0.05, 2, [{"n": "x"}]),
        (0.05, 3, [{"n": "x"}, {"n": "good", "m": "m", "o": "o"}]),
        (0.2, 2, [{"n": "x"}, {"n": "good", "m": "m"}]),
        (0.01, 3, [{"n": "x"}]),
    ],
)
def test_a_row_is_dropped_where_that_is_likelier_than_another_text(
    chance: float, leaves: int, wanted: Any
) -> None:
    names = ["n", "m", "o"][:leaves]
    item = obj(names, {}, **dict.fromkeys(names, TEXT))
    schema = {"type": "array", "items": {**item, "required": ["n"]}, **NO_BAD}
    values: dict[str, Any] = {"/0/n": ('"x"', 0.9), "/1/n": ('"bad"', 0.9)}
    values |= {f"/1/{name}": (f'"{name}"', 0.9) for name in names[1:]}
    assert near(schema, values, {"/1/n": [(0.9, b'"bad"'), (chance, b'"good"')]}, rows=2)[0] == wanted


@pytest.mark.parametrize(("sure", "wanted"), [(0.9, {}), (0.9972, {}), (0.998, {"a": "x", "o": {"n": ""}})])
def test_a_value_is_dropped_rather_than_guessed_unless_it_is_almost_certain(
    sure: float, wanted: Any
) -> None:
    schema = obj([], {"dependentRequired": {"a": ["o"]}}, a=TEXT, o=obj(["n"], {}, n=TEXT))
    assert near(schema, {"/a": ('"x"', sure)})[0] == wanted


def test_a_text_without_evidence_is_written_only_where_no_other_is_allowed() -> None:
    schema = obj([], {"minProperties": 1, "not": {"properties": {"a": {"maximum": 8}}}}, a={"enum": [1, 9]})
    assert near(schema, {"/a": (None, 0.9)})[0] == {"a": 9}


@pytest.mark.parametrize("within", [(), ("o",), ("o", "p")], ids=["there", "above", "far above"])
def test_a_branch_is_exchanged_for_a_rule_at_any_level_above_it(
    within: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a large form, in which not every text of a slot is tried.
    monkeypatch.setattr("cinnabar.engine.fill.repair.FEW_SLOTS", 0)
    part: dict[str, Any] = {"oneOf": [obj(["k", "n"], {}, k={"const": k}, n=TEXT) for k in ("one", "two")]}
    rule: dict[str, Any] = {"properties": {"k": {"const": "one"}}}
    wanted: Any = {"k": "two", "n": ""}
    for name in within:
        part, rule, wanted = obj([name], {}, **{name: part}), {"properties": {name: rule}}, {name: wanted}
    found, _ = near(obj(["v"], {"not": {"properties": {"v": rule}}}, v=part), {})
    assert found == {"v": wanted}


def test_a_list_that_the_record_may_not_have_is_null_where_it_may_be() -> None:
    rule = {"if": {"required": ["o"]}, "then": {"properties": {"o": {"maxItems": 0, "minItems": 1}}}}
    schema = obj(["o"], {"allOf": [rule]}, o={"type": ["array", "null"], "items": TEXT})
    assert near(schema, {"/o/*": ('"x"', 0.9)}, rows=1)[0] == {"o": None}


def test_known_values_and_other_places_never_change() -> None:
    item = obj([], {"maxProperties": 1}, a=TEXT, b=TEXT)
    schema = obj([], {}, i=item, j=obj([], {}, a=TEXT, b=TEXT))
    values = {f"/{at}/{name}": (f'"{name}"', 0.6) for at in "ij" for name in "ab"}
    assert near(schema, {**values, "/i/a": ('"a"', 0.9)})[0] == {"i": {"a": "a"}, "j": {"a": "a", "b": "b"}}


@pytest.mark.parametrize(("slots", "judged"), [(4, 20), (6, 20), (8, 15), (80, 2)])
def test_a_search_ends_sooner_the_larger_the_form_is(
    slots: int, judged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cinnabar.engine.fill.repair.REPAIR_RECORDS", 20)
    monkeypatch.setattr("cinnabar.engine.fill.repair.REPAIR_SLOTS", 120)
    names = [f"p{at}" for at in range(slots)]
    layout = lay_out(compile_schema(obj([], {}, **dict.fromkeys(names, TEXT))).form, [], {})
    judge = Counting(compile_schema({"type": "object", "minProperties": slots + 1}).judge)
    values = [WrittenValue(b'"x"', False, 0.9, 0.1) for _ in layout.slots]

    def alternatives(at: int) -> list[tuple[float, WrittenValue]]:
        return [(0.1 / k, replace(values[at], text=f'"{k}"'.encode())) for k in range(1, 9)]

    assert repair_record(Writer(layout, values), judge, alternatives) is None  # type: ignore[arg-type]
    assert judge.asked == judged
