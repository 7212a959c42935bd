"""Decimal places: exact here, and no trouble for validators that compute in binary floats."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cinnabar.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas import compile_schema, load_schema

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


@pytest.mark.parametrize("places", [0, 2, 4, 4.0, 37])
def test_decimal_places_allow_the_same_texts_as_the_multiple(places: Any) -> None:
    by_places = compile_schema({"type": "number", "x-cinnabar-decimals": places})
    by_multiple = compile_schema({"type": "number", "multipleOf": Decimal(1).scaleb(-int(places))})
    assert by_places.shape == by_multiple.shape
    assert by_places.accepts("80.91") is (places >= 2)


@pytest.mark.parametrize("places", [-1, 38, 1.5, True, "2", None])
def test_a_number_of_places_that_no_column_has_is_refused_with_its_pointer(places: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "x-cinnabar-decimals": places}}}
    with pytest.raises((UnsupportedSchema, SchemaError), match="/properties/a/x-cinnabar-decimals"):
        _ = compile_schema(schema).form


@pytest.mark.parametrize("kind", ["invoice", "receipt"])
def test_a_validator_with_binary_floats_accepts_the_expected_records(kind: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(load_schema(kind).schema)
    lines = (SAMPLES / kind / "truth.jsonl").read_text("utf-8").splitlines()
    assert [error for line in lines for error in validator.iter_errors(json.loads(line)["truth"])] == []
