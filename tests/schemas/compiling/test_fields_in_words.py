"""What `cinnabar schema check` says to a person who never heard of slots and automata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.schemas import compile_schema
from cinnabar.schemas.compiling.describe import WAITS, fields_in_words

SCHEMA: dict[str, Any] = {
    "title": "parcel",
    "type": "object",
    "required": ["number", "kind", "day", "rows", "fixed"],
    "properties": {
        "number": {"type": "string", "minLength": 1, "description": "As it\n is printed."},
        "kind": {"enum": ["a", "b", "c", "d", "e", "f", "g", "h"]},
        "day": {"type": ["string", "null"], "format": "date"},
        "weight": {"type": "number"},
        "paid": {"type": "boolean"},
        "fixed": {"const": "EUR"},
        "rows": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        },
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "seller": {"type": ["object", "null"], "properties": {"e/mail": {"type": "string", "format": "email"}}},
        "who": {"anyOf": [{"type": "object", "title": "Firm", "properties": {"vat": {"type": "string"}}},
                          {"type": "array", "title": "People", "items": {"type": "string"}}]},
        "colour": {"type": "string", "format": "colour"},
        "from": {"type": "string", "x-cinnabar-from": "mail.subject"},
    },
}  # fmt: skip


def test_each_field_says_what_is_asked_and_what_a_missing_value_becomes() -> None:
    found = {one.name: (one.asked, one.otherwise) for one in fields_in_words(compile_schema(SCHEMA).form)}
    assert found["number"] == ("text, not empty: As it is printed.", WAITS)
    assert found["kind"] == ("one of a, b, c, d, e, f and 2 more", WAITS)
    assert found["day"] == ("a date", "stays empty")
    assert found["weight"] == ("a number", "is left out") and found["paid"] == ("yes or no", "is left out")
    assert found["fixed"] == ("always EUR", "is written all the same")
    assert found["rows"] == ("a list, at least 1", WAITS) and found["rows > n"] == ("a whole number", WAITS)
    assert found["tags"] == ("a list (each text), at most 3", "an empty list")
    assert found["seller > e/mail"] == ("an e-mail address", "is left out")
    assert found["who"][0] == "one of Firm; People" and found["who (Firm) > vat"][0] == "text"
    assert found["from"][1] == "taken from the file itself (mail.subject), no model is asked"


def test_schema_check_speaks_of_no_automaton(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "parcel.json"
    path.write_text(json.dumps(SCHEMA))
    assert run(["schema", "check", str(path)]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    words = " ".join(told.split())
    assert "held back" in words
    assert "Not promised: /properties/colour/format: format colour is unknown and not checked" in words
    assert not {"slot", "automaton", "states", "fingerprint", "enforced"} & set(words.split())
    assert run(["schema", "check", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"name", "fields", "not_promised", "checks"}
    assert [one["place"] for one in found["not_promised"]] == ["/properties/colour/format"]
