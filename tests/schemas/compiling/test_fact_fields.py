"""Fields that are facts: the keyword is checked before any document is read, and names alone bind nothing."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.errors import SchemaError, UsageError
from cinnabar.schemas import compile_schema
from cinnabar.schemas.compiling.fact_fields import fact_fields
from cinnabar.schemas.compiling.version_changes import changes
from cinnabar.schemas.facts import FACTS, column_of


def bound(fact: Any, **schema: Any) -> dict[str, Any]:
    return schema | {"x-cinnabar-from": fact}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_field_is_bound_through_references_nullable_types_and_nested_objects() -> None:
    schema = of(
        sender=bound("mail.from.address", type="string"),
        sent=bound("mail.sent", anyOf=[{"type": "string", "format": "date"}, {"type": "null"}]),
        mail={"$ref": "#/$defs/mail"},
        again=bound("mail.to.address", **{"$ref": "#/$defs/list"}),
    )
    schema["$defs"] = {
        "mail": of(subject=bound("mail.subject", type=["string", "null"])),
        "list": {"type": "array", "items": {"type": "string"}},
    }
    places = {place.pointer: place.fact for place in fact_fields(compile_schema(schema).form)}
    assert places == {
        "/sender": "mail.from.address",
        "/sent": "mail.sent",
        "/mail/subject": "mail.subject",
        "/again": "mail.to.address",
    }


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("mail.form.adress", ["/properties/a/x-cinnabar-from", "'mail.form.adress'", "mail.from.address"]),
        ("sender", ["/properties/a/x-cinnabar-from", "docs/schemas.md"]),
        (["mail.subject"], ["/properties/a/x-cinnabar-from", "list"]),
    ],
)
def test_a_binding_that_names_no_fact_is_told_with_its_pointer_and_near_names(fact: Any, words: list[str]) -> None:
    with pytest.raises(SchemaError) as error:
        compile_schema(of(a=bound(fact, type="string")))
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "array", "items": of(a=bound("mail.subject", type="string"))},
        {"type": "array", "items": bound("mail.subject", type="string")},
        bound("mail.to.address", type="array", items=of(a={"type": "string"})),
        bound("mail.subject", type="object", properties={"a": {"type": "string"}}),
        bound("mail.subject", anyOf=[{"type": "string"}, {"type": "array", "items": {"type": "string"}}]),
        {"type": "object", "additionalProperties": bound("mail.subject", type="string")},
        {"type": "string", "if": bound("mail.subject", minLength=3), "then": {"maxLength": 9}},
    ],
)
def test_a_binding_where_no_fact_can_stand_is_refused_with_its_pointer(part: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"/properties/part/\S*x-cinnabar-from") as error:
        _ = compile_schema(of(part=part)).form
    assert "bind a field of the document" in str(error.value)


def test_an_unused_definition_may_be_bound() -> None:
    schema = of(a={"type": "string"}) | {"$defs": {"b": bound("mail.subject", type="string")}}
    assert fact_fields(compile_schema(schema).form) == ()


def test_binding_a_field_changes_it_and_moving_the_keyword_does_not() -> None:
    free, there = (of(a={"type": "string"}), of(a=bound("mail.subject", type="string")))
    moved = of(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": bound("mail.subject", type="string")}}
    assert changes(compile_schema(free), compile_schema(there)).changed == ("/a",)
    assert changes(compile_schema(there), compile_schema(moved)).asked_places == ()


def test_every_fact_has_a_column_of_its_own() -> None:
    columns = [column_of(name) for name in FACTS]
    assert len(set(columns)) == len(columns)
