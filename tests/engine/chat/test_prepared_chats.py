"""What a language model is shown for a request, and what it may write."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.chat_clients import NOTE, TOOLS, tiny, wanted
from tests.support.tiny_checkpoint import HEADERS

from cinnabar.engine.chat.answer_kinds import Call, CallOr, FreeText, RecordText
from cinnabar.engine.chat.prepared_chats import ChatPreparer, chat_messages
from cinnabar.engine.chat.requests import ChatRequest, Message, RequestRefused, ToolCall
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.schemas import compile_schema

TALK = (
    Message("system", "Be brief."),
    Message("user", "Is it cold in Oslo?"),
    Message("assistant", "I look.", (ToolCall("c1", "weather", '{"city":"Oslo"}'),)),
    Message("tool", "-3", tool_call_id="c1"),
    Message("user", "And?"),
)


def shown(request: ChatRequest, has_system: bool = True, must_call: bool = False) -> list[tuple[str, str]]:
    form = None if request.schema is None else request.schema.form
    made = chat_messages(request, form, request.tools, must_call, has_system)
    return [(str(one["role"]), "".join(one["content"])) for one in made]


def test_a_talk_is_shown_turn_by_turn_with_calls_and_results_as_texts() -> None:
    assert shown(ChatRequest("r", TALK)) == [
        ("system", "Be brief."),
        ("user", "Is it cold in Oslo?"),
        ("assistant", 'I look.\n{"name": "weather", "arguments": {"city":"Oslo"}}'),
        ("user", "Result of weather:\n-3\n\nAnd?"),
    ]


def test_a_template_without_a_system_message_gets_it_in_the_first_turn() -> None:
    first, *_ = shown(ChatRequest("r", TALK), has_system=False)
    assert first == ("user", "Be brief.\n\nIs it cold in Oslo?")


def test_the_fields_and_the_tools_are_told_behind_the_system_message() -> None:
    ((role, system), _) = shown(wanted(schema=NOTE, tools=TOOLS))
    assert role == "system" and "number: string" in system and "- weather: The weather of a city." in system
    assert "Call one if it helps" in system and "Call one of them now" not in system
    ((_, system), _) = shown(wanted(schema=NOTE, tools=TOOLS), must_call=True)
    assert "Call one of them now" in system and "number:" not in system


def test_the_kind_of_the_answer_follows_from_the_request(model: LanguageModel) -> None:
    preparer = ChatPreparer(model)

    def kind(**settings: Any) -> Any:
        return preparer.prepare(wanted(**settings)).answer

    assert isinstance(kind(), FreeText) and isinstance(kind(schema=NOTE), RecordText)
    assert isinstance(kind(tools=TOOLS), CallOr) and isinstance(kind(tools=TOOLS, tool_choice="none"), FreeText)
    assert isinstance(kind(tools=TOOLS, tool_choice="none", schema=NOTE), RecordText)
    assert kind(tools=TOOLS, tool_choice="required") == Call(TOOLS)
    assert kind(tools=TOOLS, tool_choice="weather") == Call(TOOLS[:1])


def test_the_same_answers_share_one_graph(model: LanguageModel) -> None:
    preparer, found = ChatPreparer(model), list[Any]()
    threads = [threading.Thread(target=lambda: found.append(preparer.prepare(wanted(schema=NOTE)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(plan.task.graph) for plan in found}) == 1


def test_another_template_is_used_as_it_is(tmp_path: Path) -> None:
    model = tiny(tmp_path, HEADERS)
    assert model.chat.has_system
    ChatPreparer(model).prepare(ChatRequest("r", TALK))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"schema": compile_schema({"type": "string", "pattern": "(?=a)b"})}, "pattern"),
        ({"tools": (replace(TOOLS[0], parameters=compile_schema({"type": "string"})),)}, "expected an object"),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_refused(model: LanguageModel, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestRefused, match=said) as caught:
        ChatPreparer(model).prepare(wanted(**settings))
    assert caught.value.event.code == "invalid_schema" and caught.value.event.param in ("response_format", "tools")
