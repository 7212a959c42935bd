"""The layout of a form with its rows, and the record that its values make."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.engine.fill.layout import Layout, choose_rows, lay_out
from cinnabar.engine.fill.writing import Writer, WrittenValue
from cinnabar.engine.model import Row
from cinnabar.errors import EngineFailure
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import json_text

TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}


def layout_of(schema: dict[str, Any], rows: list[Row] | None = None) -> Layout:
    return lay_out(compile_schema(schema).form, rows or [], {})


def write(layout: Layout, *texts: str | None) -> Writer:
    """The record of these texts, None for what is absent (its guess is "?")."""
    assert len(texts) == len(layout.slots)
    return Writer(layout, [WrittenValue((text or '"?"').encode(), text is None) for text in texts], 1000)


def obj(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def test_an_absent_property_is_null_where_it_may_be_and_left_out_where_not() -> None:
    layout = layout_of(obj(["a", "b"], a=TEXT, b=MAYBE_TEXT, c=MAYBE_TEXT, d=TEXT))
    assert layout.excusable == [False, True, True, True]
    got = write(layout, '"x"', None, None, None)
    assert json_text(got.value) == '{"a":"x","b":null,"c":null}'
    assert got.leaves["/d"].text is None and got.leaves["/d"].origin == "absent"


def test_an_object_without_values_is_omitted_or_null() -> None:
    inner = obj(["x"], x=TEXT, y=TEXT)
    maybe = {**inner, "type": ["object", "null"]}
    layout = layout_of(obj(["n", "r"], o=inner, n=maybe, r=obj([], z=TEXT)))
    nothing = write(layout, *[None] * 5)
    assert json_text(nothing.value) == '{"n":null,"r":{}}'
    assert nothing.leaves["/o/x"].text is None and nothing.leaves["/n/y"].text is None
    some = write(layout, None, '"y"', '"x"', None, None)
    assert json_text(some.value) == '{"o":{"x":"?","y":"y"},"n":{"x":"x"},"r":{}}'
    assert some.leaves["/o/x"].missing and not some.leaves["/n/x"].missing


def test_rows_without_a_value_are_dropped_and_the_others_move_up() -> None:
    schema = obj(["i"], i={"type": "array", "items": obj(["n"], n=TEXT, m=TEXT)})
    layout = layout_of(schema, [Row(0, -1, 10 * k, 0.5) for k in range(3)])
    got = write(layout, '"a"', None, None, None, None, '"c"')
    assert json_text(got.value) == '{"i":[{"n":"a"},{"n":"?","m":"c"}]}'
    assert got.rows == {"/i/0": (1000, 0.5), "/i/1": (1020, 0.5)}
    assert got.leaves["/i/1/n"].missing and "/i/2/n" not in got.leaves


@pytest.mark.parametrize(
    ("array", "required", "record"),
    [
        ({}, True, '{"i":[]}'),
        ({}, False, '{"i":[]}'),
        ({"type": ["array", "null"]}, True, '{"i":[]}'),
        ({"minItems": 1}, False, "{}"),
        ({"minItems": 1, "type": ["array", "null"]}, True, '{"i":null}'),
        ({"minItems": 1}, True, '{"i":[""]}'),
    ],
)
def test_an_array_without_items_is_empty_null_or_omitted(array: dict[str, Any], required: bool, record: str) -> None:
    schema = obj(["i"] if required else [], i={"type": "array", "items": TEXT, **array})
    assert json_text(write(layout_of(schema)).value) == record
    dropped = json_text(write(layout_of(schema, [Row(0, -1, 0, 0.5)]), None).value)
    assert dropped == record.replace('""', '"?"')


def test_rows_lie_in_the_rows_around_them() -> None:
    inner = {"type": "array", "items": TEXT}
    schema = obj(["o"], o={"type": "array", "items": obj(["n", "i"], n=TEXT, i=inner)})
    rows = [Row(0, -1, 0, 1.0), Row(1, 0, 1, 1.0), Row(0, -1, 2, 1.0), Row(1, 2, 3, 1.0), Row(1, 2, 4, 1.0)]
    layout = layout_of(schema, rows)
    assert layout.row_of == [0, 1, 2, 3, 4]
    got = write(layout, '"a"', '"b"', '"c"', '"d"', '"e"')
    assert json_text(got.value) == '{"o":[{"n":"a","i":["b"]},{"n":"c","i":["d","e"]}]}'
    assert got.rows["/o/1/i/1"] == (1004, 1.0)


def test_the_most_probable_rows_stay_in_their_order_with_their_own_rows() -> None:
    inner = {"type": "array", "items": TEXT}
    schema = obj([], o={"type": "array", "maxItems": 2, "items": obj([], i=inner)})
    rows = [
        Row(0, -1, 0, 0.5),
        Row(1, 0, 1, 0.9),
        Row(0, -1, 2, 0.4),
        Row(1, 2, 3, 0.9),
        Row(0, -1, 4, 0.5),
        Row(1, 4, 5, 0.9),
    ]
    kept = choose_rows(compile_schema(schema).form, rows)
    assert [(row.anchor, row.parent) for row in kept] == [(0, -1), (1, 0), (4, -1), (5, 2)]


@pytest.mark.parametrize(
    "row", [Row(1, -1, 0, 1.0), Row(-1, -1, 0, 1.0), Row(0, 0, 0, 1.0), Row(0, -2, 0, 1.0)]
)
def test_rows_of_no_array_or_no_parent_are_refused(row: Row) -> None:
    with pytest.raises(EngineFailure, match="rows: row 0 names array"):
        layout_of(obj([], i={"type": "array", "items": TEXT}), [row])


def test_names_are_escaped_in_keys_and_pointers() -> None:
    got = write(layout_of(obj(['a/b~"c'], **{'a/b~"c': TEXT})), '"x"')
    assert json_text(got.value) == '{"a/b~\\"c":"x"}'
    assert list(got.leaves) == ['/a~1b~0"c']


def test_slots_are_excusable_where_they_or_a_parent_can_be_omitted() -> None:
    row = obj(["x"], x=TEXT, y=TEXT)
    inner = {"type": "array", "prefixItems": [TEXT], "items": row, "minItems": 1}
    layout = layout_of(obj(["a", "o", "i"], a=TEXT, b=TEXT, o=row, p=row, i=inner), [Row(0, -1, 0, 1.0)])
    found = dict(zip([slot.path for slot in layout.slots], layout.excusable, strict=True))
    assert found == {
        "/a": False, "/b": True, "/o/x": False, "/o/y": True, "/p/x": True, "/p/y": True,
        "/i/0": True, "/i/*/x": True, "/i/*/y": True,
    }  # fmt: skip
    nullable = compile_schema({**obj(["a", "b"], a=TEXT, b=TEXT), "type": ["object", "null"]}).form
    assert lay_out(nullable, [], {}).excusable == [True, True]
    held = lay_out(nullable, [], {"/a": '"x"'})
    assert held.excusable == [False, False] and held.known == [b'"x"', None]


def test_rows_up_to_the_last_known_one_are_demanded() -> None:
    schema = obj(["i"], i={"type": "array", "prefixItems": [TEXT], "items": obj(["n"], n=TEXT)})
    form = compile_schema(schema).form
    layout = lay_out(form, [Row(0, -1, 5, 0.5)], {"/i/2/n": '"k"'})
    assert [(row.anchor, row.probability) for row in layout.rows] == [(5, 0.5), (5, 1.0)]
    assert layout.known == [None, None, b'"k"'] and layout.excusable == [True, False, False]
    assert json_text(write(layout, None, None, '"k"').value) == '{"i":["?",{"n":"?"},{"n":"k"}]}'
    with pytest.raises(EngineFailure, match="no place '/i/x'"):
        lay_out(form, [], {"/i/x": '"k"'})


def test_a_schema_may_be_a_single_value_or_an_array() -> None:
    assert json_text(write(layout_of(TEXT), '"x"').value) == '"x"'
    assert json_text(write(layout_of({"type": "array", "items": TEXT}, [Row(0, -1, 0, 1.0)]), '"x"').value) == '["x"]'
    assert json_text(write(layout_of({**obj(["a"], a=TEXT), "type": ["object", "null"]}), None).value) == "null"


def test_a_known_value_does_not_count_for_a_property_whose_name_is_its_prefix() -> None:
    schema = obj([], a=obj(["x"], x=TEXT), ab=TEXT, abc=obj([], d={"type": "array", "items": TEXT}))
    layout = lay_out(compile_schema(schema).form, [], {"/ab": '"v"', "/abc/d/0": '"w"'})
    values = [WrittenValue(text or b'"?"', absent=text is None) for text in layout.known]
    assert json_text(Writer(layout, values, 0).value) == '{"ab":"v","abc":{"d":["w"]}}'


def test_a_branch_that_a_known_value_rules_out_leaves_no_marks() -> None:
    number, text = {"type": "integer"}, obj(["x"], n=TEXT, m=TEXT, x=TEXT)
    inner = [obj(["k", part], k={"const": part}, **{part: TEXT}) for part in ("u", "v")]
    choice = {"anyOf": [obj(["inner", "x"], inner={"anyOf": inner}, x=number), text]}
    layout = lay_out(compile_schema(obj(["p"], p=choice, last=TEXT)).form, [], {"/p/x": '"t"'})
    assert not layout.marks
    values = [WrittenValue(text or b'"?"', absent=text is None) for text in layout.known]
    values[0] = WrittenValue(layout.slots[0].options[1].encode(), absent=False)
    assert json_text(Writer(layout, values).value) == '{"p":{"x":"t"}}'
