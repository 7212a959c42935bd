"""Runs `cinnabar improve` beside the review page, and keeps what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

from cinnabar.schemas.errors import UsageError

#: The command line of this installation.
COMMAND = (sys.executable, "-m", "cinnabar.flows.cli.main")
# Seconds that a stopped training gets to write its last state; lines of its messages that are kept.
_PATIENCE, _LINES = 20.0, 20


class Improving:
    """One training at a time. Threads may share it."""

    def __init__(self, out: Path, command: tuple[str, ...] = COMMAND) -> None:
        self._out, self._command = out, command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._told: dict[str, Any] = {"state": "idle"}

    def told(self) -> dict[str, Any]:
        """Returns the training's figures and `state`: idle, running, done, failed, kept or discarded."""
        with self._lock:
            return dict(self._told)

    def start(self, schema: str, minutes: float | None) -> dict[str, Any]:
        """Starts a training on the corrected documents of a schema. Raises UsageError if one is running."""
        with self._lock:
            if self._process is not None:
                raise UsageError("improve: a training is running; stop it, or wait for it")
            asked = [*self._command, "improve", schema, "--out", str(self._out), "--events"]
            if minutes is not None:
                asked += ["--minutes", f"{minutes:g}"]
            self._process = subprocess.Popen(
                asked, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            self._told = {"state": "running", "schema": schema, "stage": "reading", "done": 0.0, "seconds": 0}
            threading.Thread(target=self._follow, args=(self._process,), name="improve", daemon=True).start()
            return dict(self._told)

    def stop(self) -> None:
        """Stops a training; the same command goes on later."""
        with self._lock:
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()

    def decide(self, schema: str, keep: bool) -> dict[str, Any]:
        """Keeps or discards the trained model. Raises UsageError with the command's message if it fails."""
        choice = "--keep" if keep else "--discard"
        asked = [*self._command, "improve", schema, "--out", str(self._out), choice]
        done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise UsageError(_last(done.stderr.splitlines()) or f"improve {choice} ended with {done.returncode}")
        with self._lock:
            self._told = {**self._told, "state": "kept" if keep else "discarded", "schema": schema}
            return dict(self._told)

    def _follow(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None and process.stderr is not None
        said: deque[str] = deque(maxlen=_LINES)
        errors = threading.Thread(target=said.extend, args=(process.stderr,), name="improve-messages", daemon=True)
        errors.start()
        result: dict[str, Any] | None = None
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if not isinstance(event, dict):
                continue
            if event.get("event") == "result":
                result = event
            elif event.get("event") == "progress":
                with self._lock:
                    self._told = {**self._told, **{k: v for k, v in event.items() if k != "event"}}
        status = process.wait()
        errors.join()
        process.stdout.close()
        process.stderr.close()
        with self._lock:
            self._process = None
            if result is not None and status == 0:
                self._told = {**self._told, "state": "done", "result": result}
            else:
                message = _last(said) or f"the training ended with status {status}"
                self._told = {**self._told, "state": "failed", "message": message}


def _last(lines: Any) -> str:
    """Returns the last line with text, without the name of the command before it."""
    found = [line.strip() for line in lines if line.strip()]
    return found[-1].removeprefix("cinnabar: ") if found else ""
