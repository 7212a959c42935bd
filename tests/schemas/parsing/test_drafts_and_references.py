"""Drafts and references: the keywords that each draft knows, and the target of each reference."""

from __future__ import annotations

from decimal import Decimal

from tests.support.shapes_of_schemas import DRAFTS, TEXT, shape

from cinnabar.schemas.parsing.shape import Anything, Array, Null, Number, String, Union


def test_drafts_before_2019_ignore_keywords_beside_a_reference() -> None:
    schema = {"definitions": {"s": TEXT}, "$ref": "#/definitions/s", "maxLength": 3}
    for dialect, expected in ((4, None), (6, None), (7, None), (2019, 3), (2020, 3)):
        found = shape({**schema, "$schema": DRAFTS[dialect]})
        assert isinstance(found, String) and found.max_length == expected, dialect


def test_draft_4_has_flags_for_exclusive_bounds() -> None:
    schema = {"$schema": DRAFTS[4], "type": "integer", "minimum": 1}
    assert shape({**schema, "exclusiveMinimum": True}) == Number(True, exclusive_minimum=Decimal(1))
    assert shape({**schema, "exclusiveMinimum": False}) == Number(True, minimum=Decimal(1))


def test_a_keyword_is_ignored_before_the_draft_that_brought_it() -> None:
    assert shape({"$schema": DRAFTS[4], "type": "integer", "const": 3}) == Number(True)
    assert shape({"$schema": DRAFTS[6], **TEXT, "if": True, "then": False}) == String()
    assert shape({"$schema": DRAFTS[7], "type": "array", "prefixItems": [TEXT]}) == Array(Anything())


def test_lists_under_items_are_prefixes_before_2020() -> None:
    schema = {"type": "array", "items": [TEXT], "additionalItems": {"type": "null"}}
    for dialect in (4, 6, 7, 2019):
        assert shape({"$schema": DRAFTS[dialect], **schema}) == Array(Null(), prefix=(String(),)), dialect


def test_null_may_be_written_where_openapi_says_nullable_and_no_draft_says_otherwise() -> None:
    assert shape({**TEXT, "nullable": True}) == Union((Null(), String()))
    assert shape({"$schema": DRAFTS[2020], **TEXT, "nullable": True}) == String()


def test_references_are_followed_by_pointer_anchor_and_name() -> None:
    escaped = {"$defs": {"a/b~ c": TEXT}, "type": "array", "items": {"$ref": "#/$defs/a~1b~0%20c"}}
    assert shape(escaped) == Array(String())
    assert shape({"$defs": {"n": {"$anchor": "num", "type": "integer"}}, "$ref": "#num"}) == Number(True)
    named = {"$defs": {"n": {"$id": "https://example.org/n", **TEXT}}, "$ref": "https://example.org/n"}
    assert shape(named) == String()
