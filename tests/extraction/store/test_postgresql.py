"""The recipe of docs/storage.md against a real PostgreSQL, where the machine has one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT
from tests.support.documentation import put_files
from tests.support.postgresql_server import INITDB, server

from cinnabar.extraction.store.store import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(INITDB is None or shutil.which("psql") is None, reason="there is no PostgreSQL on this machine"),
]
AMOUNT = {"type": ["number", "null"], "x-cinnabar-decimals": 2}
LONG = "1234567890123456.78"
SCHEMA = {
    "title": "invoice",
    "type": "object",
    "properties": {
        "number": {"type": ["string", "null"]},
        "issue_date": {"type": ["string", "null"], "format": "date"},
        "currency": {"type": ["string", "null"]},
        "gross_total": AMOUNT,
        "seller": {"type": "object", "properties": {"name": {"type": "string"}}},
        "line_items": {"type": "array", "items": {"type": "object", "properties": {"amount": AMOUNT}}},
    },
}


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of a server of this machine's PostgreSQL, which ends with the tests."""
    with server() as address:
        yield address


@pytest.fixture
def folder(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    put_files(ROOT / "docs" / "storage.md", tmp_path)
    monkeypatch.setenv("DATABASE", database)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return tmp_path


def _text(record: dict[str, Any]) -> str:
    """Returns a record as JSON, with a number that no float holds."""
    return json.dumps(record).replace(f'"{LONG}"', LONG)


def load(folder: Path, run: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "load.sh", run], cwd=folder, capture_output=True, text=True, check=False)


def rows(database: str, sql: str) -> list[list[str]]:
    command = ["psql", database, "--no-psqlrc", "-At", "-P", "null=∅", "-c", sql]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("|") for line in done.stdout.splitlines()]


def test_runs_are_loaded_and_a_second_time_changes_nothing(folder: Path, database: str, workload) -> None:
    texts = ["=1+1", "", 'say "hi", \\N; \\.', "a\nb", "ü€\U0001f600", None]
    first = [
        {"number": text, "issue_date": "2026-02-03", "gross_total": LONG, "seller": {"name": "A & 'B'"}}
        | {"line_items": [{"amount": 1.5}, {"amount": -2}]}
        for text in texts
    ]
    with Store.open(folder / "tables") as store:
        run = workload.begin(store, SCHEMA, "engine-1")
        run.commit_batch([workload.written(f"{i}.txt", record) for i, record in enumerate(map(_text, first))])
        one = run.id
        run.finish()
        run = workload.begin(store, SCHEMA, "engine-2")
        run.commit_batch([workload.written("1.txt", {"number": "new"}), workload.written("9.txt", {"number": "late"})])
        two = run.id
        run.finish()
    wanted = [["0.txt", "=1+1"], ["1.txt", "new"], ["2.txt", 'say "hi", \\N; \\.'], ["4.txt", "ü€\U0001f600"]]
    for runs in ((one, two), (two, one), (one, one, two, two)):
        rows(database, "drop table if exists invoice")
        for run_id in runs:
            done = load(folder, run_id)
            assert done.returncode == 0, done.stderr
        assert rows(database, "select count(*), count(distinct document) from invoice") == [["7", "7"]]
        short = "select path, number from invoice where path in ('0.txt', '1.txt', '2.txt', '4.txt') order by path"
        assert rows(database, short) == wanted
        assert rows(database, "select number from invoice where path = '5.txt'") == [["∅"]]
        exact = (
            "select issue_date + 1, gross_total, seller ->> 'name', jsonb_array_length(line_items), number = E'a\\nb'"
            " from invoice where path = '3.txt'"
        )
        assert rows(database, exact) == [["2026-02-04", LONG, "A & 'B'", "2", "t"]]


def test_a_run_is_loaded_whole_or_not_at_all(folder: Path, database: str, workload) -> None:
    rows(database, "drop table if exists invoice")
    with Store.open(folder / "tables") as store:
        run = workload.begin(store, SCHEMA, "engine-1")
        run.commit_batch([workload.written(f"{i}.txt", {"number": text}) for i, text in enumerate(["a", "b\0c"])])
        broken = run.id
        run.finish()
    done = load(folder, broken)
    assert done.returncode != 0 and "ERROR" in done.stderr
    assert rows(database, "select to_regclass('invoice')") == [["∅"]]
