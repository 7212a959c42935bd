"""A run tells what happened to it: at its end, when it fails, and after its process was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT
from tests.support.notification_receivers import Hook, hook, told_run, write

from cinnabar.apps.cli import status
from cinnabar.apps.cli.main import run as command
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.run.notifications import run_notifications
from cinnabar.extraction.run.notifications.delivery import NOTIFICATIONS_FOLDER
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store

#: A run in a process of its own that kills itself at the call of this function.
KILLED = """
import importlib, os, signal, sys
from pathlib import Path
from tests.support.notification_receivers import told_run
module, _, name = sys.argv[4].partition(":")
owner, _, name = name.rpartition(".")
owner = getattr(importlib.import_module(module), owner)
setattr(owner, name, lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))
told_run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
"""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_notifications, "_AT_END", 0.3)
    monkeypatch.setattr(status, "_TRIES", 0.3)


def killed_run(docs: Path, out: Path, url: str, where: str) -> None:
    command = [sys.executable, "-c", KILLED, str(docs), str(out), url, where]
    done = subprocess.run(command, cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_run_tells_its_end_its_quarantine_and_that_a_person_is_wanted(tmp_path: Path) -> None:
    docs, out = write(tmp_path / "docs", "Anna", "", ""), tmp_path / "out"
    with hook() as there:
        summary, notes = told_run(docs, out, there.url, max_error_rate=0.5)
    assert notes == [] and there.kinds == ["finished", "quarantine", "review_wanted"]
    finished, quarantine, review = (one["data"] for one in there.events)
    assert [finished[name] for name in ("written", "quarantined", "skipped", "incomplete")] == [1, 2, 0, 0]
    assert finished["reasons"] == {"missing": 2} and finished["runs"] == [summary.run_id]
    assert finished["text"].startswith("1 written, 2 quarantined, 0 skipped.\n")
    assert quarantine["text"].startswith("2 of 3 documents in quarantine or empty, more than 0.5 of them.\n")
    assert review["text"].startswith("In quarantine: 2. Records with a check that fails: 0.")
    look = f"\ncinnabar status report {summary.run_id} --out {out}\ncinnabar review --out {out}"
    assert review["text"].endswith(look)
    assert not [*(out / NOTIFICATIONS_FOLDER).glob("*Z-*")] and "Anna" not in json.dumps(there.events)


def test_drift_is_told_and_kinds_are_chosen_by_address(tmp_path: Path) -> None:
    docs, out = write(tmp_path / "docs", *(f"N{number}" for number in range(8))), tmp_path / "out"
    with hook() as all_of, hook() as some:
        told_run(docs, out, all_of.url, f"{some.url}#drift,failed")
        assert (all_of.kinds, some.kinds) == (["finished"], [])
        write(docs, *[""] * 8)
        told_run(docs, out, all_of.url, f"{some.url}#drift,failed")
    assert some.kinds == ["drift"] and "quarantine" in some.events[0]["data"]["text"]


def test_a_run_that_fails_tells_why_and_not_what_others_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, out = write(tmp_path / "docs", "Anna"), tmp_path / "out"
    from cinnabar.extraction.run.batched_run import BatchedRun

    def fails(error: Exception) -> Any:
        def work(_: BatchedRun, _cluster: object = None) -> None:
            raise error

        return work

    with hook() as there:
        for error in (RunError("the disk is full"), ValueError("Anna is in it")):
            monkeypatch.setattr(BatchedRun, "work_through", fails(error))
            with pytest.raises(type(error)):
                told_run(docs, out, there.url)
        with Store.open(out), pytest.raises(UsageError):
            told_run(docs, out, there.url)
    assert there.kinds == ["failed"] * 3
    said = [one["data"]["text"] for one in there.events]
    assert said[0].startswith("the disk is full\n") and "ValueError" in said[1] and "another run is writing" in said[2]
    assert "Anna" not in json.dumps(there.events)


def test_a_receiver_that_is_down_does_not_change_the_run_and_only_a_run_that_names_it_tells_it_all(
    tmp_path: Path,
) -> None:
    docs, out = write(tmp_path / "docs", "Anna"), tmp_path / "out"
    down = Hook()
    down.stop()
    first, notes = told_run(docs, out, down.url)
    assert first.written == 1 and "events wait" in notes[0]
    with hook(port=down.port) as there, hook() as ours:
        told_run(docs, out, ours.url)
        assert there.asked == 0 and ours.kinds == ["finished"]
        last, _ = told_run(docs, out, down.url)
    assert [one["subject"] for one in there.events] == [first.run_id, last.run_id]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "kinds"),
    [
        # Killed once the run's end is committed and before its events are on disk, and in the middle.
        ("cinnabar.extraction.run.notifications.run_notifications:PendingNotifications.on_runs_ended", ["finished"]),
        ("cinnabar.extraction.run.notifications.run_notifications:PendingNotifications._remove", ["finished"]),
        ("cinnabar.extraction.run.batched_run:BatchedRun.finish", ["failed"]),
        ("cinnabar.extraction.run.stored_run:Run.commit_batch", ["failed"]),
    ],
)
def test_the_next_run_tells_the_events_of_a_killed_process(tmp_path: Path, where: str, kinds: list[str]) -> None:
    docs, out = write(tmp_path / "docs", "Anna"), tmp_path / "out"
    with hook() as there:
        killed_run(docs, out, there.url, where)
        assert there.kinds == []
        ((killed,),) = query(out, "select run_id from runs").rows
        told_run(docs, out, there.url)
    assert there.kinds == [*kinds, "finished"]
    assert there.events[0]["id"] == f"{killed}-{kinds[0]}"


@pytest.mark.slow
def test_the_command_lists_and_sends_what_waits_and_what_a_killed_run_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs, out = write(tmp_path / "docs", "Anna"), tmp_path / "out"
    down = Hook()
    down.stop()
    killed_run(
        docs,
        out,
        down.url,
        "cinnabar.extraction.run.notifications.run_notifications:PendingNotifications.on_runs_ended",
    )
    listing = ["status", "events", "--out", str(out)]
    assert command([*listing, "--send"]) == 1
    assert "1 event waiting" in capsys.readouterr().out
    with hook(port=down.port) as there:
        assert command([*listing, "--send", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"events": [], "notes": []} and there.kinds == ["finished"]
    assert [one.name for one in (out / NOTIFICATIONS_FOLDER).iterdir()] == [".lock"]


def test_python_tells_and_needs_a_folder_for_it() -> None:
    import cinnabar

    asked = ("a.txt", b"name=Anna"), {"type": "object"}
    with pytest.raises(UsageError, match="notify: expected a folder"):
        cinnabar.extract(*asked, notify=["https://hooks.example.org/"])
    with pytest.raises(UsageError, match="tell is gone: "):
        cinnabar.extract(*asked, tell=["https://hooks.example.org/"])  # type: ignore[call-overload]
