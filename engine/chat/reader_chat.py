"""The reader behind a server: it answers requests for a record of a schema, and refuses all others plainly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from cinnabar.engine import request as engine_request
from cinnabar.engine.chat.reading import document_of, read_answer
from cinnabar.engine.chat.requests import (
    Ability,
    Cancel,
    ChatRequest,
    Deliver,
    Done,
    Failed,
    FailureCode,
    FinishReason,
    RequestRefused,
    State,
    Tool,
    ToolCall,
    Usage,
)
from cinnabar.engine.chat.shared_engine import CLOSED, Watch
from cinnabar.engine.effort import Effort
from cinnabar.engine.model import Model
from cinnabar.engine.request import Filled, Passage, Request, Result
from cinnabar.engine.time_limit import GIVEN_UP, TOO_SLOW
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.errors import CinnabarError

#: How to get a model that can do the rest.
_INSTEAD = "start the server with a language model that denoises: cinnabar serve --model FOLDER"
#: Characters of a token in the longest of texts.
_CHARACTERS = 32
#: Threads that cut texts into words and count their tokens.
_THREADS = 2
#: Codes of a result of the engine, as codes of a failure.
_CODES: dict[str, FailureCode] = {TOO_SLOW: "timeout", GIVEN_UP: "cancelled", CLOSED: "closed"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request asks of the reader: a document, its schema, and the tool whose arguments the record is."""

    document: str
    schema: CompiledSchema
    tool: Tool | None = None


@dataclass(slots=True)
class _Progress:
    """The result that a request waits for, once it is asked for; whether its client gave it up."""

    lock: Lock = field(default_factory=Lock)
    result: Future[Result] | None = None
    given_up: bool = False


class Answering(Protocol):
    """What fills requests one by one: the engine of one model, or of two."""

    @property
    def waiting(self) -> int: ...

    def submit(self, request: Request, effort: Effort, watch: Watch | None = None) -> Future[Result]: ...

    def give_up(self, result: Future[Result]) -> None: ...

    def close(self) -> None: ...


class ReaderChat:
    """A chat model that reads: the first messages of the user are the document, the schema of the answer is the form.

    engine: that of the model. passage_of: turns a document's text into a passage. System messages are not read.
    """

    abilities: frozenset[Ability] = frozenset({"extract"})

    def __init__(self, model: Model, engine: Answering, name: str, passage_of: Callable[[str], Passage]) -> None:
        self.name, self._model, self._engine, self._passage_of = name, model, engine, passage_of
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="reader chat")

    @property
    def context(self) -> int:
        """The most tokens of a document."""
        return self._model.context_tokens

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a batch, also those of others that share the engine."""
        return self._engine.waiting

    def submit(self, request: ChatRequest, deliver: Deliver) -> Cancel:
        """Takes a request in and returns at once; a request for anything but a record fails before that."""
        asked = _asked(request)
        if isinstance(asked, Failed):
            deliver(asked)
            return lambda: None
        progress = _Progress()
        try:
            self._threads.submit(self._begin, request, asked, progress, deliver)
        except RuntimeError:  # after `close`
            deliver(Failed("closed", "the server is shutting down"))
        return lambda: self._give_up(progress)

    def close(self) -> None:
        """Ends all requests with the code `closed`."""
        self._threads.shutdown(wait=False, cancel_futures=False)
        self._engine.close()

    def _give_up(self, progress: _Progress) -> None:
        with progress.lock:
            progress.given_up = True
            result = progress.result
        if result is not None:
            self._engine.give_up(result)

    def _begin(self, request: ChatRequest, asked: _Asked, progress: _Progress, deliver: Deliver) -> None:
        try:
            # Told before the rest of a vast text is read.
            passage = self._passage_of(asked.document[: _CHARACTERS * self.context + 1])
            vast = max(len(passage.word_start), len(passage.text) // _CHARACTERS) > self.context
            tokens = self.context + 1 if vast else self._model.count_tokens(passage.text)
            if tokens > self.context:
                reason = f"expected a document of at most {self.context} tokens; cut it, or send it to /v1/extract"
                deliver(Failed("context_length_exceeded", reason, "messages"))
                return
            if asked.tool is not None and not asked.tool.takes_an_object:
                reason = f"tools: {asked.tool.name}: expected an object as the arguments"
                deliver(Failed("invalid_schema", reason, "tools"))
                return
            filled = Request(request.identity, asked.schema.form, passage)
            with progress.lock:
                if not progress.given_up:
                    watch = self._watch(deliver) if request.states and asked.tool is None else None
                    progress.result = self._engine.submit(filled, request.effort, watch)
        except CinnabarError as error:
            deliver(Failed("invalid_schema", str(error)))
            return
        except Exception as error:
            deliver(Failed("engine_error", type(error).__name__))
            return
        if progress.result is None:
            deliver(Failed("cancelled", "the client gave the request up"))
        else:
            progress.result.add_done_callback(
                lambda done: deliver(self._answer(request, asked, tokens, done.result()))
            )

    def _watch(self, deliver: Deliver) -> Callable[[int, str], None]:
        return lambda _, record: deliver(State(record))

    def _answer(self, request: ChatRequest, asked: _Asked, read: int, result: Result) -> Done | Failed:
        if not isinstance(result, Filled):
            return _failure(result)
        text, reason, written = result.record, _STOP, self._model.count_tokens(result.record)
        if request.max_tokens is not None and written > request.max_tokens:
            text, reason, written = self._cut(text, request.max_tokens), _LENGTH, request.max_tokens
        usage = Usage(read, written)
        if asked.tool is None:
            return read_answer(request, result, Done(text, (), reason, usage))
        call = ToolCall(f"call_{request.identity.rpartition('-')[2]}", asked.tool.name, text)
        done = Done("", (call,), _CALLS if reason == _STOP else reason, usage)
        return read_answer(request, result, done)

    def _cut(self, text: str, tokens: int) -> str:
        """Returns the longest beginning of the text with at most so many tokens."""
        least, most = 0, len(text)
        while least < most:
            middle = (least + most + 1) // 2
            if self._model.count_tokens(text[:middle]) <= tokens:
                least = middle
            else:
                most = middle - 1
        return text[:least]


_STOP: FinishReason = "stop"
_LENGTH: FinishReason = "length"
_CALLS: FinishReason = "tool_calls"


def _failure(result: engine_request.Failed) -> Failed:
    code = _CODES.get(result.code, "engine_error")
    reasons = {
        "timeout": "the model worked on it for too long; send a shorter text",
        "cancelled": "the client gave the request up",
        "closed": "the server is shutting down",
    }
    return Failed(code, reasons.get(code, f"the record could not be filled: {result.code}"))


def _asked(request: ChatRequest) -> _Asked | Failed:
    """Returns what the request asks for, or why the reader cannot answer it."""
    if request.any_json:
        return _refused(f"the reader needs a schema: give json_schema; for any JSON {_INSTEAD}", "response_format")
    if request.stop:
        return _refused("the reader writes whole records, which end by themselves", "stop")
    schema, tool = request.schema, None
    if request.tools and request.tool_choice != "none":
        called = _tool_of(request)
        if isinstance(called, Failed):
            return called
        tool, schema = called, called.parameters
        if schema is None:
            return _refused(f"the tool {called.name} has no parameters, so there is nothing to read", "tools")
    if schema is None:
        reason = "the reader fills schemas: give response_format with json_schema, or a tool that has to be called"
        return _refused(f"{reason}; for free text {_INSTEAD}", "response_format")
    try:
        document = document_of(request.messages)
    except RequestRefused as refused:
        return refused.event
    if not document.strip():
        reason = "expected the document as text of the first user message, got none"
        return Failed("invalid_value", reason, "messages")
    return _Asked(document, schema, tool)


def _tool_of(request: ChatRequest) -> Tool | Failed:
    """Returns the one tool that the request wants called, or why there is none."""
    if request.tool_choice == "auto":
        reason = "the reader does not decide whether to call a tool: expected required, none, or the name of a tool"
        return _refused(f"{reason}; for auto {_INSTEAD}", "tool_choice")
    if request.tool_choice != "required":
        return next(tool for tool in request.tools if tool.name == request.tool_choice)
    if len(request.tools) > 1:
        return _refused(f"the reader does not choose among tools: name the one to call; or {_INSTEAD}", "tool_choice")
    return request.tools[0]


def _refused(reason: str, param: str | None) -> Failed:
    return Failed("unsupported_parameter", reason, param)
