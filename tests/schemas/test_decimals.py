"""Decimal places: exact here, and no trouble for validators that compute in binary floats."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cinnabar.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.keywords import inexact_multiples
from cinnabar.schemas.library import LIBRARY

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


@pytest.mark.parametrize("name", LIBRARY)
def test_schemas_of_the_library_hold_no_multiple_that_binary_floats_get_wrong(name: str) -> None:
    assert list(inexact_multiples(load_schema(name).schema)) == []


@pytest.mark.parametrize("kind", ["invoice", "receipt"])
def test_a_validator_with_binary_floats_accepts_the_expected_records(kind: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(load_schema(kind).schema)
    lines = (SAMPLES / kind / "truth.jsonl").read_text("utf-8").splitlines()
    assert [error for line in lines for error in validator.iter_errors(json.loads(line)["truth"])] == []


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (0.0001, 'write "x-cinnabar-decimals": 4'),
        (Decimal("0.01"), 'write "x-cinnabar-decimals": 2'),
        (0.05, "validators with binary floats refuse numbers"),
        (0.25, None),
        (1.5, None),
        (7, None),
    ],
)
def test_schema_check_warns_of_multiples_that_binary_floats_cannot_hold(step: Any, told: str | None) -> None:
    schema = {"type": "object", "properties": {"a/b": {"anyOf": [{"type": "number", "multipleOf": step}]}}}
    found = dict(inexact_multiples(load_schema(schema).schema))
    assert list(found) == (["/properties/a~1b/anyOf/0/multipleOf"] if told else [])
    assert all(told in warning for warning in found.values() if told)


def test_data_and_names_are_no_multiples() -> None:
    step = {"multipleOf": 0.1}
    schema = {"properties": {"multipleOf": {"const": step, "default": step}, "enum": {"items": step}}}
    assert [pointer for pointer, _ in inexact_multiples(schema)] == ["/properties/enum/items/multipleOf"]
    assert list(inexact_multiples({"multipleOf": 10**400})) == []
