"""Cinnabar's engine as a model of outlines, and outlines' types as schemas."""

from __future__ import annotations

import asyncio
import datetime
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from tests.support.cases import each
from typing_extensions import TypedDict

import cinnabar
from cinnabar.errors import DocumentError, SchemaError, UnsupportedSchema, UsageError
from cinnabar.schemas import compile_schema, load_schema

pytestmark = pytest.mark.filterwarnings("ignore")
outlines = pytest.importorskip("outlines")

TEXT = """From: Nordkurier <noreply@nordkurier.example>
Subject: Your parcel has arrived

Dear customer,

your parcel NK 7730 1182 was delivered on 14 March 2026 at 14:05.
Received by: M. Albrecht (neighbour)
Weight: 2.4 kg
Pieces: 3
"""


class Delivery(BaseModel):
    parcel: str | None = Field(description="Number of the parcel, as written.")
    delivered_on: datetime.date | None = Field(description="Day of the delivery.")
    weight: float | None = Field(description="Weight in kilograms.")


@dataclass
class Pieces:
    pieces: int


class Weighed(TypedDict):
    weight: float


class Kind(Enum):
    delivery = "delivery"
    invoice = "invoice"
    complaint = "complaint"


def weigh(weight: float, pieces: int = 1) -> None:
    """Takes arguments that a document tells."""


@pytest.fixture(scope="module")
def model() -> Any:
    return cinnabar.outlines.from_cinnabar()


def test_a_generator_fills_a_pydantic_class(model: Any) -> None:
    text = outlines.Generator(model, Delivery)(TEXT)
    assert Delivery.model_validate_json(text) == Delivery(
        parcel="NK 7730 1182", delivered_on=datetime.date(2026, 3, 14), weight=2.4
    )
    assert model(TEXT, Delivery) == text


def json_schema() -> Any:
    return outlines.types.JsonSchema({"type": "object", "properties": {"weight": {"type": "number"}}})


@pytest.mark.parametrize(
    ("output_type", "record"),
    [
        (Pieces, {"pieces": 3}),
        (Weighed, {"weight": 2.4}),
        (weigh, {"weight": 2.4, "pieces": 3}),
        (json_schema(), {"weight": 2.4}),
    ],
    ids=["dataclass", "TypedDict", "function", "JsonSchema"],
)
def test_types_of_objects_give_json(model: Any, output_type: Any, record: dict[str, Any]) -> None:
    assert json.loads(outlines.Generator(model, output_type)(TEXT)) == record


@each(
    "output_type, question, answer",
    [
        (int, "Number of pieces", "3"),
        (float, "Weight in kilograms", "2.4"),
        (bool, "The parcel was delivered", "True"),
        (str, "Number of the parcel", None),
        (datetime.date, "Day of the delivery", "2026-03-14"),
        (int | float, "Weight in kilograms", "2.4"),
        (int | None, "Pieces", "3"),
        (Kind, "Kind of this mail", "delivery"),
        (list[int], "pieces", "[3]"),
        (outlines.types.Regex(r"[A-Z]{2} \d{4} \d{4}"), "Number of the parcel", "NK 7730 1182"),
        ("NK " + outlines.types.Regex(r"\d{4}\ \d+"), "Number of the parcel", "NK 7730 1182"),
        (outlines.types.either("kg", "lb"), "Unit of weight", "kg"),
    ]
)
def test_other_types_give_a_text_that_outlines_own_expression_matches(
    model: Any, output_type: Any, question: str, answer: str | None
) -> None:
    text = outlines.Generator(model, output_type)(TEXT, question=question)
    dsl = outlines.types.dsl
    assert re.fullmatch(dsl.to_regex(dsl.python_types_to_terms(output_type)), text)
    if answer is not None:
        assert text == answer


def test_a_batch_gives_an_answer_for_each_document(model: Any) -> None:
    answers = outlines.Generator(model, Weighed).batch([TEXT, TEXT.replace("2.4", "3.5")])
    assert [json.loads(one)["weight"] for one in answers] == [2.4, 3.5]


def test_a_stream_is_the_answer_in_one_piece(model: Any) -> None:
    generator = outlines.Generator(model, Weighed)
    assert "".join(generator.stream(TEXT)) == generator(TEXT)


def test_asynchronous_generators_give_the_same_answers(model: Any) -> None:
    generator = outlines.Generator(cinnabar.outlines.from_cinnabar(asynchronous=True), Weighed)

    async def ask() -> list[str]:
        first, second = await asyncio.gather(generator(TEXT), generator(TEXT))
        pieces = [piece async for piece in generator.stream(TEXT)]
        return [first, second, "".join(pieces), *await generator.batch([TEXT])]

    assert asyncio.run(ask()) == [outlines.Generator(model, Weighed)(TEXT)] * 4


def test_the_users_messages_of_a_chat_are_the_document(model: Any) -> None:
    chat = outlines.inputs.Chat([{"role": "system", "content": "Weight: 9 kg"}, {"role": "user", "content": TEXT}])
    assert json.loads(outlines.Generator(model, Weighed)(chat)) == {"weight": 2.4}


def test_a_value_that_is_demanded_and_not_there_is_no_answer(model: Any) -> None:
    with pytest.raises(DocumentError, match="missing: prompt 1: no value found for /weight"):
        outlines.Generator(model, Weighed)("Dear customer, thank you.")
    silent = cinnabar.outlines.from_cinnabar(on_missing="none")
    assert outlines.Generator(silent, Weighed).batch(["Dear customer, thank you.", TEXT])[0] is None
    guessing = cinnabar.outlines.from_cinnabar(on_missing="guess")
    assert "weight" in json.loads(outlines.Generator(guessing, Weighed)("Dear customer, thank you."))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: outlines.Generator(m)(TEXT), TypeError, "writes no free text; give a Pydantic class"),
        (lambda m: outlines.Generator(m, outlines.types.CFG("start: x"))(TEXT), TypeError, "got a grammar"),
        (lambda m: outlines.Generator(m, dict)(TEXT), TypeError, "got a grammar"),
        (lambda m: outlines.Generator(m, Weighed)(TEXT, temperature=0.7), TypeError, "temperature: expected no"),
        (lambda m: outlines.Generator(m, Weighed)([TEXT]), TypeError, "expected a document as text.*got list"),
        (lambda m: outlines.Generator(m, outlines.types.Regex(r"(a)\1"))(TEXT), UnsupportedSchema, "pattern"),
        (lambda _: cinnabar.outlines.from_cinnabar("/nowhere"), UsageError, "expected `default` or a folder"),
        (lambda _: cinnabar.outlines.from_cinnabar(on_missing="null"), UsageError, "expected error, guess or none"),
    ],
    ids=["free text", "grammar", "dict", "temperature", "list", "backreference", "model", "on_missing"],
)
def test_demands_that_the_engine_cannot_meet_are_told(
    model: Any, call: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(model)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Literal["a", "b"], '"a"'),
        (Kind, '"invoice"'),
        (int | None, "null"),
        (list[Kind], '["invoice"]'),
        (Weighed, '{"weight":1}'),
        (Pieces, '{"pieces":1}'),
        (weigh, '{"weight":1}'),
        (outlines.types.Choice(["a", 1]), "1"),
        (outlines.types.Regex(r"\d{2}\-\d"), '"12-3"'),
        (outlines.types.email, '"a@example.org"'),
        (outlines.types.either("a.b", "c d"), '"a.b"'),
    ],
    ids=range(11),
)
def test_types_are_schemas(spec: Any, text: str) -> None:
    compiled = compile_schema(load_schema(spec).schema)
    assert compiled.accepts(text)
    assert not compiled.accepts('"neither"')
    assert compiled.form.slots


@pytest.mark.parametrize("spec", [outlines.types.CFG("start: x"), Enum("Empty", []), lambda x: x, len])
def test_types_without_a_schema_are_told(spec: Any) -> None:
    with pytest.raises(SchemaError, match="expected"):
        load_schema(spec)


def test_the_command_line_takes_types_of_outlines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_parcels.py").write_text(
        "from outlines.types import Regex\nfrom pydantic import BaseModel, Field\n"
        "number = Regex(r'[A-Z]{2} [0-9]{4} [0-9]{4}')\n"
        "class Parcel(BaseModel):\n    parcel: number = Field(description='Number of the parcel.')\n"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mail.txt").write_text(TEXT)
    (record,) = cinnabar.extract("mail.txt", "my_parcels:Parcel").records
    assert record.parcel == "NK 7730 1182"
    assert compile_schema(load_schema("my_parcels:number").schema).accepts('"NK 7730 1182"')
