"""The measures of the engine's report count what they say."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.engine import validity
from bench.engine.__main__ import main, measures
from bench.engine.figures import Figure, Settings
from bench.engine.validity import Counts, try_case
from bench.engine.workload import Work, work_of
from bench.schema_suites import Case
from tests.support.tiny_checkpoint import write_checkpoint
from training.diffusion.pages import Page, Pages

from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"enum": ["A-17", "B-29"]}, "count": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["code", "count"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"), block=8)


@pytest.fixture(scope="module")
def model(folder: Path) -> LanguageModel:
    return load_language_model(folder, "cpu", "float32")


@pytest.fixture(scope="module")
def work(model: LanguageModel) -> Work:
    return work_of(model, Page(SCHEMA, "code: A-17", {"code": "A-17", "count": 7}))


def test_records_and_states_under_random_weights_are_judged(model: LanguageModel) -> None:
    counts = Counts()
    for seed in range(3):
        try_case(Case("one", SCHEMA, []), "medium", model.traits, model.tokenizer, seed, counts)
    assert (counts.decoded, counts.faulty, counts.refused) == (3, 0, 0) and counts.states >= 6


def test_an_invalid_state_is_a_fault(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(Denoiser):
        def decode(self, tasks: Any, observer: Any = None, **_: Any) -> Any:
            (found,) = super().decode(tasks, observer)
            observer(9, [b'{"code": "C", "count": 1}'])
            return [found]

    monkeypatch.setattr(validity, "Denoiser", Faulty)
    counts = Counts()
    try_case(Case("one", SCHEMA, []), "low", model.traits, model.tokenizer, 0, counts)
    assert counts.faulty == 1 and counts.faults[0].startswith("one: refused by the judge")


def test_the_report_names_what_misses(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures: Sequence[Figure] = (Figure("one", "1", "1", True), Figure("two", "2", "3", False), Figure("3", "-", "-"))
    monkeypatch.setattr("bench.engine.__main__.measures", lambda: {"some": lambda _: iter(figures)})
    assert main(["--model", str(folder), "--only", "some"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == ["| one | 1 | 1 | kept |", "| two | 2 | 3 | **not kept** |", "| 3 | - | - |  |"]


def test_numbers_of_documents_follow_the_scale() -> None:
    assert [Settings(Path(), Path(), scale).some(30) for scale in (1.0, 0.1, 0.001)] == [30, 3, 1]
    assert {"validity", "states", "share"} <= measures().keys()


def test_the_record_of_a_page_is_one_that_its_task_allows(model: LanguageModel) -> None:
    for seed in range(5):
        page = Pages(held_back=True).labelled(random.Random(seed))
        work = work_of(model, page)
        text = json.dumps(page.record, ensure_ascii=False)
        assert work.accepts(text.encode()) and work.task.graph.run(model.tokenizer.encode(text)) >= 0
