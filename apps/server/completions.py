"""The routes of chat, of filling in the middle, and of the next edit: parameters to a request, events to an answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from cinnabar.apps.server.bodies import check_parameters, read_json
from cinnabar.apps.server.errors import ApiError, invalid, json_response, of_failure
from cinnabar.apps.server.gate import Gate
from cinnabar.apps.server.parameters import (
    ChatBody,
    ChosenTool,
    EditBody,
    FimBody,
    MessageBody,
    ObjectFormat,
    SchemaFormat,
    TextPart,
)
from cinnabar.apps.server.request_events import answer_of, request_events
from cinnabar.apps.server.schema_cache import SchemaCache
from cinnabar.engine.asking.few_shot import Examples
from cinnabar.engine.chat.document_chat import INSTEAD, DocumentChat
from cinnabar.engine.chat.requests import (
    ChatRequest,
    Done,
    Message,
    RequestRefused,
    State,
    Tool,
    ToolCall,
    Usage,
    gap_between,
    next_edit,
)
from cinnabar.engine.settings import EFFORTS, Effort
from cinnabar.extraction.filling.recording import ALONE

_STREAM = "text/event-stream; charset=utf-8"
#: The effort of a request that asks for a short time to the first token and names no effort.
_REALTIME = "low"
#: The schema of the arguments of a tool that has none.
_NO_ARGUMENTS = {"type": "object", "additionalProperties": False}

#: Makes the content of an event of one route, from a state or the answer, whether it is the first; None is for the end.
EventContent = Callable[[State | Done | None, bool], dict[str, Any]]

_Body = TypeVar("_Body", ChatBody, FimBody, EditBody)


class Completions:
    """Answers requests with a model. effort: of requests that name none.

    examples: those that the model is shown; a text under a schema that has some is read as a document.
    """

    def __init__(
        self,
        model: DocumentChat,
        name: str,
        effort: str,
        schemas: SchemaCache,
        gate: Gate,
        examples: Examples | None = None,
    ) -> None:
        self._model, self.name, self._effort = model, name, EFFORTS[effort]
        self._schemas, self._gate = schemas, gate
        self._examples = {} if examples is None else examples.by_form

    async def chat(self, request: Request) -> Response:
        """Answers POST /v1/chat/completions."""
        body = await self._body(ChatBody, request)
        return await self._answer(await self._chat_request(body), request, body)

    async def fim(self, request: Request) -> Response:
        """Answers POST /v1/fim/completions."""
        self._check_ability("fim", "writes no text between others")
        body = await self._body(FimBody, request)
        chat_request = ChatRequest(
            _identity("cmpl"),
            effort=self._effort,
            max_tokens=body.max_tokens,
            stop=_stop(body.stop),
            states=bool(body.stream),
            gap=gap_between(body.prompt, body.suffix),
        )
        return await self._answer(chat_request, request, body)

    async def edit(self, request: Request) -> Response:
        """Answers POST /v1/edit/completions."""
        self._check_ability("edit", "edits no files")
        body = await self._body(EditBody, request)
        if body.messages[0].role != "user":
            raise invalid("messages: expected exactly one message, of the role user", "messages[0].role")
        try:
            gap = next_edit(_text(body.messages[0].content))
        except RequestRefused as refused:
            raise of_failure(refused.event) from None
        most = body.max_completion_tokens or body.max_tokens
        chat_request = ChatRequest(_identity("edit"), effort=self._effort, max_tokens=most, gap=gap)
        return await self._answer(chat_request, request, body)

    def check_model(self, name: str) -> None:
        """Raises ApiError if the server has no model of this name."""
        if name != self.name:
            message = f"model: expected {self.name}, the model of this server, got {name[:100]!r}"
            raise ApiError(404, "model_not_found", message, "model")

    def effort_of(self, name: str | None, realtime: bool = False) -> Effort:
        """Returns the effort that a request names, or the server's own."""
        if name is not None:
            return EFFORTS[name]
        return EFFORTS[_REALTIME] if realtime else self._effort

    def _check_ability(self, ability: str, lack: str) -> None:
        if ability not in self._model.abilities:
            raise invalid(f"the model {self.name} {lack}; {INSTEAD}", None, "unsupported_parameter")

    async def _chat_request(self, body: ChatBody) -> ChatRequest:
        schema = None
        if isinstance(body.response_format, SchemaFormat):
            where = "response_format.json_schema.schema"
            schema = (await self._schemas.prepare(body.response_format.json_schema.schema_, where)).compiled
        tools = []
        for at, one in enumerate(body.tools or ()):
            about = one.function
            arguments = _NO_ARGUMENTS if about.parameters is None else about.parameters
            prepared = await self._schemas.prepare(arguments, f"tools[{at}].function.parameters")
            tools.append(Tool(about.name, about.description or "", prepared.compiled))
        # Our own parameter is about documents, so a client that sends it has one.
        reads = schema is not None and (bool(body.on_missing) or schema.form.fingerprint in self._examples)
        return ChatRequest(
            _identity("chatcmpl"),
            tuple(map(_read, body.messages)),
            schema,
            isinstance(body.response_format, ObjectFormat),
            tuple(tools),
            _tool_choice(body),
            self.effort_of(body.reasoning_effort, bool(body.realtime)),
            body.max_completion_tokens or body.max_tokens,
            _stop(body.stop),
            states=bool(body.diffusing) or (bool(body.stream) and schema is None),
            extract=reads,
            guesses=body.on_missing == "guess",
        )

    async def _body(self, kind: type[_Body], request: Request) -> _Body:
        """Returns the parameters of a request for this server's model."""
        body = check_parameters(kind, await read_json(request, self._gate))
        self.check_model(body.model)
        if isinstance(body, ChatBody | FimBody):
            for name in ("diffusing", "stream_options"):
                if getattr(body, name) and not body.stream:
                    raise invalid(f"{name}: expected stream: true with it", name)
        return body

    async def _answer(
        self, chat_request: ChatRequest, request: Request, body: ChatBody | FimBody | EditBody
    ) -> Response:
        """Returns the answer of a route, whole or as events."""
        fills = isinstance(body, FimBody)
        if not isinstance(body, EditBody) and body.stream:
            kind = "text_completion" if fills else "chat.completion.chunk"
            return await self._stream(chat_request, request, body, kind, _text_of if fills else _delta)
        done = await answer_of(request_events(self._model, chat_request, request))
        content, kind = (_text_of(done, True), "text_completion") if fills else (_message(done), "chat.completion")
        choices = [_choice(content, done.finish_reason)]
        answer = {**self._head(chat_request, kind), "choices": choices, "usage": usage_of(done.usage)}
        return json_response(answer | values_member(done))

    def _head(self, chat_request: ChatRequest, kind: str) -> dict[str, Any]:
        return {"id": chat_request.identity, "object": kind, "created": int(time.time()), "model": self.name}

    async def _stream(
        self, chat_request: ChatRequest, request: Request, body: ChatBody | FimBody, kind: str, content: EventContent
    ) -> Response:
        """Returns the answer as events of the server. What fails before the first event has a status of its own."""
        answer = request_events(self._model, chat_request, request)
        events = answer if body.diffusing else _settled_pieces(answer)
        first = await anext(events)
        usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        head: dict[str, Any] = self._head(chat_request, kind) | ({"usage": None} if usage else {})

        async def lines() -> AsyncIterator[bytes]:
            event: State | Done | None = first
            try:
                while event is not None:
                    yield _line({**head, "choices": [_choice(content(event, event is first), None)]})
                    if isinstance(event, Done):
                        last = {**head, "choices": [_choice(content(None, False), event.finish_reason)]}
                        yield _line(last | values_member(event))
                        if usage:
                            yield _line({**head, "choices": [], "usage": usage_of(event.usage)})
                    event = await anext(events, None)
                yield b"data: [DONE]\n\n"
            except ApiError as error:
                yield _line(error.body)
            finally:
                await events.aclose()
                await answer.aclose()

        return StreamingResponse(lines(), media_type=_STREAM, headers={"x-accel-buffering": "no"})


def usage_of(usage: Usage) -> dict[str, Any]:
    """Returns the tokens of a request as the API tells them."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def values_member(done: Done) -> dict[str, Any]:
    """Returns our own member of an answer that was read from a document; without it the answer is OpenAI's."""
    if not done.confidence and not done.missing:
        return {}
    flags = {"flags": [ALONE]} if done.alone else {}
    return {"cinnabar": {"missing": done.missing, "confidence": done.confidence} | flags}


def _identity(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


def _line(value: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def _choice(content: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": 0, **content, "logprobs": None, "finish_reason": reason}


def _message(done: Done) -> dict[str, Any]:
    wordless = done.tool_calls or done.refusal
    message: dict[str, Any] = {"role": "assistant", "content": done.text or None if wordless else done.text}
    message["refusal"] = done.refusal or None
    if done.tool_calls:
        message["tool_calls"] = [_call(one) for one in done.tool_calls]
    return {"message": message}


def _delta(event: State | Done | None, first: bool) -> dict[str, Any]:
    """Returns the delta of an event; with `diffusing` its content replaces what came before."""
    delta: dict[str, Any] = {"role": "assistant"} if first else {}
    if isinstance(event, Done) and event.refusal:
        # What an earlier state guessed is no part of the answer.
        return {"delta": delta | ({} if first else {"content": ""}) | {"refusal": event.refusal}}
    if event is not None and (event.text or not (isinstance(event, Done) and event.tool_calls)):
        delta["content"] = event.text
    if isinstance(event, Done) and event.tool_calls:
        delta["tool_calls"] = [{"index": at, **_call(one)} for at, one in enumerate(event.tool_calls)]
    return {"delta": delta}


def _text_of(event: State | Done | None, _first: bool) -> dict[str, Any]:
    return {"text": "" if event is None else event.text}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.identity, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


async def _settled_pieces(events: AsyncGenerator[State | Done, None]) -> AsyncGenerator[State | Done, None]:
    """Yields what each state settles of the answer, then the rest of it: pieces that a client joins."""
    sent = 0
    async for event in events:
        if isinstance(event, Done):
            yield replace(event, text=event.text[sent:])
        elif event.settled > sent:
            yield replace(event, text=event.text[sent : event.settled])
            sent = event.settled


def _stop(stop: str | list[str] | None) -> tuple[str, ...]:
    found = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if "" in found:
        raise invalid("stop: expected texts of at least one character", "stop")
    return found


def _text(content: str | list[TextPart] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content)


def _read(message: MessageBody) -> Message:
    role = "system" if message.role == "developer" else message.role
    calls = tuple(ToolCall(one.id, one.function.name, one.function.arguments) for one in message.tool_calls or ())
    return Message(role, _text(message.content), calls, message.tool_call_id or "")


def _tool_choice(body: ChatBody) -> str:
    """Returns the choice among the tools: auto, none, required or a name. Raises ApiError for an unknown tool."""
    names = [one.function.name for one in body.tools or ()]
    if len(set(names)) < len(names):
        raise invalid("tools: expected tools of different names", "tools")
    if body.tool_choice is not None and not names and body.tool_choice != "none":
        raise invalid("tool_choice: expected tools with it", "tool_choice")
    if isinstance(body.tool_choice, ChosenTool):
        name = body.tool_choice.function.name
        if name not in names:
            raise invalid(f"tool_choice: expected one of {', '.join(names)}, got {name[:80]!r}", "tool_choice")
        return name
    return body.tool_choice or "auto"
