"""Changes between schema versions: a field is filled again only where its schema changed."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.schemas import compile_schema
from cinnabar.schemas.compiling.version_changes import Changes, changes

LINE: dict[str, Any] = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
    "required": ["what", "price"],
}
VAT = {"vat": {"type": "number"}}
BILL: dict[str, Any] = {
    "name": {"type": "string"},
    "total": {"type": ["number", "null"], "description": "What is to be paid."},
    "seller": {"type": "object", "properties": {"city": {"type": "string"}}},
    "lines": {"type": "array", "items": LINE},
}


def between(new: dict[str, Any], old: dict[str, Any] | None = None, **rest: Any) -> Changes:
    before = {"type": "object", "properties": old or BILL}
    after = {"type": "object", "properties": new, **rest}
    return changes(compile_schema(before), compile_schema(after))


def test_another_spelling_or_order_of_the_same_schema_changes_nothing() -> None:
    total = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/money"}], "description": "What is to be paid."}
    turned = dict(reversed((BILL | {"total": total}).items()))
    found = between(turned, title="Other", required=["name"], **{"$defs": {"money": {"type": "number"}}})
    assert found == Changes()


CASES: list[tuple[dict[str, Any], Changes]] = [
    (BILL | {"due": {"type": "string"}}, Changes(new=("/due",))),
    ({k: v for k, v in BILL.items() if k != "name"}, Changes(gone=("/name",))),
    (BILL | {"name": {"type": "string", "description": "Who."}}, Changes(changed=("/name",))),
    (BILL | {"name": {"type": "string", "format": "date"}}, Changes(changed=("/name",))),
    (BILL | {"name": {"enum": ["a", "b"]}}, Changes(changed=("/name",))),
    (BILL | {"total": {"type": "number"}}, Changes(changed=("/total",))),
    (BILL | {"seller": {"type": "object", "properties": {"a/b": {"type": "string"}}}},
     Changes(new=("/seller/a~1b",), gone=("/seller/city",))),
    (BILL | {"seller": {"type": ["object", "null"], "properties": {"city": {"type": "string"}}}},
     Changes(changed=("/seller",))),
    (BILL | {"lines": {"type": "array", "items": LINE | {"properties": LINE["properties"] | VAT}}},
     Changes(new=("/lines/*/vat",))),
    (BILL | {"lines": {"type": "array", "items": LINE, "maxItems": 3}}, Changes(changed=("/lines",))),
]  # fmt: skip


@pytest.mark.parametrize(("new", "found"), CASES)
def test_new_changed_and_dropped_fields_are_named_by_their_place(new: dict[str, Any], found: Changes) -> None:
    assert between(new) == found


def test_a_place_is_asked_with_all_fields_below_it() -> None:
    found = Changes(new=("/lines/*/vat",), changed=("/seller",), gone=("/na",))
    assert found.asks("/seller/city") and not found.asks("/sellers") and found.within("/lines")
    assert not found.asks("/lines") and not found.within("/name") and not found.drops("/name")
