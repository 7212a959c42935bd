"""A record whose every value is null is flagged, and held back, skipped or written as the owner says; never lost."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from tests.support.begun_runs import backfill
from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.plan.run_options import OnEmpty, RunOptions, RunPlan
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents, release
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome
from cinnabar.flows.parameters import broken_limits
from cinnabar.schemas import SchemaSource, compile_schema, load_schema


def note(**properties: Any) -> SchemaSource:
    return load_schema({"title": "note", "type": "object", "properties": properties})


TEXT = {"type": ["string", "null"]}
PLAIN = note(kind={"const": "note"}, name=TEXT, total={"type": ["number", "null"], "multipleOf": 0.01})


def outcome(source: SchemaSource, text: str, on_empty: OnEmpty = "quarantine") -> Outcome:
    data = text.encode()
    job = Job(compile_schema(source.schema), Engine(ReadingModel()), Validator(source), on_empty=on_empty)
    read = OpenedInput("a.txt", hashlib.sha256(data).hexdigest(), parse(data, "a.txt"))
    (found,) = run_batch([read], job).outcomes
    return found


@pytest.mark.parametrize(
    "source",
    [
        PLAIN,
        note(name={"type": "string", "default": "none"}, total=TEXT),
        note(lines={"type": "array", "items": {"type": "object", "properties": {"id": TEXT}}}),
        load_schema({"title": "list", "type": "array", "items": TEXT}),
    ],
    ids=["a constant", "a default", "a list within", "a list"],
)
def test_a_record_without_a_value_of_the_text_is_empty(source: SchemaSource) -> None:
    found = outcome(source, "lunch?")
    assert (found.status, found.code) == ("quarantined", "empty_record")
    assert found.record is not None and "empty" in found.record.flags and "--on empty=" in found.detail


@pytest.mark.parametrize(
    "source", [PLAIN, note(kind={"const": "note"}), note(urgent={"type": "boolean"}, name={"type": "string"})]
)
def test_a_record_with_a_value_or_with_constants_alone_is_not(source: SchemaSource) -> None:
    found = outcome(source, "name=Anna\nurgent=false")
    assert found.status == "written" and found.record is not None and "empty" not in found.record.flags


def test_an_empty_record_is_skipped_or_written_on_request() -> None:
    skipped, written = outcome(PLAIN, "lunch?", "skip"), outcome(PLAIN, "lunch?", "write")
    assert (skipped.status, skipped.code, skipped.record) == ("skipped", "empty_record", None)
    assert written.status == "written" and written.record is not None and "empty" in written.record.flags


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in (("a", "name=Anna"), ("b", "name=Bob"), ("lunch", "lunch?")):
        (docs / f"{name}.txt").write_text(text)
    return docs


def run(folder: Path, **options: Any) -> Summary:
    model = ModelSource("reading", ReadingModel)
    return extract([folder], PLAIN, folder.parent / "out", model, RunOptions(workers=1, **options))


@pytest.mark.parametrize(
    ("on_empty", "written", "quarantined", "skipped", "passes"),
    [("quarantine", 2, 1, 0, False), ("skip", 2, 0, 1, False), ("write", 3, 0, 0, True)],
)
def test_a_run_counts_its_empty_records(
    folder: Path, on_empty: OnEmpty, written: int, quarantined: int, skipped: int, passes: bool
) -> None:
    summary = run(folder, on_empty=on_empty)
    assert (summary.written, summary.quarantined, summary.skipped) == (written, quarantined, skipped)
    assert summary.empty == 1
    assert (not broken_limits(summary, (), RunPlan(max_error_rate=0.3))) is passes
    assert not broken_limits(summary, (), RunPlan(max_error_rate=0.4)) and not broken_limits(summary, (), RunPlan())
    again = run(folder, on_empty=on_empty)
    assert (again.skipped, again.steps) == (3, 0)


def test_an_empty_record_is_released_without_a_model(folder: Path) -> None:
    run(folder)
    out = folder.parent / "out"
    assert release(out, held_documents(out, codes=["empty_record"])).refused == {}
    assert query(out, "SELECT count(*) FROM note").rows == [(3,)]


@pytest.mark.parametrize("change", [Change(Action.VALUE, "/name", '"Eva"'), Change(Action.ACCEPT, "")])
def test_a_person_who_fills_or_accepts_an_empty_record_takes_it_out_of_quarantine(
    folder: Path, change: Change
) -> None:
    run(folder)
    out = folder.parent / "out"
    (one,) = held_documents(out)
    Corrector(out).correct(one.document, "note", [change], "eva")
    assert held_documents(out) == []
    assert query(out, "SELECT count(*) FROM records WHERE list_contains(flags, 'empty')").rows == [(0,)]


def test_a_backfill_keeps_an_empty_record_that_was_written(folder: Path) -> None:
    run(folder, on_empty="write")
    wider = note(**PLAIN.schema["properties"], place=TEXT)  # type: ignore[index, call-overload]
    model = ModelSource("reading", ReadingModel)
    summary = backfill(wider, folder.parent / "out", model, None, RunOptions(workers=1))
    assert summary is not None and (summary.written, summary.quarantined) == (3, 0)
