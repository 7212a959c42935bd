"""`cinnabar improve`: corrected documents train a model, and the kept one reads from the next run on."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.corrected_folder import SCHEMA, leaves_of
from tests.support.corrected_folder import run as run_engine
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.whole_model import save_network

from cinnabar.apps.cli.improve import _show, _StageReport
from cinnabar.apps.cli.main import run
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.learning import improving
from cinnabar.extraction.learning.corrected_set import corrected_set
from cinnabar.extraction.learning.improving import Improvement, Stage
from cinnabar.extraction.learning.refitting import Refit
from cinnabar.extraction.run.batch.labelled_sets import mark_of
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import DocumentInfo, Outcome, Record
from cinnabar.schemas import compile_schema

TRAIN = ("--steps", "1", "--events")
CaptureResult = pytest.CaptureFixture[str]


@pytest.fixture(scope="module", autouse=True)
def _base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A small model in the place of the shipped one."""
    folder = tmp_path_factory.mktemp("base")
    save_network(folder, tiny_network(), VOCABULARY, {"name": "tiny"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improving, "BASE", str(folder))
        yield


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve files and a folder with their records; ten were accepted as a whole, and one in a part."""
    folder = tmp_path_factory.mktemp("accepted")
    with chdir(folder):
        files = [Path(f"{number}.txt") for number in range(12)]
        outcomes = []
        for number, file in enumerate(files):
            file.write_text(f"Bill {number} of the seller S.\n1 x chair 12\nTotal 12\n")
            value = {"number": str(number), "total": 12, "lines": [{"item": "chair", "price": 12}]}
            outcomes.append(_outcome(file, value))
        run_engine(Path("out"), outcomes=outcomes, paths=[*map(str, files)])
        corrector = Corrector(Path("out"))
        for file in files[:10]:
            corrector.correct(_digest(file), "bill", [Change(Action.ACCEPT, "")], "eva")
        corrector.correct(_digest(files[10]), "bill", [Change(Action.ACCEPT, "/number")], "eva")
    return folder


@pytest.fixture
def out(accepted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results in a copy of that folder, in which the commands run."""
    shutil.copytree(accepted, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy" / "out"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _outcome(file: Path, value: dict[str, Any]) -> Outcome:
    size = file.stat().st_size
    document = DocumentInfo(_digest(file), "text/plain", size, 0, 1, size)
    text, rows = compile_schema(SCHEMA).canonical(value), {"/lines/0": 0.7}
    record = Record.of(text, leaves_of(value), (), rows, {"/lines": 0.8})
    return Outcome(str(file), "written", digest=document.digest, document=document, record=record)


@pytest.mark.slow
def test_only_documents_that_somebody_looked_at_as_a_whole_are_taken(out: Path) -> None:
    found = corrected_set(out, "bill")
    assert (len(found.labelled.truths), found.partly, found.missing) == (10, 1, ())
    corrector, digest = Corrector(out), _digest(out.parent / "10.txt")
    corrector.correct(digest, "bill", [Change(Action.VALUE, "/total", "13.5"), Change(Action.ACCEPT, "/lines")], "eva")
    again = corrected_set(out, "bill")
    assert (len(again.labelled.truths), again.partly) == (11, 0)
    truth = next(line["truth"] for line in again.labelled.truths if line["file"] == digest)
    # Plain JSON, as the truth of a set: scores and labels compare its numbers.
    assert json.loads(json.dumps(truth)) == {"number": "10", "total": 13.5, "lines": [{"item": "chair", "price": 12}]}


@pytest.mark.slow
def test_events_tell_the_progress_and_the_result_a_line_each(out: Path, capsys: CaptureResult) -> None:
    assert run(["improve", "bill", "--out", str(out), *TRAIN]) == 0
    *progress, result = map(json.loads, capsys.readouterr().out.splitlines())
    assert {one["event"] for one in progress} == {"progress"} and progress[0]["stage"] == "reading"
    assert all(set(one) == {"event", "stage", "done", "seconds", "f1", "left"} for one in progress)
    assert result["event"] == "result" and result["documents"] == 10
    assert {"before", "after", "better", "model"} <= set(result) and result["fields"][0]["field"].startswith("/")
    assert Path(result["model"]) == out / "models" / "bill" / "candidate"


def test_before_and_after_are_told_with_a_range_and_a_truer_confidence_is_reason_enough_to_keep_a_model(
    capsys: CaptureResult,
) -> None:
    truer = Refit(0.21, 0.08, 0.05, 0.12)
    same = Improvement(12, 0.66, 0.66, (), "m", False, 9.0, tells=False, gain=(-0.03, 0.04), confidence=truer)
    _show(same, "bill", Path("out"))
    told = capsys.readouterr().out
    assert "0.66 before, 0.66 after (9 s); of other such documents -0.03 to +0.04 is likely" in told
    assert "fitted anew: off by 21% before, 8% after a fit on other documents (5% to 12% is likely)" in told
    assert "use it from the next run on" in told
    _show(replace(same, confidence=replace(truer, before=0.05)), "bill", Path("out"))
    told = capsys.readouterr().out
    assert "left as it is: off by 5% before" in told and "not better" in told
    _show(replace(same, tells=True), "bill", Path("out"))
    assert "not better" in capsys.readouterr().out


def test_a_silent_stage_is_told_again_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.apps.cli.improve.LINE_SECONDS", 0.05)
    told: list[tuple[Stage, bool]] = []
    with _StageReport(lambda stage, again: told.append((stage, again))) as report:
        report(Stage("reading", 0.0, 0.0, left=6.0))
        time.sleep(0.3)
    assert [again for _, again in told[:3]] == [False, True, True]
    left = [stage.left for stage, _ in told]
    assert left[0] == 6.0 and left == sorted(left, reverse=True) and left[-1] < 6.0


@pytest.mark.slow
def test_forgetting_a_document_removes_what_an_interrupted_training_left(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(improving, "train", cut)
    assert run(["improve", "bill", "--out", str(out), *TRAIN]) == 1
    left = out / "models" / "bill" / "training"
    assert [*left.rglob("before.json")]
    assert run(["forget", "0.txt", "--out", str(out), "--yes"]) == 0
    assert not left.exists()


@pytest.mark.slow
def test_the_kept_model_reads_from_the_next_run_on_unless_another_is_named(out: Path, capsys: CaptureResult) -> None:
    schema, new = out.parent / "schema.json", out.parent / "new.txt"
    schema.write_text(json.dumps(SCHEMA))
    new.write_text("Bill 77\nTotal 12\n")
    assert run(["improve", "bill", "--out", str(out), *TRAIN]) == 0
    assert run(["improve", "bill", "--out", str(out), "--keep", "--no-again"]) == 0
    capsys.readouterr()
    extract = ["extract", str(new), "--schema", str(schema), "--out", str(out)]
    assert run(extract) == 0
    current = out / "models" / "bill" / "current"
    assert f"model {current}, kept by `improve`" in capsys.readouterr().err
    last = "SELECT arguments FROM runs ORDER BY run_id DESC LIMIT 1"
    assert str(current) in str(query(out, last).rows)
    # What people said stays.
    people = query(out, "SELECT count(DISTINCT document) FROM fields WHERE origin = 'human'").rows
    assert people == [(11,)]
    assert run([*extract, "--model", str(improving.BASE)]) == 0
    assert "kept by" not in capsys.readouterr().err and str(current) not in str(query(out, last).rows)


def test_a_labelled_set_trains_a_model_of_a_folder_without_results(out: Path, capsys: CaptureResult) -> None:
    (labelled := out.parent / "set").mkdir()
    (labelled / "schema.json").write_text(json.dumps(SCHEMA))
    lines = []
    for number in range(10):
        shutil.copy(out.parent / f"{number}.txt", labelled)
        truth = {"number": str(number), "total": 12, "lines": [{"item": "chair", "price": 12}]}
        lines.append(json.dumps({"file": f"{number}.txt", "truth": truth}))
    (labelled / "truth.jsonl").write_text("\n".join(lines[:9]))
    new = str(out.parent / "new")
    train = ["improve", "--set", str(labelled), "--out", new, "--steps", "1"]
    assert run(train) == 2
    assert "expected at least 10 corrected documents, found 9" in capsys.readouterr().err
    (labelled / "truth.jsonl").write_text("\n".join(lines))
    assert run([*train, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 10
    assert run(["improve", "bill", "--out", new, "--keep"]) == 0
    about = json.loads((out.parent / "new" / "models" / "bill" / "current" / "model.json").read_text())
    assert about["trained"] == {"set": sorted(mark_of(f"{number}.txt") for number in range(10))}


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["bill", "--keep", "--discard"], "at most one of them"),
        (["bill", "--minutes", "0"], "--minutes: expected a finite number above 0"),
        (["bill", "--minutes", "2", "--steps", "2"], "without --steps"),
        (["bill", "--steps", "0"], "--steps: expected at least 1"),
        (["invoice"], "expected a schema that"),
        ([], "SCHEMA: expected the name of a schema in --out, or --set with a labelled set"),
        (["bill", "--set", "."], "--set: expected without SCHEMA, --keep and --discard"),
        (["--set", ".", "--keep"], "--set: expected without SCHEMA, --keep and --discard"),
        (["--set", "nowhere"], "nowhere/schema.json"),
    ],
)
def test_wrong_use_is_told_before_any_work(
    out: Path, arguments: list[str], told: str, capsys: CaptureResult
) -> None:
    assert run(["improve", *arguments, "--out", str(out)]) == 2
    assert told in capsys.readouterr().err
