"""The route /v1/responses for schemas: a request and an answer of OpenAI's newer form, by way of a chat completion."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from cinnabar.apps.server.errors import ApiError, invalid
from cinnabar.apps.server.parameters import ChatBody, EffortName, JsonSchemaBody, OnMissing, Parameters, one_of
from cinnabar.engine.chat.requests import ChatRequest, Done, Usage

#: The parameters of a response as a chat completion calls them.
_NAMES = {"response_format.json_schema.schema": "text.format.schema", "messages": "input"}


class PartBody(Parameters):
    """A part of a message; others than text are refused."""

    type: Literal["input_text", "output_text"]
    text: str
    annotations: Annotated[list[Any], Field(max_length=0)] | None = None
    logprobs: Annotated[list[Any], Field(max_length=0)] | None = None


class ItemBody(Parameters):
    """A message; `id` and `status` of an earlier answer may come back."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[
        Annotated[str, Tag("<text>")] | Annotated[list[PartBody], Tag("<list>")], one_of("a text or a list of parts")
    ]
    id: str | None = None
    status: str | None = None


class FormatBody(JsonSchemaBody):
    """The schema of the answer."""

    type: Literal["json_schema"]


class TextBody(Parameters):
    """The form of the answer."""

    format: FormatBody | None = None
    verbosity: str | None = None


class ReasoningBody(Parameters):
    """How long the model may work."""

    effort: EffortName | None = None


class ResponsesBody(Parameters):
    """A request to /v1/responses; what is accepted without effect is that of a chat completion."""

    model: str
    input: Annotated[
        Annotated[str, Tag("<text>")] | Annotated[list[ItemBody], Field(min_length=1), Tag("<list>")],
        one_of("a text or a list of messages"),
    ]
    text: TextBody | None = None
    instructions: str | None = None
    reasoning: ReasoningBody | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Any = None
    top_p: Any = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    parallel_tool_calls: bool | None = None
    tools: Annotated[list[Any], Field(max_length=0)] | None = None
    tool_choice: Literal["auto", "none"] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    service_tier: Literal["auto", "default"] | None = None
    include: Annotated[list[Any], Field(max_length=0)] | None = None
    background: Literal[False] | None = None
    stream: bool | None = None
    store: bool | None = None
    on_missing: OnMissing | None = None

    @property
    def as_chat(self) -> dict[str, Any]:
        """The body of the chat completion that asks for the same. Raises ApiError for a stream, or without a schema."""
        if self.stream:
            raise invalid("stream: expected none with /v1/responses; /v1/chat/completions streams", "stream")
        if self.text is None or self.text.format is None:
            message = "expected format with type json_schema and the schema to fill; this route writes no free text"
            raise invalid(f"text: {message}", "text", "missing_parameter")
        messages = [] if self.instructions is None else [{"role": "system", "content": self.instructions}]
        items = [ItemBody(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        for item in items:
            text = item.content
            joined = text if isinstance(text, str) else "\n".join(part.text for part in text)
            messages.append({"role": item.role, "content": joined})
        schema = self.text.format.model_dump(by_alias=True, exclude={"type"})
        names = ("model", "temperature", "top_p", "metadata", "user", "on_missing")
        same = {name: getattr(self, name) for name in names}
        effort = None if self.reasoning is None else self.reasoning.effort
        return same | {
            "messages": messages,
            "response_format": {"type": "json_schema", "json_schema": schema},
            "max_tokens": self.max_output_tokens,
            "reasoning_effort": effort,
        }


def rename_parameter(error: ApiError) -> ApiError:
    """Returns an error of a chat completion with its parameter as it is called here."""
    error.param = _NAMES.get(error.param or "", error.param)
    return error


def response_of(chat_request: ChatRequest, body: ChatBody, done: Done) -> dict[str, Any]:
    """Returns the answer in the form of a response."""
    cut = done.finish_reason == "length"
    part: dict[str, Any] = {"type": "output_text", "text": done.text, "annotations": []}
    if done.refusal:
        part = {"type": "refusal", "refusal": done.refusal}
    name = chat_request.identity.rpartition("-")[2]
    status = "incomplete" if cut else "completed"
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": int(time.time()),
        "model": body.model,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [{"type": "message", "id": f"msg_{name}", "role": "assistant", "status": status, "content": [part]}],
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
        "metadata": body.metadata or {},
        "usage": _usage(done.usage),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
