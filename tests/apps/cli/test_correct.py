"""`cinnabar correct`: its changes, its list, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.corrected_folder import SCHEMA, outcome_of, value_of
from tests.support.corrected_folder import run as extracted

from cinnabar.apps.cli.main import run
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.store.names import resolve_name
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import DocumentInfo


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with three records."""
    extracted(tmp_path / "out")
    return tmp_path / "out"


def test_a_value_is_corrected_listed_and_taken_back(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = ["correct", "a.txt", "--out", str(out)]
    assert run([*name, "--set", '/number="N 1"', "--absent", "/total", "--who", "eva", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["record"]["number"] == "N 1" and told["record"]["total"] is None
    assert [one["who"] for one in told["corrections"]] == ["eva", "eva"]
    assert query(out, "SELECT number FROM bill WHERE path = 'a.txt'").rows == [("N 1",)]
    assert run([*name, "--list"]) == 0
    assert "a.txt: written, 2 corrections in force" in capsys.readouterr().out
    assert run(["status", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["corrections"] == 2
    assert run([*name, "--undo", told["corrections"][0]["identity"]]) == 0
    assert run([*name, "--undo", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["record"]["number"] == "a-e1"


def test_a_document_is_accepted_or_sent_away(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correct", "a.txt", "--out", str(out), "--schema", "bill", "--accept", "/"]) == 0
    assert query(out, "SELECT confidence FROM bill WHERE path = 'a.txt'").rows == [(1.0,)]
    assert run(["correct", "a.txt", "--out", str(out), "--other-kind"]) == 0
    assert "a.txt: skipped other_kind" in capsys.readouterr().out
    assert query(out, "SELECT count(*) FROM bill").rows == [(2,)]


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """A folder with the record of a German bill, whose file is there."""
    path = tmp_path / "rechnung.txt"
    path.write_bytes(b"Rechnung vom 28.02.2026\nSumme 2.340,75 EUR, zahlbar bis 31.03.2026\n")
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "due": {"type": ["string", "null"], "format": "date"}}}
    document = parse(path.read_bytes(), path.name)
    made = outcome_of(path.name, "e1", value_of(path.name, "e1") | {"due": None}, schema=schema)
    read = replace(made, path=str(path), digest=document.digest, document=DocumentInfo.of(document))
    extracted(tmp_path / "out", schema=schema, outcomes=[read], paths=(str(path),))
    return tmp_path / "out"


@pytest.mark.parametrize(
    "cases",
    [
        [
            ("/due=7.3.2026", "due", "2026-03-07", '/due: stored 7 March 2026 ("2026-03-07"), read from 7.3.2026'),
            ("/total=1.234,50", "total", "1234.50", "/total: stored 1234.5 (1234.5), read from 1.234,50"),
            ("/number=R 17", "number", "R 17", "/number: stored R 17"),
        ],
        [
            ('/due="07/03/2026"', "due", "2026-03-07", "stored 7 March 2026"),
            ('/total="1.234"', "total", "1234.00", "stored 1234 (1234)"),
        ],
        [('/due="2026-03-07"', "due", "2026-03-07", "stored 7 March 2026")],
        [("/total=12.5", "total", "12.50", "")],
        [("/number=4401", "number", "4401", '/number: stored 4401 ("4401"), read from 4401')],
        [("/number=[sic]", "number", "[sic]", "/number: stored [sic]")],
    ],
)
def test_what_is_no_json_of_its_field_is_read_as_the_document_and_told(
    german: Path, capsys: pytest.CaptureFixture[str], cases: list[tuple[str, str, str, str]]
) -> None:
    sets = [word for given, *_ in cases for word in ("--set", given)]
    assert run(["correct", "rechnung.txt", "--out", str(german), *sets]) == 0
    said = capsys.readouterr().out
    for _, column, stored, told in cases:
        assert told in said and (told or "stored" not in said)
        assert query(german, f"SELECT {column}::VARCHAR FROM bill").rows == [(stored,)]


@pytest.mark.parametrize(
    ("given", "said"),
    [("/due=soon", "expected a date such as 4 May 2026"), ("/total=much", "a number such as 1234.5, got much")],
)
def test_what_cannot_be_read_is_refused_with_what_is_expected(
    german: Path, capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    assert run(["correct", "rechnung.txt", "--out", str(german), "--set", given]) == 2
    assert said in capsys.readouterr().err


def test_a_number_that_may_be_two_is_asked_back(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correct", "a.txt", "--out", str(out), "--set", "/total=1,234"]) == 2
    assert "expected one of 1.234 (1.234) or 1234 (1234), given as JSON, got 1,234" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected changes"),
        (["--set", "/number"], "a JSON pointer, = and a value"),
        (["--set", "/total=true"], "nothing was changed"),
        (["--accept", "/", "--list"], "expected changes"),
        (["--schema", "other", "--accept", "/"], "expected a schema of this document: bill"),
        (["--undo", "x"], "has no correction x"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    out: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["correct", "a.txt", "--out", str(out), *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_a_file_that_cannot_be_read_is_named_and_stops_no_correction(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / "waiting").mkdir()
    (out / "waiting" / "20260101T000000000000Z-00000000.json").write_text("{")
    for command in (["correct", "a.txt", "--accept", "/"], ["status"]):
        assert run([*command, "--out", str(out)]) == 0
        assert "20260101T000000000000Z-00000000.json: expected a waiting correction" in capsys.readouterr().err
    assert run(["verify", "--out", str(out)]) == 1


def test_a_name_is_meant_whose_case_alone_differs_and_no_other_one_s() -> None:
    assert resolve_name("bill", ["Bill", "bills"]) == "Bill" and resolve_name("bill", ["bill", "Bill"]) == "bill"
    assert resolve_name("BILL", ["bill", "Bill"]) is None and resolve_name("x", ["bill"]) is None
