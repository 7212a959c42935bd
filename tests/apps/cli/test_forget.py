"""`cinnabar forget`: its question, its report, and the same as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.reading import query


def test_forget_tells_what_it_removed(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["forget", "1.txt", "--out", str(done)]) == 2
    assert "expected --yes" in capsys.readouterr().err
    assert run(["forget", "1.txt", "--out", str(done), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "would be removed: rows of data 1, fields 2, documents 1, outcomes 1; 1 batch" in told
    assert run(["forget", "1.txt", "--out", str(done), "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["results"]["rows"]["data"] == 1
    assert query(done, "SELECT count(*) FROM note").rows == [(2,)]
    assert run(["forget", "broken.pdf", "--out", str(done), "--yes"]) == 0
    told = capsys.readouterr().out
    assert "removed: rows of outcomes 1; 1 batch written anew" in told
    assert "a run that reads it stores it again" in told
