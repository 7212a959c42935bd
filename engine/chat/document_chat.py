"""A model behind a server that takes records from documents; it refuses all other requests plainly."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Protocol

from cinnabar.engine import request as engine_request
from cinnabar.engine.chat.requests import (
    Ability,
    Cancel,
    ChatRequest,
    Deliver,
    Done,
    FailedRequest,
    FailureCode,
    FinishReason,
    Message,
    RequestRefused,
    State,
    Tool,
    ToolCall,
    Usage,
)
from cinnabar.engine.chat.shared_engine import CLOSED, Awaited, SharedFiller, Watch
from cinnabar.engine.request import Filled, Passage, Request
from cinnabar.engine.settings import Effort
from cinnabar.engine.work_time import GIVEN_UP, TOO_SLOW
from cinnabar.errors import CinnabarError
from cinnabar.schemas.compiling.compile import CompiledSchema

#: Characters of a token in the longest of texts.
_CHARACTERS = 32
#: Threads that make requests ready, which takes part of a second.
_PREPARERS = 2
#: Codes of the engine, as codes of a failure; all others are its own errors.
_CODES: dict[str, FailureCode] = {
    TOO_SLOW: "timeout",
    GIVEN_UP: "cancelled",
    CLOSED: "closed",
    "too_long": "context_length_exceeded",
    "schema_too_large": "invalid_schema",
}
_REASONS = {
    TOO_SLOW: "the model worked on it for too long; send a shorter text",
    GIVEN_UP: "the client gave the request up",
    CLOSED: "the server is shutting down",
}
_log = logging.getLogger(__name__)


class Answering(Protocol):
    """The engine of one model, or of two, which fills requests one by one."""

    def submit(self, request: Request, effort: Effort, watch: Watch | None = None) -> Awaited: ...

    def filler(self, effort: Effort) -> SharedFiller: ...

    def close(self) -> None: ...


@dataclass(eq=False, kw_only=True)
class OpenRequest(Awaited):
    """A request of a client; its result becomes its last event."""

    request: ChatRequest
    deliver: Deliver
    shown: State | None = None

    def show(self, text: str, settled: int = 0) -> None:
        """Delivers a state, if it is another one; gives the request up if its client cannot take it."""
        state = State(text, settled)
        if self.result.done() or state == self.shown:
            return
        self.shown = state
        try:
            self.deliver(state)
        except Exception:
            _log.exception("request %s is given up, for its states cannot be delivered", self.identity)
            self.fail(GIVEN_UP)

    def end(self, last: Future[Any]) -> None:
        """Delivers the last event."""
        result = last.result()
        self.deliver(_failure(result) if isinstance(result, engine_request.Failed) else result)


class DocumentChat:
    """A chat model that reads: the first messages of the user are the document, the schema of the answer is the form.

    engine: that of the model. context: the most tokens of a request. passage_of: turns a document's text into a
    passage. System messages are not read. Two threads make requests ready.
    """

    abilities: frozenset[Ability] = frozenset({"extract"})

    def __init__(self, engine: Answering, name: str, context: int, passage_of: Callable[[str], Passage]) -> None:
        self.name, self.context = name, context
        self._answering, self._passage_of = engine, passage_of
        self._threads = ThreadPoolExecutor(_PREPARERS, thread_name_prefix="chat request")

    def submit(self, request: ChatRequest, deliver: Deliver) -> Cancel:
        """Takes a request in, has it made ready in another thread, and returns what cancels it."""
        opened = OpenRequest(identity=request.identity, request=request, deliver=deliver)
        opened.result.add_done_callback(opened.end)
        try:
            ready = self._threads.submit(self._answer, opened)
            ready.add_done_callback(lambda done: opened.fail(CLOSED) if done.cancelled() else None)
        except RuntimeError:  # after `close`
            opened.fail(CLOSED)
        return lambda: opened.fail(GIVEN_UP)

    def close(self) -> None:
        """Ends all requests with the code `closed`."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._answering.close()

    def begin(self, opened: OpenRequest) -> tuple[Awaited, Callable[[Any], Done]]:
        """Has the engine begin with a request; returns what it waits for, and what makes the answer of its result.

        Raises RequestRefused if the model cannot answer the request.
        """
        request, asked = opened.request, asked_of(opened.request)
        filler = self._answering.filler(request.effort)
        most = filler.context_beside(asked.schema.form)
        # Told before the rest of a vast text is read.
        passage = self._passage_of(asked.document[: _CHARACTERS * most + 1])
        vast = max(len(passage.word_start), len(passage.text) // _CHARACTERS) > most
        tokens = most + 1 if vast else filler.count_tokens(passage.text)
        if tokens > most:
            reason = f"expected a document of at most {most} tokens; cut it, or send it to /v1/extract"
            raise RequestRefused("context_length_exceeded", reason, "messages")
        if asked.tool is not None:
            asked.tool.check_arguments()
        filled = Request(request.identity, asked.schema.form, passage)
        watch: Watch | None = None
        if request.states and asked.tool is None:
            watch = lambda _, record: opened.show(record)  # noqa: E731
        work = self._answering.submit(filled, request.effort, watch)
        return work, partial(read_answer, request, asked.tool, tokens, filler.count_tokens)

    def _answer(self, opened: OpenRequest) -> None:
        """Begins with a request, and has its answer delivered, first as the last state unless it is a refusal or a
        call."""
        if opened.result.done():
            return
        try:
            work, answer_of = self.begin(opened)
        except RequestRefused as refused:
            opened.settle(refused.event)
        except CinnabarError as error:
            opened.settle(FailedRequest("invalid_schema", str(error)))
        except Exception as error:
            opened.settle(_own_error(opened, error))
        else:
            opened.result.add_done_callback(lambda _: work.fail(GIVEN_UP))
            work.result.add_done_callback(lambda done: self._finish(opened, answer_of, done.result()))

    def _finish(self, opened: OpenRequest, answer_of: Callable[[Any], Done], result: Any) -> None:
        if not isinstance(result, engine_request.Failed):
            try:
                result = answer_of(result)
            except Exception as error:
                result = _own_error(opened, error)
        if isinstance(result, Done) and opened.request.states and not result.tool_calls and not result.refusal:
            opened.show(result.text, len(result.text))
        opened.settle(result)


def _failure(result: engine_request.Failed) -> FailedRequest:
    """Returns the event of a request that the engine could not answer."""
    reason = f"{result.code}: {result.detail}" if result.detail else result.code
    return FailedRequest(_CODES.get(result.code, "engine_error"), _REASONS.get(result.code, reason))


def _own_error(opened: OpenRequest, error: Exception) -> FailedRequest:
    # The text of an error may hold that of a document.
    _log.error("request %s failed: %s", opened.identity, type(error).__name__)
    return FailedRequest("engine_error", f"engine_error: {type(error).__name__}")


#: How to get a model that can do the rest.
INSTEAD = "start the server with a language model: cinnabar serve --model FOLDER"
#: Pointers that a refusal names; `Done.missing` has all.
_NAMED = 20


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """What a request asks for: a document, its schema, and the tool whose arguments the record is."""

    document: str
    schema: CompiledSchema
    tool: Tool | None = None


def asked_of(request: ChatRequest) -> AskedRecord:
    """Returns what the request asks for. Raises RequestRefused if it is no record of a document."""
    if request.any_json:
        raise _refuse(f"the reader needs a schema: give json_schema; for any JSON {INSTEAD}", "response_format")
    if request.stop:
        raise _refuse("a record that is read from a document is whole, and ends by itself", "stop")
    schema, tool = request.schema, None
    if request.tools and request.tool_choice != "none":
        tool = _tool_of(request)
        schema = tool.parameters
    if schema is None:
        reason = "the reader fills schemas: give response_format with json_schema, or a tool that has to be called"
        raise _refuse(f"{reason}; for free text {INSTEAD}", "response_format")
    document = _document_of(request.messages)
    if not document.strip():
        reason = "expected the document as text of the first user message, got none"
        raise RequestRefused("invalid_value", reason, "messages")
    return AskedRecord(document, schema, tool)


def _tool_of(request: ChatRequest) -> Tool:
    """Returns the one tool that the request wants called. Raises RequestRefused if there is none."""
    if request.tool_choice == "auto":
        reason = "the reader does not decide whether to call a tool: expected required, none, or the name of a tool"
        raise _refuse(f"{reason}; for auto {INSTEAD}", "tool_choice")
    if request.tool_choice != "required":
        return next(tool for tool in request.tools if tool.name == request.tool_choice)
    if len(request.tools) > 1:
        reason = f"the reader does not choose among tools: name the one to call; or {INSTEAD}"
        raise _refuse(reason, "tool_choice")
    return request.tools[0]


def _refuse(reason: str, param: str) -> RequestRefused:
    return RequestRefused("unsupported_parameter", reason, param)


def _document_of(messages: Sequence[Message]) -> str:
    """Returns the texts of the user before the first answer: the document that the conversation brought.

    A client that asks again sends its own answer and what is wrong with it; neither is a document. Results of tools
    are not read. A text of the user behind an answer may be an error or a second document, so it is refused rather
    than read, or left out, without a word. Raises RequestRefused.
    """
    before = [*takewhile(lambda message: message.role != "assistant", messages)]
    for at, message in enumerate(messages[len(before) :], len(before)):
        if message.role == "user" and message.content.strip():
            raise RequestRefused(
                "invalid_value",
                f"messages[{at}]: expected no text of the user behind an answer: the document is what the conversation"
                " first brought, and asked again it gives the same values; send another document, or one with"
                " additions, as a request of its own",
                "messages",
            )
    return "\n\n".join(message.content for message in before if message.role == "user")


def read_answer(
    request: ChatRequest, tool: Tool | None, read: int, count_tokens: Callable[[str], int], filled: Filled
) -> Done:
    """Returns the answer with a record that was read: a refusal if its document lacks a value that is demanded.

    read: the tokens of the document.
    """
    text = filled.record
    written = count_tokens(text)
    missing = tuple(pointer for pointer, leaf in filled.leaves.items() if leaf.missing)
    reason: FinishReason = "stop"
    calls: tuple[ToolCall, ...] = ()
    refusal = "" if request.guesses else _refusal(missing)
    if request.max_tokens is not None and written > request.max_tokens:
        text, reason, written = _cut(text, request.max_tokens, count_tokens), "length", request.max_tokens
    if refusal:
        text, reason = "", "stop"
    elif tool is not None:
        calls = (ToolCall(f"call_{request.identity.rpartition('-')[2]}", tool.name, text),)
        text, reason = "", "tool_calls" if reason == "stop" else reason
    confidence = {pointer: leaf.confidence for pointer, leaf in filled.leaves.items()}
    return Done(text, calls, reason, Usage(read, written), confidence, missing, refusal, filled.alone)


def _refusal(missing: Sequence[str]) -> str:
    """Returns the words of a refusal, none if nothing is missing."""
    if not missing:
        return ""
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    names = ", ".join(at or "/" for at in missing[:_NAMED])
    return (
        f"The schema demands values that the text does not state: {names}{more}."
        " Send a text that has it, let the schema allow null there, or ask for guesses with on_missing: guess."
    )


def _cut(text: str, tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Returns the longest beginning of the text with at most so many tokens."""
    return text[: bisect_right(range(1, len(text) + 1), tokens, key=lambda end: count_tokens(text[:end]))]
