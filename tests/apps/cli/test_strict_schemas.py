"""Schemas that demand values: what the text lacks is never made up, and its document waits in quarantine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cinnabar.apps.cli.main import run

DATE = {"type": "string", "format": "date"}
IBAN = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"}
PAYMENT = {"iban": {"type": "string"}, "amount": {"type": "number"}, "due": DATE}
STRICT: dict[str, dict[str, Any]] = {
    "plain": PAYMENT,
    "formats": {"iban": IBAN, "amount": {"type": "number", "minimum": 0.01}, "due": DATE},
    "nested": {"payment": {"type": "object", "properties": PAYMENT, "required": [*PAYMENT]}},
    "list": {
        "payments": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "properties": PAYMENT, "required": [*PAYMENT]},
        }
    },
}


@pytest.mark.parametrize("name", ["plain", *(pytest.param(one, marks=pytest.mark.slow) for one in [*STRICT][1:])])
def test_a_demanded_value_that_the_text_lacks_is_not_made_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    properties = STRICT[name]
    schema = {"title": "payment", "type": "object", "properties": properties, "required": [*properties]}
    (tmp_path / "payment.json").write_text(json.dumps(schema | {"additionalProperties": False}))
    (tmp_path / "docs").mkdir()
    for file, text in (("a.txt", "hello"), ("b.md", "# Hello\n\nhow are you?"), ("c.eml", "Subject: hello\n\nhello")):
        (tmp_path / "docs" / file).write_text(text)
    out = str(tmp_path / "out")
    command = ["extract", str(tmp_path / "docs"), "--schema", str(tmp_path / "payment.json"), "--out", out]
    assert run([*command, "--json", "--max-error-rate", "0.5"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["written"], told["quarantined"], told["reasons"]) == (0, 3, {"missing": 3})
    assert run(["sql", "select count(*) as n from records", "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 0}]
