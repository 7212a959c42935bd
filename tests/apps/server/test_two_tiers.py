"""`cinnabar serve --model auto`: the reader first, a fetched language model for what it doubts, as in a run."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.support.fetched_release import NAME, fetched_release
from tests.support.server_process import invoice, running

from cinnabar.apps.cli.main import run
from cinnabar.apps.cli.serve import model_of
from cinnabar.apps.server.app import text_document, text_passage
from cinnabar.apps.server.two_tiers import TwoTiers
from cinnabar.engine.chat.shared_engine import Awaited, SharedEngine
from cinnabar.engine.request import Failed, Filled, Filler, Leaf, Request, Result
from cinnabar.engine.settings import EFFORTS
from cinnabar.engine.work_time import GIVEN_UP
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.filling.run_models import Escalation, chosen_note, sources_of
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.store.spelling import begin_with
from cinnabar.schemas import compile_schema

NOTE: dict[str, Any] = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": ["string", "null"], "maxLength": 9}, "total": {"type": ["number", "null"]}},
    "required": ["name", "total"],
    "additionalProperties": False,
}
FORM = compile_schema(NOTE).form


class Sure(Filler):
    """A filler with the same values and confidence for each request, or none, which keeps what it was asked."""

    fingerprint, context_tokens = "sure", 4096

    def __init__(self, name: str, confidence: float, fails: bool = False) -> None:
        self.asked: list[Request] = []
        self._name, self._confidence, self._fails = name, confidence, fails

    def count_tokens(self, text: str) -> int:
        return len(text)

    def windows(self, passage: Any) -> list[tuple[int, int]]:
        return [(0, len(passage.text))]

    def fill(self, requests: Any, watcher: Any = None) -> list[Result]:  # noqa: ARG002
        self.asked += requests
        return [Failed(one.id, "too_slow") if self._fails else self._filled(one) for one in requests]

    def _filled(self, one: Request) -> Filled:
        record = {"name": self._name, "total": 7}
        leaves = {"/name": Leaf(json.dumps(self._name), self._confidence, slot=0), "/total": Leaf("7", 0.9)}
        return Filled(one.id, record, leaves, {}, 1, 0)


def answer(lower: Sure, upper: Sure, effort: str = "low") -> Filled:
    tiers = two(lower, upper)
    try:
        asked = tiers.submit(Request("a", FORM, text_passage("Name: Ann, total 7\n")), EFFORTS[effort])
        result = asked.result.result(20)
    finally:
        tiers.close()
    assert isinstance(result, Filled)
    return result


def two(lower: Sure, upper: Sure) -> TwoTiers:
    engines = [SharedEngine(lambda _, own=own: own) for own in (lower, upper)]
    escalation = Escalation(model_source(), 0.8, prefer_confident=True, named="m")
    return TwoTiers(engines[0], engines[1], escalation, text_document)


def test_the_language_model_is_asked_about_doubted_documents_and_told_nothing_of_the_readers() -> None:
    upper = Sure("Bob", 0.8)
    assert json.loads(answer(Sure("Ann", 0.9), upper).record)["name"] == "Ann" and not upper.asked
    assert json.loads(answer(Sure("Ann", 0.45), upper).record) == {"name": "Bob", "total": 7}
    assert not upper.asked[0].known


def test_with_the_effort_instant_the_readers_record_stands() -> None:
    upper = Sure("Bob", 0.8)
    instant = answer(Sure("Ann", 0.45), upper, "instant")
    assert json.loads(instant.record)["name"] == "Ann" and not (upper.asked or instant.alone)


def test_agreement_of_both_is_surer_and_a_failure_leaves_the_readers_values_flagged() -> None:
    agreed = answer(Sure("Ann", 0.45), Sure("Ann", 0.8))
    assert agreed.leaves["/name"].confidence > 0.85
    alone = answer(Sure("Ann", 0.45), Sure("Bob", 0.8, fails=True))
    assert alone.alone and json.loads(alone.record)["name"] == "Ann"


def test_a_request_that_is_given_up_asks_no_language_model() -> None:
    lower, upper = Sure("Ann", 0.45), Sure("Bob", 0.8)
    tiers, waits = two(lower, upper), Awaited(identity="a")
    tiers.lower.submit = lambda *_: waits  # type: ignore[assignment, method-assign]
    found = tiers.submit(Request("a", FORM, text_passage("Ann")), EFFORTS["low"])
    found.fail(GIVEN_UP)
    assert isinstance(given := found.result.result(1), Failed) and given.code == GIVEN_UP
    waits.settle(lower._filled(Request("a", FORM, text_passage("Ann"))))
    tiers._threads.shutdown()
    tiers.close()
    assert not upper.asked


def test_auto_without_a_fetched_model_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path))
    assert run(["serve", "--model", "auto", "--port", "0"]) == 2
    assert "cinnabar model fetch" in capsys.readouterr().err


@pytest.mark.slow
def test_files_and_chats_are_answered_and_the_readers_values_stand_beyond_the_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched_release(tmp_path / "models")
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    schema = {"type": "json_schema", "json_schema": {"name": "note", "schema": NOTE}}
    # The reader doubts which one is the total.
    said = "Dear Bob, the sums are 12.50 and 14.00"
    chat = {"model": "cinnabar-auto", "messages": [{"role": "user", "content": said}]}
    files = [{"name": "a.txt", "content": b64encode(said.encode()).decode()}]
    for more, flags in (([], []), (["--seconds-each", "0.0001"], ["reader_alone"])):
        with running("--model", "auto", "--effort", "low", *more) as server:
            (read,) = server.post("/extract", {"schema": NOTE, "files": files, "on_empty": "write"}).json()["results"]
            assert read["status"] == "written" and [one for one in read["flags"] if one == "reader_alone"] == flags
            told = server.post("/chat/completions", chat | {"response_format": schema})
            assert told.status_code == 200, told.text
            assert told.json()["cinnabar"].get("flags", []) == flags
            assert compile_schema(NOTE).accepts(told.json()["choices"][0]["message"]["content"])


def test_a_text_is_the_document_of_its_passage() -> None:
    assert text_document(text_passage(invoice()).text).text == text_document(invoice()).text


def test_a_results_folder_is_served_with_the_models_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cinnabar.apps.cli.serve.names", lambda _: ["note"])
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    fetched_release(tmp_path / "models")
    (tmp_path / "out").mkdir()
    begin_with(tmp_path / "out", NAME)
    assert model_of(plan := RunPlan(out=tmp_path / "out")) == "auto"
    assert f"the reader, and {NAME} for documents" in str(chosen_note(plan, "auto", sources_of(plan, "auto")[1]))
    assert model_of(RunPlan(out=tmp_path / "out", model="reader")) == "default"
