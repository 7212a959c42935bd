"""The recipe of docs/recipes.md for PostgreSQL, where the machine has one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import ROOT
from tests.support.documentation import put_files
from tests.support.postgresql_server import INITDB, server

from cinnabar.extraction.store.store import Store

LONG = "1234567890123456.78"
AMOUNT = {"type": ["number", "null"], "x-cinnabar-decimals": 2}
SCHEMA = {
    "title": "invoice",
    "type": "object",
    "properties": {
        "number": {"type": ["string", "null"]},
        "issue_date": {"type": ["string", "null"], "format": "date"},
        "gross_total": AMOUNT,
        "line_items": {"type": "array", "items": {"type": "object", "properties": {"amount": AMOUNT}}},
    },
}
TEXTS = ["=1+1", "", 'say "hi", \\N; \\.', "a\nb", "ü€\U0001f600", None]


@pytest.fixture
def folder(tmp_path: Path, workload, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the recipes and with six invoices in `tables`."""
    put_files(ROOT / "docs" / "recipes.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    record(tmp_path, workload, {f"{at}.txt": text for at, text in enumerate(TEXTS)})
    return tmp_path


def record(folder: Path, workload, numbers: dict[str, str | None]) -> None:
    def text(number: str | None) -> str:
        values = {"number": number, "issue_date": "2026-02-03", "gross_total": LONG, "line_items": [{"amount": 1.5}]}
        return json.dumps(values).replace(f'"{LONG}"', LONG)

    with Store.open(folder / "tables") as store:
        run = workload.begin(store, SCHEMA, f"engine-{len(numbers)}")
        run.commit_batch([workload.written(path, text(number)) for path, number in numbers.items()])
        run.finish()


def load(recipe: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", recipe], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(INITDB is None or shutil.which("psql") is None, reason="there is no PostgreSQL on this machine")
def test_a_view_comes_into_postgresql_whole_or_not_at_all(
    folder: Path, workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(sql: str) -> list[str]:
        command = ["psql", os.environ["DATABASE"], "--no-psqlrc", "-At", "-P", "null=∅", "-c", sql]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    with server() as database:
        monkeypatch.setenv("DATABASE", database)
        for _ in range(2):
            done = load("load_postgresql.py")
            assert done.returncode == 0, done.stderr
        names = "select number from invoice where path = '{}.txt'"
        assert [rows(names.format(at)) for at in (0, 1, 2, 4, 5)] == [[text or "∅" * (text is None)] for text in
                                                                      (*TEXTS[:3], *TEXTS[4:])]  # fmt: skip
        exact = "select issue_date + 1, gross_total, line_items -> 0 ->> 'amount' from invoice where number = E'a\\nb'"
        assert rows(exact) == [f"2026-02-04|{LONG}|1.50"]
        record(folder, workload, {"7.txt": "b\0c"})
        assert load("load_postgresql.py").returncode != 0
        assert rows("select count(*) from invoice") == ["6"]
