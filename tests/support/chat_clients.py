"""Clients of a chat model, and a tiny model with random weights behind it."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.tiny_checkpoint import CHATML, write_checkpoint

from cinnabar.engine.chat.language_chat import LanguageChat, TaskStream, shared_language_engine
from cinnabar.engine.chat.requests import ChatRequest, Done, Event, FailedRequest, Message, State, Tool
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.schemas import compile_schema
from cinnabar.schemas.compiling.compile import CompiledSchema

NOTE = compile_schema(
    {
        "type": "object",
        "properties": {
            "number": {"type": "string", "maxLength": 8},
            "day": {"type": ["string", "null"], "format": "date"},
            "kinds": {"type": "array", "maxItems": 3, "uniqueItems": True, "items": {"enum": ["ab", "the", "no"]}},
        },
        "required": ["number", "day"],
    }
)
TOOLS = (
    Tool(
        "weather",
        "The weather of a city.",
        compile_schema(
            {"type": "object", "properties": {"city": {"type": "string", "maxLength": 9}}, "required": ["city"]}
        ),
    ),
    Tool("now", "The time.", compile_schema({"type": "object", "additionalProperties": False})),
)


def tiny(folder: Path, template: str = CHATML, **changed: Any) -> LanguageModel:
    """Returns a tiny model of random weights, with some traits changed."""
    made = write_checkpoint(folder, template, **({"window": 2048, "block": 8} | changed))
    return load_language_model(made, "cpu", "float32")


@contextmanager
def serving(model: LanguageModel) -> Iterator[LanguageChat]:
    """Yields a chat of this model, and closes it."""
    engine = shared_language_engine(model, chats=True)
    chat = LanguageChat(model, engine, "tiny")
    try:
        yield chat
    finally:
        chat.close()
        assert engine.wait_for_end(20)


def denoiser_of(chat: LanguageChat) -> Denoiser:
    """Returns the denoiser that decodes the requests of a chat."""
    tasks = chat._engine._tasks
    assert isinstance(tasks, TaskStream)
    return tasks.denoiser


def user(text: str) -> tuple[Message, ...]:
    """Returns one message of the user."""
    return (Message("user", text),)


def wanted(identity: str = "one", text: str = "Hello", **settings: Any) -> ChatRequest:
    """Returns a request with one message of the user."""
    return replace(ChatRequest(identity, user(text), max_tokens=40), **settings)


def asked(chat: LanguageChat, request: ChatRequest) -> tuple[list[State], Done | FailedRequest]:
    """Returns the states of a request, and its end."""
    found: queue.Queue[Event] = queue.Queue()
    chat.submit(request, found.put)
    return ended(found)


def ended(found: queue.Queue[Event]) -> tuple[list[State], Done | FailedRequest]:
    """Returns the states of a request that was submitted, and its end."""
    states: list[State] = []
    while isinstance(event := found.get(timeout=60), State):
        states.append(event)
    return states, event


def done(chat: LanguageChat, request: ChatRequest) -> Done:
    """Returns the answer of a request."""
    _, event = asked(chat, request)
    assert isinstance(event, Done), event
    return event


def failed(chat: LanguageChat, request: ChatRequest) -> FailedRequest:
    """Returns the failure of a request."""
    _, event = asked(chat, request)
    assert isinstance(event, FailedRequest), event
    return event


def accepts(schema: CompiledSchema, text: str) -> bool:
    """Whether a text is the canonical text of a record that the schema allows."""
    from cinnabar.schemas.automata.strings import parse

    return schema.accepts(text) and schema.canonical(parse(text)) == text
