"""A folder goes on with the model that it began with: the reader, or a fetched language model beside it."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from tests.support.fetched_release import NAME, fetched_release
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.whole_model import save_network

from cinnabar.apps.cli.main import run
from cinnabar.engine.models.identity import weights_fingerprint
from cinnabar.engine.models.reader.calibration import Calibration, Scale, save_calibration
from cinnabar.extraction.filling.overlay.given import known_to_model
from cinnabar.extraction.filling.run_models import sources_of
from cinnabar.extraction.filling.stages import MergedRecord
from cinnabar.extraction.filling.tiers import escalate
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.spelling import began_below, began_with

SCHEMA: dict[str, Any] = {
    "title": "letter",
    "type": "object",
    "properties": {"name": {"type": ["string", "null"]}, "total": {"type": ["number", "null"]}},
    "required": ["name", "total"],
}


def write_letters(folder: Path) -> None:
    (folder / "letters").mkdir()
    for at, text in enumerate(("Dear Ann, the total is 12.50", "Dear Bob, 7 items are late")):
        (folder / "letters" / f"{at}.txt").write_text(text)
    (folder / "letter.json").write_text(json.dumps(SCHEMA))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two letters and a schema; models are fetched beside it."""
    write_letters(tmp_path)
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Such a folder with the results of both models in `both` and of the reader in `alone`, and what the first told."""
    made, told = tmp_path_factory.mktemp("begun"), io.StringIO()
    write_letters(made)
    fetch(made)
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(told):
        patch.setenv("CINNABAR_MODELS", str(made / "models"))
        patch.chdir(made)
        assert extract(out="both") == 0
        first = told.getvalue()
        assert extract("--model", "reader", out="alone") == 0
    assert NAME not in told.getvalue().removeprefix(first)
    return made, first


def begin(folder: Path, begun: Path, models: str = "both") -> None:
    """Fetches the model, and copies the results of a first run of these models."""
    fetch(folder)
    shutil.copytree(begun / models, folder / "tables")


def fetch(folder: Path) -> None:
    fetched_release(folder / "models")


def extract(*more: str, out: str = "tables") -> int:
    return run(["extract", "letters", "--schema", "letter.json", "--out", out, *more])


def test_a_new_folder_begins_with_the_fetched_model_and_goes_on_with_it(
    folder: Path, begun: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    begin(folder, begun[0])
    assert f"the reader, and {NAME} for documents of which it expects less than 100% to be right, about" in begun[1]
    assert "s more each; --model reader takes the reader alone" in begun[1]
    assert (began_with(folder / "tables"), began_below(folder / "tables")) == (NAME, 1.0)
    assert extract() == 0
    assert "skipped       2" in capsys.readouterr().out


def test_on_a_gpu_the_language_model_reads_all_fields_and_counts_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch(folder)
    monkeypatch.setattr("cinnabar.extraction.filling.run_models.on_gpu", lambda _: True)
    assert extract() == 0
    told = capsys.readouterr()
    assert f"{NAME} for all fields, on the GPU" in told.err
    assert f"4 fields escalated to {NAME}" in told.out
    _, one = sources_of(RunPlan.of(schemas=["letter.json"], model="auto", seconds_each=9.0), "auto")
    assert one is not None and one.prefer_confident


def test_a_model_that_is_fetched_later_reads_nothing_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert extract() == 0
    fetch(folder)
    capsys.readouterr()
    assert extract() == 0
    told = capsys.readouterr()
    assert NAME not in told.err
    assert "skipped       2" in told.out
    assert began_with(folder / "tables") is None


def test_the_reader_alone_is_named_so(begun: tuple[Path, str]) -> None:
    assert (began_with(begun[0] / "alone"), began_with(begun[0] / "both")) == (None, NAME)


def test_a_folder_whose_model_is_gone_says_how_to_go_on(
    folder: Path, begun: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    begin(folder, begun[0])
    shutil.rmtree(folder / "models")
    capsys.readouterr()
    assert extract() == 2
    told = capsys.readouterr().err
    assert f"cinnabar model fetch {NAME}" in told
    assert "--model reader" in told
    assert extract("--model", "reader") == 0


def test_a_kept_model_reads_with_the_language_model_of_its_folder_and_drops_what_it_kept_of_fields(
    folder: Path, begun: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    begin(folder, begun[0])
    kept = folder / "tables" / "models" / "letter" / "current"
    save_network(kept, tiny_network(), VOCABULARY, {"name": "letter"})
    own = Scale(0.0, {"posterior": 1.0})
    save_calibration(kept, Calibration(own, own, own, weights_fingerprint(kept)))
    capsys.readouterr()
    assert extract() == 0
    assert f"kept by `improve`, with {NAME} for documents of which it" in capsys.readouterr().err
    (kept / "preferred.json").write_text('{"model": "m", "fields": {"/name": true}}')
    before = Assignment.of(RunPlan.of(["letter.json"], folder / "tables"))
    assert before.escalation is not None and before.escalation.threshold == 1.0
    assert extract() == 0
    assert "the fields on which one of the two had the last word are as any other now" in capsys.readouterr().err


def test_a_backfill_asks_both_models_for_new_fields_alone(
    folder: Path, begun: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(folder, begun[0], "alone")
    before = query(folder / "tables", "SELECT path, name, total FROM letter ORDER BY path").rows
    later = SCHEMA | {"properties": {**SCHEMA["properties"], "late": {"type": ["boolean", "null"]}}}
    (folder / "letter.json").write_text(json.dumps(later))
    asked: list[dict[str, str | None]] = []

    def noted(merged: Sequence[MergedRecord], *more: Any) -> Any:
        asked.extend(known_to_model(one.given).known for one in merged)
        return escalate(merged, *more)

    monkeypatch.setattr("cinnabar.extraction.filling.pipeline.escalate", noted)
    backfill = ["backfill", "--schema", "letter.json", "--out", "tables", "--model", "auto", "--seconds-each", "0.0001"]
    assert run(backfill) == 0
    assert asked and all({"/name", "/total"} == known.keys() for known in asked)
    assert query(folder / "tables", "SELECT path, name, total FROM letter ORDER BY path").rows == before
    assert ["reader_alone"] in [row[0] for row in query(folder / "tables", "SELECT flags FROM letter").rows]
    assert run([*backfill[:-2], "--below", "1"]) == 0
    assert all("reader_alone" not in row[0] for row in query(folder / "tables", "SELECT flags FROM letter").rows)


def test_auto_without_a_fetched_model_says_how_to_get_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert extract("--model", "auto") == 2
    assert "cinnabar model fetch" in capsys.readouterr().err
    assert not (folder / "tables").exists()


def test_beyond_its_seconds_the_readers_values_stand_and_are_flagged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch(folder)
    assert extract("--seconds-each", "0.0001") == 0
    capsys.readouterr()
    assert run(["sql", "select flags from letter", "--out", "tables", "--json"]) == 0
    assert "reader_alone" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_seconds_of_each_document_need_a_second_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert extract("--model", "reader", "--seconds-each", "5") == 2
    assert "--seconds-each: expected --model auto" in capsys.readouterr().err
