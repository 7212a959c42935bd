"""A constant of the schema is certain: it is no reason for a look, for quarantine or for a stronger model."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.schemas import compile_schema, load_schema

TEXT = b"name=Anna\n"


def outcome(kind: dict[str, Any], required: bool) -> Any:
    schema = {
        "type": "object",
        "properties": {"kind": kind, "name": {"type": "string"}},
        "required": ["kind", "name"] if required else ["name"],
    }
    job = Job(compile_schema(schema), Engine(ReadingModel()), Validator(load_schema(schema)), min_confidence=0.99)
    item = OpenedInput("a.txt", hashlib.sha256(TEXT).hexdigest(), parse(TEXT, "a.txt"))
    return run_batch([item], job).outcomes[0]


@pytest.mark.parametrize("kind", [{"const": "letter"}, {"enum": ["letter"]}, {"type": "string", "enum": ["letter"]}])
def test_a_constant_that_the_document_does_not_say_is_certain(kind: dict[str, Any]) -> None:
    found = outcome(kind, required=True)
    assert (found.status, found.code, found.pointers) == ("written", "", ())
    leaf = next(leaf for leaf in found.record.leaves if leaf.pointer == "/kind")
    assert (leaf.value, leaf.confidence, leaf.origin, leaf.flags) == ('"letter"', 1.0, "known", ())


@pytest.mark.parametrize(
    ("schema", "constants"),
    [
        ({"kind": {"const": "a"}}, set()),
        ({"kind": {"const": "a", "default": "a"}}, {"/kind"}),
        ({"kind": {"enum": ["a", None]}}, set()),
        ({"at": {"type": "object", "properties": {"v": {"const": 1}}, "required": ["v"]}}, {"/at/v"}),
    ],
)
def test_what_may_be_left_out_is_no_constant(schema: dict[str, Any], constants: set[str]) -> None:
    form = compile_schema({"type": "object", "properties": schema}).form
    assert {form.slots[index].path for index in form.constants} == constants


def test_the_constants_that_tell_alternatives_apart_stand_for_a_choice() -> None:
    ways = [
        {"type": "object", "properties": {"kind": {"const": name}, name: {}}, "required": ["kind", name]}
        for name in ("a", "b")
    ]
    form = compile_schema({"type": "object", "properties": {"way": {"anyOf": ways}}, "required": ["way"]}).form
    assert form.constants == frozenset()
