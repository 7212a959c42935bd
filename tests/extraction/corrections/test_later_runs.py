"""Runs over documents that people corrected: what they store, and what people take back while they go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.corrected_folder import digest_of, outcome_of, run

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.manifest import now
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import DocumentInfo, Outcome
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import RUNS

A = digest_of("a.txt")
HELD = {"code": "low_confidence", "detail": "a value is not sure"}
UNREAD = Outcome("a.txt", "quarantined", "unavailable", "no server", A, DocumentInfo(A, "text/plain", 12, 0, 1, 12))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with three documents, of which somebody has corrected the number of the first."""
    run(tmp_path / "out")
    Corrector(tmp_path / "out").correct(A, "bill", [Change(Action.VALUE, "/number", '"R-1"')], "Ada")
    return tmp_path / "out"


def number(out: Path) -> list[str]:
    """The number of the first document in the view of its schema."""
    return [value for (value,) in query(out, f"SELECT number FROM bill WHERE document = '{A}'").rows]


def undo(out: Path) -> None:
    Corrector(out).undo(A, "bill", None, "Bob")


def test_a_corrected_record_stays_when_a_later_model_is_not_sure(out: Path) -> None:
    held = [outcome_of(f"{name}.txt", "e2", **HELD, pointers=("/total",)) for name in "abc"]
    assert run(out, "e2", outcomes=held).quarantined == 3
    assert query(out, "SELECT number FROM bill ORDER BY path").rows == [("R-1",), ("b-e1",), ("c-e1",)]


def test_corrections_count_over_the_last_record_if_a_later_run_got_none(out: Path) -> None:
    change = [Change(Action.VALUE, "/total", "7")]
    run(out, "e2", outcomes=[UNREAD], paths=["a.txt"], between=lambda: _correct(out, change))
    assert query(out, f"SELECT number, total::INT FROM bill WHERE document = '{A}'").rows == [("R-1", 7)]
    undo(out)
    assert number(out) == ["a-e1"]


def _correct(out: Path, changes: list[Change]) -> None:
    Corrector(out).correct(A, "bill", changes, "Ada")


@pytest.mark.parametrize("backfill", [{}, {"backfill": {"below": None}}])
def test_what_is_taken_back_during_a_run_is_what_its_model_made(out: Path, backfill: dict[str, object]) -> None:
    # A backfill has kept what the person said.
    kept = Corrector(out).state(A, "bill").record if backfill else None
    made = replace(outcome_of("a.txt", "e2"), record=kept) if kept is not None else outcome_of("a.txt", "e2")
    run(out, "e2", outcomes=[made], paths=["a.txt"], between=lambda: undo(out), **backfill)
    assert number(out) == ["a-e1" if backfill else "a-e2"]
    assert query(out, f"SELECT DISTINCT origin FROM fields WHERE document = '{A}' AND pointer = '/number'").rows == [
        ("copied",)
    ]


@pytest.mark.parametrize("made", [outcome_of("a.txt", "e2"), UNREAD])
def test_a_document_of_another_kind_is_skipped_whatever_a_run_made_of_it(out: Path, made: Outcome) -> None:
    other = [Change(Action.OTHER_KIND, "")]
    summary = run(out, "e2", outcomes=[made], paths=["a.txt"], between=lambda: _correct(out, other))
    assert (summary.skipped, summary.quarantined) == (1, 0)
    assert number(out) == [] and query(out, "SELECT count(*) FROM quarantine").rows == [(0,)]


def test_a_document_without_a_record_is_in_quarantine_again_when_its_kind_is_taken_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, outcomes=[UNREAD], paths=["a.txt"])
    _correct(out, [Change(Action.OTHER_KIND, "")])
    assert query(out, "SELECT count(*) FROM quarantine").rows == [(0,)]
    undo(out)
    assert query(out, "SELECT code FROM quarantine").rows == [("unavailable",)]


def test_bytes_under_two_names_have_two_outcomes_of_which_one_is_corrected(tmp_path: Path) -> None:
    out, held = tmp_path / "out", {**HELD, "pointers": ("/number", "/total")}
    run(out, outcomes=[outcome_of("a.txt", "e1", **held)], paths=["a.txt"])
    _correct(out, [Change(Action.VALUE, "/number", '"R-1"')])
    broken = Outcome("a.pdf", "quarantined", "broken", "no PDF", A, DocumentInfo(A, "", 0, 0, 0, 0))
    summary = run(out, "e2", outcomes=[broken, outcome_of("a.txt", "e2", **held)], paths=["a.pdf", "a.txt"])
    assert summary.reasons == {"low_confidence": 1, "broken": 1}


def test_what_is_known_of_a_record_that_a_correction_brought_out_of_quarantine_stays(tmp_path: Path) -> None:
    out, held = tmp_path / "out", {**HELD, "pointers": ("/number",)}
    first, later = (outcome_of("a.txt", engine, **held) for engine in ("e1", "e2"))
    assert later.record is not None
    several = replace(later, record=replace(later.record, flags=("several_documents",)))
    run(out, outcomes=[first], paths=["a.txt"])
    _correct(out, [Change(Action.VALUE, "/number", '"R-1"')])
    run(out, "e2", outcomes=[several], paths=["a.txt"])
    _correct(out, [Change(Action.VALUE, "/total", "7")])
    assert query(out, "SELECT flags FROM bill").rows == [(["several_documents"],)]
    assert query(out, "SELECT pointer, confidence FROM lists").rows == [("/lines", 0.8)]


def test_a_document_is_read_again_if_what_its_model_made_was_set_aside(out: Path) -> None:
    _, records, *_ = sorted((out / "data").rglob("batch-*.parquet"))
    records.write_bytes(b"x")
    assert len(verify(out).aside) == 1
    assert run(out).written == 1 and number(out) == ["R-1"]
    undo(out)
    assert number(out) == ["a-e1"]


def test_a_run_whose_id_no_clock_tells_stops_no_other(out: Path) -> None:
    last = "99991231T235959999Z-abcdef01"
    row = {"run_id": last, "started": now(), "schema_name": "bill", "schema_fingerprint": "0" * 64}
    with Store.open(out) as store:
        store.commit("bill", "0" * 64, {"runs": pa.Table.from_pylist([row], RUNS)})
        first, second = store.new_run_id(), store.new_run_id()
    assert first < second < last
