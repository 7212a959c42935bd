"""A language model that answers many clients at once: the same answers as alone, and no harm from one to another."""

from __future__ import annotations

import json
import queue
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import each
from tests.support.chat_clients import (
    NOTE,
    TOOLS,
    accepts,
    asked,
    denoiser_of,
    done,
    ended,
    failed,
    serving,
    tiny,
    user,
    wanted,
)
from tests.support.effort import some
from tests.support.tiny_models import KINDS, decoder

from cinnabar.engine.chat.language_chat import LanguageChat, shared_language_engine
from cinnabar.engine.chat.requests import (
    ChatRequest,
    Done,
    Event,
    FailedRequest,
    Message,
    State,
    gap_between,
    next_edit,
)
from cinnabar.engine.chat.shared_engine import SharedEngine
from cinnabar.engine.language.decoded import DecodingRun
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.engine.settings import EFFORTS

EDIT = (
    "<|current_file_content|>\ncurrent_file_path: x.py\na = 1\n<|code_to_edit|>\nb <|cursor|>= a\n<|/code_to_edit|>\n"
    "print(b)\n<|/current_file_content|>"
)
#: One request of each sort.
SORTS: dict[str, dict[str, Any]] = {
    "text": {},
    "stopped text": {"stop": ("a", '"')},
    "record": {"schema": NOTE},
    "record with high effort": {"schema": NOTE, "effort": EFFORTS["high"], "max_tokens": 200},
    "extraction": {"schema": NOTE, "extract": True, "guesses": True},
    "any JSON": {"any_json": True},
    "call or text": {"tools": TOOLS},
    "call or record": {"tools": TOOLS, "schema": NOTE},
    "call": {"tools": TOOLS, "tool_choice": "required"},
    "named call": {"tools": TOOLS, "tool_choice": "weather"},
    "middle": {"messages": (), "gap": gap_between("def f(x):\n    return ", "\n\nf(2)\n")},
    "edit": {"messages": (), "gap": next_edit(EDIT)},
}


def plain(event: Done | FailedRequest) -> Done | FailedRequest:
    """The end of a request without what depends on earlier ones, and without its identity."""
    if isinstance(event, FailedRequest):
        return event
    calls = tuple(replace(call, identity="") for call in event.tool_calls)
    return replace(event, tool_calls=calls, usage=replace(event.usage, cached_tokens=0))


@each("sort", SORTS)
def test_each_sort_of_request_is_answered(chat: LanguageChat, sort: str) -> None:
    request = wanted(**SORTS[sort])
    event = done(chat, request)
    assert event.finish_reason in ("stop", "length", "tool_calls")
    assert event.usage.prompt_tokens > 0 and 0 <= event.usage.completion_tokens <= (request.max_tokens or 0)
    calls = sort in ("call", "named call")
    if calls or event.tool_calls:
        (call,) = event.tool_calls
        tool = next(tool for tool in TOOLS if tool.name == call.name)
        assert event.text == "" and call.identity == "call_one"
        assert accepts(tool.parameters, call.arguments)
    elif request.schema is not None:
        assert accepts(request.schema, event.text)
    if sort == "edit":
        assert event.text.startswith("```\n") and event.text.endswith("\n```")


@each("effort", EFFORTS)
@each("sort", ["record", "extraction", "any JSON"])
def test_every_state_under_a_schema_is_a_whole_record(chat: LanguageChat, sort: str, effort: str) -> None:
    settings = {"effort": EFFORTS[effort], "states": True, "max_tokens": 200}
    states, event = asked(chat, wanted(**(SORTS[sort] | settings)))
    assert isinstance(event, Done) and len(states) >= 2
    assert states[-1].text == event.text
    if sort != "any JSON":
        assert all(accepts(NOTE, state.text) for state in states)
        assert json.loads(states[0].text) == json.loads(NOTE.minimal())


def test_the_settled_beginning_of_a_text_stays_as_it_is(chat: LanguageChat) -> None:
    states, event = asked(chat, wanted(text="Write on", states=True, max_tokens=60, stop=("never that",)))
    assert isinstance(event, Done) and states[-1].text == event.text
    settled = 0
    for state, following in pairwise(states):
        assert state.settled >= settled and following.text.startswith(state.text[: state.settled])
        settled = state.settled
    assert settled > 20


def test_nothing_is_settled_that_a_stop_may_still_cut(chat: LanguageChat) -> None:
    whole = done(chat, wanted(text="abc")).text
    for at in range(0, len(whole) - 6, 3):
        states, event = asked(chat, wanted(text="abc", states=True, stop=(whole[at : at + 6],)))
        assert isinstance(event, Done) and event.text == whole[: whole.index(whole[at : at + 6])]
        assert all(event.text.startswith(state.text[: state.settled]) for state in states)


def test_a_text_ends_before_the_first_stop(chat: LanguageChat) -> None:
    whole = done(chat, wanted(text="abc"))
    stop = whole.text[5:8]
    event = done(chat, wanted(text="abc", stop=("never that", stop)))
    assert event.text == whole.text[: whole.text.index(stop)] and event.finish_reason == "stop"
    assert event.usage.completion_tokens < whole.usage.completion_tokens


def test_max_tokens_bounds_the_answer_and_says_so(chat: LanguageChat) -> None:
    event = done(chat, wanted(text="abc", max_tokens=3))
    assert (event.finish_reason, event.usage.completion_tokens) == ("length", 3)
    assert done(chat, wanted(text="abc", max_tokens=30)).text.startswith(event.text[:1])
    record = done(chat, wanted(schema=NOTE, max_tokens=22))
    assert accepts(NOTE, record.text) and record.usage.completion_tokens <= 22


def test_a_text_ends_where_the_end_is_the_likeliest_token(tmp_path: Path) -> None:
    with serving(tiny(tmp_path, seed=11)) as chat:
        event = done(chat, wanted(text="abc abc ", max_tokens=40))
        assert event.finish_reason == "stop" and 0 < event.usage.completion_tokens < 40
        longer = done(chat, wanted(text="abc abc ", max_tokens=60))
        assert plain(longer) == plain(event)


def test_a_shared_prefix_is_not_read_again(chat: LanguageChat) -> None:
    system = Message("system", "You are brief. " * 40)
    first = done(chat, wanted(messages=(system, Message("user", "one"))))
    second = done(chat, wanted(messages=(system, Message("user", "two"))))
    assert first.usage.cached_tokens == 0 and 0 < second.usage.cached_tokens <= second.usage.prompt_tokens


def test_what_is_forced_behind_a_prompt_is_no_cached_part_of_it(chat: LanguageChat) -> None:
    for length in range(0, 64, 8):
        request = wanted(text="a" * length, tools=TOOLS, tool_choice="weather")
        usage = [done(chat, request).usage for _ in range(2)][1]
        assert 0 < usage.cached_tokens <= usage.prompt_tokens


@pytest.mark.parametrize(
    ("settings", "code", "param", "said"),
    [
        ({"max_tokens": 3, "schema": NOTE}, "invalid_value", "max_tokens", "at least"),
        ({"stop": ("x",), "schema": NOTE}, "unsupported_parameter", "stop", "ends when it is whole"),
        ({"text": "x" * 9000}, "context_length_exceeded", "messages", "context has 2048"),
        ({"messages": ()}, "invalid_value", "messages", "last message"),
        ({"messages": (Message("assistant", "I"),)}, "invalid_value", "messages", "last message"),
        ({"messages": (Message("tool", "3", tool_call_id="x"),)}, "invalid_value", "messages", "id of a call"),
    ],
)
def test_a_request_that_cannot_be_answered_is_refused_with_its_parameter(
    chat: LanguageChat, settings: dict[str, Any], code: str, param: str, said: str
) -> None:
    event = failed(chat, wanted(**settings))
    assert (event.code, event.param) == (code, param) and said in event.message


def test_a_cancelled_request_ends_and_the_others_go_on(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(model) as chat:
        found: list[queue.Queue[Event]] = [queue.Queue() for _ in range(3)]
        step, steps, go_on = denoiser_of(chat)._step, threading.Semaphore(0), threading.Semaphore(0)
        seen = list[bool]()

        def slow(runs: list[DecodingRun]) -> Any:
            steps.release()
            assert go_on.acquire(timeout=30)
            seen.append(any(run.sequence.limit - run.sequence.begin == 201 for run in runs))
            return step(runs)

        monkeypatch.setattr(denoiser_of(chat), "_step", slow)
        cancels = [chat.submit(wanted("r0", schema=NOTE, states=True, max_tokens=200), found[0].put)]
        assert steps.acquire(timeout=30)
        for events in found[1:]:
            cancels.append(chat.submit(wanted("r1", schema=NOTE, max_tokens=199), events.put))
        cancels[0]()
        for _ in range(100):
            go_on.release()
        first, *others = [ended(one)[1] for one in found]
        assert isinstance(first, FailedRequest) and first.code == "cancelled"
        # It takes part in no pass but the one that was going on.
        assert seen[0] and not any(seen[1:])
        assert all(isinstance(one, Done) for one in others) and plain(others[0]) == plain(others[1])
        for late in cancels:
            late()
        assert all(one.empty() for one in found)


def test_a_request_that_waits_is_cancelled_at_once(model: LanguageModel) -> None:
    with serving(model) as chat:
        hold, found = threading.Event(), queue.Queue[Event]()
        plan = chat._preparer.prepare
        chat._preparer.prepare = lambda request: hold.wait(30) and plan(request)  # type: ignore
        chat.submit(wanted(), found.put)()
        event = found.get(timeout=5)
        assert isinstance(event, FailedRequest) and event.code == "cancelled"
        hold.set()
        assert isinstance(asked(chat, wanted())[1], Done) and found.empty()


def test_an_error_of_one_request_is_its_own(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(model) as chat:
        plan = chat._preparer.prepare

        def broken(_: bytes) -> bool:
            raise RuntimeError("odd judge")

        def prepared(request: ChatRequest) -> Any:
            made = plan(request)
            return replace(made, task=replace(made.task, judge=broken)) if request.identity == "bad" else made

        monkeypatch.setattr(chat._preparer, "prepare", prepared)
        found: dict[str, queue.Queue[Event]] = {name: queue.Queue() for name in ("a", "bad", "b")}
        for name, events in found.items():
            chat.submit(wanted(name, schema=NOTE), events.put)
        ends = {name: ended(events)[1] for name, events in found.items()}
        assert isinstance(ends["bad"], FailedRequest) and "odd judge" in ends["bad"].message
        assert ends["bad"].code == "engine_error" and plain(ends["a"]) == plain(ends["b"])
        assert isinstance(ends["a"], Done)


def test_after_a_pass_that_fails_each_request_is_decoded_alone(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [wanted(f"r{at}", f"text {at}", schema=NOTE, states=at == 1) for at in range(4)]
    with serving(model) as chat:
        expected = [plain(asked(chat, request)[1]) for request in requests]
        step, sizes = denoiser_of(chat)._step, list[int]()

        def failing(runs: list[DecodingRun]) -> Any:
            sizes.append(len(runs))
            poisoned = any(run.sequence.task.prompt == poison for run in runs)
            if len(runs) > 1 or poisoned:
                raise RuntimeError("out of memory" if len(runs) > 2 else "a device failed")
            return step(runs)

        poison = chat._preparer.prepare(wanted("poison", "poison")).task.prompt
        monkeypatch.setattr(denoiser_of(chat), "_step", failing)
        found: list[queue.Queue[Event]] = [queue.Queue() for _ in range(5)]
        for at, request in enumerate([*requests, wanted("poison", "poison")]):
            chat.submit(request, found[at].put)
        ends = [ended(one)[1] for one in found]
        assert [plain(one) for one in ends[:4]] == expected and max(sizes) > 1
        assert isinstance(ends[4], FailedRequest) and ends[4].code == "engine_error"


def test_a_client_that_cannot_take_its_states_ends_itself_alone(model: LanguageModel) -> None:
    with serving(model) as chat:
        found: queue.Queue[Event] = queue.Queue()

        def gone(event: Event) -> None:
            if isinstance(event, State):
                raise BrokenPipeError("the client went away")
            found.put(event)

        chat.submit(wanted("gone", schema=NOTE, states=True), gone)
        event = found.get(timeout=30)
        assert isinstance(event, FailedRequest) and event.code == "cancelled"
        assert isinstance(asked(chat, wanted())[1], Done)


def test_closing_ends_all_requests_and_refuses_further_ones(model: LanguageModel) -> None:
    engine = shared_language_engine(model, chats=True)
    chat = LanguageChat(model, engine, "tiny")
    found: list[queue.Queue[Event]] = [queue.Queue() for _ in range(6)]
    for at, events in enumerate(found):
        chat.submit(wanted(f"r{at}", "long " * 50, max_tokens=None), events.put)
    begun = time.monotonic()
    chat.close()
    assert engine.wait_for_end(20) and time.monotonic() - begun < 20
    for events in found:
        _, event = ended(events)
        assert isinstance(event, Done) or event.code == "closed"
        assert events.empty()
    assert failed(chat, wanted()).code == "closed"
    chat.close()


def test_the_chat_extracts_what_the_engine_extracts(model: LanguageModel) -> None:
    texts = [f"No. {at}7 of 4 March 2026: the first" for at in range(4)]
    engine = LanguageEngine(model).fill([Request("", NOTE.form, text_passage(text)) for text in texts])
    with serving(model) as chat:
        for text, filled in zip(texts, engine, strict=True):
            event = done(chat, wanted(text=text, schema=NOTE, extract=True, guesses=True, max_tokens=None))
            assert isinstance(filled, Filled) and event.text == filled.record


@pytest.mark.parametrize("kind", some(("block",), KINDS))
def test_models_of_all_kinds_answer_alike_alone_and_together(model: LanguageModel, kind: str) -> None:
    mask = None if KINDS[kind].mask is None else model.tokenizer.mask
    traits = replace(KINDS[kind], vocabulary=model.tokenizer.size, mask=mask)
    own = replace(model, decoder=decoder(traits, 5))
    requests = [wanted(f"r{at}", "ab " * at, **({"max_tokens": 24} | SORTS[sort])) for at, sort in enumerate(SORTS)]
    with serving(own) as chat:
        alone = [asked(chat, request) for request in requests]
    with serving(own) as chat:
        found: list[queue.Queue[Event]] = [queue.Queue() for _ in requests]
        for request, events in zip(requests, found, strict=True):
            chat.submit(request, events.put)
        together = [ended(events) for events in found]
    for (states, event), (own_states, own_event) in zip(alone, together, strict=True):
        assert plain(own_event) == plain(event) and own_states == states
        assert isinstance(event, Done) or event.param == "max_tokens"
    assert sum(isinstance(event, Done) for _, event in alone) > 8


#: A tiny model that writes token by token.
CAUSAL: dict[str, Any] = {
    "visibility": "causal", "noise": "none", "block": 1, "shift": True, "qk_norm": False, "qkv_bias": True,
    "family": "qwen2",
}  # fmt: skip


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return tiny(tmp_path_factory.mktemp("causal"), **CAUSAL)


def test_a_causal_model_reads_a_record_out_of_a_document_and_writes_any_other_one(
    causal: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, asks = "No. R-77 the name", {"schema": NOTE, "extract": True, "guesses": True, "max_tokens": None}
    with serving(causal) as chat:
        (filled,) = LanguageEngine(causal).fill([Request("", NOTE.form, text_passage(text))])
        plan, prepared = chat._preparer.prepare, list[str]()
        monkeypatch.setattr(chat._preparer, "prepare", lambda asked: prepared.append(asked.identity) or plan(asked))
        states, read = asked(chat, wanted("read", text, states=True, **asks))
        assert isinstance(filled, Filled) and isinstance(read, Done) and read.text == filled.record
        assert states[-1].text == read.text and all(accepts(NOTE, state.text) for state in states)
        assert read.confidence.keys() == filled.leaves.keys() and not prepared
        cut = done(chat, wanted("cut", text, **asks | {"max_tokens": 3}))
        assert cut.finish_reason == "length" and read.text.startswith(cut.text)
        assert accepts(NOTE, done(chat, wanted("write", text, schema=NOTE)).text) and prepared == ["write"]


def test_an_extraction_refuses_what_a_document_cannot_answer(chat: LanguageChat) -> None:
    talk = (*user("No. 7"), Message("assistant", "{}"), *user("Validation Error found"))
    event = failed(chat, wanted(messages=talk, schema=NOTE, extract=True))
    assert event.param == "messages" and "expected no text of the user behind an answer" in event.message
    long = failed(chat, wanted(text="x y " * 9000, schema=NOTE, extract=True))
    assert (long.code, long.param) == ("context_length_exceeded", "messages")


def test_the_seconds_of_documents_between_its_passes_are_not_those_of_a_chat(
    causal: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(causal) as chat:
        own, worked = done(chat, wanted("before")), list[float]()

        def work(_: SharedEngine) -> None:
            end = time.thread_time() + 0.3
            while len(worked) < 3 and time.thread_time() < end:
                pass
            worked.append(end)

        monkeypatch.setattr(SharedEngine, "_between", work)
        monkeypatch.setattr(chat._engine._tasks, "_seconds", 0.6)
        assert plain(done(chat, wanted("again"))) == plain(own) and len(worked) > 3


def test_documents_are_read_between_the_passes_of_a_long_chat(causal: LanguageModel) -> None:
    with serving(causal) as chat:
        talked, read = queue.Queue[Event](), queue.Queue[Event]()
        chat.submit(wanted("talk", states=True, max_tokens=1500), talked.put)
        assert isinstance(talked.get(timeout=30), State)
        chat.submit(wanted("read", "No. R-77", schema=NOTE, extract=True, guesses=True), read.put)
        assert isinstance(ended(read)[1], Done)
        assert not any(isinstance(event, Done) for event in [*talked.queue])
        alone = done(chat, wanted("again", max_tokens=40))
    with serving(causal) as chat:
        assert plain(done(chat, wanted("again", max_tokens=40))) == plain(alone)
