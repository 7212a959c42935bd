"""Requests whose answer is read from a document: what they ask for, and the answer with what the document lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from cinnabar.engine.chat.requests import (
    ChatRequest,
    Done,
    FinishReason,
    Message,
    RequestRefused,
    Tool,
    ToolCall,
    Usage,
)
from cinnabar.engine.request import Filled
from cinnabar.schemas.compiling.compile import CompiledSchema

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
            raise _refuse(f"the tool {tool.name} has no parameters, so there is nothing to read", "tools")
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
    text, written = filled.record, count_tokens(filled.record)
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
    least, most = 0, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        if count_tokens(text[:middle]) <= tokens:
            least = middle
        else:
            most = middle - 1
    return text[:least]
