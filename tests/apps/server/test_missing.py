"""A demanded value that the text lacks is made up nowhere: the server, Python and the command say so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from pydantic import BaseModel
from tests.support.server_process import NAME, ServerProcess, running
from tests.support.tiny_checkpoint import write_checkpoint

import cinnabar


def demanding(**properties: Any) -> dict[str, Any]:
    """An object all of whose properties are demanded, as the strict mode of every client writes it."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def formatted(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "record", "schema": schema, "strict": True}}


NUMBER, TEXT = {"type": "number"}, {"type": "string"}
DATE = {"type": "string", "format": "date"}
STRICT = demanding(iban=TEXT, amount=NUMBER, due=DATE)
#: A demanded value of each kind, with the places within it that are missing where a text says nothing.
KINDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "policy_number": (TEXT | {"title": "Policy number"}, ("",)),
    "number": (NUMBER, ("",)),
    "integer": ({"type": "integer", "minimum": 1}, ("",)),
    "date": (DATE, ("",)),
    "time": ({"type": "string", "format": "time"}, ("",)),
    "pattern": ({"type": "string", "pattern": "^[A-Z]{2}[0-9]{8}$"}, ("",)),
    "codes": ({"enum": ["EUR", "USD", "GBP"]}, ("",)),
    "number_or_text": ({"anyOf": [NUMBER, TEXT], "title": "Policy number"}, ("",)),
    "object": (demanding(city=TEXT, area=NUMBER), ("/city", "/area")),
    "list": ({"type": "array", "items": NUMBER, "minItems": 1}, ("/0",)),
    "rows": ({"type": "array", "items": demanding(name=TEXT, price=NUMBER), "minItems": 1}, ("/0/name", "/0/price")),
}
SILENT = ("hello", "Dear Anna, lunch was lovely, see you soon!", "The weather stays fine, the roads are dry.")


def chosen(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["choices"]
    return dict(found)


def test_a_demanded_value_that_the_text_lacks_is_refused_by_its_pointer(served: ServerProcess) -> None:
    answer = served.chat("hello", response_format=formatted(STRICT))
    found = chosen(answer)
    assert found["message"]["content"] is None and found["finish_reason"] == "stop"
    refusal = found["message"]["refusal"]
    assert all(pointer in refusal for pointer in ("/iban", "/amount", "/due")) and "on_missing" in refusal
    told = answer.json()["cinnabar"]
    assert told["missing"] == ["/iban", "/amount", "/due"] and set(told["confidence"]) == {*told["missing"]}
    assert answer.json()["usage"]["prompt_tokens"] > 0


def test_only_what_is_missing_is_named_and_what_is_there_is_answered(served: ServerProcess) -> None:
    half = served.chat("Amount: EUR 12.50\nDue date: 3 May 2026", response_format=formatted(STRICT))
    assert half.json()["cinnabar"]["missing"] == ["/iban"]
    assert "/iban" in chosen(half)["message"]["refusal"] and "/due" not in chosen(half)["message"]["refusal"]
    whole = served.chat(
        "IBAN: DE89 3704 0044 0532 0130 00\nAmount: EUR 12.50\nDue date: 3 May 2026", response_format=formatted(STRICT)
    )
    record = json.loads(chosen(whole)["message"]["content"])
    assert (record["amount"], record["due"]) == (12.5, "2026-05-03") and chosen(whole)["message"]["refusal"] is None
    told = whole.json()["cinnabar"]
    assert told["missing"] == [] and all(0 < sure <= 1 for sure in told["confidence"].values())


def test_guesses_come_on_request_and_are_named(served: ServerProcess) -> None:
    answer = served.chat("hello", response_format=formatted(STRICT), on_missing="guess")
    assert {*json.loads(chosen(answer)["message"]["content"])} == {"iban", "amount", "due"}
    assert chosen(answer)["message"]["refusal"] is None
    assert answer.json()["cinnabar"]["missing"] == ["/iban", "/amount", "/due"]
    assert served.chat("hello", on_missing="invent").json()["error"]["param"] == "on_missing"


@pytest.mark.parametrize("diffusing", [False, True])
def test_a_stream_refuses_too_and_ends_without_made_up_content(served: ServerProcess, diffusing: bool) -> None:
    answer = served.chat("hello", response_format=formatted(STRICT), stream=True, diffusing=diffusing)
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n") if line]
    assert lines.pop() == "[DONE]"
    events = [json.loads(line) for line in lines]
    deltas = [one["choices"][0]["delta"] for one in events]
    assert "/iban" in "".join(delta.get("refusal") or "" for delta in deltas)
    contents = [delta["content"] for delta in deltas if delta.get("content") is not None]
    assert contents[-1:] == [""] if diffusing else not contents  # with `diffusing` the last one replaces the others
    assert events[-1]["choices"][0]["finish_reason"] == "stop"
    assert events[-1]["cinnabar"]["missing"] == ["/iban", "/amount", "/due"]


def test_a_tool_is_not_called_with_made_up_arguments(served: ServerProcess) -> None:
    tool = {"type": "function", "function": {"name": "save", "parameters": STRICT}}
    refused = chosen(served.chat("hello", tools=[tool], tool_choice="required", response_format=None))
    assert "tool_calls" not in refused["message"] and "/iban" in refused["message"]["refusal"]
    guessed = served.chat("hello", tools=[tool], tool_choice="required", response_format=None, on_missing="guess")
    assert chosen(guessed)["finish_reason"] == "tool_calls"


class Payment(BaseModel):
    iban: str
    amount: float


def test_the_official_client_parses_a_refusal(served: ServerProcess) -> None:
    client = openai.OpenAI(base_url=served.url, api_key="none", max_retries=0)
    messages: Any = [{"role": "user", "content": "hello"}]
    answer = client.chat.completions.parse(model=NAME, messages=messages, response_format=Payment)
    message = answer.choices[0].message
    assert message.parsed is None and message.refusal is not None and "/iban" in message.refusal
    again: Any = [*messages, message.model_dump(exclude={"parsed"})]  # what clients keep of a conversation is accepted
    assert client.chat.completions.parse(model=NAME, messages=again, response_format=Payment).choices


def test_a_client_of_responses_is_told_the_routes_in_its_place(served: ServerProcess) -> None:
    client = openai.OpenAI(base_url=served.url, api_key="none", max_retries=0)
    with pytest.raises(openai.NotFoundError, match=r"/v1/chat/completions with .* or /v1/extract"):
        client.responses.parse(model=NAME, input="hello", text_format=Payment)


def test_python_makes_up_no_kind_of_value(tmp_path: Path) -> None:
    for number, text in enumerate(SILENT):
        (tmp_path / f"{number}.txt").write_text(text)
    pointers = {f"/{name}{place}" for name, (_, places) in KINDS.items() for place in places}
    schema = demanding(**{name: schema for name, (schema, _) in KINDS.items()})
    with cinnabar.extract(tmp_path, schema, workers=1) as table:
        assert not table.records and len(table.failures) == len(SILENT)
        for failure in table.failures:
            assert (failure.outcome, failure.code) == ("quarantined", "missing")
            assert {*failure.pointers} == pointers


def tool_retry(error: str) -> list[dict[str, Any]]:
    """What instructor (TOOLS) and pydantic-ai send behind an answer that their class refuses: the result of a tool."""
    call = {"id": "call_1", "type": "function", "function": {"name": "save", "arguments": '{"amount":12.5}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "name": "save", "content": error},
    ]


def user_retry(error: str) -> list[dict[str, Any]]:
    """What instructor (JSON_SCHEMA) and pydantic-ai (NativeOutput) send: a message of the user."""
    return [{"role": "assistant", "content": '{"amount":12.5}'}, {"role": "user", "content": error}]


BILL = "Bill 17\nAmount: EUR 12.50"
ERROR = (
    "Validation Error found:\n1 validation error for Bill\namount\n  Value error, expected at least 9999.0 "
    "[type=value_error, input_value=12.5]\nRecall the function correctly, fix the errors"
)
AMOUNT = demanding(amount={"type": ["number", "null"]})


def test_the_result_of_a_tool_is_no_document(served: ServerProcess) -> None:
    tool = {"type": "function", "function": {"name": "save", "parameters": AMOUNT}}
    messages = [{"role": "system", "content": "Extract."}, {"role": "user", "content": BILL}, *tool_retry(ERROR)]
    body = {"model": NAME, "messages": messages, "tools": [tool], "tool_choice": "required"}
    (call,) = chosen(served.post("/chat/completions", body))["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"amount": 12.5}


def test_a_text_of_the_user_behind_an_answer_is_refused_rather_than_read(served: ServerProcess) -> None:
    for told in (ERROR, "Bill 18\nAmount: EUR 99.00"):
        messages = [{"role": "user", "content": BILL}, *user_retry(told)]
        answer = served.post(
            "/chat/completions", {"model": NAME, "messages": messages, "response_format": formatted(AMOUNT)}
        )
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["param"] == "messages" and "messages[2]" in error["message"] and "first" in error["message"]


def test_the_document_is_what_the_conversation_first_brought(served: ServerProcess) -> None:
    messages = [{"role": "user", "content": "Bill 17"}, {"role": "user", "content": "Amount: EUR 12.50"}]
    messages += [{"role": "system", "content": "Amount: EUR 7.00"}, *user_retry(" ")[:1]]
    answer = served.post(
        "/chat/completions", {"model": NAME, "messages": messages, "response_format": formatted(AMOUNT)}
    )
    assert json.loads(chosen(answer)["message"]["content"]) == {"amount": 12.5}


@pytest.mark.slow
def test_a_language_model_that_reads_documents_refuses_too(tmp_path: Path) -> None:
    labelled = tmp_path / "labelled"
    labelled.mkdir()
    (labelled / "a.txt").write_text("Number A-1\n")
    schema = demanding(number={"type": "string", "maxLength": 6}) | {"title": "note"}
    (labelled / "schema.json").write_text(json.dumps(schema))
    (labelled / "truth.jsonl").write_text(json.dumps({"file": "a.txt", "truth": {"number": "A-1"}}) + "\n")
    model = write_checkpoint(tmp_path / "tiny", window=2048, block=8)
    arguments = ("--model", str(model), "--effort", "instant", "--examples", str(labelled))
    with running(*arguments) as server:
        ask: Callable[..., httpx.Response] = lambda **more: server.chat(  # noqa: E731
            "hello", model="tiny", response_format=formatted(schema), **more
        )
        answer = ask()
        assert answer.status_code == 200, answer.text
        assert answer.json()["cinnabar"]["missing"] == ["/number"] and chosen(answer)["message"]["content"] is None
        assert "number" in json.loads(chosen(ask(on_missing="guess"))["message"]["content"])
