"""Dialects: each draft of JSON Schema is read by its own rules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.shapes_of_schemas import DRAFTS

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas.judging import judge_of
from cinnabar.schemas.judging.dialects import Dialect, dialect_named, modern


def accepted(dialect: int, schema: dict[str, Any], value: Any) -> bool:
    """Whether a value meets a schema of this draft."""
    return judge_of({"$schema": DRAFTS[dialect], **schema}).accepts(value)


@pytest.mark.parametrize(
    ("uri", "dialect"),
    [
        ("http://json-schema.org/draft-04/schema", Dialect.DRAFT_4),
        ("https://json-schema.org/draft-07/schema#", Dialect.DRAFT_7),
        ("http://json-schema.org/draft-06/hyper-schema#", Dialect.DRAFT_6),
        ("http://json-schema.org/schema#", Dialect.DRAFT_2020_12),
        ("https://spec.openapis.org/oas/3.1/dialect/base", Dialect.DRAFT_2020_12),
        ("http://json-schema.org/draft-03/schema#", None),
        ("https://json-schema.org/draft/2020-12/schema/x", None),
    ],
)
def test_a_draft_is_known_by_the_uri_of_its_meta_schema(uri: str, dialect: Dialect | None) -> None:
    assert dialect_named(uri) is dialect


def test_an_unknown_draft_is_refused_by_its_pointer() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        judge_of({"$schema": "https://example.org/mine"})
    assert (caught.value.pointer, caught.value.keyword) == ("/$schema", "$schema")


def test_draft_4_flags_its_bounds_as_exclusive() -> None:
    schema = {"minimum": 3, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False}
    assert [accepted(4, schema, n) for n in (3, 4, 5, 6)] == [False, True, True, False]


def test_draft_4_has_no_integer_with_a_point() -> None:
    assert not accepted(4, {"type": "integer"}, 1.0)
    assert accepted(6, {"type": "integer"}, 1.0)


def test_a_list_of_items_leaves_the_rest_to_additional_items() -> None:
    schema = {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}
    for dialect in (4, 6, 7, 2019):
        assert accepted(dialect, schema, [1, "a"])
        assert not accepted(dialect, schema, [1, 2])
        assert accepted(dialect, {"items": {}, "additionalItems": False}, [1, 2])


def test_keywords_beside_a_reference_are_ignored_up_to_draft_7() -> None:
    schema = {"properties": {"a": {"$ref": "#/definitions/n", "maximum": 1}}, "definitions": {"n": {}}}
    assert [accepted(d, schema, {"a": 2}) for d in DRAFTS] == [True, True, True, False, False]


@pytest.mark.parametrize("dialect", DRAFTS)
def test_dependencies_are_read_in_every_draft(dialect: int) -> None:
    schema = {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert accepted(dialect, schema, {"a": 1, "b": 1, "c": 1, "d": 1})
    assert not accepted(dialect, schema, {"a": 1})
    assert not accepted(dialect, schema, {"c": 1})


@pytest.mark.parametrize(
    ("keyword", "value", "refused", "since"),
    [
        ("const", 1, 2, 6),
        ("contains", False, [1], 6),
        ("propertyNames", False, {"a": 1}, 6),
        ("dependentRequired", {"a": ["b"]}, {"a": 1}, 2019),
        ("unevaluatedProperties", False, {"a": 1}, 2019),
        ("prefixItems", [False], [1], 2020),
    ],
)
def test_a_keyword_is_ignored_before_its_draft(keyword: str, value: Any, refused: Any, since: int) -> None:
    for dialect in DRAFTS:
        assert accepted(dialect, {keyword: value}, refused) == (dialect < since)


def test_a_condition_is_ignored_before_draft_7() -> None:
    assert [accepted(d, {"if": {}, "then": False}, 1) for d in DRAFTS] == [True, True, False, False, False]


def test_nullable_counts_beside_a_type_if_no_draft_is_named() -> None:
    assert judge_of({"type": "string", "nullable": True}).accepts(None)
    assert not judge_of({"type": "string", "nullable": False}).accepts(None)
    assert not judge_of({"enum": ["a"], "type": "string", "nullable": True}).accepts(None)
    assert not judge_of({"nullable": True, "enum": ["a"]}).accepts(None)
    assert not accepted(2020, {"type": "string", "nullable": True}, None)


def test_a_reference_into_another_draft_is_read_by_that_one() -> None:
    schema = {
        "$ref": "old",
        "$defs": {"old": {"$schema": DRAFTS[7], "$id": "old", "items": [{"type": "integer"}]}},
    }
    assert accepted(2020, schema, [1, "a"])
    assert not accepted(2020, schema, ["a"])


def test_draft_7_looks_into_encoded_strings() -> None:
    schema = {"contentEncoding": "base64", "contentMediaType": "application/json"}
    assert accepted(7, schema, "eyJhIjoxfQ==")
    assert not accepted(7, schema, "ezp9")
    assert not accepted(7, schema, "%")
    assert all(accepted(draft, schema, "%") for draft in (4, 6, 2019, 2020))


def test_a_2020_12_schema_stays_unchanged() -> None:
    schema = {"type": "array", "prefixItems": [{}], "items": False, "title": "x"}
    assert modern(schema, Dialect.DRAFT_2020_12) == {k: (k, v) for k, v in schema.items()}
