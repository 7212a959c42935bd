"""Training on corrected documents: cross-validation, interruption, and the decision about the candidate."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.tiny_network import VOCABULARY, tiny_network
from training.whole_model import save_network

from cinnabar.engine.models.identity import weights_fingerprint
from cinnabar.engine.models.reader.calibration import Calibration, Scale, load_calibration, save_calibration
from cinnabar.engine.training import trainer
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.pipeline import OpenedInput
from cinnabar.extraction.learning import improving
from cinnabar.extraction.learning.corrected_set import CorrectedSet
from cinnabar.extraction.learning.improving import (
    Improvement,
    Improver,
    Stage,
    TrainingSchedule,
    more_than_chance,
    schedule_for,
    steps_for,
)
from cinnabar.extraction.run.batch.improved_models import (
    candidate,
    discard_model,
    keep_model,
    kept_model,
    model_for,
    models_of,
)
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet
from cinnabar.schemas import SchemaSource, load_schema

KINDS = ("letter", "notice")
SCHEMA = {"title": "post", "type": "object", "required": ["kind"], "properties": {"kind": {"enum": [*KINDS]}}}


@pytest.fixture(scope="module", autouse=True)
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small model in the place of the shipped one."""
    folder = tmp_path_factory.mktemp("base")
    save_network(folder, tiny_network(), VOCABULARY, {"name": "tiny"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improving, "BASE", str(folder))
        yield folder


def improve(*given: Any, **options: Any) -> Improvement:
    return Improver(*given, **options).run()


def corrected(out: Path, kind: str, count: int = 12, partly: int = 0) -> CorrectedSet:
    """So many documents that a person said to be of this kind."""
    reads, truths = {}, []
    for number in range(count):
        text = f"Dear reader {number},\nnothing here says what it is.\n".encode()
        digest = hashlib.sha256(text).hexdigest()
        reads[digest] = OpenedInput(digest, digest, parse(text, f"{number}.txt"))
        truths.append({"file": digest, "truth": {"kind": kind}})
    loaded = load_schema(SCHEMA)
    source = SchemaSource("post", loaded.schema, None, loaded.fingerprint)
    return CorrectedSet(source, LabelledSet("post", out, tuple(truths), SCHEMA, {}), reads, partly, ())


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The kind that the untrained model gives less often."""
    out = tmp_path_factory.mktemp("asked")
    return min(KINDS, key=lambda kind: improve(corrected(out, kind, 10), out, steps=1).before)


@pytest.mark.slow
def test_documents_are_measured_by_models_that_were_not_trained_on_them(
    tmp_path: Path, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[list[str]] = []
    real = improving.labelled_passages

    def seen(documents: Any, *arguments: Any) -> Any:
        trained.append([one.file for one in documents])
        return real(documents, *arguments)

    monkeypatch.setattr(improving, "labelled_passages", seen)
    told: list[Stage] = []
    documents = corrected(tmp_path, wanted)
    found = improve(documents, tmp_path, steps=30, report=told.append)
    assert (found.documents, found.after, found.better) == (12, 1.0, True) and found.before <= 0.5
    (field,) = found.fields
    assert (field.field, field.before, field.after, field.support) == ("/kind", found.before, 1.0, 12)
    *folds, whole = trained
    every = {line["file"] for line in documents.labelled.truths}
    held = [every - set(files) for files in folds]
    assert [len(one) for one in held] == [3] * 4 and set().union(*held) == every == set(whole)
    assert {one.name for one in told} == {"measuring", "training", "comparing"}
    assert [one.done for one in told] == sorted(one.done for one in told) and told[-1].done == 1


@pytest.mark.slow
def test_the_candidate_is_a_model_and_nothing_else_is_left(tmp_path: Path, wanted: str) -> None:
    found = improve(corrected(tmp_path, wanted), tmp_path, steps=1)
    assert Path(found.model) == candidate(tmp_path, "post")
    assert (candidate(tmp_path, "post") / "model.json").is_file()
    assert not [*tmp_path.rglob("checkpoint.pt")] and not [*(models_of(tmp_path, "post") / "training").glob("*")]
    assert json.loads((candidate(tmp_path, "post") / "improvement.json").read_text())["after"] == found.after


@pytest.mark.slow
@pytest.mark.parametrize("steps", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_training_that_was_interrupted_goes_on(
    tmp_path: Path, wanted: str, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    whole = improve(corrected(tmp_path / "whole", wanted), tmp_path / "whole", steps=steps)
    calls: list[str] = []
    real: Callable[..., None] = improving.train

    def counted(network: Any, sources: Any, *arguments: Any) -> None:
        calls.append(sources[0].name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(network, sources, *arguments)

    monkeypatch.setattr(improving, "train", counted)
    with pytest.raises(KeyboardInterrupt):
        improve(corrected(tmp_path, wanted), tmp_path, steps=steps)
    found = improve(corrected(tmp_path, wanted), tmp_path, steps=steps)
    assert calls == ["fold-0", "fold-1", "fold-2", "fold-2", "fold-3", "whole"]
    assert _figures(found) == _figures(whole)


def _figures(found: Improvement) -> tuple[Any, ...]:
    return found.before, found.after, found.fields


@pytest.mark.slow
def test_other_corrections_begin_anew(tmp_path: Path, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(improving, "train", cut)
        with pytest.raises(KeyboardInterrupt):
            improve(corrected(tmp_path, wanted), tmp_path, steps=1)
    (stale,) = (models_of(tmp_path, "post") / "training").iterdir()
    improve(corrected(tmp_path, wanted, 11), tmp_path, steps=1)
    assert not stale.exists()


@pytest.mark.slow
def test_the_scales_are_fitted_anew_on_what_models_read_that_were_not_trained_on_it(
    tmp_path: Path, base: Path, wanted: str
) -> None:
    fitted_for, unsure = weights_fingerprint(base), Scale(0.0, {"posterior": 0.1})
    save_calibration(base, Calibration(unsure, unsure, unsure, fitted_for))
    found = improve(corrected(tmp_path, wanted), tmp_path, steps=30)
    (base / "calibration.json").unlink()
    assert found.confidence is not None and found.confidence.better and found.confidence.after < 0.5
    kept = load_calibration(Path(found.model), weights_fingerprint(found.model))
    assert kept is not None and kept.values != unsure and kept.rows == unsure
    assert found.gain[0] > 0.0


@pytest.mark.parametrize(("better", "worse", "tells"), [(0, 0, False), (3, 2, False), (5, 7, False), (1, 9, True)])
def test_a_few_documents_read_worse_are_told_as_too_few_to_tell(better: int, worse: int, tells: bool) -> None:
    assert more_than_chance(better, worse) is tells


def test_too_few_documents_are_told_with_what_is_missing(tmp_path: Path) -> None:
    told = r"at least 10 corrected documents, found 9 \(3 more .* not accepted as a whole"
    with pytest.raises(UsageError, match=told):
        improve(corrected(tmp_path, "letter", 9, partly=3), tmp_path)


@pytest.mark.parametrize(
    "seconds, pace, schedule",
    [
        (10_000, 0.5, TrainingSchedule(4, 110)),
        (110 * 4 * 0.5, 0.5, TrainingSchedule(3, 110)),
        (110 * 3 * 0.5, 0.5, TrainingSchedule(2, 110)),
        (60 * 3 * 0.5, 0.5, TrainingSchedule(2, 60)),
        (-5, 0.5, TrainingSchedule(2, improving.LEAST_STEPS)),
    ],
    ids=["time for all", "fewer folds first", "two at least", "then fewer steps", "never fewer than these"],
)
def test_folds_and_steps_fit_into_the_time(seconds: float, pace: float, schedule: TrainingSchedule) -> None:
    assert steps_for(20) == 110
    assert schedule_for(20, seconds, pace) == schedule


@pytest.mark.slow
def test_the_pace_of_this_machine_is_measured_once(
    tmp_path: Path, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(improving, "steps_for", lambda _: 3)
    found = improve(corrected(tmp_path, wanted), tmp_path)
    assert found.documents == 12 and not [*tmp_path.rglob("pace")]


@pytest.mark.slow
def test_the_minutes_are_those_of_the_clock_also_if_steps_become_slow(
    tmp_path: Path, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, steps = trainer.collate, 0

    def slow(*arguments: Any) -> Any:
        # Other work on the machine takes the time; none of it is this process's own. It begins after the planning.
        nonlocal steps
        steps += 1
        time.sleep(0.02 if steps < 10 else 0.4)
        return real(*arguments)

    monkeypatch.setattr(trainer, "collate", slow)
    documents, told = corrected(tmp_path, wanted), []
    begun = time.monotonic()
    improve(documents, tmp_path, report=told.append, minutes=0.1)
    # All else is one step of each training, which is made in any case, reading and storing.
    assert time.monotonic() - begun < 6 + 5 * 0.4 + 6
    left = [stage.left for stage in told]
    assert left[0] is not None and 4 < left[0] <= 6 and left == sorted(left, reverse=True)


@pytest.mark.slow
def test_a_kept_candidate_is_in_use_until_another_is_kept(tmp_path: Path, wanted: str) -> None:
    documents = corrected(tmp_path, wanted)
    assert model_for(tmp_path, ["post"], None) == "default" and kept_model(tmp_path, "post") is None
    with pytest.raises(UsageError, match="expected a trained model that waits"):
        keep_model(tmp_path, "post")
    improve(documents, tmp_path, steps=1)
    assert model_for(tmp_path, ["post"], None) == "default"
    current = keep_model(tmp_path, "post")
    assert current == kept_model(tmp_path, "post") and not candidate(tmp_path, "post").exists()
    assert model_for(tmp_path, ["post"], None) == str(current)
    assert model_for(tmp_path, ["post"], "default") == "default"
    assert model_for(tmp_path, ["other"], None) == model_for(tmp_path, ["post", "other"], None) == "default"
    first = (current / "model.json").read_bytes()
    improve(documents, tmp_path, steps=2)
    assert (current / "model.json").read_bytes() == first
    keep_model(tmp_path, "post")
    assert (current / "model.json").read_bytes() != first
    assert sorted(path.name for path in models_of(tmp_path, "post").iterdir() if path.name != "training") == ["current"]


@pytest.mark.slow
def test_a_discarded_candidate_leaves_the_model_in_use(tmp_path: Path, wanted: str) -> None:
    improve(corrected(tmp_path, wanted), tmp_path, steps=1)
    discard_model(tmp_path, "post")
    assert not candidate(tmp_path, "post").exists() and kept_model(tmp_path, "post") is None
    with pytest.raises(UsageError, match="expected a trained model that waits"):
        discard_model(tmp_path, "post")


@pytest.mark.slow
def test_a_keeping_that_was_cut_leaves_a_model_in_use(tmp_path: Path, wanted: str) -> None:
    improve(corrected(tmp_path, wanted), tmp_path, steps=1)
    current = keep_model(tmp_path, "post")
    shutil.move(current, current.with_name("before"))
    assert kept_model(tmp_path, "post") == current.with_name("before")
