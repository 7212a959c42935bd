"""Long documents in a run: others overtake them, and one file harms only itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.begun_runs import begun_backfill, begun_extraction
from tests.support.reading_model import EndlessModel, ReadingModel
from tests.support.told_progress import Told

from cinnabar.extraction.filling import batch_reader, pipeline, timed_filling
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import load_schema

NAME: dict[str, Any] = {"name": {"type": "string"}}
SOURCE = load_schema({"title": "note", "type": "object", "properties": NAME, "required": ["name"]})
MORE = load_schema({"title": "note", "type": "object", "properties": NAME | {"place": {"type": ["string", "null"]}}})


def source(model: ReadingModel | None = None) -> ModelSource:
    found = model or EndlessModel()
    return ModelSource("reading", lambda: found)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seven documents; b is longer than d, and both are long."""
    monkeypatch.setattr(timed_filling, "LONG_DOCUMENT", 50)
    monkeypatch.setattr(pipeline, "LONG_DOCUMENT", 50)
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in "abcdefg":
        words = {"b": 400, "d": 100}.get(name, 1)
        (docs / f"{name}.txt").write_text(f"name={name}\n" + "word " * words)
    return docs


def test_short_documents_are_committed_before_long_ones_and_these_by_length(folder: Path, tmp_path: Path) -> None:
    order = Told()
    summary = extract([folder], SOURCE, tmp_path / "out", source(), RunOptions(workers=1, batch=3), order)
    assert order.names == ["a", "c", "e", "f", "g", "d", "b"]
    assert (summary.inputs, summary.written) == (7, 7)


def test_records_are_the_same_whether_a_document_counts_as_long(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(out: Path) -> list[Any]:
        extract([folder], SOURCE, out, source(), RunOptions(workers=1, context=64))
        fields = query(out, "select document, pointer, value_json, confidence, spans from fields").rows
        return [*query(out, "select document, record_json from records").rows, *fields]

    long = rows(tmp_path / "long")
    monkeypatch.setattr(timed_filling, "LONG_DOCUMENT", 1000)
    monkeypatch.setattr(pipeline, "LONG_DOCUMENT", 1000)
    assert sorted(long, key=str) == sorted(rows(tmp_path / "short"), key=str)


def test_a_run_that_breaks_off_before_its_long_documents_goes_on_with_them(folder: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out", RunOptions(workers=1, batch=3)
    with pytest.raises(KeyboardInterrupt), begun_extraction([folder], SOURCE, out, source(), options) as begun:
        for number in range(3):
            begun.work(number)
        assert len(begun.batches) == 5
        raise KeyboardInterrupt
    order = Told()
    summary = extract([folder], SOURCE, out, source(), options, order)
    assert (summary.written, summary.skipped) == (2, 5)
    assert order.names[-2:] == ["d", "b"]


def test_a_batch_that_is_worked_on_twice_adds_its_long_documents_once(folder: Path, tmp_path: Path) -> None:
    options = RunOptions(workers=1, batch=7)
    with begun_extraction([folder], SOURCE, tmp_path / "out", source(), options) as begun:
        begun.work(0)
        begun.work(0)
        assert [len(batch) for batch in begun.batches] == [7, 1, 1]
        begun.work(1)
        begun.work(2)
        assert begun.finish().written == 7


def test_a_backfill_lets_others_overtake_a_long_document(folder: Path, tmp_path: Path) -> None:
    out, order = tmp_path / "out", Told()
    extract([folder], SOURCE, out, source(), RunOptions(workers=1))
    with begun_backfill(MORE, out, source(), options=RunOptions(workers=1, batch=4), progress=order).run as begun:
        assert begun.work_through().written == 7
    assert order.names[-2:] == ["d", "b"]


def test_documents_beyond_the_bounds_go_to_quarantine_and_are_read_with_higher_ones(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (folder / "d.txt").write_text("name=d\nSLOW " + "word " * 100)
    (folder / "e.txt").write_text("name=e\nSLOW")
    found = extract([folder], SOURCE, out, source(), RunOptions(workers=1, max_tokens=200, max_seconds=0.1))
    assert (found.written, found.reasons) == (4, {"too_slow": 2, "too_long": 1})
    reasons = dict(query(out, "select code, detail from quarantine").rows)
    assert "401 words, the limit is 200 tokens" in reasons["too_long"] and "max_tokens" in reasons["too_long"]
    assert "more than 0.1 s" in reasons["too_slow"]
    again = RunOptions(workers=1, retry_quarantined=True)
    for name in "de":
        (folder / f"{name}.txt").unlink()
    assert extract([folder], SOURCE, out, source(), again).written == 1


def test_a_document_that_is_parsed_for_long_is_overtaken(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lingering = tmp_path / "lingering_parser.py"
    lingering.write_text(
        "import os, time\n"
        "from cinnabar.extraction.documents.ingest.dispatch import parse as real\n\n\n"
        "def parse(data, path, settings):\n"
        f"    while path.endswith('a.txt') and not os.path.exists({str(tmp_path / 'go')!r}):\n"
        "        time.sleep(0.05)\n"
        "    return real(data, path, settings)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    real = batch_reader.ParserPool
    monkeypatch.setattr(batch_reader, "LATE_AFTER", 0.2)
    monkeypatch.setattr(
        batch_reader, "ParserPool", lambda workers, **others: real(workers, parser="lingering_parser:parse", **others)
    )

    class Going(Told):
        def advance(self, outcomes: Sequence[Outcome]) -> None:
            super().advance(outcomes)
            if len(self.names) == 6:
                (tmp_path / "go").touch()

    order = Going()
    summary = extract([folder], SOURCE, tmp_path / "out", source(), RunOptions(workers=2), order)
    assert order.names == ["c", "e", "f", "g", "d", "b", "a"]
    assert summary.written == 7
