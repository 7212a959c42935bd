"""The parameters of requests, as Mercury's and OpenAI's documentation has them; unknown ones are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

EffortName = Literal["instant", "low", "medium", "high"]
#: What becomes of a record that lacks a value its schema demands, in a chat.
OnMissing = Literal["refuse", "guess"]
#: Numbers come exactly, as Decimal where a float would round; settings need no such exactness.
_Number = Annotated[float, BeforeValidator(lambda value: float(value) if isinstance(value, Decimal) else value)]
_Temperature = Annotated[_Number, Field(ge=0, le=2)]
_Share = Annotated[_Number, Field(ge=0, le=1)]


class Parameters(BaseModel):
    """Parameters of a request; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())


class TextPart(Parameters):
    """A part of a message; others than text are refused."""

    type: Literal["text"]
    text: str


def _kind(value: Any) -> str | None:
    kinds = {str: "<text>", list: "<list>", dict: "<object>", bool: "<bool>"}
    return kinds.get(type(value))


def one_of(expected: str, kind: Callable[[Any], str | None] = _kind) -> Discriminator:
    """Chooses among the types of a union by the kind of a value; expected: told if there is none for it."""
    return Discriminator(kind, custom_error_type="expected", custom_error_message=expected)


Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[TextPart], Tag("<list>")],
    one_of("a text or a list of parts"),
]
_Schema = Annotated[dict[str, Any], Tag("<object>")] | Annotated[bool, Tag("<bool>")]
Schema = Annotated[_Schema, one_of("a JSON Schema: an object, true or false")]


class FunctionCall(Parameters):
    """The name and the arguments, as JSON text, of a tool that was called."""

    name: str
    arguments: str


class CallBody(Parameters):
    """A call of a tool in an earlier answer."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class MessageBody(Parameters):
    """A message; `refusal` of an earlier answer may come back, `annotations` and `audio` only empty."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content | None = None
    name: str | None = None
    tool_calls: list[CallBody] | None = None
    tool_call_id: str | None = None
    reasoning_summary: str | None = None
    refusal: str | None = None
    annotations: Annotated[list[Any], Field(max_length=0)] | None = None
    audio: None = None
    function_call: None = None


class JsonSchemaBody(Parameters):
    """A schema for the answer; it is enforced whatever `strict` says."""

    name: str
    schema_: Schema = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class TextFormat(Parameters):
    """Free text."""

    type: Literal["text"]


class ObjectFormat(Parameters):
    """Any JSON object."""

    type: Literal["json_object"]


class SchemaFormat(Parameters):
    """A JSON value of this schema."""

    type: Literal["json_schema"]
    json_schema: JsonSchemaBody


def _format(value: Any) -> str | None:
    return f"<{value.get('type')}>" if isinstance(value, dict) else None


Format = Annotated[
    Annotated[TextFormat, Tag("<text>")]
    | Annotated[ObjectFormat, Tag("<json_object>")]
    | Annotated[SchemaFormat, Tag("<json_schema>")],
    one_of("an object of the type text, json_object or json_schema", _format),
]


class FunctionBody(Parameters):
    """A tool; its arguments are enforced whatever `strict` says."""

    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")]
    description: str | None = None
    parameters: Schema | None = None
    strict: bool | None = None


class ToolBody(Parameters):
    """A tool that the model may call."""

    type: Literal["function"]
    function: FunctionBody


class ChosenFunction(Parameters):
    """The name of a tool."""

    name: str


class ChosenTool(Parameters):
    """The tool that has to be called."""

    type: Literal["function"]
    function: ChosenFunction


class StreamOptions(Parameters):
    """What a stream holds beside the answer."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class _Answering(Parameters):
    """The parameters of all requests for an answer; some are accepted with the value alone that changes nothing."""

    model: str
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: _Temperature | None = None
    top_p: _Share | None = None
    n: Literal[1] | None = None
    seed: int | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None


class _Streaming(_Answering):
    """The parameters of requests whose answer may be streamed."""

    stop: (
        Annotated[
            Annotated[str, Tag("<text>")] | Annotated[list[str], Field(max_length=4), Tag("<list>")],
            one_of("a text or a list of texts"),
        ]
        | None
    ) = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    diffusing: bool | None = None
    presence_penalty: Literal[0] | None = None
    frequency_penalty: Literal[0] | None = None


class ChatBody(_Streaming):
    """A request to /v1/chat/completions."""

    messages: Annotated[list[MessageBody], Field(min_length=1)]
    response_format: Format | None = None
    tools: Annotated[list[ToolBody], Field(max_length=128)] | None = None
    tool_choice: (
        Annotated[
            Annotated[Literal["none", "auto", "required"], Tag("<text>")] | Annotated[ChosenTool, Tag("<object>")],
            one_of("none, auto, required or the tool that has to be called"),
        ]
        | None
    ) = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: EffortName | None = None
    reasoning_summary: bool | None = None
    realtime: bool | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    logit_bias: Annotated[dict[str, Any], Field(max_length=0)] | None = None
    store: Literal[False] | None = None
    service_tier: Literal["auto", "default"] | None = None
    modalities: list[Literal["text"]] | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    on_missing: OnMissing | None = None


class FimBody(_Streaming):
    """A request to /v1/fim/completions: the texts before and behind the wanted one."""

    prompt: str
    suffix: str = ""


class EditBody(_Answering):
    """A request to /v1/edit/completions: one user message in Mercury's form, without streaming."""

    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=1)]
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stream: Literal[False] | None = None


class FileBody(Parameters):
    """A file as base64; its name decides the format where the content does not."""

    name: str = "document"
    content: str


class ExtractBody(Parameters):
    """A request to /v1/extract as JSON. `schema` is a JSON Schema or the name of one that the server knows."""

    schema_: Annotated[_Schema | Annotated[str, Tag("<text>")], one_of("a JSON Schema or a name of one")] = Field(
        alias="schema"
    )
    files: Annotated[list[FileBody], Field(min_length=1)]
    model: str | None = None
    reasoning_effort: EffortName | None = None
    on_missing: Literal["quarantine", "guess"] = "quarantine"
    on_check: Literal["flag", "quarantine"] = "flag"
    on_empty: Literal["quarantine", "skip", "write"] = "quarantine"
    on_list_incomplete: Literal["flag", "quarantine"] = "flag"
    min_confidence: _Share = 0.0
