"""Chat completions of the reader: records under a schema, streams, tools, and plain refusals."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from pydantic import BaseModel, Field
from tests.support.cases import each
from tests.support.server_process import FORMAT, INVOICE, NAME, ServerProcess, invoice

from cinnabar.schemas import compile_schema

TOOL = {"type": "function", "function": {"name": "save", "parameters": INVOICE}}


def content(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["choices"][0]["message"]["content"]
    return found


def error(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) >= {"message", "type", "param", "code"}
    return found


def events(served: ServerProcess, **more: Any) -> list[dict[str, Any]]:
    body = {"model": NAME, "messages": [{"role": "user", "content": invoice()}], "stream": True}
    answer = served.post("/chat/completions", {**body, "response_format": FORMAT, **more})
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_the_text_of_the_user_is_read_into_a_record_of_the_schema(served: ServerProcess) -> None:
    answer = served.chat()
    record = json.loads(content(answer))
    assert list(record) == list(INVOICE["properties"])
    wanted = ("2024-117", "Brook Ltd", 136, "2024-06-02", "EUR")
    assert tuple(record[name] for name in ("invoice_number", "seller", "total", "due_date", "currency")) == wanted
    body = answer.json()
    assert body["object"] == "chat.completion" and body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"] > 0
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


def test_parts_of_a_message_and_messages_at_the_end_are_one_document(served: ServerProcess) -> None:
    head, _, rest = invoice().partition("\n")
    parts = [{"type": "text", "text": head}, {"type": "text", "text": rest}]
    system = {"role": "system", "content": "You read invoices. Invoice no. 1"}
    told = {"model": NAME, "response_format": FORMAT, "messages": [system, {"role": "user", "content": parts}]}
    assert content(served.post("/chat/completions", told)) == content(served.chat())


@pytest.mark.slow
def test_many_clients_at_once_get_what_each_gets_alone(served: ServerProcess) -> None:
    texts = [invoice(100 + number) for number in range(32)]
    alone = [content(served.chat(text)) for text in texts]
    with ThreadPoolExecutor(32) as clients:
        together = [*clients.map(lambda text: content(served.chat(text)), texts)]
    assert together == alone and len(set(alone)) == len(alone)


def test_a_stream_ends_with_the_reason_and_the_usage(served: ServerProcess) -> None:
    whole = content(served.chat())
    found = events(served, stream_options={"include_usage": True})
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in found[:-1]) == whole
    assert found[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [one["choices"][0]["finish_reason"] for one in found[:-1]] == [None] * (len(found) - 2) + ["stop"]
    assert found[-1]["choices"] == [] and found[-1]["usage"]["completion_tokens"] > 0
    assert all(one["usage"] is None for one in found[:-1])
    assert all("usage" not in one for one in events(served))


def test_each_state_of_a_stream_is_a_whole_record_that_replaces_the_one_before(served: ServerProcess) -> None:
    judge = compile_schema(INVOICE)
    found = events(served, diffusing=True)
    states = [one["choices"][0]["delta"]["content"] for one in found[:-1]]
    assert len(states) > 1 and all(judge.accepts(state) for state in states)
    assert states[-1] == content(served.chat())


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "save"}}])
def test_a_tool_that_has_to_be_called_gets_the_record_as_arguments(served: ServerProcess, choice: Any) -> None:
    answer = served.chat(tools=[TOOL], tool_choice=choice, response_format=None)
    (chosen,) = answer.json()["choices"]
    (call,) = chosen["message"]["tool_calls"]
    assert chosen["finish_reason"] == "tool_calls" and chosen["message"]["content"] is None
    assert call["function"]["name"] == "save" and call["function"]["arguments"] == content(served.chat())
    streamed = events(served, tools=[TOOL], tool_choice=choice, response_format=None)
    (delta,) = streamed[0]["choices"][0]["delta"]["tool_calls"]
    assert delta["function"] == call["function"] and delta["index"] == 0


def test_a_tool_without_parameters_is_called_with_an_empty_object(served: ServerProcess) -> None:
    answer = served.chat(tools=[{"type": "function", "function": {"name": "now"}}], tool_choice="required")
    (call,) = answer.json()["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == ("now", "{}")


class Parcel(BaseModel):
    weight: Decimal | None = Field(description="Weight")
    total: Decimal | None = Field(description="Total amount")


def test_a_decimal_of_pydantic_is_a_number(served: ServerProcess) -> None:
    client = openai.OpenAI(base_url=served.url, api_key="none", max_retries=0)
    messages: Any = [{"role": "user", "content": "Parcel NK 77\nWeight: 9.8 kg\nTotal amount: EUR 1,234.50"}]
    answer = client.chat.completions.parse(model=NAME, messages=messages, response_format=Parcel)
    assert answer.choices[0].message.parsed == Parcel(weight=Decimal("9.8"), total=Decimal("1234.50"))


def test_an_answer_beyond_max_tokens_is_cut_and_says_so(served: ServerProcess) -> None:
    answer = served.chat(max_completion_tokens=12)
    assert content(served.chat()).startswith(content(answer)) and len(content(answer)) < 40
    assert answer.json()["choices"][0]["finish_reason"] == "length"
    assert answer.json()["usage"]["completion_tokens"] == 12


@pytest.mark.parametrize("effort", ["instant", "low", "medium", "high"])
def test_each_effort_gives_a_record(served: ServerProcess, effort: str) -> None:
    assert json.loads(content(served.chat(reasoning_effort=effort)))["invoice_number"] == "2024-117"


ACCEPTED = {
    "n": 1, "temperature": 0.7, "top_p": 0.9, "seed": 7, "user": "u", "metadata": {"a": "b"}, "stop": None,
    "presence_penalty": 0, "frequency_penalty": 0, "logprobs": False, "logit_bias": {}, "store": False,
    "service_tier": "auto", "parallel_tool_calls": True, "tool_choice": "none", "reasoning_summary": True,
    "realtime": True, "max_tokens": 9000, "modalities": ["text"],
}  # fmt: skip


def test_documented_parameters_are_accepted(served: ServerProcess) -> None:
    assert content(served.chat(**ACCEPTED)) == content(served.chat())


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"n": 2}, "n", "invalid_value"),
    ({"best_of": 2}, "best_of", "unknown_parameter"),
    ({"temperature": 3}, "temperature", "invalid_value"),
    ({"top_p": 1.5}, "top_p", "invalid_value"),
    ({"temperature": "hot"}, "temperature", "invalid_value"),
    ({"max_tokens": 0}, "max_tokens", "invalid_value"),
    ({"reasoning_effort": "extreme"}, "reasoning_effort", "invalid_value"),
    ({"logprobs": True}, "logprobs", "invalid_value"),
    ({"messages": []}, "messages", "invalid_value"),
    ({"messages": [{"role": "robot", "content": ""}]}, "messages[0].role", "invalid_value"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
     "messages[0].content[0].type", "invalid_value"),
    ({"messages": [{"role": "user", "content": " "}]}, "messages", "invalid_value"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "missing_parameter"),
    ({"response_format": {"type": "yaml"}}, "response_format", "invalid_value"),
    ({"response_format": None}, "response_format", "unsupported_parameter"),
    ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
    ({"stop": "x"}, "stop", "unsupported_parameter"),
    ({"tools": [TOOL]}, "tool_choice", "unsupported_parameter"),
    ({"tools": [TOOL], "tool_choice": "auto"}, "tool_choice", "unsupported_parameter"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice",
     "invalid_value"),
    ({"tool_choice": "required"}, "tool_choice", "invalid_value"),
    ({"tools": [TOOL, TOOL], "tool_choice": "required"}, "tools", "invalid_value"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name", "invalid_value"),
    ({"diffusing": True}, "diffusing", "invalid_value"),
    ({"stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
]  # fmt: skip


@each("more, param, code", REFUSED)
def test_a_wrong_parameter_is_named(served: ServerProcess, more: dict[str, Any], param: str, code: str) -> None:
    found = error(served.chat(**more), 400)
    assert (found["param"], found["code"], found["type"]) == (param, code, "invalid_request_error")


WORDING: list[tuple[dict[str, Any], str]] = [
    ({"model": None}, "model: should be a valid string, got null"),
    ({"messages": []}, "messages: should have at least 1 item after validation, not 0, got a list"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content: should be a text or a list of parts, got 5"),
    ({"seed": 1.5}, "seed: should be a valid integer, got 1.5"),
    ({"top_p": 2}, "top_p: should be less than or equal to 1, got 2"),
    ({"metadata": 5}, "metadata: should be a valid dictionary, got 5"),
    (
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": 5}}]},
        "tools[0].function.parameters: should be a JSON Schema: an object, true or false, got 5",
    ),
    ({"reasoning_effort": "max"}, "reasoning_effort: should be 'instant', 'low', 'medium' or 'high', got 'max'"),
    ({"n": "y" * 99}, f"n: should be 1, got '{'y' * 59}…"),
]


@each("more, told", WORDING)
def test_what_was_expected_and_what_came_is_told(
    served: ServerProcess, more: dict[str, Any], told: str
) -> None:
    found = error(served.chat(**more), 400)
    assert found["message"] == told and found["param"] == told.partition(":")[0]


def test_a_refusal_of_the_reader_says_what_to_load_instead(served: ServerProcess) -> None:
    assert "cinnabar serve --model FOLDER" in error(served.chat(response_format=None), 400)["message"]
    for path in ("/fim/completions", "/edit/completions"):
        found = error(served.post(path, {"model": NAME, "prompt": "a"}), 400)
        assert found["code"] == "unsupported_parameter" and "cinnabar serve --model FOLDER" in found["message"]


SCHEMAS: list[tuple[Any, str | None]] = [
    ({"type": "object", "properties": {"a": {"type": "string", "pattern": r"(a)\1"}}}, "/properties/a/pattern"),
    ({"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}, "required": ["a"]},
     "/properties/a/$ref"),
    ({"type": "nothing"}, None),
    (False, ""),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer"), SCHEMAS)
def test_a_schema_that_cannot_be_enforced_is_refused_with_its_place(
    served: ServerProcess, schema: Any, pointer: str | None
) -> None:
    asked = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    found = error(served.chat(response_format=asked), 400)
    assert found["param"] == "response_format.json_schema.schema" and found["code"] == "invalid_schema"
    assert found.get("pointer") == pointer
    tool = {"type": "function", "function": {"name": "a", "parameters": schema}}
    found = error(served.chat(tools=[tool], tool_choice="required"), 400)
    assert found["param"] == "tools[0].function.parameters"


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["object", "null"], "properties": {}}])
def test_the_arguments_of_a_tool_are_an_object(served: ServerProcess, schema: Any) -> None:
    tool = {"type": "function", "function": {"name": "save", "parameters": schema}}
    found = error(served.chat(tools=[tool], tool_choice="required", response_format=None), 400)
    assert (found["param"], found["code"]) == ("tools", "invalid_schema")
    assert "save: expected an object" in found["message"]


def test_exact_numbers_of_a_schema_are_kept(served: ServerProcess) -> None:
    number = "0.10000000000000000000000000000001"
    body = json.dumps(
        {
            "model": NAME,
            "messages": [{"role": "user", "content": "x"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"const": "NUMBER"}},
            },
        }
    ).replace('"NUMBER"', number)
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{served.url}/chat/completions", content=body, headers=headers)
    assert content(answer) == number


def test_the_official_python_client_reads_models_answers_streams_and_errors(served: ServerProcess) -> None:
    with openai.OpenAI(base_url=served.url, api_key="none", max_retries=0) as client:
        assert [one.id for one in client.models.list()] == [NAME] and client.models.retrieve(NAME).id == NAME
        message: Any = {"role": "user", "content": invoice()}
        asked: dict[str, Any] = {"model": NAME, "messages": [message], "response_format": FORMAT}
        whole = client.chat.completions.create(**asked).choices[0].message.content
        assert whole == content(served.chat())
        with client.chat.completions.create(**asked, stream=True) as stream:
            assert "".join(one.choices[0].delta.content or "" for one in stream) == whole
        more = {"stream": True, "extra_body": {"diffusing": True, "reasoning_effort": "instant"}}
        with client.chat.completions.create(**asked, **more) as stream:
            states = [one.choices[0].delta.content for one in stream]
        assert states[-2] == whole and states[-1] is None
        with pytest.raises(openai.BadRequestError) as raised:
            client.chat.completions.create(**asked, stop="x")
        assert raised.value.param == "stop" and raised.value.code == "unsupported_parameter"
        with pytest.raises(openai.NotFoundError) as missing:
            client.chat.completions.create(**{**asked, "model": "gpt"})
        assert missing.value.code == "model_not_found" and missing.value.request_id


class Address(BaseModel):
    """The `Seller` of an invoice as the client's own helpers take it."""

    name: str | None = Field(description="name of the seller")


class Bill(BaseModel):
    number: str | None = Field(description="number of the invoice")
    seller: Address
    total: float | None


def test_the_helpers_of_the_python_client_take_pydantic_classes(served: ServerProcess) -> None:
    message: Any = {"role": "user", "content": invoice()}
    with openai.OpenAI(base_url=served.url, api_key="none", max_retries=0) as client:
        found = client.chat.completions.parse(model=NAME, messages=[message], response_format=Bill)
        bill = found.choices[0].message.parsed
        assert bill is not None and (bill.number, bill.seller.name, bill.total) == ("2024-117", "Brook Ltd", 136)
        with client.chat.completions.stream(model=NAME, messages=[message], response_format=Bill) as stream:
            assert stream.get_final_completion().choices[0].message.parsed == bill
        tool = openai.pydantic_function_tool(Bill, name="save")
        called = client.chat.completions.parse(
            model=NAME, messages=[message], tools=[tool], tool_choice="required"
        )
        (call,) = called.choices[0].message.tool_calls or []
        assert call.function.parsed_arguments == bill

    async def ask() -> str | None:
        async with openai.AsyncOpenAI(base_url=served.url, api_key="none", max_retries=0) as client:
            answers = await asyncio.gather(
                *(client.chat.completions.parse(model=NAME, messages=[message], response_format=Bill) for _ in range(4))
            )
            (content,) = {one.choices[0].message.content for one in answers}
            return content

    assert json.loads(asyncio.run(ask()) or "")["total"] == 136


def test_the_snippet_of_the_documentation_runs(served: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "server.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found is not None and "http://127.0.0.1:8000/v1" in found[1]
    own: dict[str, Any] = {}
    exec(found[1].replace("http://127.0.0.1:8000/v1", served.url), own)
    own["client"].close()
    assert capsys.readouterr().out == '{"total":119}\n'
