"""A list whose document counts other rows: what `extract`, `show`, `sql`, `quarantine` and `correct` say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.run.report.reports import report_page
from cinnabar.extraction.run.report.run_data import gather_run
from cinnabar.extraction.store.reading import query

SCHEMA = {
    "title": "Crew",
    "type": "object",
    "properties": {
        "crew": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"number": {"type": "integer"}, "name": {"type": "string"}, "age": {"type": "integer"}},
            },
        }
    },
}
SENTENCE = '11 of 12 rows ("Crew: 12"); no. 7 missing'


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """The arguments that read a crew list, which counts twelve persons and has eleven."""
    (tmp_path / "crew.json").write_text(json.dumps(SCHEMA))
    rows = "".join(f"{n:<4}Anna Lee  {20 + n:>3}\n" for n in range(1, 13) if n != 7)
    (tmp_path / "crew.txt").write_text(f"Ship Aurora\n\nCrew: 12\n\nNo  Name      Age\n{rows}")
    schema = ["--schema", str(tmp_path / "crew.json"), "--out", str(tmp_path / "out")]
    return ["extract", str(tmp_path / "crew.txt"), *schema, "--on", "missing=guess"]


def test_a_list_of_another_length_is_told_everywhere(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = Path(asked[5])
    assert run(asked) == 0
    assert "a list of another length than their document tells: 1" in capsys.readouterr().out
    assert query(out, "SELECT items, length, incomplete FROM lists").rows == [(11, SENTENCE, True)]
    ((run_id,),) = query(out, "SELECT run_id FROM runs").rows
    page = report_page(gather_run(out, run_id, {}), [])
    assert "no. 7 missing" in page
    assert run(["show", "crew.txt", "--out", str(out), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["flags"] == ["list_incomplete"]
    places = {one["pointer"]: one["place"] for one in shown["fields"]}
    assert places["/crew/3/age"] == 'column "Age"'
    assert run(["correct", "crew.txt", "--out", str(out), "--accept", "/crew"]) == 0
    assert query(out, "SELECT flags FROM records WHERE latest").rows == [([],)]
    assert query(out, "SELECT length FROM lists").rows == [(None,)]


def test_such_a_list_is_held_back_if_wanted_and_released_by_a_person(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(asked[5])
    assert run([*asked, "--on", "list-incomplete=quarantine"]) == 0
    found = query(out, "SELECT code, detail, pointers FROM quarantine").rows
    assert found == [("list_incomplete", f"/crew: {SENTENCE}", ["/crew"])]
    assert run(["quarantine", "release", "crew.txt", "--out", str(out)]) == 0
    assert query(out, "SELECT count(*) FROM crew").rows == [(1,)]
    capsys.readouterr()
