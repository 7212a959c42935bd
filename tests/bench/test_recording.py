"""Results of benches: docs/results.md is what they write, their commands exist, and a bench records its own."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench.recording import RESULTS, Result, Row, record, recorded
from bench.results_page import PAGE, main, page_of
from tests.support import ROOT
from tests.support.documentation import check_cinnabar, check_make, check_module, words_of


def check_pytest(words: list[str]) -> None:
    tests = [word for word in words if word.startswith("tests/")]
    assert tests
    assert [test for test in tests if not (ROOT / test).exists()] == []


def test_the_page_of_results_is_what_make_results_writes(tmp_path: Path) -> None:
    main(tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text("utf-8") == PAGE.read_text("utf-8"), "run `make results`"


def test_the_page_of_results_ends_before_a_reader_does() -> None:
    assert len(PAGE.read_text("utf-8").splitlines()) <= 250


def test_a_cell_holds_one_figure() -> None:
    """A cell of 80 characters at most, without the semicolon by which figures were once matched to their names."""
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [cell.strip() for row in rows for cell in row.strip("| ").split(" | ")]
    assert [cell for cell in cells if len(cell) > 80 or ";" in cell] == []


def test_a_figure_that_misses_is_bold() -> None:
    missed = [row for result in recorded().values() for row in result.rows if row.missed]
    assert PAGE.read_text("utf-8").count("| **") == len(missed)


@pytest.mark.parametrize("name", sorted(path.stem for path in RESULTS.glob("*.json")))
def test_the_command_of_each_result_exists(name: str) -> None:
    words = words_of(recorded()[name].command)
    checks: dict[str, Any] = {
        "make": check_make, "python": check_module, "cinnabar": check_cinnabar, "pytest": check_pytest,
    }  # fmt: skip
    checks[words[0]](words)


@pytest.mark.parametrize("name", sorted(path.stem for path in RESULTS.glob("*.json")))
def test_each_result_has_a_day_a_machine_and_rows(name: str) -> None:
    result = recorded()[name]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", result.date)
    assert result.machine
    assert result.rows
    assert all(row.what and row.wanted and row.got for row in result.rows)


def test_a_recorded_result_replaces_the_last_one(tmp_path: Path) -> None:
    record("one", "a bench", "make bench", [Row("old", "1", "2")], precision="int8", folder=tmp_path)
    path = record("one", "a bench", "make bench", [Row("é", "1", "0", missed=True)], precision="int8", folder=tmp_path)
    assert path == tmp_path / "one.json"
    [row] = json.loads(path.read_text("utf-8"))["rows"]
    assert row == {"what": "é", "wanted": "1", "got": "0", "missed": True, "commit": ""}
    found = recorded(tmp_path)["one"]
    assert found.rows == (Row("é", "1", "0", missed=True),)
    assert "cores" in found.machine
    assert found.commit


def test_a_result_without_a_section_is_refused_by_its_name() -> None:
    stray = Result("stray", "make bench", "2026-01-01", "m", "", "c", ())
    with pytest.raises(ValueError, match="stray"):
        page_of(recorded() | {"stray": stray})


def test_benches_record_their_rows() -> None:
    from bench.hostile_report import Tally
    from bench.hostile_report import recorded_rows as rows_of_files
    from bench.server_report import recorded_rows as rows_of_a_server

    tally = Tally()
    tally.add("outcome", True, "")
    assert list(rows_of_files("PDFs", tally)) == [Row("PDFs: outcome right", "98%", "1 of 1 (100.0%)")]
    cells = ["1.0", ".210", ".820", "2.0", "3.0", "4.8", "3.8", "0", "1"]
    alone, together = rows_of_a_server("chat", 32, cells)
    assert not alone.missed
    assert together.missed
    assert together.got == "0 failed, 1 other than alone; 4.8 records/s (3.8 alone)"
