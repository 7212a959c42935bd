"""The command that trains beside the page: what is told of it while it works, and however it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cinnabar.apps.review.improving import Improving
from cinnabar.errors import UsageError
from cinnabar.extraction.run.batch.improved_models import FIGURES, candidate

FOUND = {"documents": 20, "before": 0.4, "after": 0.8, "better": True, "fields": []}
_PROGRESS = 'print(\'{"event": "progress", "stage": "training", "done": 0.5, "seconds": 0}\', flush=True)'


def improving(tmp_path: Path, *lines: str) -> Improving:
    """Returns what runs these lines of Python in place of the command."""
    script = tmp_path / "command.py"
    script.write_text("\n".join(("import json, os, signal, sys, time", _PROGRESS, *lines)), encoding="utf-8")
    return Improving(tmp_path, (sys.executable, str(script)))


def until(own: Improving, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Returns what is told once it is so."""
    for _ in range(400):
        if wanted(status := own.status()):
            return status
        time.sleep(0.05)
    raise AssertionError(status)


def wait(out: Path, name: str, figures: dict[str, Any]) -> None:
    """Writes a candidate with these figures, as a training leaves it."""
    folder = candidate(out, name)
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(json.dumps({"name": name}))
    (folder / FIGURES).write_text(json.dumps(figures))


def test_a_stopped_training_is_no_failure(tmp_path: Path) -> None:
    own = improving(tmp_path, "time.sleep(60)")
    own.start("bill", 2)
    until(own, lambda status: status.get("done") == 0.5)
    own.stop()
    status = until(own, lambda status: status["state"] != "running")
    assert status["state"] == "stopped" and "message" not in status


def test_the_seconds_go_on_while_the_command_is_silent(tmp_path: Path) -> None:
    own = improving(tmp_path, "time.sleep(60)")
    own.start("bill", None)
    assert until(own, lambda status: status["seconds"] >= 1)["state"] == "running"
    own.stop()


def test_a_killed_training_is_told_in_words(tmp_path: Path) -> None:
    own = improving(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    own.start("bill", None)
    assert "want of memory" in until(own, lambda status: status["state"] == "failed")["message"]


def test_a_model_that_waits_is_told_by_the_next_server_too(tmp_path: Path) -> None:
    wait(tmp_path, "bill", FOUND)
    own = improving(tmp_path)
    assert own.status() == {"state": "done", "schema": "bill", "result": FOUND}


def test_keeping_is_told_while_it_reads_again(tmp_path: Path) -> None:
    wait(tmp_path, "bill", FOUND)
    lines = (f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)",)
    kept = 'print(json.dumps({"event": "result", "kept": "x", "read_again": {"written": 3}}))'
    own = improving(tmp_path, *lines, kept)
    begun = time.monotonic()
    assert own.decide("bill", True)["state"] == "keeping" and time.monotonic() - begun < 30
    assert until(own, lambda status: status.get("done") == 0.5)["result"] == FOUND
    with pytest.raises(UsageError, match="under way"):
        own.start("bill", None)
    (tmp_path / "go").touch()
    status = until(own, lambda status: status["state"] == "kept")
    assert status["read_again"] == {"written": 3} and status["result"] == FOUND


def _alive(number: int) -> bool:
    """Returns whether a process works still; one that ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")
def test_a_training_ends_with_its_killed_server(tmp_path: Path) -> None:
    # The command of the training is the real one, held up where it would begin to work.
    held = (
        "import sys, time\nfrom cinnabar.apps.cli import improve, main\n"
        "improve.name_in = lambda out, asked: asked\n"
        "improve._train = lambda *_: (print('ready', file=open(sys.argv[1], 'w')), time.sleep(60))\n"
        "sys.exit(main.run(sys.argv[2:]))\n"
    )
    (tmp_path / "command.py").write_text(held)
    server = (
        "import sys, time\nfrom pathlib import Path\nfrom cinnabar.apps.review.improving import Improving\n"
        "out = Path(sys.argv[1])\n"
        "own = Improving(out, (sys.executable, str(out / 'command.py'), str(out / 'ready')))\n"
        "own.start('bill', None)\nprint(own._process.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", server, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        for _ in range(600):
            if (tmp_path / "ready").exists():
                break
            time.sleep(0.05)
        assert (tmp_path / "ready").exists() and _alive(child)
        parent.kill()
    for _ in range(200):
        if not _alive(child):
            return
        time.sleep(0.05)
    os.kill(child, 9)
    raise AssertionError("the training outlived its server")
