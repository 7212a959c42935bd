"""A run over a folder: its inputs, the files that it skips, and results that do not depend on how it is divided."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pytest
from tests.support.begun_runs import begun_extraction
from tests.support.notes import NOTE
from tests.support.reading_model import READING, ReadingModel
from tests.support.told_progress import Told

from cinnabar.errors import NotUnited, RunError, UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import examine, files_at, gather
from cinnabar.extraction.filling.model_sources import ModelSource, model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query, show
from cinnabar.schemas import load_schema


class Loads:
    """A model that is loaded on demand, with the number of its loads."""

    def __init__(self) -> None:
        self.model = ReadingModel()
        self.count = 0

    def source(self, fingerprint: str = "reading") -> ModelSource:
        return ModelSource(fingerprint, self._load)

    def _load(self) -> ReadingModel:
        self.count += 1
        return self.model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    for number in range(5):
        (docs / f"{number}.txt").write_text(f"name=N{number}\ntotal={number}.50\n")
    (docs / "deep" / "copy.txt").write_bytes((docs / "0.txt").read_bytes())
    (docs / "deep" / "nameless.txt").write_text("total=1\n")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    return docs


def outcomes(out: Path, run_id: str) -> dict[str, tuple[Any, ...]]:
    sql = f"select path, outcome, code, duplicate_of from outcomes where run_id = '{run_id}'"
    return {Path(row[0]).name: row[1:] for row in query(out, sql).rows}


def records(out: Path) -> list[tuple[Any, ...]]:
    rows = query(out, "select document, confidence, flags, record_json from records where latest").rows
    fields = query(out, "select document, pointer, value_json, confidence, spans from fields").rows
    return [*sorted(rows), *sorted(fields, key=str)]


def test_a_run_opens_one_database(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock(side_effect=duckdb.connect)
    monkeypatch.setattr("cinnabar.extraction.store.queries.duckdb.connect", opened)
    for _ in range(2):
        assert extract([folder], load_schema(NOTE), tmp_path / "out", READING).report is not None
    assert opened.call_count == 2


def test_documents_are_parsed_while_the_model_is_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsing, submit = threading.Event(), ParserPool.submit

    def submitted(pool: ParserPool, item: Any) -> Any:
        parsing.set()
        return submit(pool, item)

    def load() -> ReadingModel:
        assert parsing.wait(20)
        return ReadingModel()

    monkeypatch.setattr(ParserPool, "submit", submitted)
    source = ModelSource("reading", load)
    assert extract([folder], NOTE, tmp_path / "out", source, RunOptions(workers=1)).written == 5


def test_every_input_has_an_outcome_that_is_told_and_a_second_run_loads_no_model(folder: Path, tmp_path: Path) -> None:
    out, loads, seen = tmp_path / "out", Loads(), Told()
    first = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1, batch=4), seen)
    assert (first.inputs, first.written, first.quarantined, first.skipped) == (8, 5, 2, 1)
    assert (seen.inputs, len(seen.outcomes)) == (8, 8)
    assert loads.count == 1 and first.steps > 0
    found = outcomes(out, first.run_id)
    assert found["0.txt"] == ("written", None, None)
    assert found["copy.txt"] == ("skipped", "duplicate", str(folder / "0.txt"))
    assert found["nameless.txt"][:2] == ("quarantined", "missing")
    assert found["broken.pdf"][0] == "quarantined"

    again = Loads()
    second = extract([folder], NOTE, out, again.source(), RunOptions(workers=1))
    assert (second.inputs, second.written, second.quarantined, second.skipped) == (8, 0, 0, 8)
    assert (again.count, second.steps, again.model.passages) == (0, 0, 0)

    (folder / "new.txt").write_text("name=New\n")
    third = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1, retry_quarantined=True))
    assert (third.written, third.quarantined, third.skipped) == (1, 2, 6)


def test_records_do_not_depend_on_workers_batches_or_the_order_of_inputs(
    folder: Path, tmp_path: Path
) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    ways = [
        ([folder], RunOptions(workers=1)),
        (paths[::-1], RunOptions(workers=3, batch=2)),
        ([paths[3], *paths], RunOptions(workers=2, batch=1)),
    ]
    seen = []
    for number, (inputs, options) in enumerate(ways):
        out = tmp_path / f"out{number}"
        extract(inputs, NOTE, out, Loads().source(), options)
        seen.append(records(out))
    assert len(seen[0]) > 5
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("above", ["run_id=3", "outcome=good", "document=abc"])
def test_a_folder_above_the_results_may_be_named_like_a_column_and_a_value(
    folder: Path, tmp_path: Path, above: str
) -> None:
    out = tmp_path / above / "out"
    first = extract([folder], NOTE, out, Loads().source(), RunOptions(workers=1))
    again = extract([folder], NOTE, out, Loads().source(), RunOptions(workers=1))
    assert (first.written, again.written, again.skipped) == (5, 0, 8)


def test_another_chunk_size_or_engine_is_new_work(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    one = folder / "deep" / "nameless.txt"
    extract([one], NOTE, out, Loads().source(), RunOptions(workers=1))
    guessed = extract([one], NOTE, out, Loads().source(), RunOptions(workers=1, on_missing="guess"))
    assert guessed.written == 1
    prints = {
        RunOptions(**changed).fingerprint("m")
        for changed in ({}, {"effort": "high"}, {"steps": 5}, {"context": 100}, {"on_missing": "guess"})
    }
    assert len(prints | {RunOptions().fingerprint("other")}) == 6
    alike = RunOptions(workers=7, batch=3, limit=1, min_confidence=0.5)
    assert alike.fingerprint("m") == RunOptions().fingerprint("m")


def test_a_version_of_other_types_is_refused_before_any_work(folder: Path, tmp_path: Path) -> None:
    out, one = tmp_path / "out", folder / "1.txt"
    extract([one], NOTE, out, Loads().source(), RunOptions(workers=1))
    properties = {"name": {"type": "string", "format": "date"}, "total": {"type": "number"}}
    dated = load_schema({"title": "note", "type": "object", "properties": properties})
    loads = Loads()
    with pytest.raises(NotUnited, match=r"/name: was a text and is now a date.* another name.*--out"):
        extract([one], dated, out, loads.source(), RunOptions(workers=1))
    assert loads.count == 0 and query(out, "select count(*) from runs").rows == [(1,)]


def test_review_releases_waiting_records_and_reads_no_other_document_again(
    folder: Path, tmp_path: Path
) -> None:
    out, loads = tmp_path / "out", Loads()
    (folder / "unsure.txt").write_text("name=U\n")
    loads.model.doubted = "name=U"
    strict = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1, min_confidence=0.9))
    assert (strict.written, strict.reasons["low_confidence"]) == (5, 1)
    assert strict.inputs == strict.written + strict.quarantined + strict.skipped
    (row,) = query(out, "select pointers, record_json from quarantine where code = 'low_confidence'").rows
    assert row == (["/name"], '{"name":"U","total":null}')
    waiting = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1, min_confidence=0.9))
    assert waiting.written == 0 and waiting.skipped == waiting.inputs
    free = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1, retry_quarantined=True))
    assert (free.written, "low_confidence" in free.reasons) == (1, False)
    assert query(out, "select count(*) from note").rows == [(6,)]


def test_an_interrupted_run_resumes_at_its_last_batch(folder: Path, tmp_path: Path) -> None:
    out, loads = tmp_path / "out", Loads()
    options = RunOptions(workers=1, batch=2)
    with (
        pytest.raises(KeyboardInterrupt),
        begun_extraction([folder], NOTE, out, loads.source(), options) as begun,
    ):
        begun.work(0)
        raise KeyboardInterrupt
    before = loads.model.passages
    summary = extract([folder], NOTE, out, loads.source(), options)
    assert summary.inputs == 8 and summary.skipped == 3
    assert loads.model.passages - before == summary.written + 1
    assert query(out, "select count(*) from note").rows == [(5,)]


def test_a_batch_may_be_worked_on_twice_and_a_run_with_one_left_out_fails(
    folder: Path, tmp_path: Path
) -> None:
    options = RunOptions(workers=1, batch=4)
    with begun_extraction([folder], NOTE, tmp_path / "out", Loads().source(), options) as begun:
        begun.work(1)
        with pytest.raises(RunError, match="no outcome"):
            begun.finish()
        begun.work(0)
        begun.work(1)
        assert begun.finish().written == 5


def test_limit_takes_the_first_inputs(folder: Path, tmp_path: Path) -> None:
    summary = extract([folder], NOTE, tmp_path / "out", Loads().source(), RunOptions(workers=1, limit=2))
    assert (summary.inputs, summary.written) == (2, 2)


def test_hidden_files_and_the_output_folder_are_no_inputs(folder: Path) -> None:
    (folder / ".hidden").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    (folder / "out").mkdir()
    (folder / "out" / "x.parquet").write_text("x")
    names = [path.name for path in files_at(folder, folder / "out")]
    assert len(names) == 8 and not {".hidden", "config", "x.parquet"} & set(names)


def test_an_explicitly_named_file_is_one_input_even_if_hidden_or_named_twice(tmp_path: Path) -> None:
    hidden = tmp_path / ".hidden.txt"
    hidden.write_text("x")
    with ExitStack() as stack:
        assert gather([hidden, tmp_path / "." / ".hidden.txt"], None, stack) == [hidden]


def test_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("name=Secret\n")
    (folder / "link.txt").symlink_to(outside)
    (folder / "inside.txt").symlink_to(folder / "1.txt")
    (folder / "nowhere.txt").symlink_to(folder / "gone.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "itself.txt").symlink_to(folder / "itself.txt")
    (folder / "away").symlink_to(tmp_path)
    found = {path.name: examine(path, [folder]) for path in files_at(folder)}
    assert "loop" not in found
    for name in ("link.txt", "away"):
        problem = found[name].problem
        assert problem is not None and problem.code == "not_a_file" and "link" in problem.detail
    nowhere = found["nowhere.txt"].problem
    assert nowhere is not None and nowhere.code == "not_a_file" and found["itself.txt"].problem is not None
    assert found["inside.txt"].digest == found["1.txt"].digest
    assert examine(folder / "link.txt", [folder / "link.txt"]).digest


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    problem = examine(folder / "pipe", [folder]).problem
    assert problem is not None and problem.code == "not_a_file"


def test_one_path_in_several_spellings_is_one_input_under_its_first_spelling(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, loads = tmp_path / "out", Loads()
    monkeypatch.chdir(folder.parent)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7")
    relative = Path(folder.name)
    first = extract([relative, folder, relative / ".." / relative], NOTE, out, loads.source(), RunOptions(workers=1))
    again = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1))
    monkeypatch.chdir(tmp_path / "out")
    third = extract([folder], NOTE, out, loads.source(), RunOptions(workers=1))
    assert (first.inputs, again.inputs, third.inputs) == (8, 8, 8)
    assert again.written == third.written == 0
    paths = {path for (path,) in query(out, "SELECT DISTINCT path FROM outcomes").rows}
    assert paths == {str(path.relative_to(tmp_path)) for path in folder.rglob("*.*")}
    assert show(out, str(folder / "broken.pdf"))[0].path == f"{folder.name}/broken.pdf"


def test_an_empty_folder_is_a_run_without_inputs_and_loads_no_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty" / ".hidden").mkdir(parents=True)
    (tmp_path / "empty" / ".hidden" / "a.txt").write_text("Anna")
    loads = Loads()
    done = extract([tmp_path / "empty"], NOTE, tmp_path / "out", loads.source())
    assert (done.inputs, done.written, done.quarantined, done.skipped, loads.count) == (0, 0, 0, 0, 0)
    both = extract([tmp_path / "empty", folder], NOTE, tmp_path / "out", loads.source(), RunOptions(workers=1))
    assert both.inputs > 0


def test_wrong_use_is_an_error_before_any_file_is_made(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    loads = Loads()
    with pytest.raises(UsageError, match="no such file"):
        extract([tmp_path / "nowhere"], NOTE, out, loads.source())
    assert not out.exists()
    with pytest.raises(UsageError, match="cannot be written"):
        extract([folder], NOTE, folder / "0.txt", loads.source())
    with pytest.raises(UsageError, match="workers"):
        RunOptions(workers=0)
    with pytest.raises(UsageError, match="min-confidence: expected 0 to 1, got 80"):
        RunOptions(min_confidence=80)
    with pytest.raises(UsageError, match="instant, low"):
        RunOptions(effort="huge")
    with pytest.raises(UsageError, match=r"model\.json"):
        model_source(str(tmp_path))
    with pytest.raises(UsageError, match="auto, cpu, cuda"):
        model_source(device="tpu")
    assert loads.count == 0


def test_a_schema_with_its_properties_in_another_order_goes_on_with_the_columns_of_the_first(tmp_path: Path) -> None:
    text, number = {"type": "string"}, {"type": ["number", "null"], "multipleOf": 0.01}
    around = {"title": "note", "type": "object", "required": ["name", "total"]}
    out = tmp_path / "out"
    for file, properties in (("A", {"name": text, "total": number}), ("B", {"total": number, "name": text})):
        (tmp_path / f"{file}.txt").write_text(f"name={file}\ntotal=7.50\n")
        source = load_schema({**around, "properties": properties})
        assert extract([tmp_path / f"{file}.txt"], source, out, READING).written == 1
    found = query(out, "select * from note order by name")
    assert found.columns[1:3] == ["name", "total"] and [row[1] for row in found.rows] == ["A", "B"]
    digest = found.rows[1][found.columns.index("document")]
    Corrector(out).correct(digest, "note", [Change(Action.VALUE, "/name", '"C"')], "ada")
    assert query(out, "select name, total from note order by name").rows[1][0] == "C"
