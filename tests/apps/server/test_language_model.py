"""A language model behind the server: all of the contract, with a tiny model of random weights."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from tests.support.server_process import ServerProcess, running
from tests.support.tiny_checkpoint import add_special, write_checkpoint

from cinnabar.schemas import compile_schema

NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "maxLength": 6},
        "kinds": {"type": "array", "maxItems": 2, "items": {"enum": ["ab", "the", "no"]}},
    },
    "required": ["number", "kinds"],
    "additionalProperties": False,
}
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "note", "schema": NOTE}}
TOOL: Any = {"type": "function", "function": {"name": "save", "parameters": NOTE}}
EDIT = (
    "<|current_file_content|>\ncurrent_file_path: a.py\nx = 1\n<|code_to_edit|>\ny<|cursor|> = 2\n<|/code_to_edit|>\n"
    "z = 3\n<|/current_file_content|>"
)


# A server of its own loads a language model; what it answers has quick tests in tests/engine/chat.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    base = tmp_path_factory.mktemp("language")
    folder = write_checkpoint(base / "tiny", window=2048, block=8)
    labelled = base / "labelled"
    labelled.mkdir()
    (labelled / "a.txt").write_text("Number A-1\n")
    (labelled / "schema.json").write_text(json.dumps(NOTE | {"title": "note"}))
    line = {"file": "a.txt", "truth": {"number": "A-1", "kinds": ["ab"]}}
    (labelled / "truth.jsonl").write_text(json.dumps(line) + "\n")
    with running("--model", str(folder), "--effort", "instant", "--examples", str(labelled)) as server:
        yield server


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of a model whose vocabulary has marks for the middle of a text."""
    folder = write_checkpoint(tmp_path_factory.mktemp("marks") / "marked", window=2048, block=8)
    add_special(folder, "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
    with running("--model", str(folder), "--effort", "instant") as server:
        yield server


def ask(tiny: ServerProcess, path: str = "/chat/completions", **body: Any) -> httpx.Response:
    said = {"model": "tiny", "messages": [{"role": "user", "content": "Number A-7"}], "max_tokens": 60}
    return tiny.post(path, {name: value for name, value in (said | body).items() if value is not None})


def choice(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["choices"]
    message = found.get("message", {})
    written = found.get("text") or message.get("content") or message.get("tool_calls")
    assert answer.json()["usage"]["completion_tokens"] > 0 or not written
    return dict(found)


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found = [line.removeprefix("data: ") for line in answer.text.split("\n") if line]
    assert found.pop() == "[DONE]"
    return [json.loads(line) for line in found]


def test_the_models_abilities_are_told(tiny: ServerProcess) -> None:
    (found,) = httpx.get(f"{tiny.url}/models").json()["data"]
    assert found["id"] == "tiny" and set(found["abilities"]) == {"chat", "edit", "extract", "fim", "tools"}


def test_pieces_of_a_streamed_text_join_to_the_whole_answer(tiny: ServerProcess) -> None:
    whole = choice(ask(tiny))["message"]["content"]
    pieces = lines(ask(tiny, stream=True))
    assert whole and "".join(one["choices"][0]["delta"].get("content", "") for one in pieces) == whole
    states = [one["choices"][0]["delta"].get("content") for one in lines(ask(tiny, stream=True, diffusing=True))]
    assert states[-2] == whole and states[-1] is None and len(states) > 3


def test_a_demanded_tool_is_called_with_arguments_of_its_schema(tiny: ServerProcess) -> None:
    found = choice(ask(tiny, tools=[TOOL], tool_choice="required"))
    assert found["finish_reason"] == "tool_calls"
    (call,) = found["message"]["tool_calls"]
    assert call["function"]["name"] == "save" and compile_schema(NOTE).accepts(call["function"]["arguments"])
    assert choice(ask(tiny, tools=[TOOL]))["finish_reason"] in ("stop", "length", "tool_calls")  # auto


def test_the_middle_of_a_text_and_the_next_edit_are_written(tiny: ServerProcess) -> None:
    with openai.OpenAI(base_url=tiny.url, api_key="none", max_retries=0) as client:
        body = {"model": "tiny", "prompt": "def f(", "suffix": "):\n", "max_tokens": 20}
        answer = client.post("/fim/completions", body=body, cast_to=httpx.Response)
        found = choice(answer)
        assert answer.json()["object"] == "text_completion" and isinstance(found["text"], str)
        streamed = ask(tiny, "/fim/completions", **body, stream=True, messages=None)
        assert "".join(one["choices"][0]["text"] for one in lines(streamed)) == found["text"]
    message = {"role": "user", "content": EDIT}
    assert choice(ask(tiny, "/edit/completions", messages=[message]))["message"]["content"].startswith("```")
    wrong = ask(tiny, "/edit/completions", messages=[{"role": "user", "content": "x"}])
    assert wrong.status_code == 400 and wrong.json()["error"]["param"] == "messages"
    assert ask(tiny, "/edit/completions", messages=[message], stream=True).json()["error"]["param"] == "stream"


def test_the_official_client_fills_in_the_middle(marked: ServerProcess) -> None:
    with openai.OpenAI(base_url=f"{marked.url}/fim", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {"model": "marked", "prompt": "def f(x):\n    return ", "suffix": "\n\n\nf(2)\n"}
        whole = client.completions.create(**asked, max_tokens=20)
        (one,) = whole.choices
        assert whole.object == "text_completion" and one.finish_reason in ("stop", "length") and one.text
        assert whole.usage is not None and 0 < whole.usage.completion_tokens <= 20
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        pieces = [*client.completions.create(**asked, max_tokens=20, stream=True)]
        assert len(pieces) > 2 and "".join(piece.choices[0].text for piece in pieces) == one.text
        assert [piece.choices[0].finish_reason for piece in pieces if piece.choices[0].finish_reason] == [
            one.finish_reason
        ]
        with pytest.raises(openai.BadRequestError, match="prompt: ") as refused:
            client.completions.create(**asked | {"prompt": "x = 1\n" * 2000})
        assert refused.value.param == "prompt" and refused.value.code == "context_length_exceeded"


def test_the_answer_is_the_likeliest_one_at_any_temperature(tiny: ServerProcess) -> None:
    plain, *others = (choice(ask(tiny, **how)) for how in ({}, {"temperature": 1}, {"temperature": 2, "top_p": 0.9}))
    assert others == [plain] * 2


def test_examples_stand_in_the_prompt_of_a_request_with_their_schema(tiny: ServerProcess) -> None:
    def prompt(schema: dict[str, Any]) -> int:
        asked = {"type": "json_schema", "json_schema": {"name": "note", "schema": schema}}
        return int(ask(tiny, response_format=asked).json()["usage"]["prompt_tokens"])

    other = NOTE | {"properties": NOTE["properties"] | {"more": {"type": "boolean"}}}
    assert choice(ask(tiny, response_format=FORMAT)) and prompt(NOTE | {"title": "note"}) != prompt(other)


def test_a_text_is_read_as_a_document_where_its_client_says_what_is_to_become_of_missing_values(
    tiny: ServerProcess,
) -> None:
    talk = ask(tiny, response_format=FORMAT)
    read = ask(tiny, response_format=FORMAT, on_missing="guess", max_tokens=200)
    assert compile_schema(NOTE).accepts(choice(read)["message"]["content"])
    assert "cinnabar" not in talk.json() and set(read.json()["cinnabar"]) == {"missing", "confidence"}
    assert ask(tiny, on_missing="guess").json()["choices"][0]["message"]["content"]  # a talk without a schema


def test_files_are_read_with_evidence(tiny: ServerProcess) -> None:
    files = [("files", (f"{n}.txt", f"Number A-{n}\n".encode())) for n in range(3)]
    data = {"schema": json.dumps(NOTE), "on_missing": "guess", "on_empty": "write"}
    answer = httpx.post(f"{tiny.url}/extract", files=files, data=data, timeout=60)
    assert answer.status_code == 200, answer.text
    for one in answer.json()["results"]:
        assert one["status"] == "written" and {field["pointer"] for field in one["fields"]} >= {"/number"}
        assert compile_schema(NOTE).accepts(json.dumps(one["record"]))


def test_a_client_that_leaves_a_stream_ends_its_request(tiny: ServerProcess) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "stream": True, "diffusing": True}
    with httpx.stream("POST", f"{tiny.url}/chat/completions", json=body | {"max_tokens": 1900}) as answer:
        assert next(answer.iter_lines()).startswith("data: ")
    until = time.monotonic() + 90
    while httpx.get(f"{tiny.root}/health").json()["in_flight"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert choice(ask(tiny))


def test_a_second_signal_ends_a_stream_with_an_error_event(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "tiny", window=2048, block=8)
    body = {"model": "tiny", "messages": [{"role": "user", "content": "a"}], "stream": True, "max_tokens": 1500}
    with running("--model", str(folder)) as server:
        with httpx.stream("POST", f"{server.url}/chat/completions", json=body, timeout=30) as answer:
            lines = (line for line in answer.iter_lines() if line)
            assert answer.status_code == 200 and "choices" in next(lines)
            for _ in range(2):
                server.process.send_signal(signal.SIGTERM)
                time.sleep(0.3)
            *_, last = lines
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "shutting_down"
        assert server.process.wait(timeout=30) == 0
    told = "".join(server.log)
    assert "Exception" not in told and "ASGI" not in told, told


def test_a_folder_that_is_no_model_here_is_refused(tmp_path: Path) -> None:
    from cinnabar.apps.cli.main import run

    assert run(["serve", "--model", "mercury-2", "--port", "0"]) == 2
    assert run(["serve", "--examples", str(tmp_path), "--port", "0"]) == 2
