"""Resources: references lead to the places that the standard names, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas.judging import judge_of
from cinnabar.schemas.judging.resources import Documents, resolve_uri


@pytest.mark.parametrize(
    ("base", "reference", "found"),
    [
        ("http://a.b/c/d", "e", "http://a.b/c/e"),
        ("http://a.b/c/d#x", "#y", "http://a.b/c/d#y"),
        ("app://a.b/c/d", "../e", "app://a.b/e"),
        ("urn:uuid:1", "#y", "urn:uuid:1#y"),
        ("urn:uuid:1", "http://a.b/", "http://a.b/"),
        ("", "e.json", "e.json"),
        ("http://a.b/c", "", "http://a.b/c"),
    ],
)
def test_references_are_joined_to_their_base(base: str, reference: str, found: str) -> None:
    assert resolve_uri(base, reference, Documents(True).root) == found


@pytest.mark.parametrize(
    ("reference", "keyword"),
    [
        ("#/$defs/b", "$ref"),
        ("#nowhere", "$ref"),
        ("other.json", "$ref"),
        ("https://example.org/s", "$ref"),
        ("#/$defs/list", "$ref"),
        ("#/$defs/a/01", "$dynamicRef"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused_by_its_pointer(reference: str, keyword: str) -> None:
    schema = {"properties": {"a/b": {keyword: reference}}, "$defs": {"a": {}, "list": [1]}}
    with pytest.raises(UnsupportedSchema) as caught:
        judge_of(schema)
    assert caught.value.pointer == f"/properties/a~1b/{keyword}"
    assert caught.value.keyword == keyword


def test_a_reference_that_is_no_text_is_an_error_of_the_schema() -> None:
    with pytest.raises(SchemaError, match=r"/\$ref: expected a URI reference, got int"):
        judge_of({"$ref": 1})


def test_a_reference_that_nobody_uses_may_lead_nowhere_but_not_elsewhere() -> None:
    assert judge_of({"$defs": {"a": {"$ref": "#/$defs/b"}}, "type": "string"}).accepts("a")
    unused = {"properties": {"a/b": {"items": {"$ref": "https://example.org/s"}}}}
    with pytest.raises(UnsupportedSchema, match="nothing is fetched") as caught:
        judge_of({"$defs": {"fine": {"$ref": "#"}, "unused": unused}})
    assert caught.value.pointer == "/$defs/unused/properties/a~1b/items/$ref"


def test_a_pointer_may_go_through_an_embedded_schema_and_an_unknown_keyword() -> None:
    schema = {
        "$id": "http://a.b/root",
        "$defs": {"in": {"$id": "in", "$defs": {"n": {"$ref": "#/$defs/m"}, "m": {"type": "integer"}}}},
        "x-more": {"here": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/in/$defs/n"}, "b": {"$ref": "#/x-more/here"}},
    }
    judge = judge_of(schema)
    assert judge.accepts({"a": 1, "b": "s"})
    assert not judge.accepts({"a": "s"})
    assert not judge.accepts({"b": 1})


def test_a_name_in_an_enum_is_no_name() -> None:
    schema = {"enum": [{"$id": "x", "type": "null"}], "$defs": {"a": {"$ref": "x"}}, "$ref": "#/$defs/a"}
    with pytest.raises(UnsupportedSchema, match="not within this schema"):
        judge_of(schema)


def test_two_schemas_of_one_name_cannot_be_referred_to() -> None:
    twice = {"a": {"$id": "http://a.b/x", "type": "null"}, "b": {"$id": "http://a.b/x"}}
    assert judge_of({"$defs": twice}).accepts(1)
    with pytest.raises(UnsupportedSchema, match="two schemas call themselves"):
        judge_of({"$defs": twice, "$ref": "http://a.b/x"})


@pytest.mark.parametrize(
    "name",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_the_meta_schemas_of_the_drafts_are_at_hand(name: str) -> None:
    judge = judge_of({"$ref": name})
    assert judge.accepts(
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}}}
    )
    assert not judge.accepts({"properties": {"a": {"properties": {"b": {"minLength": -1}}}}})
    problem = judge.violation({"properties": {"a": {"type": "text"}}})
    assert problem is not None
    assert problem.pointer == "/properties/a/type"
    assert problem.schema_pointer.startswith(name.rpartition("/")[0])


def test_a_dynamic_reference_asks_the_outermost_schema() -> None:
    tree: dict[str, Any] = {
        "$id": "http://a.b/tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    }
    strict = {
        "$id": "http://a.b/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {"tree": tree},
    }
    assert judge_of(tree).accepts({"children": [{"childen": []}]})
    assert judge_of(strict).accepts({"children": [{"children": []}]})
    assert not judge_of(strict).accepts({"children": [{"childen": []}]})


def test_recursive_references_of_2019_09_ask_the_outermost_schema() -> None:
    tree = {
        "$id": "http://a.b/tree",
        "$recursiveAnchor": True,
        "properties": {"child": {"$recursiveRef": "#"}},
    }
    strict = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "http://a.b/strict",
        "$recursiveAnchor": True,
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {"tree": tree},
    }
    assert judge_of(strict).accepts({"child": {"child": {}}})
    assert not judge_of(strict).accepts({"child": {"chld": {}}})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}},
        {
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [True, {"$ref": "#/$defs/a"}]}},
            "$ref": "#/$defs/a",
        },
    ],
)
def test_a_reference_cycle_that_does_not_go_into_the_value_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedSchema, match="leads back to itself"):
        judge_of(schema)


BACK = {"$ref": "#/$defs/a"}


@pytest.mark.parametrize(
    ("keyword", "value", "step"),
    [
        ("allOf", [BACK], "/0"),
        ("anyOf", [True, BACK], "/1"),
        ("oneOf", [BACK, False], "/0"),
        ("not", BACK, ""),
        ("if", BACK, ""),
        ("dependentSchemas", {"x": BACK}, "/x"),
        ("dependencies", {"x": BACK}, "/x"),
    ],
)
def test_a_reference_cycle_is_named_by_the_keyword_that_closes_it(keyword: str, value: Any, step: str) -> None:
    schema = {"$ref": f"#/$defs/a/{keyword}{step}", "$defs": {"a": {keyword: value, "then": True}}}
    with pytest.raises(UnsupportedSchema, match="it leads back to itself") as caught:
        judge_of(schema)
    assert (caught.value.pointer, caught.value.keyword) == (f"/$defs/a/{keyword}", keyword)
