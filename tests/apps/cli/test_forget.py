"""`cinnabar forget`: its question, its report, and the same as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.forget import _print_forgotten
from cinnabar.apps.cli.main import run
from cinnabar.extraction.maintenance.forgetting import Forgotten
from cinnabar.extraction.store.manifest import TABLES
from cinnabar.extraction.store.reading import query


def test_forget_tells_what_it_removed(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["forget", "1.txt", "--out", str(done)]) == 2
    assert "expected --yes" in capsys.readouterr().err
    assert run(["forget", "1.txt", "--out", str(done), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "would be removed: 1 record, 2 fields with their evidence, 1 row of `documents`, 1 outcome; 1 batch" in told
    assert run(["forget", "1.txt", "--out", str(done), "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["results"]["rows"]["data"] == 1
    assert query(done, "SELECT count(*) FROM note").rows == [(2,)]
    assert run(["forget", "broken.pdf", "--out", str(done), "--yes"]) == 0
    told = capsys.readouterr().out
    assert "removed: 1 outcome, 1 of the outcomes in quarantine; 1 batch written anew" in told
    assert "a run that reads it stores it again" in told


def test_the_rows_of_every_table_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    _print_forgotten("removed", Forgotten(("ab12",), ("a.txt",), dict.fromkeys(TABLES, 2), batches=1))
    told = capsys.readouterr().out
    assert "2 records, 2 fields with their evidence, 2 rows of `documents`, 2 outcomes" in told
    assert "2 results of checks" in told
