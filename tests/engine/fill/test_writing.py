"""Writing a record: its text, the notes on it, and the decisions from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cinnabar.engine.fill.layout import Layout, lay_out
from cinnabar.engine.fill.writing import Writer, WrittenValue, minimal
from cinnabar.engine.model import Row
from cinnabar.engine.request import Leaf
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import json_text

TEXT = {"type": "string"}
OFFSET = 1000


def laid_out(schema: dict[str, Any], rows: Sequence[Row] = (), **known: str) -> Layout:
    return lay_out(compile_schema(schema).form, rows, {f"/{at}": text for at, text in known.items()})


def rows_of(count: int) -> list[Row]:
    return [Row(0, -1, 10 * at, 0.5) for at in range(count)]


def write(layout: Layout, *texts: str | None, decided: Mapping[int, Any] | None = None) -> Writer:
    """The record of these texts, None for an absent one; its guess is "?"."""
    assert len(texts) == len(layout.slots)
    values = [
        WrittenValue((text or '"?"').encode(), text is None, 0.5, 0.25, ((1, 3),), rival=0.125) for text in texts
    ]
    return Writer(layout, values, OFFSET, decided)


def states(writer: Writer) -> dict[str, list[str]]:
    return {pointer: [state for _, state in found] for pointer, found in writer.states.items()}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


OPEN = {**obj(a=TEXT), "additionalProperties": TEXT}


def test_open_properties_have_names_of_their_own_and_are_noted_by_them() -> None:
    got = write(laid_out(OPEN, rows_of(3)), None, '"x/y"', '"1"', '"x/y"', '"2"', '"a"', '"3"')
    assert json_text(got.value) == '{"x/y":"1"}'
    assert got.rows == {"/x~1y": (OFFSET, 0.5)}
    assert got.instances == {"/a": [0], "/x~1y": [2, 1]}
    said: dict[str, Any] = {"absence": 0.25, "posterior": 0.5, "rival": 0.125}
    span = (OFFSET + 1, OFFSET + 3)
    assert got.leaves["/x~1y"] == Leaf('"1"', 0.5, (span,), "minimal", slot=2, **said)
    assert got.leaves["/a"] == Leaf(None, 0.25, origin="absent", slot=0, **said)


def test_an_open_property_without_name_or_value_does_not_take_a_name() -> None:
    got = write(laid_out(OPEN, rows_of(3)), '"k"', '"x"', None, None, '"1"', '"x"', '"2"')
    assert json_text(got.value) == '{"a":"k","x":"2"}' and got.rows == {"/x": (OFFSET + 20, 0.5)}


def test_an_open_property_makes_its_object_present() -> None:
    layout = laid_out(obj(o=OPEN), rows_of(1))
    assert json_text(write(layout, None, '"x"', '"1"').value) == '{"o":{"x":"1"}}'
    assert json_text(write(layout, None, '"x"', None).value) == "{}"
    assert json_text(write(layout, '"k"', None, None).value) == '{"o":{"a":"k"}}'


def test_open_properties_of_several_patterns_are_all_written() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^a": TEXT, "^b": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"},
    }
    rows = [Row(array, -1, 10 * at, 0.5) for at, array in enumerate((0, 0, 1, 2))]
    got = write(laid_out(schema, rows), '"a1"', '"x"', '"a2"', '"y"', '"b1"', "3", '"c"', "true")
    assert json_text(got.value) == '{"a1":"x","a2":"y","b1":3,"c":true}'
    assert sorted(got.leaves) == ["/a1", "/a2", "/b1", "/c"]
    assert json_text(write(laid_out(schema, rows[3:]), '"c"', "true").value) == '{"c":true}'


ROWS = {"type": "array", "items": {**obj(n=TEXT, m=TEXT), "required": ["n"]}, "uniqueItems": True}


def test_a_repeated_item_leaves_only_the_notes_of_its_asked_slots() -> None:
    got = write(laid_out(ROWS, rows_of(3)), '"a"', None, '"a"', None, '"b"', None)
    assert json_text(got.value) == '[{"n":"a"},{"n":"b"}]'
    assert got.rows == {"/0": (OFFSET, 0.5), "/1": (OFFSET + 20, 0.5)}
    assert list(got.leaves) == ["/0/n", "/0/m", "/1/n", "/1/m"] and got.leaves["/1/n"].text == '"b"'
    assert got.instances["/1/n"] == [2, 4] and len(got.states["/1/m"]) == 1


def test_known_items_stay_even_where_they_repeat() -> None:
    layout = lay_out(compile_schema(ROWS).form, rows_of(2), {"/0/n": '"a"', "/1/n": '"a"'})
    assert json_text(write(layout, '"a"', None, '"a"', None).value) == '[{"n":"a"},{"n":"a"}]'


def test_an_array_is_filled_up_with_items_that_are_flagged_and_differ_where_they_must() -> None:
    few = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3}
    got = write(laid_out(few, rows_of(1)), '"b"')
    assert json_text(got.value) == '["b","a","c"]'
    assert [got.leaves[f"/{at}"].missing for at in range(3)] == [False, True, True]
    assert [got.leaves[f"/{at}"].text for at in range(3)] == ['"b"', '"a"', '"c"']
    assert got.leaves["/2"].confidence == 0.0 and list(got.rows) == ["/0"]
    same = {**few, "uniqueItems": False}
    assert json_text(write(laid_out(same, rows_of(1)), '"b"').value) == '["b","a","a"]'


def test_a_row_without_a_value_is_written_only_as_far_as_items_are_demanded() -> None:
    least = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2}
    layout = laid_out(least, rows_of(3))
    assert json_text(write(layout, None, '"b"', None).value) == '["?","b"]'
    assert json_text(write(layout, None, None, '"c"').value) == '["?","c"]'
    assert json_text(write(layout, '"a"', '"b"', None).value) == '["a","b"]'
    assert json_text(write(layout, '"a"', '"b"', '"c"').value) == '["a","b","c"]'
    first = write(layout, None, None, '"c"')
    assert first.rows == {"/0": (OFFSET, 0.5), "/1": (OFFSET + 20, 0.5)} and first.leaves["/0"].missing


FIRST = {"type": "array", "prefixItems": [TEXT, {"type": ["integer", "null"]}], "items": TEXT, "maxItems": 3}


@pytest.mark.parametrize(
    ("texts", "record"),
    [
        ((None, None, None), "[]"),
        (('"a"', None, None), '["a"]'),
        ((None, "7", None), '["?",7]'),
        ((None, None, '"r"'), '["?",null,"r"]'),
        (('"a"', "7", '"r"'), '["a",7,"r"]'),
    ],
)
def test_first_items_are_written_up_to_the_last_present_one(
    texts: tuple[str | None, ...], record: str
) -> None:
    got = write(laid_out(FIRST, rows_of(1)), *texts)
    assert json_text(got.value) == record
    assert list(got.rows) == (["/2"] if texts[2] else [])
    assert set(got.leaves) == {f"/{at}" for at in range(record.count(",") + (record != "[]"))}


def test_no_more_first_items_are_written_than_an_array_may_have() -> None:
    layout = laid_out({"type": "array", "prefixItems": [TEXT, TEXT], "items": TEXT, "maxItems": 1})
    assert json_text(write(layout, *['"a"'] * len(layout.slots)).value) == '["a"]'


def test_an_array_is_filled_up_with_the_items_that_it_must_contain() -> None:
    schema = {"type": "array", "items": TEXT, "contains": {"const": "c"}, "minContains": 2, "minItems": 3}
    got = write(laid_out(schema, rows_of(1)), '"x"')
    assert json_text(got.value) == '["x","c","c"]' and got.leaves["/2"].missing
    optional = {**schema, "prefixItems": [{"type": "string", "minLength": 1}], "minContains": 1}
    assert json_text(write(laid_out({**optional, "minItems": 2}), None).value) == '["?","c"]'


CHOICE = {
    "anyOf": [
        {**obj(k={"const": "one"}, n=TEXT), "required": ["k", "n"]},
        {"type": "array", "items": TEXT},
        {**obj(other=TEXT), "required": ["other"]},
    ]
}


def test_a_choice_writes_its_named_branch_or_else_a_present_one() -> None:
    layout = laid_out(CHOICE, rows_of(1))
    one, many, other = layout.slots[0].options
    assert json_text(write(layout, many, '"one"', '"n"', '"x"', '"o"').value) == '["x"]'
    assert json_text(write(layout, other, '"one"', '"n"', '"x"', '"o"').value) == '{"other":"o"}'
    assert json_text(write(layout, many, '"one"', '"n"', None, '"o"').value) == '{"k":"one","n":"n"}'
    got = write(layout, one, None, None, '"x"', '"o"')
    assert json_text(got.value) == '["x"]' and list(got.leaves) == ["/0"]
    assert [branch for _, branch in got.branches[""]] == [1]
    nothing = write(layout, other, None, None, None, None)
    assert json_text(nothing.value) == '{"other":"?"}' and nothing.leaves["/other"].missing


@pytest.mark.parametrize(
    ("named", "sure", "missing", "own", "told", "confidence"),
    [
        (0, 0.9, False, "absent", True, 0.9),  # the selector tells the branch
        (0, 0.4, True, "absent", False, 0.0),  # nothing does
        (0, 0.4, True, "found", True, 0.8),  # a value that only this branch has a place for
        (0, 0.4, True, "made up", False, 0.0),
    ],
)
def test_a_constant_of_a_branch_is_as_sure_as_what_tells_the_branch(
    named: int, sure: float, missing: bool, own: str, told: bool, confidence: float
) -> None:
    schema = {"oneOf": [obj(k={"const": k}, **{k: TEXT, "both": TEXT}) for k in ("one", "two")]}
    for one in schema["oneOf"]:
        one["required"] = ["k"]
    layout = laid_out(obj(v=schema))
    selector = layout.slots[0].options[named].encode()
    values = []
    for slot in layout.slots:
        name = slot.path.rsplit("/", 1)[-1]
        text = selector if not values else slot.options[0].encode() if slot.options else b'"x"'
        absent = bool(values) and not slot.options and not (name == "one" and own != "absent")
        spans = ((0, 1),) if name == "one" and own == "found" else ()
        own_share = 0.8 if values else sure
        values.append(WrittenValue(text, absent, own_share, spans=spans, missing=missing and not values))
    got = Writer(layout, values)
    if not told and own == "absent":
        assert json_text(got.value) == "{}"
        return
    leaf = got.leaves["/v/k"]
    assert (leaf.text, leaf.missing, leaf.confidence) == ('"one"', not told, confidence)


def test_a_branch_that_is_decided_is_written_with_or_without_a_value() -> None:
    layout = laid_out(CHOICE, rows_of(1))
    one, root = layout.slots[0].options[0], layout.root
    for branch, record in ((0, '{"k":"one","n":"n"}'), (1, "[]"), (2, '{"other":"?"}')):
        decided = {id(root.selector): branch}  # type: ignore[union-attr]
        got = write(layout, one, '"one"', '"n"', None, None, decided=decided)
        assert json_text(got.value) == record and [at for _, at in got.branches[""]] == [branch]


def test_a_choice_without_values_is_omitted_with_its_leaves() -> None:
    layout = laid_out(obj(v=CHOICE))
    got = write(layout, layout.slots[0].options[0], None, None, None)
    assert json_text(got.value) == "{}" and states(got) == {"/v": ["out"]}
    assert {at: leaf.text for at, leaf in got.leaves.items()} == {"/v/k": None, "/v/n": None}
    assert got.instances == {"/v/k": [1], "/v/n": [2]} and not got.branches


PLACES = obj(
    t=TEXT, o=obj(x=TEXT), n={**obj(y=TEXT), "type": ["object", "null"]}, i={"type": "array", "items": TEXT}
)


def decided(layout: Layout, **by_name: Any) -> dict[int, Any]:
    members = {member.name: part for member, part in layout.root.members}  # type: ignore[union-attr]
    return {id(members[name]): how for name, how in by_name.items()}


def test_a_decision_can_omit_a_present_node_or_make_it_null() -> None:
    layout = laid_out(PLACES, rows_of(1))
    full = ('"t"', '"x"', '"y"', '"i"')
    plain = write(layout, *full)
    assert json_text(plain.value) == '{"t":"t","o":{"x":"x"},"n":{"y":"y"},"i":["i"]}'
    assert states(plain) == {p: ["there"] for p in ("/t", "/o", "/o/x", "/n", "/n/y", "/i")}
    out = write(layout, *full, decided=decided(layout, t="out", o="out", n="null", i="out"))
    assert json_text(out.value) == '{"n":null}'
    assert states(out) == {"/t": ["out"], "/o": ["out"], "/n": ["null"], "/i": ["out"]}
    assert {p: leaf.text for p, leaf in out.leaves.items()} == {"/t": None, "/o/x": None, "/n/y": None}
    assert out.leaves["/t"].origin == "absent" and out.instances["/o/x"] == [1]


def test_a_decision_can_make_an_absent_node_present() -> None:
    layout = laid_out(PLACES)
    assert json_text(write(layout, None, None, None).value) == '{"n":null,"i":[]}'
    there = write(layout, None, None, None, decided=decided(layout, o="there", n="there"))
    assert json_text(there.value) == '{"o":{},"n":{},"i":[]}' and states(there)["/n"] == ["there"]


@pytest.mark.parametrize("least", [0, 1, 2])
def test_a_decision_can_give_an_array_more_items(least: int) -> None:
    layout = laid_out(obj(i={"type": "array", "items": TEXT, "minItems": 1}), rows_of(1))
    got = write(layout, '"a"', decided=decided(layout, i=least))
    assert json_text(got.value) == ('{"i":["a",""]}' if least == 2 else '{"i":["a"]}')
    assert ("/i/1" in got.leaves) == (least == 2)


def test_known_values_are_written_at_every_kind_of_place() -> None:
    layout = laid_out(obj(a=TEXT, b={"type": ["string", "null"]}), a='"x"', b="null")
    got = write(layout, '"x"', "null")
    assert json_text(got.value) == '{"a":"x","b":null}' and not got.states
    inner = lay_out(compile_schema(obj(o=obj(x=TEXT, y=TEXT))).form, [], {"/o/x": '"k"'})
    assert json_text(write(inner, '"k"', None).value) == '{"o":{"x":"k"}}'
    assert not write(inner, '"k"', None).leaves["/o/x"].missing


@pytest.mark.parametrize(
    ("schema", "record", "leaves"),
    [
        ({"type": ["string", "null"]}, "null", {"": "null"}),
        ({"type": "string", "minLength": 2}, '"  "', {"": '"  "'}),
        ({**obj(a=TEXT), "type": ["object", "null"]}, "null", {}),
        ({**obj(a=TEXT, b=TEXT), "required": ["b"]}, '{"b":""}', {"/b": '""'}),
        (obj(a={"type": ["integer", "null"]}, b=TEXT), '{"a":null}', {"/a": "null"}),
        (obj(a={"type": "array", "items": TEXT}), '{"a":[]}', {}),
        (obj(a={"type": "array", "items": TEXT, "minItems": 1}), "{}", {}),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, "[true,true]",
         {"/0": "true", "/1": "true"}),
        ({"type": ["array", "null"], "items": TEXT, "minItems": 1}, "null", {}),
        ({"type": ["array", "null"], "items": TEXT}, "[]", {}),
        (CHOICE, '{"k":"one","n":""}', {"/k": '"one"', "/n": '""'}),
    ],
)  # fmt: skip
def test_a_record_without_values_is_the_forms_smallest(
    schema: dict[str, Any], record: str, leaves: dict[str, str]
) -> None:
    found: dict[str, Leaf] = {}
    form = compile_schema(schema).form
    assert json_text(minimal(form.root, "", found)) == json_text(minimal(form.root)) == record
    assert {at: leaf.text for at, leaf in found.items()} == leaves
    assert all(leaf.missing and leaf.origin == "minimal" and not leaf.confidence for leaf in found.values())
