"""Fine-tuning a model on labelled documents: it is written only where it measures better than its base."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import VOCABULARY, passage_of, tiny_network

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.reader.loading import load_model, save_network
from cinnabar.engine.models.weights import save_difference
from cinnabar.engine.request import Filled, Request
from cinnabar.engine.training.trainer import Patience, TrainingConfig
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.routing.examples import load_examples
from cinnabar.extraction.learning.fine_tuning import FineTuning, fine_tune, minutes_for
from cinnabar.extraction.learning.thresholds import MEASURED, PARTS_APART, STOPPING
from cinnabar.extraction.learning.tuning_sets import FineTuned, parts_of
from cinnabar.extraction.run.work.labelled_sets import mark_of
from cinnabar.schemas import compile_schema, load_schema

KINDS = ("letter", "notice")
SCHEMA = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": [*KINDS]}}}
SETTINGS = FineTuning(steps=40, patience=Patience(every=10))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    save_network(folder, tiny_network(), VOCABULARY, {"name": "tiny"})
    return folder


def text_of(number: int) -> str:
    return f"Dear reader {number},\nnothing here says what it is.\n"


def guess(base: Path) -> str:
    """The base's answer for these documents."""
    request = Request("a", compile_schema(SCHEMA).form, passage_of(text_of(0)))
    result = Engine(load_model(base, "cpu")).fill([request])[0]
    assert isinstance(result, Filled)
    return str(json.loads(result.record)["kind"])


def write_set(folder: Path, truth: Any, count: int = 14) -> Path:
    folder.mkdir()
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    lines = []
    for i in range(count):
        (folder / f"{i}.txt").write_text(text_of(i))
        lines.append(json.dumps({"file": f"{i}.txt", "truth": truth}))
    (folder / "truth.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def tuned(folder: Path, base: Path, out: Path, settings: FineTuning = SETTINGS) -> FineTuned:
    return fine_tune([folder], base, out, settings, "cpu", lambda _: None)


def wanted(base: Path) -> str:
    """An answer that the base does not give for these documents."""
    return next(kind for kind in KINDS if kind != guess(base))


@pytest.fixture(scope="module")
def better(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FineTuned, list[dict[str, float]]]:
    """A training that helps: a folder with its set `letters` and its model `own`, what it found, and its reports."""
    folder = tmp_path_factory.mktemp("better")
    letters = write_set(folder / "letters", {"kind": wanted(base)})
    reported: list[dict[str, float]] = []
    return folder, fine_tune([letters], base, folder / "own", SETTINGS, "cpu", reported.append), reported


@pytest.mark.slow
def test_a_model_that_measures_better_is_written_and_can_be_used(base: Path, better: Any) -> None:
    folder, done, reported = better
    (result,) = done.sets
    assert (result.name, result.trained, result.checked, result.measured) == ("letters", 11, 3, 3)
    assert (result.before["f1"], result.after["f1"], done.kept, result.apart) == (0.0, 1.0, True, False)
    assert result.after["fields"]["/kind"]["f1"] == 1.0
    measured = [row["held_back"] for row in reported if "held_back" in row]
    assert measured[0] == 0.0 and measured[-1] == 1.0
    assert guess(folder / "own") == wanted(base)
    assert not [*(folder / "own").rglob("checkpoint.pt")]


def test_only_what_changed_is_stored_beside_the_name_of_the_base(base: Path, better: Any) -> None:
    folder, done, _ = better
    said = json.loads((folder / "own" / "model.json").read_text())
    assert said["base"]["fingerprint"] == load_model(base, "cpu").fingerprint
    assert (folder / "own" / said["base"]["name"]).samefile(base)
    assert said["sources"] == ["letters"]
    trained = parts_of([f"{i}.txt" for i in range(14)]).trained
    assert said["trained"] == {"letters": sorted(map(mark_of, trained))}
    files = {path.name for path in (folder / "own").iterdir() if path.is_file()}
    kept = {"model.json", "difference.safetensors", "kinds.safetensors"}
    assert {re.sub("-[0-9a-f]{12}", "", name) for name in files} == kept
    # The vectors of the training documents, by which --route knows their kind.
    (vectors,) = load_examples(folder / "own").vectors.items()
    assert vectors[0] == load_schema(folder / "letters" / "schema.json").fingerprint and len(vectors[1]) == 11
    whole = sum(path.stat().st_size for path in base.iterdir())
    assert done.size < whole / 20


def test_a_model_that_measures_no_better_is_not_written(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "letters", {"kind": guess(base)})
    done = tuned(folder, base, tmp_path / "own", FineTuning(steps=2))
    (result,) = done.sets
    assert not done.kept and result.after["f1"] <= result.before["f1"] == 1.0
    assert not (tmp_path / "own" / "model.json").exists()


class Cut(BaseException):
    """Stop a run, as an interrupt from the keyboard would."""


@dataclass(frozen=True, slots=True)
class SavedAtEveryStep(FineTuning):
    """Settings with a checkpoint and a measurement after every step."""

    def config(self, documents: int) -> TrainingConfig:
        return replace(super(SavedAtEveryStep, self).config(documents), save_every=0.0)


@pytest.mark.slow
def test_an_interrupted_run_resumes_and_a_finished_one_begins_anew(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "letters", {"kind": wanted(base)})
    settings = SavedAtEveryStep(steps=8, patience=Patience(every=0.0, checks=10_000))

    def steps(until: float) -> list[float]:
        seen: list[float] = []

        def report(row: dict[str, float]) -> None:
            seen.append(row["step"])
            if row["step"] >= until:
                raise Cut

        with suppress(Cut):
            fine_tune([folder], base, tmp_path / "own", settings, "cpu", report)
        return seen

    assert steps(3)[0] == 0
    assert steps(10_000)[0] >= 2
    assert steps(1)[0] == 0


def test_too_few_documents_are_an_error(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "few", {"kind": "letter"}, count=4)
    with pytest.raises(UsageError, match=r"few: expected at least 10 labelled documents .* found 4"):
        tuned(folder, base, tmp_path / "own")


def test_the_base_is_never_overwritten(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "letters", {"kind": "letter"})
    with pytest.raises(UsageError, match="expected a folder other than that of the base"):
        tuned(folder, base, base)


@pytest.mark.slow
def test_the_bases_of_the_base_are_never_overwritten(base: Path, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "letters", {"kind": wanted(base)})
    assert tuned(folder, base, tmp_path / "first").kept
    save_difference(tmp_path / "second", {}, tmp_path / "first", {"name": "second"})
    for out in (tmp_path / "first", base):
        with pytest.raises(UsageError, match="expected a folder other than that of the base and its own bases"):
            tuned(folder, tmp_path / "second", out)


@given(st.integers(10, 400), st.integers(0, 1000), st.integers(0, 2**31))
def test_the_parts_of_a_set_are_disjoint_and_the_same_in_any_order(count: int, first: int, seed: int) -> None:
    files = [f"docs/{first + i}.txt" for i in range(count)]
    parts = parts_of(files)
    assert parts_of(Random(seed).sample(files, count)) == parts
    assert set(parts.checked).isdisjoint(parts.measured) == (count >= PARTS_APART)
    assert sorted({*parts.trained, *parts.checked, *parts.measured}) == sorted(files)
    assert not set(parts.trained) & {*parts.checked, *parts.measured}
    assert 2 <= len(parts.measured) <= MEASURED and len(parts.checked) <= max(STOPPING, PARTS_APART // 5)
    assert len(parts.trained) >= count * 0.68


def test_more_documents_get_more_minutes() -> None:
    assert (minutes_for(20), minutes_for(200), minutes_for(5000)) == (4.3, 11.5, 12.0)
