"""Laying out shapes as forms: choices and their names, united alternatives, and open properties."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.schema_strategies import hard_schemas

from cinnabar.schemas import UnsupportedSchema, compile_schema
from cinnabar.schemas.form.form import (
    ArrayNode,
    ChoiceNode,
    Form,
    ObjectNode,
    Slot,
    children,
    enclosing_arrays,
    walk,
)
from cinnabar.schemas.form.layout import lay_out
from cinnabar.schemas.parsing.shape_reader import normalise

TEXT = {"type": "string"}


def form(schema: Any) -> Form:
    return lay_out(normalise(schema).shape)


def closed(*needed: str, title: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(needed)}
    return {**schema, "additionalProperties": False, **({"title": title} if title else {})}


def choice(*branches: Any, **more: Any) -> ChoiceNode:
    root = form({"oneOf": list(branches), **more}).root
    assert isinstance(root, ChoiceNode)
    return root


def names(node: ChoiceNode) -> list[str]:
    return [json.loads(name) for name in node.selector.options]


def only_object(schema: Any) -> dict[str, bool]:
    """The properties of a form that is one object, and whether each is required."""
    root = form(schema).root
    assert isinstance(root, ObjectNode), root
    return {place.name: place.required for place in root.properties}


# Choices


def test_alternatives_are_named_by_their_titles() -> None:
    person = {**closed("first", first=TEXT, title="Person"), "description": "A human being."}
    node = choice(person, closed("name", name=TEXT, title="Company"))
    assert names(node) == ["Person", "Company"]
    assert node.selector.option_notes == ("A human being.", "object with name")
    assert [type(branch) for branch in node.branches] == [ObjectNode, ObjectNode]


def test_alternatives_are_named_by_the_constant_that_tells_them_apart() -> None:
    card = closed("k", "v", k={"const": "card"}, v={"const": 1}, number=TEXT)
    cash = closed("k", "v", k={"const": "cash"}, v={"const": 1})
    assert names(choice(card, cash)) == ["card", "cash"]


def test_a_constant_that_may_be_missing_names_nothing() -> None:
    found = names(choice(closed(k={"const": "card"}), closed("z", k={"const": "cash"}, z=TEXT)))
    assert found == ["object with k", "object with k, z"]


def test_alternatives_without_words_are_named_by_their_kind() -> None:
    node = choice(
        closed(a=TEXT), {"type": "array", "items": TEXT}, TEXT, {"type": "integer"}, {"type": "null"}
    )
    assert names(node) == ["object with a", "list", "number or text"]
    assert node.nullable
    scalars = node.branches[2]
    assert isinstance(scalars, Slot) and scalars.automaton.accepts(b"7") and not scalars.nullable


def test_no_two_alternatives_have_one_name() -> None:
    twins = [
        closed("a", a={"type": "array", "items": part}, title="T") for part in (TEXT, {"type": "integer"})
    ]
    found = names(choice(*twins, closed("b", b=TEXT, title="T 2")))
    assert len(set(found)) == 3


def test_a_choice_is_described_by_the_words_around_it() -> None:
    node = choice(closed(a=TEXT), closed(b=TEXT), title="Payer", description="Who pays.")
    assert (node.title, node.description) == ("Payer", "Who pays.")
    assert (node.selector.title, node.selector.path, node.path) == ("Payer", "", "")


def test_choices_stand_within_choices_and_rows() -> None:
    inner = {"anyOf": [closed(c=TEXT), {"type": "array", "items": {"type": "integer"}}]}
    schema = closed("r", r={"type": "array", "items": {"anyOf": [closed("x", x=inner), TEXT]}})
    found = form(schema)
    assert [node.path for node in found.choices] == ["/r/*", "/r/*/x"]
    assert [found.slots[node.selector.index] is node.selector for node in found.choices] == [True, True]


# United alternatives


def test_alternatives_that_differ_in_what_they_require_are_one_object() -> None:
    schema = closed(a=TEXT, b=TEXT, c=TEXT)
    schema["anyOf"] = [{"required": ["a", "c"]}, {"required": ["b", "c"]}]
    schema["minProperties"] = 1
    assert only_object(schema) == {"a": False, "b": False, "c": True}


def test_a_condition_makes_no_second_object() -> None:
    schema = closed("t", t={"enum": ["a", "b"]}, v={"type": "integer"})
    schema["if"] = {"properties": {"t": {"const": "a"}}}
    schema["then"] = {"required": ["v"], "properties": {"v": {"minimum": 10}}}
    assert only_object(schema) == {"t": True, "v": False}
    slots = form(schema).slots
    assert slots[0].options == ('"a"', '"b"') and slots[1].automaton.accepts(b"3")


def test_a_dependent_schema_makes_no_second_object() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": TEXT}}
    schema["dependentSchemas"] = {"a": {"properties": {"b": TEXT}, "required": ["b"]}}
    assert only_object(schema) == {"a": False, "b": False}


def test_an_alternative_is_part_of_one_with_more_properties() -> None:
    described = closed("a", "b", a=TEXT, b=TEXT)
    assert only_object({"anyOf": [closed("a", a=TEXT), described]}) == {"a": True, "b": False}
    assert only_object({"anyOf": [described, closed("a", a={"enum": ["x"]})]}) == {"a": True, "b": False}


@pytest.mark.parametrize(
    "other",
    [
        closed("a", a={"type": "integer"}),
        closed("a", a=TEXT) | {"additionalProperties": {"type": "integer"}},
        closed("c", c=TEXT),
        {"type": "array", "items": TEXT},
    ],
    ids=str,
)
def test_alternatives_of_different_kinds_stay_apart(other: dict[str, Any]) -> None:
    assert isinstance(form({"anyOf": [closed("a", "b", a=TEXT, b=TEXT), other]}).root, ChoiceNode)


def test_an_alternative_is_part_of_the_first_that_holds_it() -> None:
    first, other = closed("a", "b", a=TEXT, b=TEXT), closed("a", "c", a=TEXT, c=TEXT)
    root = form({"anyOf": [first, other, closed("a", a=TEXT)]}).root
    assert isinstance(root, ChoiceNode) and len(root.branches) == 2
    assert [
        [(p.name, p.required) for p in branch.properties]
        for branch in root.branches
        if isinstance(branch, ObjectNode)
    ] == [[("a", True), ("b", False)], [("a", True), ("c", True)]]


def test_alternatives_with_their_own_titles_stay_apart_unless_equal() -> None:
    short, long = closed("a", a=TEXT, title="Short"), closed("a", a=TEXT, b=TEXT, title="Long")
    assert names(choice(short, long)) == ["Short", "Long"]
    assert only_object({"anyOf": [long, {**long, "title": "Other"}]}) == {"a": True, "b": False}


# Open properties and first items


def rest(schema: Any) -> ArrayNode | None:
    root = form(schema).root
    assert isinstance(root, ObjectNode) and len(root.rest) < 2
    return root.rest[0] if root.rest else None


def test_open_properties_with_described_values_are_rows_with_a_name() -> None:
    schema = {"type": "object", "properties": {"id": TEXT}, "additionalProperties": {"type": "integer"}}
    found = rest(schema)
    assert found is not None and found.key is not None and isinstance(found.item, Slot)
    assert (found.path, found.key.path, found.item.path) == ("", "/*/name", "/*")
    assert found.item.kind == "integer" and found.key.free
    assert form(schema).arrays == (found,)


@pytest.mark.parametrize(
    ("limits", "most"), [((None, None), None), ((1, None), None), ((None, 1), None), ((2, 3), 2), ((3, 2), 2)]
)
def test_united_alternatives_keep_the_wider_bound_on_their_properties(
    limits: tuple[int | None, int | None], most: int | None
) -> None:
    numbers = {"type": "object", "properties": {"a": TEXT}, "additionalProperties": {"type": "integer"}}
    bounds = [{} if limit is None else {"maxProperties": limit} for limit in limits]
    found = rest({"anyOf": [numbers | bound for bound in bounds]})
    assert found is not None and found.max_items == most


@pytest.mark.parametrize("described", [True, {}, False])
def test_undeclared_properties_without_a_description_have_no_place(described: Any) -> None:
    assert rest({"type": "object", "properties": {"a": TEXT}, "additionalProperties": described}) is None


def test_names_of_open_properties_meet_the_pattern_and_what_all_names_are() -> None:
    found = rest({
        "type": "object",
        "patternProperties": {"^x-": {"type": "integer"}},
        "propertyNames": {"maxLength": 4},
        "additionalProperties": False,
    })  # fmt: skip
    assert found is not None and found.key is not None
    allowed = [
        name for name in ("x-a", "x-ab", "x-abc", "y") if found.key.automaton.accepts(f'"{name}"'.encode())
    ]
    assert allowed == ["x-a", "x-ab"]


def test_open_properties_whose_names_no_automaton_holds_are_not_written() -> None:
    for large in ("a.{30}b", r"(a)\1"):
        kinds = {large: {"type": "integer"}, "^b": {"type": "boolean"}}
        found = rest({"type": "object", "patternProperties": kinds, "additionalProperties": False})
        assert found is not None and isinstance(found.item, Slot) and found.item.kind == "boolean"


def test_a_map_has_as_many_rows_as_properties_are_demanded() -> None:
    found = rest({"type": "object", "additionalProperties": TEXT, "minProperties": 2, "maxProperties": 3})
    assert found is not None and (found.min_items, found.max_items) == (2, 3)
    for most, rows in ((3, 1), (2, 0), (1, 0), (None, None)):
        schema = closed(a=TEXT, b=TEXT) | {"additionalProperties": TEXT, "minProperties": 1}
        found = rest(schema if most is None else {**schema, "maxProperties": most})
        assert found is not None and (found.min_items, found.max_items) == (0, rows)


def test_first_items_have_places_of_their_own() -> None:
    schema = {"type": "array", "prefixItems": [TEXT, {"type": "boolean"}], "items": {"type": "integer"}}
    root = form(schema).root
    assert isinstance(root, ArrayNode) and isinstance(root.item, Slot)
    assert [part.path for part in (*root.prefix, root.item)] == ["/0", "/1", "/*"]
    ends = form({**schema, "items": False}).root
    assert isinstance(ends, ArrayNode) and ends.item is None and len(ends.prefix) == 2


def test_contained_rows_have_their_own_shape_and_no_slots_in_the_form() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 10}, "minContains": 2}
    found = form(schema)
    assert isinstance(found.root, ArrayNode) and isinstance(found.root.contained, Slot)
    assert (found.root.min_contained, found.root.min_items, len(found.slots)) == (2, 2, 1)
    assert not found.root.contained.automaton.accepts(b"9")


def test_rows_have_places_for_properties_that_only_contains_describes() -> None:
    wanted = {
        "type": "object",
        "properties": {"id": TEXT, "more": closed("x", x=TEXT)},
        "required": ["id", "more"],
    }
    for items in ({}, {"type": "object"}, {"type": "object", "properties": {"more": {}}}):
        compiled = compile_schema({"type": "array", "items": items, "contains": wanted})
        record = '[{"id":"","more":{"x":""}}]'
        assert compiled.canonical(json.loads(record)) in (record, '[{"more":{"x":""},"id":""}]')
        assert compiled.canonical(json.loads(compiled.minimal())) == compiled.minimal()


def test_a_place_for_any_value_takes_any_scalar() -> None:
    (slot,) = form({}).slots
    assert all(slot.automaton.accepts(text) for text in (b"null", b"true", b"1.5", b'"x"'))


@examples(60)
@given(hard_schemas())
def test_every_node_is_numbered_in_its_place_and_every_minimal_text_is_accepted(
    schema: dict[str, Any],
) -> None:
    try:
        found = form(schema)
    except UnsupportedSchema:
        return
    nodes = list(walk(found.root))
    for kind, listed in (
        (Slot, found.slots),
        (ArrayNode, found.arrays),
        (ObjectNode, found.objects),
        (ChoiceNode, found.choices),
    ):
        assert sorted(n.index for n in nodes if isinstance(n, kind)) == list(range(len(listed)))
        assert all(listed[n.index] is n for n in nodes if isinstance(n, kind))
    assert all(slot.accepts(slot.minimal.encode()) for slot in found.slots)
    assert all(len(node.selector.options) == len(node.branches) > 1 for node in found.choices)


@given(st.permutations(["a", "b", "c"]))
def test_properties_stand_in_the_order_of_the_schema(order: list[str]) -> None:
    schema = closed(**dict.fromkeys(order, TEXT))
    assert list(only_object(schema)) == order
    assert compile_schema(schema).canonical({"a": "1", "b": "2", "c": "3"}).index(order[0]) < 3


# The tree of a form

TREE = closed(
    "rows",
    pair={"type": "array", "prefixItems": [TEXT, {"type": "array", "items": TEXT}], "items": False},
    rows={
        "type": "array",
        "prefixItems": [{"type": "array", "items": TEXT}],
        "items": closed(inner={"type": "array", "items": {"type": "array", "items": TEXT}}, n=TEXT),
    },
    map={"type": "object", "additionalProperties": {"type": "array", "items": TEXT}},
    either={
        "oneOf": [
            {"type": "array", "items": {"type": "integer"}},
            closed("x", x={"type": "array", "items": TEXT}),
        ]
    },
)


def test_rows_lie_in_the_rows_of_their_outer_array_and_first_items_outside() -> None:
    found = form(TREE)
    paths = {node.index: node.path for node in found.arrays} | {-1: "-"}
    around = {paths[inner]: paths[outer] for inner, outer in enclosing_arrays(found).items()}
    assert around == {
        "/pair": "-",
        "/pair/1": "-",
        "/rows": "-",
        "/rows/0": "-",
        "/rows/*/inner": "/rows",
        "/rows/*/inner/*": "/rows/*/inner",
        "/map": "-",
        "/map/*": "/map",
        "/either": "-",
        "/either/x": "-",
    }
    seen = [-1]
    for inner, outer in enclosing_arrays(found).items():
        assert outer in seen, "parents come before their children"
        seen.append(inner)


def test_every_node_is_walked_once_before_its_direct_children() -> None:
    found = form(TREE)
    nodes = list(walk(found.root))
    assert nodes[0] is found.root and len({id(node) for node in nodes}) == len(nodes)
    below = [child for node in nodes for child in children(node)]
    assert {id(node) for node in nodes} == {id(found.root), *map(id, below)} and len(below) == len(nodes) - 1
    for node in nodes:
        assert all(child.path.startswith(node.path) for child in children(node))
    kinds = [(type(node).__name__, len(list(children(node)))) for node in nodes if node.path == "/map"]
    assert kinds == [("ObjectNode", 1), ("ArrayNode", 2)]
    (either,) = found.choices
    assert [part is not either.selector for part in children(either)] == [False, True, True]
    assert [slot for slot in nodes if isinstance(slot, Slot)] == list(found.slots)
