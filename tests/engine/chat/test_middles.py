"""The middle of a text by a model's own marks for it: its prompt, its end, its stream and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.cases import each
from tests.support.chat_clients import asked, denoiser_of, done, failed, serving, wanted
from tests.support.tiny_checkpoint import add_special, write_checkpoint

from cinnabar.engine.chat.answer_kinds import FencedText, InfillText
from cinnabar.engine.chat.language_chat import LanguageChat
from cinnabar.engine.chat.prepared_chats import MIDDLE, ChatPreparer
from cinnabar.engine.chat.requests import ChatRequest, Done, gap_between, next_edit
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model

MARKS = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>")
BEFORE, BEHIND = "def f(x):\n    return ", "\n\n\nf(2)\n"
EDIT = "<|current_file_content|>\na\n<|code_to_edit|>\nb\n<|/code_to_edit|>\n<|/current_file_content|>"
KINDS: dict[str, dict[str, Any]] = {
    "blocks": {"block": 8},
    "causal": {
        "visibility": "causal",
        "noise": "none",
        "block": 1,
        "shift": True,
        "qk_norm": False,
        "qkv_bias": True,
        "family": "qwen2",
    },
}


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """A tiny model of random weights whose vocabulary has the marks."""
    folder = write_checkpoint(tmp_path_factory.mktemp("marks"), window=512, **KINDS[request.param])
    add_special(folder, *MARKS)
    return load_language_model(folder, "cpu", "float32")


def middle(before: str = BEFORE, behind: str = BEHIND, **settings: Any) -> ChatRequest:
    return replace(wanted(**settings), messages=(), gap=gap_between(before, behind))


@contextmanager
def likelier(model: LanguageModel, token: int, than: int) -> Iterator[None]:
    """Makes a token likelier than another one wherever that one is likely."""
    weight = model.decoder.lm_head.weight
    kept = weight[token].clone()
    try:
        with torch.no_grad():
            weight[token] = weight[than] * 3
        yield
    finally:
        with torch.no_grad():
            weight[token] = kept


def test_the_prompt_is_the_texts_between_the_marks_and_nothing_else(model: LanguageModel) -> None:
    plan, own = ChatPreparer(model).prepare(middle()), model.tokenizer
    prefix, hole, suffix = (own.added[text].id for text in MARKS[:3])
    assert [*plan.task.prompt] == [prefix, *own.encode(BEFORE), suffix, *own.encode(BEHIND), hole]
    assert isinstance(plan.answer, InfillText)


def test_usage_counts_the_prompt_with_its_marks_and_what_was_written(chat: LanguageChat, model: LanguageModel) -> None:
    event = done(chat, middle(max_tokens=12))
    plain = len(model.tokenizer.encode(BEFORE)) + len(model.tokenizer.encode(BEHIND))
    assert event.usage.prompt_tokens == plain + 3 and 0 < event.usage.completion_tokens <= 12
    again = done(chat, middle(max_tokens=12))
    assert again.text == event.text and again.finish_reason == event.finish_reason


def test_a_middle_ends_where_a_mark_or_the_end_is_the_likeliest_token(model: LanguageModel) -> None:
    with serving(model) as chat:
        longer = done(chat, middle(max_tokens=40))
        (decoded,) = denoiser_of(chat).decode([ChatPreparer(model).prepare(middle(max_tokens=40)).task])
        assert isinstance(decoded, Decoded)
        assert longer.usage.completion_tokens > 1

    @each("mark", [*MARKS, "<|endoftext|>", "<|im_end|>"])
    def ends(mark: str) -> None:
        with likelier(model, model.tokenizer.added[mark].id, decoded.tokens[0]), serving(model) as chat:
            states, ended = asked(chat, middle(max_tokens=40, states=True))
            assert isinstance(ended, Done) and ended.finish_reason == "stop"
            assert ended.usage.completion_tokens < longer.usage.completion_tokens and "<|" not in ended.text
            assert states[-1].text == ended.text

    ends()


def test_a_token_without_text_that_ends_nothing_is_never_written(model: LanguageModel) -> None:
    plan = ChatPreparer(model).prepare(middle(max_tokens=9))
    graph, added = plan.task.graph, model.tokenizer.added
    assert graph.token_class[added["<|im_start|>"].id] == -1
    assert {graph.token_class[added[mark].id] for mark in (*MARKS, "<|im_end|>")} == {graph.end_class}


def test_a_middle_without_a_bound_has_that_of_middles(model: LanguageModel) -> None:
    roomy = replace(model, decoder=model.decoder)
    plan = ChatPreparer(roomy).prepare(middle("a", "b", max_tokens=None))
    assert plan.task.budget == min(MIDDLE + 1, 512 - len(plan.task.prompt))


def test_max_tokens_cut_a_middle(chat: LanguageChat) -> None:
    whole = done(chat, middle(max_tokens=20))
    short = done(chat, middle(max_tokens=3))
    assert short.usage.completion_tokens == 3 and short.finish_reason == "length"
    assert not whole.text or whole.text.startswith(short.text[:1])


def test_a_middle_ends_before_a_stop(chat: LanguageChat) -> None:
    whole = done(chat, middle(max_tokens=30)).text
    stop = whole[len(whole) // 2 :][:2]
    cut = done(chat, middle(max_tokens=30, stop=("\x00", stop)))
    assert cut.finish_reason == "stop" and stop not in cut.text and whole.startswith(cut.text)
    assert len(cut.text) == whole.index(stop)


def test_a_middle_ends_where_it_meets_the_text_behind(chat: LanguageChat, monkeypatch: pytest.MonkeyPatch) -> None:
    from cinnabar.engine.chat import prepared_chats
    from cinnabar.engine.chat.meeting import Meeting

    whole = done(chat, middle(max_tokens=40))
    at = len(whole.text.encode()) // 2
    lines = whole.text.encode()[at : at + 6]
    # What random weights write depends on the prompt, so the text behind is taken to be another one.
    monkeypatch.setattr(prepared_chats, "meeting_of", lambda *_: Meeting(lines))
    states, cut = asked(chat, middle(max_tokens=40, states=True))
    assert isinstance(cut, Done) and cut.finish_reason == "stop"
    assert cut.text.encode() == whole.text.encode()[: whole.text.encode().index(lines)]
    assert cut.usage.completion_tokens < whole.usage.completion_tokens
    for state in states:
        assert cut.text.startswith(state.text[: state.settled])


def test_states_settle_piece_by_piece_and_end_with_the_answer(chat: LanguageChat) -> None:
    states, event = asked(chat, middle(max_tokens=30, states=True))
    assert isinstance(event, Done) and len({state.settled for state in states}) > 2
    settled = ""
    for state in states:
        assert state.text.startswith(settled)
        settled = state.text[: state.settled]
    assert settled == event.text


def test_texts_longer_than_the_window_are_refused_with_their_parameter(chat: LanguageChat) -> None:
    event = failed(chat, middle("x = 1\n" * 400))
    assert (event.code, event.param) == ("context_length_exceeded", "prompt") and event.message.startswith("prompt: ")


def test_an_edit_is_asked_in_words_and_takes_no_stop(chat: LanguageChat, model: LanguageModel) -> None:
    edit = replace(wanted(), messages=(), gap=next_edit(EDIT))
    plan = ChatPreparer(model).prepare(edit)
    assert isinstance(plan.answer, FencedText) and model.tokenizer.added[MARKS[0]].id not in plan.task.prompt
    assert failed(chat, replace(edit, stop=("a",))).param == "stop"


def test_a_model_without_marks_is_asked_for_a_middle_in_words(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, window=512, block=8)
    add_special(folder, *MARKS[:2])
    plain = load_language_model(folder, "cpu", "float32")
    plan = ChatPreparer(plain).prepare(middle())
    task, text = gap_between(BEFORE, BEHIND).prompt
    assert [*plan.task.prompt] == plain.chat.render([{"role": "user", "content": (task, "\n\n" + text)}])
    assert isinstance(plan.answer, FencedText)
    with serving(plain) as chat:
        assert failed(chat, middle(stop=("a",))).param == "stop"
