"""Recursion and size of schemas: depth, width and counts have limits, and omissions are listed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.shapes_of_schemas import CLOSED, OPEN, TEXT, chain, fields, one, shape

from cinnabar.errors import NoValue
from cinnabar.schemas import UnsupportedSchema
from cinnabar.schemas.form.layout import lay_out
from cinnabar.schemas.judging.resources import Documents
from cinnabar.schemas.parsing.schema_object import ANY_TYPE, MAX_DEMANDED, MAX_SHAPES
from cinnabar.schemas.parsing.shape import (
    Anything,
    Array,
    Enum,
    Field,
    Number,
    Object,
    Shape,
    String,
    branches,
)
from cinnabar.schemas.parsing.shape_reader import LEVELS, UNROLLED, ShapeReader, normalise


def test_more_alternatives_than_fit_a_form_are_the_first_ones() -> None:
    found = normalise({"anyOf": [{"type": "string", "pattern": f"^{n}"} for n in range(100)]})
    assert len(branches(found.shape)) < 100
    assert branches(found.shape)[0] == String(("^0",))


NODE = {
    "type": "object",
    "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name"],
}


def depth(found: Shape) -> int:
    """The depth of a tree in nodes."""
    children = fields(found)["children"].shape if isinstance(found, Object) else None
    return 1 + depth(children.item) if isinstance(children, Array) and children.item is not None else 1


def test_recursion_is_unrolled_in_the_shape_and_listed() -> None:
    found = normalise(chain("node", NODE))
    assert depth(found.shape) == UNROLLED[0]
    assert [pointer for pointer, _ in found.left_out] == ["/$defs/node/properties/children/items/$ref"]


def test_recursion_is_unrolled_deeper_where_a_value_requires_it() -> None:
    steps: dict[str, Any] = {"n": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "integer"}]}}
    schema = {"$defs": {**steps, "m": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}}
    assert Number(True) in branches(shape({**schema, "$ref": "#/$defs/n"}))
    within: dict[str, Any] = {"$ref": "#/$defs/l"}
    for _ in range(3):
        within = {"type": "object", "properties": {"x": within}, "required": ["x"]}
    # The list requires four levels before it may end.
    least = {"type": "array", "items": {"$ref": "#/$defs/l"}}
    assert isinstance(shape({"$defs": {"l": least}, **within}), Object)


def test_a_dynamic_reference_leads_to_the_outermost_schema() -> None:
    schema = {
        "$id": "https://example.org/tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"c": {"type": "array", "items": {"$dynamicRef": "#node"}}},
        "additionalProperties": False,
    }
    children = fields(shape(schema))["c"].shape
    assert isinstance(children, Array) and list(fields(children.item or Anything())) == ["c"]


def test_endless_recursion_has_no_form() -> None:
    endless = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["next"]}
    with pytest.raises(UnsupportedSchema, match="contains itself") as caught:
        normalise(chain("n", endless))
    assert caught.value.pointer == "/$defs/n/properties/next/$ref"


def test_a_large_schema_omits_its_deepest_optional_values_and_lists_them() -> None:
    definitions: dict[str, Any] = {"d0": TEXT}
    for i in range(1, 30):
        twice = {"$ref": f"#/$defs/d{i - 1}"}
        definitions[f"d{i}"] = {"type": "object", "properties": {"l": twice, "r": twice}, "required": ["l"]}
    found = normalise({"$defs": definitions, "$ref": "#/$defs/d29"})
    form = lay_out(found.shape)
    assert len(form.slots) + len(form.objects) < MAX_SHAPES
    assert list(fields(found.shape)) == ["l", "r"]
    assert all(pointer.endswith("/properties") for pointer, _ in found.left_out)
    assert {what for _, what in found.left_out} == {"left out, because the form has reached its largest size"}


WIDE = {f"p{at}": TEXT for at in range(2 * MAX_SHAPES)}


def test_too_many_properties_keep_the_first_and_the_required_ones() -> None:
    found = normalise({"type": "object", "properties": WIDE, "required": [f"p{len(WIDE) - 1}"]})
    names = list(fields(found.shape))
    assert names == [*(f"p{at}" for at in range(MAX_SHAPES - 1)), f"p{len(WIDE) - 1}"]
    assert found.left_out == (("/properties", "left out, because the form has reached its largest size"),)
    both = {"allOf": [{"type": "object", "properties": WIDE}, {"properties": {"b": TEXT}, "required": ["b"]}]}
    assert list(fields(shape(both)))[-1] == "b"
    within = {"type": "object", "properties": {"b": TEXT, "a": {**OPEN, "required": [*WIDE, "x"]}}}
    assert list(fields(normalise(within).shape)) == ["b"], "what is too large by itself is left out whole"
    deep = shape({"type": "object", "properties": {"o": {"type": "object", "properties": within}, **WIDE}})
    assert not fields(fields(deep)["o"].shape), "below the top only what is required is written then"


def test_too_many_alternatives_keep_the_first_ones() -> None:
    codes = [{"const": name, "title": f"the code {name}"} for name in WIDE]
    found = normalise({"oneOf": codes})
    assert isinstance(found.shape, Enum) and len(found.shape.options) == MAX_SHAPES - 1
    assert found.left_out == ((f"/oneOf/{MAX_SHAPES - 1}", "left out, because the form has reached its largest size"),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": dict.fromkeys([*WIDE, "x", "y"], TEXT), "required": [*WIDE, "x", "y"]},
         f"/properties/p{MAX_DEMANDED - 1}", "properties"),
        ({"required": [*WIDE, "x", "y"]}, "/required", "required"),
        ({"allOf": [TEXT] * (MAX_DEMANDED + 1)}, f"/allOf/{MAX_DEMANDED - 1}", "allOf"),
        ({"patternProperties": {f"^{name}$": TEXT for name in WIDE}}, "/patternProperties/^p3000$",
         "patternProperties"),
    ],
)  # fmt: skip
def test_too_many_required_values_are_refused(
    schema: Any, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema, match=r"more than 4,000 .* that cannot be left out") as caught:
        normalise(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert not isinstance(caught.value, NoValue)


def test_nested_lists_are_cut_at_a_depth_and_listed() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    found = normalise(schema)
    assert [pointer for pointer, _ in found.left_out] == ["/items" * (LEVELS[0] + 1)]


def test_choices_that_are_too_long_are_dropped_whatever_the_bound() -> None:
    for bound in (5, 140, 900):
        found = shape({"enum": ["x" * bound, "x" * (bound + 1)], "maxLength": bound})
        assert found == one('"' + "x" * bound + '"')


WITHIN: dict[str, Any] = {
    "items": lambda part: {"type": "array", "items": part},
    "unevaluatedItems": lambda part: {"type": "array", "unevaluatedItems": part},
    "prefixItems": lambda part: {"type": "array", "prefixItems": [part]},
    "contains": lambda part: {"type": "array", "contains": part, "minContains": 0},
    "properties": lambda part: {"type": "object", "properties": {"a": part}},
    "patternProperties": lambda part: {"type": "object", "patternProperties": {"^a": part}},
    "additionalProperties": lambda part: {"type": "object", "additionalProperties": part},
}


@pytest.mark.parametrize("keyword", WITHIN)
def test_each_container_is_one_level_deeper(keyword: str) -> None:
    schema: Any = TEXT
    for _ in range(6):
        schema = WITHIN[keyword](schema)
    for levels in (2, 3):
        documents, count = Documents(schema), 0
        found = last = ShapeReader(documents, levels, 2).read(documents.root, ANY_TYPE, 0)
        while isinstance(found, Array | Object):
            count += 1
            if isinstance(found, Array):
                parts = [found.contained, *found.prefix, found.item]
            else:
                parts = [*(f.shape for f in found.fields), *(p for _, p in found.patterns), found.additional]
            found = next((part for part in parts if isinstance(part, Array | Object)), None)
            last = last if found is None else found
        assert count == levels + 1, "the last one has nothing in it"
        patterns = (("^a", Anything()),) if keyword == "patternProperties" else ()
        assert last in (Array(None), Object((), Anything(), patterns=patterns))


def test_the_last_level_has_what_is_required_and_stays_closed() -> None:
    inner = {**CLOSED, "required": ["b"], "properties": {"a": TEXT, "b": TEXT}}
    rows = {"type": "array", "items": TEXT, "maxItems": 3}
    schema = {"type": "object", "properties": {"o": inner, "r": rows, "s": {**rows, "minItems": 2}}}
    documents = Documents(schema)
    found = fields(ShapeReader(documents, 1, 2).read(documents.root, ANY_TYPE, 0) or Anything())
    assert found["o"].shape == Object((Field("b", String(), True),))
    assert found["r"].shape == Array(None, 0, 3) and found["s"].shape == Array(String(), 2, 3)
