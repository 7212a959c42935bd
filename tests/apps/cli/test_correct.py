"""`cinnabar correct`: its changes, its list, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.corrected_folder import run as extracted

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.names import resolve_name
from cinnabar.extraction.store.reading import query


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected changes"),
        (["--set", "/number"], "a JSON pointer, = and a JSON value"),
        (["--set", "/number=5"], "nothing was changed"),
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
