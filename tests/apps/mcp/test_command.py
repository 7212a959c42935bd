"""`cinnabar serve --mcp` as agents' programs start it: by standard input and output, and by HTTP behind its key."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from cinnabar.apps.cli.main import run

COMMAND = [sys.executable, "-P", "-m", "cinnabar.apps.cli.main", "serve"]
TOTAL = {"type": "object", "properties": {"total": {"type": ["number", "null"]}}}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    """A folder with one document."""
    (tmp_path / "mails").mkdir()
    (tmp_path / "mails" / "a.txt").write_text("Total: 12.50 EUR")
    return tmp_path / "mails"


@pytest.mark.slow
def test_a_program_that_starts_the_command_reads_a_document_by_its_pipes(mails: Path) -> None:
    async def asked() -> str:
        process = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(mails), "--mcp", "stdio"])
        async with Client(stdio_client(process)) as client:
            result = await client.call_tool("extract", {"schema": TOTAL, "files": ["a.txt"]})
            return str(result.content[0].model_dump()["text"])

    assert json.loads(asyncio.run(asked()))["results"][0]["record"] == {"total": 12.5}


@pytest.mark.slow
def test_by_http_the_key_of_the_server_is_shown(mails: Path) -> None:
    key = mails.parent / "key.txt"
    key.write_text("a-key")
    command = [*COMMAND, str(mails), "--mcp", "http", "--port", "0", "--json", "--api-key-file", str(key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"].removesuffix("/v1") + "/mcp"

        async def asked() -> str:
            web = create_mcp_http_client(headers={"Authorization": "Bearer a-key"})
            async with web, Client(streamable_http_client(url, http_client=web)) as client:
                result = await client.call_tool("extract", {"schema": TOTAL, "files": ["a.txt"]})
                return str(result.content[0].model_dump()["text"])

        try:
            assert json.loads(asyncio.run(asked()))["results"][0]["record"] == {"total": 12.5}
            accepts = {"accept": "application/json, text/event-stream"}
            assert httpx.post(url, json=CALL, headers=accepts).status_code == 401
            bearer = accepts | {"authorization": "Bearer a-key"}
            assert httpx.post(url, json=CALL, headers=bearer | {"host": "example.org"}).status_code == 421
            assert httpx.post(url, json=CALL, headers=bearer | {"origin": "https://example.org"}).status_code == 403
            assert httpx.get(url, headers=bearer).status_code == 405
            for body in (b"", b"{", b"[]", b'{"jsonrpc":"2.0"}', b"\0" * 100):
                answer = httpx.post(url, content=body, headers=bearer | {"content-type": "application/json"})
                assert 400 <= answer.status_code < 500, answer.text
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere", "--mcp", "stdio"], "nowhere: expected a folder of documents"),
        (["mails"], "expected --mcp"),
        (["--mcp", "sse"], "--mcp: expected stdio or http"),
        (["--mcp", "stdio", "--json"], "--json: expected --mcp http"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
