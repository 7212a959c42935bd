"""Engine processes: a run with several writes the same rows in the same order, also if engines die."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.begun_runs import begun_backfill
from tests.support.dying_model import DyingModel, missing
from tests.support.notes import NAMES_ALONE, NOTE, write_notes
from tests.support.told_progress import Told

from cinnabar.errors import ModelError, UsageError
from cinnabar.extraction.filling.model_sources import ModelByName, ModelSource, model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.engines.pool import engines_of
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query

# Each process imports PyTorch when it starts, which takes long on a machine busy with other work.
pytestmark = pytest.mark.timeout(600)


def source(load: Any = DyingModel) -> ModelSource:
    return ModelSource("reading", load)


def options(engines: str = "1") -> RunOptions:
    return RunOptions(workers=1, batch=3, engines=engines, on_empty="write")


def rows(out: Path) -> list[Any]:
    """All rows that a run wrote, except its id and its times."""
    return [
        sorted(query(out, f"select {columns} from {table}").rows, key=str)
        for table, columns in (
            ("records", "document, engine_fingerprint, confidence, flags, record_json"),
            ("fields", "document, pointer, value_json, confidence, origin, page, spans, flags"),
            ("outcomes", "path, outcome, code, detail, document, duplicate_of"),
        )
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = write_notes(tmp_path / "docs", 11)
    # Longer than others wait for, so it comes last.
    (docs / "05.txt").write_text("name=Long\ntotal=5\n" + "word " * 20_000)
    return docs


@pytest.mark.slow
def test_three_engines_write_the_rows_of_one_in_its_order(folder: Path, tmp_path: Path) -> None:
    orders = {"1": Told(), "3": Told()}
    found = {
        engines: extract([folder], NOTE, tmp_path / engines, source(), options(engines), order)
        for engines, order in orders.items()
    }
    assert rows(tmp_path / "3") == rows(tmp_path / "1")
    assert orders["3"].names == orders["1"].names and orders["3"].names[-1] == "05"
    assert found["3"].steps == found["1"].steps > 0
    assert (found["3"].written, found["3"].quarantined, found["3"].skipped) == (11, 2, 1)


@pytest.mark.slow
def test_engines_batches_and_orders_change_no_record_of_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path / "kept"))
    texts = [f"Note {n}\n\nName: Firm {n}\n" + f"Line {n}.\n" * (n % 9) + f"Total: {n * 7}.50\n" for n in range(70)]
    paths = [tmp_path / f"{number:02}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    shuffled = random.Random(0).sample(paths, len(paths))
    model = ModelSource("reading", ModelByName("default", "cpu"))
    ways = [("1", 64, paths), ("1", 1, shuffled), ("4", 1, paths), ("4", 64, shuffled)]
    outs = [tmp_path / f"out-{number}" for number in range(len(ways))]
    for out, (engines, batch, order) in zip(outs, ways, strict=True):
        found = extract(order, NOTE, out, model, RunOptions(workers=1, batch=batch, engines=engines))
        assert found.written == len(paths)
    first, *others = map(rows, outs)
    assert len(first[0]) == len(paths) and all(other == first for other in others)


@pytest.mark.slow
def test_a_batch_whose_engine_dies_once_is_filled_by_another(folder: Path, tmp_path: Path) -> None:
    (folder / "03.txt").write_text(f"name=N3\ntotal=3.50\nonce={tmp_path / 'died'}\n")
    extract([folder], NOTE, tmp_path / "3", source(), options("2"))
    assert (tmp_path / "died").exists()
    extract([folder], NOTE, tmp_path / "1", source(), options())
    assert rows(tmp_path / "3") == rows(tmp_path / "1")


@pytest.mark.slow
@pytest.mark.slow
def test_a_document_whose_engines_die_is_quarantined_and_no_other(folder: Path, tmp_path: Path) -> None:
    (folder / "03.txt").write_text("name=N3\nDIE\n")
    found = extract([folder], NOTE, tmp_path / "out", source(), options("2"))
    assert (found.written, found.reasons["engine_died"], sum(found.reasons.values())) == (10, 1, 3)
    told = query(tmp_path / "out", "select path, detail from outcomes where code = 'engine_died'").rows
    assert [(Path(path).name, "ended by signal 9" in detail) for path, detail in told] == [("03.txt", True)]


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_fails_the_run_as_in_one_process(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="its weights are not there"):
        extract([folder], NOTE, tmp_path / "out", source(missing), options("2"))
    assert not query(tmp_path / "out", "select * from outcomes where outcome = 'written'").rows


@pytest.mark.slow
@pytest.mark.slow
def test_a_backfill_with_engines_writes_the_rows_of_one(folder: Path, tmp_path: Path) -> None:
    for engines in ("1", "2"):
        out = tmp_path / engines
        extract([folder], NAMES_ALONE, out, source(), options())
        with begun_backfill(NOTE, out, source(), None, options(engines)).run as begun:
            assert begun.work_through().written == 11
    assert rows(tmp_path / "2") == rows(tmp_path / "1")


def test_auto_is_one_engine_a_processor_for_models_on_processors() -> None:
    local = Assignment(NOTE, model_source("default", "cpu"), options("auto"))
    assert engines_of(local) == len(os.sched_getaffinity(0))
    assert engines_of(Assignment(NOTE, source(), options("7"))) == 7


def test_a_model_behind_a_server_has_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", "key")
    remote = model_source("mercury-2")
    assert engines_of(Assignment(NOTE, remote, options("auto"))) == 1
    with pytest.raises(UsageError, match="--engines 2: expected 1 or auto with a model behind a server"):
        engines_of(Assignment(NOTE, remote, options("2")))


@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5", ""])
def test_another_number_of_engines_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="--engines: expected auto or a number from 1 to 999, got"):
        options(wrong)
