"""The engine over a language model: a valid record or a clear failure for every request, whatever the weights."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.family_traits import FAMILY_TRAITS
from tests.support.remote_forms import form_of, request
from tests.support.scripted_model import filled
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.fill.engine import FormState
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.language.prepared_requests import PreparedRequest, RequestPreparer
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.reader.calibration import Calibration, Scale
from cinnabar.engine.request import Failed, Filled, Request
from cinnabar.engine.settings import effort_of
from cinnabar.engine.version import engine_fingerprint
from cinnabar.errors import RunError, UsageError
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import parts_of

TEXT = "No. R-77, 14 March 2026\napples 2,00\n"
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
        "kind": {"enum": ["a", "b"]},
        "lines": {"type": "array", "maxItems": 2, "items": LINE},
    },
    "required": ["number", "day", "lines"],
}
FORM = form_of(NOTE)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = write_checkpoint(tmp_path_factory.mktemp("model"), window=4096, block=8)
    return load_language_model(folder, "cpu", "float32")


def asked(name: str, text: str = TEXT, form: Form = FORM, **known: str | None) -> Request:
    one = request(form, text, {f"/{at.replace('__', '/')}": value for at, value in known.items()})
    return Request(name, one.form, one.passage, one.known)


def prompt_of(preparer: RequestPreparer, one: Request) -> list[int]:
    (prepared,) = preparer.prepare([one])
    assert isinstance(prepared, PreparedRequest) and prepared.task is not None
    return [*prepared.task.prompt]


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["instant", "low", "medium"])
def test_every_request_gets_a_valid_record_in_its_order(model: LanguageModel, effort: str) -> None:
    requests = [asked(f"r{at}", TEXT * at) for at in range(4)]
    results = [filled(result) for result in LanguageEngine(model, effort).fill(requests)]
    assert [result.id for result in results] == ["r0", "r1", "r2", "r3"]
    for result in results:
        assert FORM.judge is not None and FORM.judge.accepts(json.loads(result.record))
        assert result.steps > 0 and all(0 <= leaf.confidence <= 1 for leaf in result.leaves.values())


def test_every_state_that_is_shown_is_a_whole_valid_record_with_the_frozen_values(model: LanguageModel) -> None:
    shown: list[FormState] = []
    requests = [asked("a", day='"2026-03-14"', lines__0__what='"apples"'), asked("b")]
    results = LanguageEngine(model, "low").fill(requests, shown.append)
    assert len(shown) > 3 and {state.id for state in shown} == {"a", "b"}
    for state in shown:
        record = json.loads(state.record)
        assert FORM.judge is not None and FORM.judge.accepts(record)
        assert state.id == "b" or record["day"] == "2026-03-14"
        assert state.id == "b" or [line["what"] for line in record["lines"]] == ["apples"]
    assert json.loads(filled(results[0]).record)["day"] == "2026-03-14"


def test_a_watcher_that_fails_ends_the_run(model: LanguageModel) -> None:
    def failing(_: FormState) -> None:
        raise ValueError("full")

    with pytest.raises(RunError, match="the watcher failed at step 0: full"):
        LanguageEngine(model, "instant").fill([asked("a")], failing)


def test_what_is_frozen_is_exact_and_costs_no_passes(model: LanguageModel) -> None:
    known = {"number": '"frozen"', "day": "null", "kind": None, "lines__0__what": '"figs"'}
    (result,) = LanguageEngine(model, "medium").fill([asked("a", **known, lines__0__price="3")])
    assert json.loads(filled(result).record) == {
        "number": "frozen", "day": None, "lines": [{"what": "figs", "price": 3}],
    }  # fmt: skip
    assert filled(result).steps == 0


def test_a_request_that_does_not_fit_fails_alone_with_its_reason(model: LanguageModel) -> None:
    results = LanguageEngine(model, "instant").fill([asked("a"), asked("b", "word " * 5000), asked("c")])
    assert isinstance(results[0], Filled) and isinstance(results[2], Filled)
    assert isinstance(results[1], Failed) and results[1].code == "too_long"
    assert "context" in results[1].detail


def test_frozen_values_that_the_schema_refuses_fail_as_known(model: LanguageModel) -> None:
    (result,) = LanguageEngine(model, "instant").fill([asked("a", day='"March"')])
    assert isinstance(result, Failed) and result.code == "known"


def test_a_batch_that_runs_out_of_memory_is_halved(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = LanguageEngine(model, "instant")
    stream, sizes, rooms = engine._decoder.stream, list[int](), list[int]()

    def hungry(tasks: Any, observer: Any = None, room: int = 0) -> Any:
        sizes.append(len(tasks))
        rooms.append(room)
        if len(tasks) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return stream(tasks, observer, room=room)

    monkeypatch.setattr(engine._decoder, "stream", hungry)
    results = engine.fill([asked(str(at)) for at in range(4)])
    assert sizes == [4, 2, 1, 1, 2, 1, 1] and all(isinstance(result, Filled) for result in results)
    assert rooms == sorted(rooms, reverse=True) and len({*rooms}) == 4


def test_a_demanded_value_that_the_document_does_not_print_is_missing_if_the_model_doubts_it(
    model: LanguageModel,
) -> None:
    (result,) = LanguageEngine(model, "instant").fill([asked("a")])
    leaf = filled(result).leaves["/number"]
    assert leaf.origin in ("generated", "absent", "minimal") and leaf.missing


def test_a_value_in_which_its_calibration_does_not_believe_is_null_where_it_may_be(model: LanguageModel) -> None:
    free = {name: {"type": ["integer", "null"], "maximum": 99} for name in "abcdef"}
    form = form_of({"type": "object", "properties": free | {"g": {"type": "integer"}}, "required": [*free, "g"]})

    def read(bias: float) -> dict[str, Any]:
        scale = Scale(bias, {})
        calibration = Calibration(scale, scale, scale, "")
        (found,) = LanguageEngine(model, "instant", calibration=calibration).fill([asked("a", form=form)])
        record: dict[str, Any] = json.loads(filled(found).record)
        return record

    sure = read(5.0)
    assert any(sure[name] is not None for name in free), "the random model writes no value"
    assert read(-5.0) == sure | dict.fromkeys(free)


def test_a_document_is_measured_by_the_models_own_tokens(model: LanguageModel) -> None:
    engine = LanguageEngine(model)
    assert engine.count_tokens("<|im_end|>") > 1
    assert 0 < engine.context_tokens < model.traits.window and engine.windows(asked("a").passage) == []


def test_requests_share_the_beginning_of_their_prompts_whatever_is_frozen(model: LanguageModel) -> None:
    def shared(*requests: Request) -> int:
        ready = [one for one in RequestPreparer(model).prepare(requests) if isinstance(one, PreparedRequest)]
        prompts = [prepared.task.prompt for prepared in ready if prepared.task is not None]
        assert len(prompts) == len(requests)
        return next(at for at, tokens in enumerate(zip(*prompts, strict=False)) if len({*tokens}) > 1)

    alone = shared(asked("a"), asked("b", "other text"))
    prompt_tokens = model.tokenizer.decode(prompt_of(RequestPreparer(model), asked("a"))[:alone]).decode()
    assert prompt_tokens.endswith("Document:\n") and "lines: list of" in prompt_tokens
    same = shared(asked("a", number='"X"'), asked("b", number='"Y"'))
    various = shared(asked("a", number='"X"'), asked("b", kind=None))
    assert alone > same > various > len("You write a record") / 2


def test_a_passage_has_the_room_that_the_form_in_words_and_an_answer_leave(model: LanguageModel) -> None:
    engine = LanguageEngine(model)
    room = engine.context_beside(FORM)
    assert room < engine.context_tokens < model.traits.window
    text = "a" * room
    assert engine.count_tokens(text) == room
    (result,) = LanguageEngine(model, "instant").fill([asked("a", text)])
    assert isinstance(result, Filled)
    wide = {f"field {number}": {"type": "string", "description": "x" * 60} for number in range(60)}
    with pytest.raises(UsageError, match=r"the task and the schema take \d+ tokens, expected at most"):
        engine.context_beside(form_of({"type": "object", "properties": wide}))


def test_the_fingerprint_is_the_one_known_before_the_model_is_loaded(model: LanguageModel) -> None:
    assert LanguageEngine(model, "low", steps=2).fingerprint == engine_fingerprint(
        model.fingerprint, effort_of("low", 2), "language"
    )


def test_a_watched_fill_tells_the_valid_states_of_each_request(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, traits=FAMILY_TRAITS["sdar-moe"], window=4096, block=8, revises=True)
    model = load_language_model(folder, "cpu", "float32")
    requests = [asked("a", day='"2026-03-14"'), asked("b", TEXT * 2)]
    states: list[FormState] = []
    results = [filled(result) for result in LanguageEngine(model).fill(requests, watcher=states.append)]
    assert [r.record for r in results] == [filled(r).record for r in LanguageEngine(model).fill(requests)]
    for result in results:
        own = [state for state in states if state.id == result.id]
        assert [state.step for state in own] == sorted({state.step for state in own}) and own[0].step == 0
        assert len(own) > 1 and all(one.record != other.record for one, other in pairwise(own))
        assert FORM.judge is not None and all(FORM.judge.accepts(json.loads(state.record)) for state in own)
    assert [state.committed for state in states if not state.step] == [("/day",), ()]
    told = {identity: [at for one in states if one.id == identity for at in one.committed] for identity in "ab"}
    for identity, result in zip("ab", results, strict=True):
        first = next(state for state in states if state.id == identity)
        old, new = (dict(parts_of(json.loads(one.record))) for one in (first, result))
        changed = {at for at, one in new.items() if not isinstance(one, dict | list) and old.get(at, ...) != one}
        assert len(told[identity]) == len({*told[identity]}) and changed <= {*told[identity]}
