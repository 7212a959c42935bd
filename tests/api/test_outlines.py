"""Types of outlines as schemas, and schemas as types of outlines."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import cinnabar
from cinnabar.errors import SchemaError
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


def test_a_schema_is_an_output_type_of_outlines() -> None:
    known = cinnabar.outlines.output_type("invoice")
    assert isinstance(known, outlines.types.JsonSchema)
    assert json.loads(known.schema) == load_schema("invoice").schema
    own = cinnabar.outlines.output_type(Delivery)
    term = outlines.types.dsl.python_types_to_terms(own)
    text = '{"parcel":"NK 7730 1182","delivered_on":"2026-03-14","weight":2.4}'
    assert re.fullmatch(outlines.types.dsl.to_regex(term), text)
    assert load_schema(own).schema == load_schema(Delivery).schema


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Literal["a", "b"], '"a"'),
        (Kind, '"invoice"'),
        (int | None, "null"),
        (list[Kind], '["invoice"]'),
        (Weighed, '{"weight":1}'),
        (Pieces, '{"pieces":1}'),
        (outlines.types.Choice(["a", 1]), "1"),
        (outlines.types.Regex(r"\d{2}\-\d"), '"12-3"'),
        (outlines.types.email, '"a@example.org"'),
        (outlines.types.either("a.b", "c d"), '"a.b"'),
    ],
    ids=range(10),
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
