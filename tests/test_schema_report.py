"""The report on any schema runs over a sample of the suites, and its promises are kept there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for folder in (HERE / "engine", HERE.parent / "scripts"):
        monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location(
        "schema_report", HERE.parent / "scripts" / "schema_report.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "schema_report", module)
    spec.loader.exec_module(module)
    return module


def test_a_count_names_what_deviates_and_a_line_says_whether_it_is_kept(script: Any) -> None:
    report, count = script.Report(), script.Count()
    count.note("one", seconds=0.002)
    count.note("two", "refused", 0.001)
    report.add("schemas", count)
    report.say("time", count.times)
    assert list(report.table())[2:] == [
        "| schemas | 1 of 2 | all | **not kept** |",
        "| time | 2.0 / 2.0 / 2.0 | - |  |",
    ]
    assert not report.kept and report.deviations == {"schemas": ["two: refused"]}


def test_absence_is_the_same_however_it_is_written(script: Any) -> None:
    assert script.present({"a": None, "b": [], "c": {"d": None}, "e": [1, None]}) == {"e": [1]}
    assert script.present([None, 1]) == [None, 1]


@pytest.mark.shared
def test_the_promises_are_kept_over_a_sample_of_the_suites(script: Any, shared: Path) -> None:
    report = script.measure(shared / "suites", sample=15)
    found = {line.what: line for line in report.lines}
    exact = [line for what, line in found.items() if "judged exactly" in what and "traps" not in what]
    assert len(exact) == 4 and all(line.kept for line in exact)
    for what in (
        "real schemas that compile",
        "compiled schemas with a form",
        "the same by an independent validator",
        "the same, but for how absence is written",
        "scores peaked on invalid instances: a valid record",
    ):
        assert found[what].kept, report.deviations[what]
    (steps,) = (line for what, line in found.items() if what.startswith("random scores: valid at each"))
    assert steps.kept
