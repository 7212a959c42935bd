"""Thoughts before a record: bounded, apart from the record, and without effect on what holds for records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from effort import first, some
from hypothesis import given, settings
from hypothesis import strategies as st
from remote_forms import form_of, request
from tiny_checkpoint import write_checkpoint
from tiny_models import FEW_KINDS, KINDS, TOKENIZER, decoder, record

from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.diffusion.planning import Plan
from cinnabar.engine.diffusion.prompt import RECORD, THOUGHTS, messages
from cinnabar.engine.diffusion.record_graph import RecordGraph, graph_of
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.diffusion.settings import SETTINGS, settings_of
from cinnabar.engine.diffusion.thoughts import SHARE, Thinker, bound, thoughts_graph
from cinnabar.engine.effort import EFFORTS
from cinnabar.engine.examples import Example, Examples
from cinnabar.engine.models.language.families import config_of, read_family
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.request import Filled, Request

LINE = {
    "type": "object",
    "properties": {"what": {"type": "string", "maxLength": 8}, "price": {"type": "integer", "maximum": 99}},
    "required": ["what"],
}
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "maxLength": 8},
        "day": {"type": ["string", "null"], "format": "date"},
        "lines": {"type": "array", "maxItems": 2, "uniqueItems": True, "items": LINE},
    },
    "required": ["number", "day", "lines"],
}
FORM = form_of(NOTE)
TEXT = "No. R-77, 14 March 2026\napples 2,00\n"
GRAPH: RecordGraph = thoughts_graph(TOKENIZER)
LEAST = int(GRAPH.distance[0])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = write_checkpoint(tmp_path_factory.mktemp("model"), window=4096, block=8)
    return load_language_model(folder, "cpu", "float32")


def asked(name: str, text: str = TEXT, **known: str | None) -> Request:
    one = request(FORM, text, {f"/{at.replace('__', '/')}": value for at, value in known.items()})
    return Request(name, one.form, one.passage, one.known)


def whole(result: Any) -> Filled:
    assert isinstance(result, Filled), result
    return result


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.text("a\n", max_size=8))
def test_thoughts_are_any_text_without_control_characters_and_empty_lines(said: str) -> None:
    allowed = not re.search(r"[\x00-\x09\x0b-\x1f\x7f]|\n\n|\n\Z|\A\n\n", said)
    assert GRAPH.automaton.accepts(f"{THOUGHTS}{said}{RECORD}".encode()) == allowed


def test_broken_utf8_is_no_thought() -> None:
    for said in (b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xc3"):
        assert not GRAPH.automaton.accepts(THOUGHTS.encode() + said + RECORD.encode())


def task(prompt: str, room: int = 60) -> Task:
    automaton, judge, minimal = record({"name": {"type": "string"}, "total": {"type": "integer"}})
    graph = graph_of(automaton, TOKENIZER.vocabulary)
    return Task(TOKENIZER.encode(prompt), graph, room, judge, minimal)


@pytest.mark.parametrize("kind", some(FEW_KINDS, KINDS))
@pytest.mark.parametrize("room", first(2, [LEAST, LEAST + 13, LEAST + 1, 60]))
def test_thoughts_end_with_their_mark_within_their_bound_whatever_the_weights(kind: str, room: int) -> None:
    model = decoder(KINDS[kind], seed=room)
    denoiser = Denoiser(model, TOKENIZER, "low")
    thinker = Thinker(denoiser, replace(SETTINGS["high"], thoughts=room))
    tasks = [task("a text"), task("another, longer text"), task("the")]
    thought = thinker.think(tasks, [room, room + 5, LEAST - 1])
    assert thought[2] == (tasks[2], None)
    for before, (after, thoughts) in zip(tasks[:2], thought[:2], strict=True):
        assert thoughts is not None
        added = after.prompt[len(before.prompt) :]
        assert after.prompt[: len(before.prompt)] == tuple(before.prompt) and 0 < len(added) <= room
        text = denoiser.texts.text(added).decode()
        assert text.startswith(THOUGHTS) and text.endswith(RECORD) and text.count("\n\n") == 1
        assert thoughts.text == text[len(THOUGHTS) : -len(RECORD)].strip()
        if room == LEAST:
            assert thoughts.text == ""
    for found, (after, _) in zip(denoiser.decode([one for one, _ in thought]), thought, strict=True):
        assert isinstance(found, Decoded) and after.judge is not None and after.judge(found.text)


@pytest.mark.slow
def test_records_after_thoughts_are_valid_at_every_step_and_do_not_depend_on_the_batch(model: LanguageModel) -> None:
    requests = [asked("a"), asked("b", "pears\n" * 9), asked("c", day='"2026-03-14"', lines__0__what='"apples"')]
    engine = DiffusionEngine(model, "high")
    shown: list[list[str]] = []
    together = [whole(result) for result in engine.fill(requests, lambda _, states: shown.append(states))]
    assert len(shown) > 3
    for states in shown:
        assert all(FORM.judge is not None and FORM.judge.accepts(json.loads(state)) for state in states)
        assert json.loads(states[2])["day"] == "2026-03-14"
    for own, result in zip(requests, together, strict=True):
        alone = whole(DiffusionEngine(model, "high", token_budget=1).fill([own])[0])
        assert (alone.record, alone.thoughts, alone.steps) == (result.record, result.thoughts, result.steps)
        assert result.thoughts and result.thoughts not in result.record and THOUGHTS not in result.record
        for pointer, leaf in alone.leaves.items():
            assert abs(leaf.confidence - result.leaves[pointer].confidence) < 0.001


def test_thoughts_are_written_if_the_effort_asks_and_the_model_can(model: LanguageModel) -> None:
    assert [name for name in EFFORTS if settings_of(name).thoughts] == ["high"]
    for effort in EFFORTS:
        (result,) = DiffusionEngine(model, effort).fill([asked("a")])
        assert bool(whole(result).thoughts) == (effort == "high")
    traits = model.traits
    assert bound(traits, SETTINGS["high"]) == min(256, traits.window // SHARE)
    assert bound(replace(traits, thinks=False), SETTINGS["high"]) == 0
    assert bound(replace(traits, window=320), SETTINGS["high"]) == 320 // SHARE


def test_a_request_with_nothing_to_ask_thinks_nothing(model: LanguageModel) -> None:
    known = {"number": '"frozen"', "day": "null", "lines__0__what": '"figs"', "lines__0__price": None}
    (result,) = DiffusionEngine(model, "high").fill([asked("a", **known)])
    assert whole(result).thoughts == "" and whole(result).steps == 0


def test_a_passage_leaves_room_for_thoughts_and_one_without_room_is_filled_without(model: LanguageModel) -> None:
    engine = DiffusionEngine(model, "high")
    room = engine.context_beside(FORM)
    assert room <= DiffusionEngine(model).context_beside(FORM) - bound(model.traits, SETTINGS["high"])
    told = len(model.chat.render(messages(FORM, {}, "", (), True)))
    requests = [asked("a", "a" * room), asked("b", "a" * (model.traits.window - told - 80))]
    rooms = [plan.room for plan in engine._planner.plans(requests) if isinstance(plan, Plan)]
    assert rooms[0] >= bound(model.traits, SETTINGS["high"]) and rooms[1] < LEAST
    assert [whole(result).thoughts for result in engine.fill(requests)][1] == ""


def test_the_prompt_asks_for_thoughts_and_examples_leave_them_out() -> None:
    system, user = messages(FORM, {}, "text", (), True)
    assert 'First write "Thoughts:"' in system["content"] and "record alone" not in system["content"]
    assert user == messages(FORM, {}, "text")[1]
    system, _, answer, _ = messages(FORM, {}, "text", [("other", "{}")], True)
    assert answer["content"] == "Record:\n{}" and "leave the thoughts out" in system["content"]
    assert messages(FORM, {}, "text", [("other", "{}")])[2]["content"] == "{}"


def test_thoughts_and_examples_go_together(model: LanguageModel) -> None:
    shown = Examples("one", {FORM.fingerprint: [Example("No. X-1", '{"number":"X-1","day":null,"lines":[]}')]})
    (result,) = DiffusionEngine(model, "high", examples=shown).fill([asked("a")])
    assert FORM.judge is not None and FORM.judge.accepts(json.loads(whole(result).record))


def test_efforts_have_fingerprints_of_their_own_with_any_steps(model: LanguageModel) -> None:
    for steps in (None, 3):
        assert len({DiffusionEngine(model, effort, steps=steps).fingerprint for effort in ("medium", "high")}) == 2


@pytest.mark.parametrize("thinks", [True, False])
def test_config_json_says_that_a_model_cannot_think(tmp_path: Path, thinks: bool) -> None:
    folder = write_checkpoint(tmp_path / "model", thinks=thinks)
    _, traits = read_family(folder)
    assert traits.thinks is thinks and config_of(traits).get("thinks", True) is thinks


def test_every_family_may_think_unless_its_config_denies_it() -> None:
    assert all(traits.thinks for traits in KINDS.values()) and isinstance(KINDS["block"], Traits)
