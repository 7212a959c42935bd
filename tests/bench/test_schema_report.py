"""The report on JSON Schemas runs over a sample of the suites, and the sample keeps its promises."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bench.recording import Row


@pytest.fixture
def script() -> ModuleType:
    return importlib.import_module("bench.schema_report")


def test_a_count_names_what_deviates_and_a_line_says_whether_it_is_kept(script: Any) -> None:
    report, count = script.Report(), script.Count()
    count.note("one")
    count.note("two", "refused")
    report.add("schemas", count)
    report.add("some", count, 0.5)
    report.say("time", "2 ms")
    assert list(report.table())[2:] == [
        "| schemas | 1 of 2 (50%) | 100% | **not kept** |",
        "| some | 1 of 2 (50%) | 50% | kept |",
        "| time | 2 ms | - |  |",
    ]
    assert not report.kept and report.deviations["schemas"] == ["two: refused"]


@pytest.mark.slow
@pytest.mark.shared
def test_the_promises_are_kept_over_a_sample_of_the_suites(script: Any, shared: Path) -> None:
    report = script.measure(shared / "suites", sample=15)
    found = {line.what: line for line in report.lines}
    late = [line for line in report.lines if line.kept is False]
    assert not late, [(line, report.deviations.get(line.what)) for line in late]
    assert sum(line.wanted != "-" for line in found.values()) == 11
    assert sum(line.kept is True for line in found.values()) >= 10


def test_lines_that_promise_something_are_recorded(script: Any) -> None:
    report, count = script.Report(), script.Count()
    count.note("good")
    count.note("bad", "refused")
    report.add("exact", count, 0.98)
    report.add("besides", count, None)
    assert report.rows() == [Row("exact", "98%", "1 of 2 (50%)", missed=True)]
