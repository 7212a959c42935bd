"""Fitting records into forms: each record has one canonical text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples
from tests.support.schema_strategies import hard_schemas, hard_values

from cinnabar.errors import NotAccepted
from cinnabar.schemas import UnsupportedSchema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import branch_of, fit
from cinnabar.schemas.form.form import ChoiceNode, Form
from cinnabar.schemas.form.layout import lay_out
from cinnabar.schemas.parsing.shape_reader import normalise

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
PERSON = {"type": "object", "title": "Person", "properties": {"name": TEXT}, "required": ["name"]}
ROBOT = {"type": "object", "title": "Robot", "properties": {"serial": NUMBER}, "required": ["serial"]}


def form(schema: Any) -> Form:
    return lay_out(normalise(schema).shape)


def test_texts_are_canonical_in_schema_order() -> None:
    schema = {"type": "object", "properties": {"b": NUMBER, "a": {"type": "array", "items": TEXT}}}
    assert fit(form(schema), {"a": ["é", "\n"], "b": Decimal("2.50")}) == '{"b":2.5,"a":["é","\\n"]}'


def test_a_value_fits_the_first_branch_that_accepts_it() -> None:
    either = {**PERSON, "title": "Other", "properties": {"name": {"type": "string", "minLength": 3}}}
    choice = form({"anyOf": [either, {**PERSON, "additionalProperties": NUMBER}]}).root
    assert isinstance(choice, ChoiceNode)
    assert [branch_of(choice, {"name": name}) for name in ("Anna", "Al")] == [0, 1]
    assert branch_of(choice, {"name": "Anna", "age": 3}) == 1
    assert branch_of(choice, {"name": 3}) is None
    assert branch_of(choice, [1]) is None


REFUSED: list[tuple[dict[str, Any], Any, str]] = [
    (
        {"type": "object", "properties": {"a/b": {"type": "array", "items": NUMBER}}},
        {"a/b": [1, "x"]},
        "/a~1b/1",
    ),
    ({"type": "object", "properties": {"a": TEXT}}, {"a": "x", "more": 1}, "/more"),
    ({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, {}, "/a"),
    ({"type": "object", "additionalProperties": NUMBER}, {"a": "x"}, "/a"),
    ({"type": "object", "additionalProperties": NUMBER, "maxProperties": 1}, {"a": 1, "b": 2}, ""),
    ({"type": "array", "items": NUMBER, "minItems": 2}, [1], ""),
    ({"type": "array", "prefixItems": [NUMBER], "items": False}, [1, 2], ""),
    ({"type": "array", "items": NUMBER}, {"a": 1}, ""),
    ({"type": "object", "properties": {}}, [1], ""),
    ({"type": "string"}, {"a": 1}, ""),
    ({"type": "string"}, "\ud800", ""),
    ({"anyOf": [PERSON, ROBOT]}, {"name": 1}, "/name"),
]


@each("schema, value, pointer", REFUSED)
def test_a_value_without_a_place_is_refused_by_its_pointer(schema: Any, value: Any, pointer: str) -> None:
    with pytest.raises(NotAccepted) as caught:
        fit(form(schema), value)
    assert caught.value.pointer == pointer


@examples(100)
@given(st.data())
def test_fitting_keeps_the_value_and_is_idempotent(data: st.DataObject) -> None:
    schema = data.draw(hard_schemas())
    value = data.draw(hard_values)
    try:
        found = form(schema)
        text = fit(found, value)
    except (UnsupportedSchema, NotAccepted):
        return
    assert parse(text) == value
    assert fit(found, parse(text)) == text
