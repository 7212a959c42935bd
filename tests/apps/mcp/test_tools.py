"""Agents' tools: what they answer, and that hostile calls read and write nothing outside of their folders."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent
from tests.support.corrected_folder import run as extracted

from cinnabar.apps.cli.schema import report_of_schema
from cinnabar.apps.mcp.server import mcp_server
from cinnabar.apps.mcp.tools import Folders, Tools
from cinnabar.apps.server.app import Assembled, assemble
from cinnabar.apps.server.documents import FileReading
from cinnabar.apps.server.settings import ServerSettings
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.run_models import sources_of
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.schemas import load_schema

SECRET = "the secret of another folder"
MOST = 8 << 10
TOTAL = {"type": "object", "properties": {"total": {"type": ["number", "null"]}}}


@pytest.fixture(scope="module")
def assembled() -> Iterator[Assembled]:
    """The shipped model behind a server, with one schema more."""
    plan = RunPlan.of((), None, workers=1)
    source, _ = sources_of(plan, "default")
    bill = load_schema(TOTAL | {"title": "bill"})
    server = assemble(source, "reader", plan.options, ServerSettings(compile_seconds=5.0), [bill])
    yield server
    server.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of documents and one of results, beside a secret."""
    place = tmp_path_factory.mktemp("agents")
    mails = place / "mails"
    (mails / "june").mkdir(parents=True)
    (mails / "june" / "a.txt").write_text("Total: 12.50 EUR")
    (mails / "big.txt").write_text("x" * 9_000)
    (mails / "large.txt").write_text("x" * 20_000)
    (mails / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    (place / "secret.txt").write_text(SECRET)
    (place / "mails2").mkdir()
    (place / "mails2" / "b.txt").write_text(SECRET)
    (mails / "link.txt").symlink_to(place / "secret.txt")
    (mails / "loop").symlink_to(mails / "loop")
    os.mkfifo(mails / "pipe")
    extracted(place / "tables")
    return place


@pytest.fixture
def tools(place: Path, assembled: Assembled) -> Iterator[Tools]:
    """Tools over these folders, with small bounds."""

    def reading() -> FileReading:
        return assembled.documents

    folders = Folders([place / "mails"], 10_000)
    tools = Tools(place / "tables", folders, reading, report_of_schema, "agent", 60.0, MOST)
    yield tools
    tools.queries.close()


def call(tools: Tools, name: str, read_only: bool = False, **arguments: Any) -> CallToolResult:
    async def asked() -> CallToolResult:
        async with Client(mcp_server(tools, "0", read_only)) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(asked())


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def answer(result: CallToolResult) -> Any:
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


def test_files_and_texts_become_records_with_their_evidence(tools: Tools) -> None:
    found = answer(call(tools, "extract", schema=TOTAL, files=["june/a.txt"], texts=["Total: 7"]))["results"]
    assert [one["record"] for one in found] == [{"total": 12.5}, {"total": 7}]
    (field,) = found[0]["fields"]
    assert field["text"] == "12.50" and 0 < field["confidence"] <= 1
    named = answer(call(tools, "extract", schema="bill", texts=["Total: 7"]))["results"]
    assert named[0]["record"] == {"total": 7}


def test_a_file_that_cannot_be_read_says_why_and_the_others_have_records(tools: Tools) -> None:
    broken, whole = answer(call(tools, "extract", schema=TOTAL, files=["broken.pdf", "june/a.txt"]))["results"]
    assert broken["status"] == "quarantined" and broken["detail"]
    assert whole["record"] == {"total": 12.5}


def test_the_results_folder_is_queried_shown_and_corrected(tools: Tools) -> None:
    assert answer(call(tools, "query", sql="SELECT min(path) AS p FROM bill")) == {"rows": [{"p": "a.txt"}]}
    (shown,) = answer(call(tools, "show", document="c.txt"))["records"]
    assert shown["record"]["number"] and {one["pointer"] for one in shown["fields"]} >= {"/number", "/total"}
    told = answer(call(tools, "correct", document="c.txt", set_values={"/number": "N 9"}, absent=["/total"]))
    assert told["record"]["number"] == "N 9" and told["corrections"][0]["who"] == "agent"
    rows = answer(call(tools, "query", sql="SELECT number FROM bill WHERE path = 'c.txt'"))["rows"]
    assert rows == [{"number": "N 9"}]


def test_a_schema_says_what_it_asks_or_where_it_cannot_be_enforced(tools: Tools) -> None:
    assert answer(call(tools, "schema_check", schema="invoice"))["name"] == "invoice"
    wrong = {"type": "object", "properties": {"a": {"$ref": "https://example.org/other.json"}}}
    assert "/properties/a/$ref" in text_of(call(tools, "schema_check", schema=wrong))


def test_without_the_right_to_write_there_is_no_tool_that_corrects(tools: Tools) -> None:
    async def names(read_only: bool) -> list[str]:
        async with Client(mcp_server(tools, "0", read_only)) as client:
            return [one.name for one in (await client.list_tools()).tools]

    assert asyncio.run(names(False)) == ["extract", "query", "schema_check", "show", "correct"]
    assert asyncio.run(names(True)) == ["extract", "query", "schema_check", "show"]
    assert call(tools, "correct", True, document="a.txt", set_values={"/number": "x"}).is_error


def test_a_long_answer_is_cut_and_says_so(tools: Tools) -> None:
    result = call(tools, "query", sql="SELECT range AS n, repeat('x', 40) AS t FROM range(100000)")
    told = answer(result)
    assert told["left_out"] and told["rows"][0] == {"n": 0, "t": "x" * 40} and len(text_of(result)) <= MOST + 200
    wide = {"type": "object", "properties": {f"f{n}": {"type": ["string", "null"]} for n in range(300)}}
    result = call(tools, "extract", schema=wide, texts=["nothing"])
    assert len(text_of(result)) <= MOST + 500


PATHS = [
    "../secret.txt", "../mails2/b.txt", "june/../../secret.txt", "link.txt", "loop", "loop/a.txt", "pipe", "june", ".",
    "", "/etc/passwd", "//etc/passwd", "/proc/self/environ", "/dev/zero", "/dev/stdin", "~/.ssh/id_rsa", "large.txt",
    "june/a.txt\0.pdf", "june\\..\\..\\secret.txt", "%2e%2e/secret.txt", "file:///etc/passwd",
    "https://example.org/a.txt", "s3://bucket/a.txt", "x" * 5000, "a/" * 3000, "../mails/../secret.txt",
]  # fmt: skip
QUERIES = [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "INSTALL httpfs", "LOAD httpfs",
    "SELECT * FROM read_text('{place}/secret.txt')", "ATTACH '{place}/written.db'", "SELECT 1; SELECT 2",
    "COPY (SELECT 1) TO '{place}/written.csv'",
    "SET enable_external_access = true", "CREATE TABLE t AS SELECT 1", "DROP VIEW bill", "PRAGMA database_list", "",
    "SELECT getenv('HOME')", "SELECT * FROM glob('/*')",
    "WITH x AS (COPY (SELECT 1) TO '{place}/written.csv') SELECT 1",
    "EXPORT DATABASE '{place}/written'", "CALL pragma_version()", "FROM query('FROM glob(''*'')')", "(" * 20_000, "\0",
]  # fmt: skip
DEEP: dict[str, Any] = {"type": "object", "properties": {}}
for _ in range(100):
    DEEP = {"type": "object", "properties": {"a": DEEP}}
SCHEMAS: list[Any] = [
    "../secret.txt", "/etc/passwd", "os:system", "json:loads", "https://example.org/schema.json", "",
    "file:///etc/passwd", {"$ref": "file:///etc/passwd"}, {"$ref": "#/nowhere"}, {"type": "nothing"}, DEEP,
    7, None, [],
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
]  # fmt: skip
DOCUMENTS = ["", "..", "/etc/passwd", "'; DROP TABLE documents; --", "%", "\0", "x" * 100_000]
CORRECTIONS: list[dict[str, Any]] = [
    {"document": "a.txt"}, {"document": "nothing", "set_values": {"/number": "x"}},
    {"document": "a.txt", "accept": ["/x"]},
    {"document": "a.txt", "set_values": {"/number": 5}}, {"document": "a.txt", "set_values": {"number": "x"}},
    {"document": "a.txt", "set_values": {"/__proto__/a": "x"}}, {"document": "a.txt", "set_values": {"": {}}},
    {"document": "a.txt", "set_values": {"/number": "x"}, "absent": ["/number"]},
    {"document": "a.txt", "set_values": {"/number": "x"}, "schema": "../bill"}, {"document": "a.txt", "who": "eva"},
]  # fmt: skip
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    *(("extract", {"schema": TOTAL, "files": [one]}) for one in PATHS),
    *(("query", {"sql": one}) for one in QUERIES),
    *(("schema_check", {"schema": one}) for one in SCHEMAS),
    *(("extract", {"schema": one, "texts": ["a"]}) for one in SCHEMAS),
    *(("show", {"document": one}) for one in DOCUMENTS),
    *(("correct", one) for one in CORRECTIONS),
    ("extract", {"schema": TOTAL}), ("extract", {"schema": TOTAL, "texts": ["x" * 20_000]}),
    ("extract", {"schema": TOTAL, "files": ["june/a.txt"] * 300}),
    ("extract", {"schema": TOTAL, "texts": ["a"] * 257}), ("extract", {"schema": TOTAL, "files": ["big.txt"] * 50}),
    ("query", {"sql": "SELECT error(repeat('x', 1000000))"}),
    ("query", {"sql": "SELECT CAST(repeat('x', 9999) AS INT)"}),
    ("nothing", {}), ("query", {"sql": 5}), ("query", {}),
]  # fmt: skip


def _files(place: Path) -> dict[Path, int]:
    """The files below a folder, but for locks, with their times."""
    files = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink() and path.name != ".lock")
    return {path: path.stat().st_mtime_ns for path in files}


def _placed(value: Any, place: Path) -> Any:
    return value.replace("{place}", str(place)) if isinstance(value, str) else value


def test_hostile_calls_are_refused_and_read_and_write_nothing_else(
    place: Path, tools: Tools, caplog: pytest.LogCaptureFixture
) -> None:
    before = _files(place)
    assert len(HOSTILE) >= 60

    async def every() -> list[tuple[str, CallToolResult]]:
        async with Client(mcp_server(tools, "0", False)) as client:
            results = []
            for name, arguments in HOSTILE:
                own = {key: _placed(one, place) for key, one in arguments.items()}
                results.append((f"{name} {str(own)[:200]}", await client.call_tool(name, own)))
            return results

    answered = [(what, text_of(result), result.is_error) for what, result in asyncio.run(every())]
    assert [what for what, said, _ in answered if SECRET in said or "root:" in said] == []
    assert [f"{what}: {said[:200]}" for what, said, is_error in answered if not is_error] == []
    assert max(len(said) for _, said, _ in answered) < 2_200
    # Of an error of our own an agent would be told nothing.
    assert [what for what, said, _ in answered if re.fullmatch(r"Error executing tool \w+", said)] == []
    assert "Traceback" not in caplog.text
    assert _files(place) == before


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT count(*) FROM range(300000) a, range(300000) b WHERE (a.range * b.range) % 7 = 3", "1 s"),
        # DuckDB does not look for an end within a function.
        ("SELECT levenshtein(repeat('ab', 400000), repeat('ba', 400000))", "1 s"),
        ("SELECT repeat('x', 3000000000)", "memory"),
        ("SELECT list(repeat('x', 1000000)) FROM range(5000)", "memory"),
    ],
)
def test_a_query_without_end_or_bounds_is_ended_and_the_next_one_is_answered(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, sql: str, said: str
) -> None:
    monkeypatch.setattr("cinnabar.apps.mcp.tools.SECONDS", 1.0 if said == "1 s" else 30.0)
    monkeypatch.setattr("cinnabar.apps.mcp.tools.MEMORY", 2 << 30)
    refused = text_of(call(tools, "query", sql=sql))
    assert said in refused.lower(), refused
    assert answer(call(tools, "query", sql="SELECT 1 AS one")) == {"rows": [{"one": 1}]}


def test_a_row_that_is_too_large_is_told_with_its_size(tools: Tools) -> None:
    told = answer(call(tools, "query", sql="SELECT unnest(['a', repeat('x', 70000), 'c']) AS t"))
    assert told["rows"] == [{"t": "a"}] and "row 2 takes 70" in told["left_out"]


def test_a_folder_that_is_none_is_wrong_use(place: Path) -> None:
    with pytest.raises(UsageError, match="expected a folder of documents"):
        Folders([place / "secret.txt"], 10)


def test_without_results_the_tools_that_read_them_say_so(tools: Tools) -> None:
    bare = Tools(None, tools.folders, tools.reading, tools.report, "agent", 60.0, MOST)
    assert "--out" in text_of(call(bare, "query", sql="SELECT 1"))
