"""The requests of a chat, among them those for a part of a text, and the events that answer them.

Each request ends with exactly one `Done` or `Failed`; with `states` there are `State` events before it.

A request for a part of a text asks for what stands between two texts (`Gap`). That for the next edit of a file has a
message with snippets, the file with its editable region, and a history of diffs; snippets and history may be left out:

    <|recently_viewed_code_snippets|> … <|/recently_viewed_code_snippets|>
    <|current_file_content|>
    current_file_path: src/main.py
    …text… <|code_to_edit|> …region, with <|cursor|>… <|/code_to_edit|> …text…
    <|/current_file_content|>
    <|edit_diff_history|> …unified diffs, newest last… <|/edit_diff_history|>
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cinnabar.engine.settings import EFFORTS, Effort
from cinnabar.errors import UsageError
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.form.form import ObjectNode

Role = Literal["system", "user", "assistant", "tool"]
#: What a model can do: extraction under a schema, free text, calls of tools, the middle of a text, the next edit.
Ability = Literal["extract", "chat", "tools", "fim", "edit"]
FinishReason = Literal["stop", "length", "tool_calls"]
#: Why a request fails. The first four are the client's: a request longer than the model's window; a parameter that the
#: model does not support; one whose value is wrong; a schema that cannot be enforced. Then: the client cancelled it; it
#: takes too long; the model is being closed; a failure of the engine.
FailureCode = Literal[
    "context_length_exceeded",
    "unsupported_parameter",
    "invalid_value",
    "invalid_schema",
    "cancelled",
    "timeout",
    "closed",
    "engine_error",
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `arguments` is JSON text."""

    identity: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. An assistant's may call tools, and one of the role `tool` answers the call `tool_call_id`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call; `parameters` is the schema of its arguments."""

    name: str
    description: str
    parameters: CompiledSchema

    def check_arguments(self) -> None:
        """Raises RequestRefused unless every record of the arguments' schema is an object."""
        root = self.parameters.form.root
        if not isinstance(root, ObjectNode) or root.nullable:
            raise RequestRefused("invalid_schema", f"tools: {self.name}: expected an object as the arguments", "tools")


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of a text that is asked for: the middle of it, or the editable region of a file.

    prompt: the task and the texts around the part, in words. fence: a line of backticks around the answer, longer than
    any run of them in the prompt. around: the text before the part and the one behind it. cursor: the mark of the
    cursor in an edit, which is no part of the answer; "" of a middle. The client gets an edit between two lines of
    three backticks.
    """

    prompt: tuple[str, str]
    fence: str
    around: tuple[str, str]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request of a client.

    `identity` names it in logs and failures. `schema`: the answer is a record of it, as canonical JSON text on one
    line; `any_json`: the answer is any JSON object. tool_choice: `auto`, `none`, `required`, or the name of one of
    `tools`. max_tokens: the most tokens of the answer, None for all that the window has room for. stop: texts before
    which the answer ends. states: whether `State` events are wanted. gap: the part of a text that is asked for; there
    are no messages then. extract: what the user says first is a document to take the record of `schema` from, rather
    than a question. guesses: whether a value that the schema demands and the document lacks is guessed; else the answer
    is a refusal.
    """

    identity: str
    messages: tuple[Message, ...] = ()
    schema: CompiledSchema | None = None
    any_json: bool = False
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    effort: Effort = EFFORTS["medium"]
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    states: bool = False
    gap: Gap | None = None
    extract: bool = False
    guesses: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a request: its prompt, its answer, and those of the prompt that were read for an earlier one."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """A state of the answer: `text` is the whole answer of the moment and replaces the one before it.

    Under a schema it is a whole valid JSON text. settled: how many characters at the text's beginning stay as they are
    in all later states and in the answer.
    """

    text: str
    settled: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """The answer. With calls of tools `text` is empty, but for a model that says something before a call.

    Of a record that was read from a document: `confidence` maps the JSON pointers of its values to their confidence,
    and `missing` are those of values that the schema demands and the document lacks. With a `refusal`, which names
    them, there is neither text nor call; without one they are guesses. `alone`: the reader's, as a stronger model that
    was asked gave no answer.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: FinishReason
    usage: Usage
    confidence: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    refusal: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A request without an answer; `param` names the request's parameter at fault, None if it is none of them."""

    code: FailureCode
    message: str
    param: str | None = None


class RequestRefused(UsageError):
    """A request that cannot be answered, before any work is done for it; see `FailedRequest`."""

    def __init__(self, code: FailureCode, message: str, param: str | None = None) -> None:
        self.event = FailedRequest(code, message, param)
        super().__init__(message)


Event = State | Done | FailedRequest
#: Takes the events of one request, in their order. A model calls it from a thread of its own, so it must not wait;
#: one that raises ends its own request alone.
Deliver = Callable[[Event], None]
#: Gives a request up, from any thread; without effect if it has ended. The request then ends with `FailedRequest`, code
#: `cancelled`, behind which at most a state comes that was under way.
Cancel = Callable[[], None]


_SNIPPETS, _FILE, _HISTORY = _SECTIONS = ("recently_viewed_code_snippets", "current_file_content", "edit_diff_history")
_REGION, _CURSOR = "code_to_edit", "<|cursor|>"
_TAG = re.compile(rf"<\|/?(?:{'|'.join(_SECTIONS)}|{_REGION})\|>")
_SECTION = re.compile(rf"<\|({'|'.join(_SECTIONS)})\|>\n?(.*?)\n?<\|/\1\|>", re.DOTALL)
#: The text before the region, the region, and the text behind it.
_AROUND = re.compile(rf"(.*)<\|{_REGION}\|>(.*)<\|/{_REGION}\|>(.*)", re.DOTALL)
_PATH = re.compile(r"\A\s*current_file_path:[ \t]*([^\n]*)\n")
_FILL = """You complete a text. Below stand its beginning and its end; the part between them is missing. Write that \
part so that beginning, part and end join without a break: nothing of the beginning or the end is repeated. Answer \
with the part alone, between two lines of {fence}."""
_EDIT = """You suggest the next edit of a file. Below stand snippets that the author looked at lately, the latest \
changes, the file, and then the region of it that you edit; there {cursor} marks the cursor. Write the region as it \
should be next: finish what the latest changes began, and keep what needs no change. Answer with the whole new region \
alone, between two lines of {fence}."""


def gap_between(before: str, after: str) -> Gap:
    """Returns the request for the text between two others."""
    fence = _fence(before, after)
    text = f"Beginning:\n{fence}\n{before}\n{fence}\n\nEnd:\n{fence}\n{after}\n{fence}"
    return Gap((_FILL.format(fence=fence), text), fence, (before, after))


def next_edit(content: str) -> Gap:
    """Returns the request that a message makes. Raises RequestRefused if a tag is missing or misplaced."""
    snippets, file, history = _sections(content)
    parted = _AROUND.fullmatch(file)
    if parted is None:
        raise _wrong(f"expected <|{_REGION}|> and <|/{_REGION}|> within <|{_FILE}|>, one behind the other")
    before, region, after = parted.groups()
    # Line ends that only part the tags from the region's lines.
    if region.startswith("\n") and (not before or before.endswith("\n")):
        region = region[1:]
    if region.endswith("\n") and after.startswith("\n"):
        region = region[:-1]
    if _CURSOR in before or _CURSOR in after or region.count(_CURSOR) > 1:
        cursors = content.count(_CURSOR)
        raise _wrong(f"expected {_CURSOR} at most once, and within <|{_REGION}|>, found it {cursors} times")
    name = "File"
    if path := _PATH.match(before):
        before, name = before[path.end() :], f"File {path[1].strip()}".rstrip()
    plain = region.replace(_CURSOR, "")
    fence = _fence(before, plain, after)
    parts = [f"Snippets:\n{snippets}"] if snippets else []
    parts += [f"Latest changes, the newest last:\n{history}"] if history else []
    # Marks around the region within the file came back in the answers of a small model, with the file around them.
    parts += [f"{name}:\n{fence}\n{before}{plain}{after}\n{fence}", f"Region:\n{fence}\n{region}\n{fence}"]
    return Gap((_EDIT.format(fence=fence, cursor=_CURSOR), "\n\n".join(parts)), fence, (before, after), _CURSOR)


def _fence(*texts: str) -> str:
    """Returns a fence that is longer than any run of backticks in these texts."""
    runs = [len(run) for text in texts for run in re.findall("`+", text)]
    return "`" * (max([2, *runs]) + 1)


def _sections(content: str) -> tuple[str, str, str]:
    """Returns snippets, file and history, without the line ends beside their tags; "" for one that is left out.

    Raises RequestRefused if the file is missing, if a tag comes twice, if sections overlap or if text stands outside.
    """
    for tag, times in Counter(_TAG.findall(content)).items():
        if times > 1:
            raise _wrong(f"expected {tag} once, found it {times} times")
    if outside := _SECTION.sub("", content).strip():
        raise _wrong(f"expected nothing outside of the sections, each with its end, found {outside[:80]!r}")
    found = {section[1]: section[2] for section in _SECTION.finditer(content)}
    inner = (tag for text in found.values() for tag in _TAG.findall(text) if tag.strip("<|/>") != _REGION)
    if (tag := next(inner, None)) is not None:
        raise _wrong(f"expected the sections one behind another, found {tag} within another one")
    if _FILE not in found:
        raise _wrong(f"expected <|{_FILE}|> and <|/{_FILE}|> around a file, found none")
    return found.get(_SNIPPETS, ""), found[_FILE], found.get(_HISTORY, "")


def _wrong(what: str) -> RequestRefused:
    return RequestRefused("invalid_value", f"messages[0].content: {what}", "messages")
