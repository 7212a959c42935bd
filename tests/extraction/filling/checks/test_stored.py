"""A schema that a folder holds opens with checks that this version cannot compute; one that is given is refused."""

from __future__ import annotations

import pytest

from cinnabar.errors import UnsupportedSchema
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.schemas import compile_schema, load_schema, stored_schema

SCHEMA = {
    "title": "invoice",
    "type": "object",
    "properties": {"total": {"type": ["number", "null"]}},
    "x-cinnabar-checks": {
        "as_ordered": "invoice.total = bill.total",
        "delivered": "list_sum([note.pieces for note in all_delivery_note]) = invoice.pieces",
        "of_tomorrow": "total = total of",
        "positive": "total > 0",
    },
}


def test_checks_between_documents_of_version_0_3_are_left_out_of_a_stored_schema() -> None:
    given = load_schema({**SCHEMA, "x-cinnabar-checks": {}})
    checks = Checks(stored_schema("invoice", SCHEMA, given.fingerprint), compile_schema(SCHEMA))
    assert [one.name for one in checks.each] == ["positive"]
    assert checks.evaluate([{"total": 3}, {"total": None}]) == [{"positive": True}, {"positive": None}]
    for name, told in (("as_ordered", "joined in SQL"), ("delivered", "all_delivery_note"), ("of_tomorrow", "DuckDB")):
        one = load_schema({**SCHEMA, "x-cinnabar-checks": {name: SCHEMA["x-cinnabar-checks"][name]}})  # type: ignore[index]
        with pytest.raises(UnsupportedSchema, match=told):
            Checks(one, compile_schema(one.schema))
