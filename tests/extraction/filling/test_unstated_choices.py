"""A choice or boolean that nothing states is null, or missing where one is demanded, and never made up."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import compile_schema, load_schema

TEXTS = (
    "Lunch is at noon.", "The river rose by two metres in the night.", "Please bring a cake on Friday.",
    "Recipe for pancakes: flour, eggs and milk. Fry in butter.", "Le train pour Lyon part du quai 3.",
    "Bitte bringen Sie am Freitag einen Kuchen mit.", "El tren llega a las cinco de la tarde.",
)  # fmt: skip
BOOLEANS = ("is_smoker", "insured", "refundable", "signed", "member")
CONSTANTS = {
    "method": ("cash", "card", "bank_transfer"), "status": ("open", "closed"), "kind": ("dog", "cat", "horse"),
    "size": ("S", "M", "L"), "sex": ("male", "female"),
}  # fmt: skip


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def alternatives(name: str) -> list[dict[str, Any]]:
    values = CONSTANTS[name]
    email = {"type": ["string", "null"], "format": "email"}
    return [obj(**{name: {"const": value}, f"{value}_email": email}) for value in values]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(load_model("default", "cpu"))


def outcomes(engine: Engine, schema: dict[str, Any], texts: list[str]) -> list[Outcome]:
    job = Job(compile_schema(schema), engine, Validator(load_schema(schema)))
    documents = [parse(text.encode(), f"{at}.txt") for at, text in enumerate(texts)]
    return run_batch([OpenedInput(one.path, one.digest, one) for one in documents], job).outcomes


@pytest.mark.parametrize("seed", range(5))
def test_a_boolean_that_nothing_states_is_missing_or_null(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    name, texts = BOOLEANS[seed], chance.sample(TEXTS, 3)
    demanded = {"type": "boolean"}
    other = obj(count={"type": "integer"})
    shapes = {
        "property": obj(**{name: demanded}),
        "branch": obj(about={"oneOf": [obj(**{name: demanded}), other]}),
        "least items": obj(rows={"type": "array", "items": obj(**{name: demanded}), "minItems": 1}),
    }
    for shape, schema in shapes.items():
        for found in outcomes(engine, schema, texts):
            assert (found.status, found.code) == ("quarantined", "missing"), (shape, found.record)
    nullable = obj(**{name: {"type": ["boolean", "null"]}})
    assert [json.loads(one.record.text)[name] for one in outcomes(engine, nullable, texts) if one.record] == [None] * 3


@pytest.mark.parametrize("name", CONSTANTS)
def test_an_alternative_that_nothing_states_is_missing_or_null(engine: Engine, name: str) -> None:
    texts = random.Random(name).sample(TEXTS, 3)
    for found in outcomes(engine, obj(x={"oneOf": alternatives(name)}), texts):
        assert (found.status, found.code) == ("quarantined", "missing")
        assert f"/x/{name}" in found.pointers
    for found in outcomes(engine, obj(x={"anyOf": [{"type": "null"}, *alternatives(name)]}), texts):
        assert found.record is not None and json.loads(found.record.text) == {"x": None}


def test_an_alternative_is_told_by_its_name_or_by_a_value_of_its_own(engine: Engine) -> None:
    ways = [
        obj(method={"const": "cash"}, received_by={"type": ["string", "null"]}),
        obj(method={"const": "card"}, card_number={"type": ["string", "null"]}),
        obj(method={"const": "bank_transfer"}, iban={"type": ["string", "null"]}),
    ]
    told = [
        ("Payment by bank transfer.", "bank_transfer"),
        ("Invoice 77. Total 12.00 EUR. Paid by card 4111 1111 1111 1111.", "card"),
        ("Please pay to IBAN DE89 3704 0044 0532 0130 00", "bank_transfer"),
    ]
    for found, (_, method) in zip(
        outcomes(engine, obj(x={"oneOf": ways}), [text for text, _ in told]), told, strict=True
    ):
        assert found.status == "written" and found.record is not None
        assert json.loads(found.record.text)["x"]["method"] == method
