"""The shipped schemas: each compiles, describes its fields, and agrees with its Pydantic class."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from pydantic import ValidationError

from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.library import LIBRARY, Invoice

RECORDS: dict[str, dict[str, Any]] = {
    "invoice": {
        "number": "2026-0815",
        "issue_date": "2026-02-28",
        "currency": "EUR",
        "seller": {"name": "Beispiel GmbH", "vat_id": "DE123456789", "country": "DE"},
        "buyer": {"name": "ACME SARL", "city": "Lyon"},
        "line_items": [{"description": "Paper", "quantity": 2.5, "unit_price": 3.3333, "line_total": 8.33}],
        "net_total": 8.33,
        "tax_total": 1.58,
        "gross_total": 9.91,
    },
    "receipt": {
        "merchant": "Kiosk",
        "date": "2026-11-20",
        "time": "09:05",
        "items": [{"description": "Tea", "quantity": 1, "amount": 2.4}],
        "total": 2.4,
        "payment_method": "cash",
    },
    "contract": {
        "parties": ["A Inc.", "B Ltd."],
        "effective_date": "2020-02-29",
        "term": "2 years",
        "mutual": True,
    },
    "insurance_mail": {"intent": "claim", "policy_number": "P-1", "amount_claimed": 1200, "currency": "CHF"},
    "event": {
        "title": "Talk",
        "starts_at": "2026-12-01",
        "start_time": "18:30",
        "speakers": ["Ada"],
        "price": 0,
    },
}


@pytest.mark.parametrize("name", LIBRARY)
def test_the_minimal_record_agrees_with_the_class(name: str) -> None:
    source = load_schema(name)
    compiled = compile_schema(source.schema)
    assert source.model is LIBRARY[name]
    LIBRARY[name].model_validate_json(compiled.minimal())


@pytest.mark.parametrize("name", LIBRARY)
def test_a_filled_record_passes_the_compiler_the_validator_and_the_class(name: str) -> None:
    source = load_schema(name)
    compiled = compile_schema(source.schema)
    text = compiled.canonical(RECORDS[name])
    assert jsonschema_rs.Draft202012Validator(source.schema, validate_formats=True).is_valid(json.loads(text))
    record = LIBRARY[name].model_validate_json(text)
    assert compiled.accepts(record.model_dump_json())


@pytest.mark.parametrize("name", LIBRARY)
def test_undeclared_properties_are_refused_by_schema_and_class(name: str) -> None:
    compiled = compile_schema(load_schema(name).schema)
    record = {**json.loads(compiled.minimal()), "undeclared": 1}
    assert not compiled.accepts(json.dumps(record))
    with pytest.raises(ValidationError):
        LIBRARY[name].model_validate(record)


@pytest.mark.parametrize("name", LIBRARY)
def test_every_field_has_a_description(name: str) -> None:
    compiled = compile_schema(load_schema(name).schema)
    assert not compiled.unenforced_demands
    for node in (*compiled.form.slots, *compiled.form.arrays, *compiled.form.objects):
        if not node.path.endswith("*"):
            assert node.title and node.description, node.path
    for slot in compiled.form.slots:
        if not slot.path.endswith("*"):
            assert slot.nullable == ("null" in slot.description), f"{slot.path} does not say what null means"
        if slot.kind == "enum":
            assert all(slot.option_notes), f"{slot.path} does not explain its choices"


def test_money_is_a_number_with_at_most_four_places() -> None:
    compiled = compile_schema(load_schema("receipt").schema)
    assert compiled.accepts('{"items":[],"total":1234567.8912}')
    assert not compiled.accepts('{"items":[],"total":0.00001}')
    assert not compiled.accepts('{"items":[],"total":"1.00"}')


def test_amounts_are_decimals_in_python_and_numbers_in_json() -> None:
    record = Invoice.model_validate(RECORDS["invoice"])
    assert record.gross_total == Decimal("9.91")
    assert '"gross_total":9.91' in record.model_dump_json()
