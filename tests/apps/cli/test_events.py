"""Commands tell what happened in their runs, and list and send what waits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.notification_receivers import Hook, hook

from cinnabar.apps.cli.main import run
from cinnabar.extraction.run.notifications import run_notifications


@pytest.fixture
def words(notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of an extraction of three notes and a broken file."""
    monkeypatch.chdir(notes.parent)
    monkeypatch.setattr(run_notifications, "_AT_END", 0.3)
    mine = ["--model", str(tiny_model), "--device", "cpu", "--workers", "1", "--on-empty", "write"]
    return ["--schema", "note.json", "--out", "out", *mine]


def test_extract_tells_what_came_of_it(words: list[str]) -> None:
    with hook() as there:
        assert run(["extract", "docs", *words, "--notify", there.url, "--max-error-rate", "0.1"]) == 3
    assert there.kinds == ["finished", "quarantine", "review_wanted"]
    assert there.events[0]["data"]["schemas"] == ["note"]


def test_a_backfill_tells_it_and_one_without_work_tells_nothing(words: list[str]) -> None:
    assert run(["extract", "docs", *words]) == 0
    with hook() as there:
        assert run(["backfill", *words, "--notify", there.url]) == 0 and there.asked == 0
        schema = json.loads(Path("note.json").read_text())
        schema["properties"]["place"] = {"type": ["string", "null"]}
        Path("note.json").write_text(json.dumps(schema))
        assert run(["backfill", *words, "--notify", there.url, "--dry-run"]) == 0 and there.asked == 0
        assert run(["backfill", *words, "--notify", there.url]) == 0
    assert there.kinds[0] == "finished" and there.events[0]["data"]["written"] == 3


def test_events_lists_what_waits_and_sends_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    down = Hook()
    down.stop()
    assert run(["extract", "docs", *words, "--notify", f"{down.url}#finished"]) == 0
    assert "events wait (no answer" in capsys.readouterr().err
    assert run(["status", "events", "--out", "out", "--json"]) == 0
    (waiting,) = json.loads(capsys.readouterr().out)["events"]
    assert (waiting["id"].rpartition("-")[2], waiting["to"]) == ("finished", "http://127.0.0.1/…")
    with hook(lambda number: 400 if number == 0 else 200, port=down.port) as there:
        assert run(["status", "events", "--out", "out", "--send"]) == 1
        said = capsys.readouterr().out
        assert "it answered 400" in said and "1 event waiting" in said
        assert run(["status", "events", "--out", "out", "--send"]) == 0
    assert there.kinds == ["finished"] and capsys.readouterr().out == "0 events waiting\n"
