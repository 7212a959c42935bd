"""Runs `cinnabar improve` beside the review page, and keeps its figures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from cinnabar.engine.child_process import python_command
from cinnabar.errors import UsageError
from cinnabar.extraction.run.batch.improved_models import waiting_models

#: The command line of this installation.
COMMAND = tuple(python_command("-m", "cinnabar.apps.cli.main"))
# Seconds that a stopped command gets to write its last state; lines of its messages that are kept.
_PATIENCE, _LINES = 20.0, 20
_WORKING = frozenset({"running", "keeping"})


class Improving:
    """One training, or one decision about a trained model, at a time. Threads may share it."""

    def __init__(self, out: Path, command: tuple[str, ...] = COMMAND) -> None:
        self._out, self._command = out, command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopping = False
        self._begun = 0.0
        self._status: dict[str, Any] = {"state": "idle"}

    def status(self) -> dict[str, Any]:
        """Returns the figures and `state`: idle, running, stopped, failed, done, keeping, kept or discarded.

        A model that was trained earlier, or by the command line, and waits for a decision is `done`.
        """
        with self._lock:
            status = dict(self._status)
        if status["state"] in _WORKING:
            return {**status, "seconds": round(time.monotonic() - self._begun)}
        if status["state"] in ("kept", "discarded"):
            return status
        candidates = waiting_models(self._out)
        if status["state"] in ("failed", "stopped"):
            name = status["schema"]
            return {**status, "result": candidates[name]} if name in candidates else status
        name = status.get("schema") if status.get("schema") in candidates else next(iter(candidates), None)
        return {"state": "idle"} if name is None else {"state": "done", "schema": name, "result": candidates[name]}

    def start(self, schema: str, minutes: float | None) -> dict[str, Any]:
        """Starts a training on the corrected documents of a schema. Raises UsageError if one is running."""
        options = [] if minutes is None else ["--minutes", f"{minutes:g}"]
        return self._begin(schema, options, {"state": "running", "schema": schema, "stage": "reading", "done": 0.0})

    def decide(self, schema: str, keep: bool) -> dict[str, Any]:
        """Keeps or discards the trained model. Raises UsageError if a training is running.

        A kept model reads unsure values again, which takes as long as a run; `status` says how far it is.
        """
        before = self.status()
        result = {"result": before["result"]} if before.get("schema") == schema and "result" in before else {}
        state = {"state": "keeping", "schema": schema, "stage": "keeping", "done": None, **result}
        return self._begin(schema, ["--keep" if keep else "--discard"], state, "kept" if keep else "discarded")

    def stop(self) -> None:
        """Stops what is running; the same training goes on later."""
        with self._lock:
            process, self._stopping = self._process, True
        if process is not None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()

    def _begin(self, schema: str, options: list[str], status: dict[str, Any], then: str = "done") -> dict[str, Any]:
        with self._lock:
            if self._process is not None:
                raise UsageError("improve: a training or a decision is under way; stop it, or wait for it")
            command = [*self._command, "improve", schema, "--out", str(self._out), "--events", *options]
            # A killed server cannot stop its children, so the command looks for its parent.
            command += ["--parent", str(os.getpid())]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            self._stopping, self._begun, self._status = False, time.monotonic(), status
            threading.Thread(target=self._follow, args=(self._process, then), name="improve", daemon=True).start()
            return {**status, "seconds": 0}

    def _follow(self, process: subprocess.Popen[str], then: str) -> None:
        assert process.stdout is not None and process.stderr is not None
        messages: deque[str] = deque(maxlen=_LINES)
        errors = threading.Thread(target=messages.extend, args=(process.stderr,), name="improve-messages", daemon=True)
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
                result = {name: value for name, value in event.items() if name != "event"}
            elif event.get("event") == "progress":
                with self._lock:
                    self._status = {**self._status, **{k: v for k, v in event.items() if k not in ("event", "seconds")}}
        status = process.wait()
        errors.join()
        process.stdout.close()
        process.stderr.close()
        with self._lock:
            self._process = None
            self._status = self._state_at_end(status, result, messages, then)

    def _state_at_end(
        self, status: int, result: dict[str, Any] | None, messages: deque[str], then: str
    ) -> dict[str, Any]:
        """Returns what is told after the command has ended."""
        own = {"schema": self._status["schema"]}
        if status == 0 and then != "done":
            again = (result or {}).get("read_again")
            return {**own, "state": then, "result": self._status.get("result"), "read_again": again}
        if status == 0 and result is not None:
            return {**own, "state": "done", "result": result}
        if self._stopping:
            return {**own, "state": "stopped", "deciding": then != "done"}
        return {**own, "state": "failed", "message": _last(messages) or _end_in_words(status)}


def _last(lines: deque[str]) -> str:
    """Returns the last line with text, without the name of the command before it."""
    texts = [line.strip() for line in lines if line.strip()]
    return texts[-1].removeprefix("cinnabar: ") if texts else ""


def _end_in_words(status: int) -> str:
    """Returns why a command ended without a message."""
    if status == -signal.SIGKILL:
        return "the command was killed, perhaps for want of memory; started again it goes on where it was"
    return f"the command ended with status {status}, without a message"
