"""Makes a request of a chat ready: checks it, makes the prompt, and chooses the kind of its answer, graph and budget.

That is done beside the batch, in another thread: a graph of a large vocabulary takes part of a second.

The client's own messages stay as they are. What the answer must look like is told behind the system message, in words:
the constraint sees to it in any case, but a model that knows it writes better. A chat template may know neither tools
nor a system message, so calls and their results are texts, and a template without a system message gets that text at
the beginning of the first message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from cinnabar.engine.asking.instructions import RECORD_ALONE, record_task
from cinnabar.engine.asking.prompt import outline
from cinnabar.engine.chat.answer_kinds import AnswerKind, Call, CallOr, FencedText, FreeText, InfillText, RecordText
from cinnabar.engine.chat.meeting import NOWHERE, meeting_of
from cinnabar.engine.chat.requests import ChatRequest, Gap, Message, RequestRefused, Tool
from cinnabar.engine.language.graph_cache import GRAPH_BYTES, bytes_of, graph_of_language
from cinnabar.engine.language.record_graph import RecordGraph, ended_by
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.language.settings import answer_budget, settings_for
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.language.language_model import Message as Rendered
from cinnabar.engine.models.language.tokenizer import middle_marks
from cinnabar.errors import ModelError, TooLarge, UsageError
from cinnabar.schemas.compiling.compile import CompiledSchema, compile_schema
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.kept_by_weight import KeptByWeight

#: The most tokens of an answer without `max_tokens`: of a text, of a middle by the model's own marks, and of a record,
#: if its schema asks for no more. A model that repeats itself without end has to stop somewhere.
TEXT, MIDDLE, RECORD = 4096, 512, 1024
#: Levels of an object whose schema is not given.
LEVELS = 2


@dataclass(frozen=True, slots=True)
class PreparedChat:
    """A request as it is decoded: the kind of its answer, and its task with the budget of all that is written."""

    answer: AnswerKind
    task: Task


class ChatPreparer:
    """Prepares requests for one language model, from several threads."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._marks = middle_marks(model.tokenizer)
        self._graphs = KeptByWeight[tuple[str, ...], RecordGraph](GRAPH_BYTES, bytes_of)

    def prepare(self, request: ChatRequest) -> PreparedChat:
        """Returns what is to decode for a request; raises RequestRefused if it cannot be answered."""
        self._check(request)
        kind = self._kind(request)
        settings = settings_for(self._model.traits, request.effort.name)
        prompt = self._prompt(request, kind)
        graph = self._graph(kind, "tools" if isinstance(kind, Call | CallOr) else "response_format")
        room, least = self._model.traits.window - len(prompt), int(graph.distance[0])
        if room < least:
            where = "messages" if request.gap is None or request.gap.cursor else "prompt"
            raise RequestRefused(
                "context_length_exceeded",
                f"{where}: {len(prompt)} tokens and at least {least} of the answer; the model's context has"
                f" {self._model.traits.window}",
                where,
            )
        # The end token is no part of an answer's tokens for the client.
        limit = None if request.max_tokens is None else request.max_tokens + 1
        if limit is not None and limit < least:
            raise RequestRefused(
                "invalid_value",
                f"max_tokens: expected at least {least - 1} for the shortest answer, got {request.max_tokens}",
                "max_tokens",
            )
        most = min(room, self._usual(request, kind, least) if limit is None else limit)
        task = Task(prompt, graph, most, kind.accepts, kind.minimal, settings, kind.ends)
        if isinstance(kind, FreeText | FencedText):
            task = replace(task, judge=None)
        return PreparedChat(kind, task)

    def _check(self, request: ChatRequest) -> None:
        """Raises RequestRefused for whatever the model cannot do, or no model."""
        structured = request.schema is not None or request.any_json
        forced = request.tool_choice not in ("auto", "none") and bool(request.tools)
        if request.stop and (structured or forced or (request.gap and self._around(request) is None)):
            raise RequestRefused(
                "unsupported_parameter",
                "stop: expected none where the answer has a form of its own (a schema, a demanded call, an edit): it"
                " ends when it is whole",
                "stop",
            )

    def _kind(self, request: ChatRequest) -> AnswerKind:
        """Returns the kind of the request's answer."""
        stop = tuple(text.encode("utf-8", "replace") for text in request.stop)
        if (around := self._around(request)) is not None:
            return InfillText(stop, meeting=meeting_of(*around))
        if request.gap is not None:
            return _region(request.gap)
        schema = _any_object() if request.any_json else request.schema
        other: FreeText | RecordText = (
            FreeText(stop) if schema is None else RecordText(_form(schema, "response_format"))
        )
        tools = _callable(request)
        if not tools:
            return other
        for tool in tools:
            _form(tool.parameters, "tools", f"tools: {tool.name}: ")
            tool.check_arguments()
        if request.tool_choice != "auto":
            return Call(tools)
        return CallOr(Call(tools), FreeText(stop, b"{") if isinstance(other, FreeText) else other)

    def _around(self, request: ChatRequest) -> tuple[str, str] | None:
        """Returns the texts around a middle that the model writes by its own marks; None if it is asked in words."""
        gap = request.gap
        return None if gap is None or gap.cursor or self._marks is None else gap.around

    def _prompt(self, request: ChatRequest, kind: AnswerKind) -> list[int]:
        if (around := self._around(request)) is not None and self._marks is not None:
            return self._marks.prompt(self._model.tokenizer, *around)
        asked: list[Rendered]
        if request.gap is not None:
            task, text = request.gap.prompt
            asked = [{"role": "user", "content": (task, "\n\n" + text)}]
        else:
            other = kind.other if isinstance(kind, CallOr) else kind
            form = other.form if isinstance(other, RecordText) else None
            tools = _callable(request)
            has_system = self._model.chat.has_system
            asked = chat_messages(request, form, tools, isinstance(kind, Call), has_system)
        try:
            return self._model.chat.render(asked)
        except ModelError as error:
            roles = ", ".join(str(message["role"]) for message in asked)
            raise RequestRefused(
                "invalid_value",
                f"messages: the model's chat template does not take messages of {roles} in this order; begin with the"
                " user, and let user and assistant take turns",
                "messages",
            ) from error

    def _graph(self, kind: AnswerKind, param: str) -> RecordGraph:
        """Returns the graph of a kind of answers, the same object for the same kind."""
        graph = self._graphs.get(kind.key)
        if graph is not None:
            return graph
        try:
            made = graph_of_language(kind.language(), self._model.tokenizer)
        except TooLarge as error:
            raise RequestRefused("invalid_schema", f"the schema is too large to be enforced: {error}", param) from error
        made = replace(made, free=kind.free)
        if isinstance(kind, InfillText) and self._marks is not None:
            made = ended_by(made, self._marks.ends)
        if int(made.distance[0]) < 0:
            raise RequestRefused("invalid_schema", "the tokens of the model spell no value of this schema", param)
        return self._graphs.put(kind.key, made)

    def _usual(self, request: ChatRequest, kind: AnswerKind, least: int) -> int:
        """Returns the most tokens of an answer whose request does not bound them."""
        if not isinstance(kind, RecordText):
            return least + (MIDDLE if isinstance(kind, InfillText) else TEXT)
        tokenizer = self._model.tokenizer
        text = "\n".join(message.content for message in request.messages)
        return least + max(answer_budget(kind.form, text, lambda part: len(tokenizer.encode(part))), RECORD)


def _region(gap: Gap) -> FencedText:
    """Returns the kind of an answer in words; that to an edit ends where it goes on with the file behind the region."""
    # A region may have several blocks.
    behind = replace(meeting_of(*gap.around), next=None, open=None) if gap.cursor else NOWHERE
    return FencedText(gap.fence.encode(), gap.cursor.encode(), behind)


def _callable(request: ChatRequest) -> tuple[Tool, ...]:
    """Returns the tools that the answer may call."""
    if request.tool_choice == "none":
        return ()
    one = request.tool_choice not in ("auto", "required")
    return tuple(tool for tool in request.tools if not one or tool.name == request.tool_choice)


def _form(schema: CompiledSchema, param: str, where: str = "") -> Form:
    try:
        return schema.form
    except UsageError as error:
        raise RequestRefused("invalid_schema", f"{where}{error}", param) from error


@cache
def _any_object() -> CompiledSchema:
    """Returns the schema of any JSON object of a few levels."""
    scalars: list[dict[str, Any]] = [{"type": kind} for kind in ("string", "number", "boolean", "null")]
    value: dict[str, Any] = {"anyOf": scalars}
    for _ in range(LEVELS):
        lists, objects = {"type": "array", "items": value}, {"type": "object", "additionalProperties": value}
        value = {"anyOf": [*scalars, lists, objects]}
    return compile_schema({"type": "object", "additionalProperties": value})


_ANY_JSON = "Answer with a JSON object alone, on one line."
_CALL = 'To call one, answer with JSON alone, on one line: {"name": the name of the tool, "arguments": its arguments}.'
_MAY_CALL = "Call one if it helps to answer; else answer without."
_MUST_CALL = "Call one of them now."


def chat_messages(
    request: ChatRequest, form: Form | None, tools: Sequence[Tool], must_call: bool, has_system: bool
) -> list[Rendered]:
    """Returns the messages of a chat whose answer is a record of `form`, a call of one of the tools, or text.

    Without `has_system` the template leaves system messages out. Raises RequestRefused if the messages are in no order
    that can be answered.
    """
    system = [message.content for message in request.messages if message.role == "system" and message.content]
    system += [_tools(tools, must_call)] if tools else []
    if form is not None and not must_call:
        system.append(_answer(request, form))
    turns = _turns(request.messages)
    parts = _join_texts(system)
    if not parts:
        return turns
    if has_system:
        return [{"role": "system", "content": parts}, *turns]
    first = turns[0]
    return [{"role": first["role"], "content": (*parts, *("\n\n" + part for part in first["content"]))}, *turns[1:]]


def _answer(request: ChatRequest, form: Form) -> str:
    if request.any_json:
        return _ANY_JSON
    return f"{record_task(form, RECORD_ALONE)}\n\nFields:\n{outline(form)}"


def _tools(tools: Sequence[Tool], must_call: bool) -> str:
    lines = ["You can call these tools:"]
    for tool in tools:
        about = " ".join(tool.description.split())
        lines.append(f"- {tool.name}: {about}" if about else f"- {tool.name}")
        lines += [f"    {line}" for line in outline(tool.parameters.form).splitlines()]
    return "\n".join([*lines, f"{_CALL} {_MUST_CALL if must_call else _MAY_CALL}"])


def _turns(messages: Sequence[Message]) -> list[Rendered]:
    """Returns the turns of user and assistant; turns of the same one that follow each other are joined."""
    called: dict[str, str] = {}
    roles, texts = list[str](), list[list[str]]()
    for at, message in enumerate(messages):
        if message.role == "system":
            continue
        text = message.content
        if message.role == "tool":
            if message.tool_call_id not in called:
                raise _wrong(at, f"expected the id of a call before it, got {message.tool_call_id!r}")
            text = f"Result of {called[message.tool_call_id]}:\n{text}"
        for call in message.tool_calls:
            called[call.identity] = call.name
            call_text = f'{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {call.arguments}}}'
            text = f"{text}\n{call_text}" if text else call_text
        role = "assistant" if message.role == "assistant" else "user"
        if roles and roles[-1] == role:
            texts[-1].append(text)
        else:
            roles.append(role)
            texts.append([text])
    if not roles or roles[-1] != "user":
        raise _wrong(len(messages) - 1, "expected the last message to be one of the user or of a tool")
    return [{"role": role, "content": _join_texts(own)} for role, own in zip(roles, texts, strict=True)]


def _join_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Returns the texts with an empty line between them; each is a part that is encoded by itself."""
    return tuple(text if not at else "\n\n" + text for at, text in enumerate(texts))


def _wrong(at: int, what: str) -> RequestRefused:
    return RequestRefused("invalid_value", f"messages[{max(at, 0)}]: {what}", "messages")
