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
from bench.engine.held_back import answers_of
from bench.engine.mending import WrongToken
from bench.engine.sharing import reads
from bench.engine.validity import Counts, try_case
from bench.engine.workload import TimedDenoiser, Work, record_of, value_f1, work_of
from bench.schema_suites import Case
from tiny_checkpoint import write_checkpoint
from training.diffusion.pages import Page, Pages

from cinnabar.engine.diffusion.decoded import Decoded
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


def test_a_wrong_token_leaves_a_record_possible(model: LanguageModel, work: Work) -> None:
    denoiser = Denoiser(model.decoder, model.tokenizer, "low")
    (plain,) = denoiser.decode([work.task])
    texts = set()
    for seed in range(4):
        edit = WrongToken(1, random.Random(seed), denoiser.end)
        (found,) = denoiser.decode([work.task], edit=edit)
        assert edit.put and isinstance(found, Decoded) and work.accepts(found.text)
        texts.add(found.text)
    # Without masking anything again the record is another one.
    assert isinstance(plain, Decoded) and plain.text not in texts


def test_time_of_prompts_is_apart(model: LanguageModel, work: Work) -> None:
    denoiser = TimedDenoiser(model.decoder, model.tokenizer, "medium")
    denoiser.decode([work.task])
    assert denoiser.prefill > 0 and denoiser.decoding > 0


def test_reads_of_shared_positions_are_counted(model: LanguageModel, work: Work) -> None:
    counts, hook = reads(model.decoder, 3)
    for _ in range(2):
        Denoiser(model.decoder, model.tokenizer, "instant").decode([work.task])
    hook.remove()
    Denoiser(model.decoder, model.tokenizer, "instant").decode([work.task])
    assert counts == [2, 2, 2]


def test_both_answers_of_a_page_are_known() -> None:
    for seed in range(20):
        page = Pages(held_back=True).two_answers(random.Random(seed))
        ((name, both),) = answers_of(page).items()
        assert page.record[name] in both and both[0] != both[1]
        assert f"{both[0]} or {both[1]}" in page.text


def test_values_are_scored_and_a_missing_record_has_none() -> None:
    pages = [Page(SCHEMA, "", {"code": "A-17", "count": 7}), Page(SCHEMA, "", {"code": "B-29", "count": 8})]
    assert value_f1(pages, [{"code": "A-17", "count": 7}, {"code": "B-29", "count": 8}]) == 1.0
    assert value_f1(pages, [{"code": "A-17", "count": 7}, None]) == pytest.approx(2 / 3, abs=1e-3)
    assert (record_of(b'{"code": "A-17"}'), record_of(b"{")) == ({"code": "A-17"}, None)


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
    assert {"validity", "pages", "share"} <= measures().keys()


def test_the_record_of_a_page_is_one_that_its_task_allows(model: LanguageModel) -> None:
    for seed in range(5):
        page = Pages(held_back=True).labelled(random.Random(seed))
        work = work_of(model, page)
        text = json.dumps(page.record, ensure_ascii=False)
        assert work.accepts(text.encode()) and work.task.graph.run(model.tokenizer.encode(text)) >= 0
