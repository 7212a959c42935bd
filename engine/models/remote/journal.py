"""Keeps the paid answers on disk as they arrive, so that an interrupted run does not pay twice.

Each answer, and each request without a whole answer, is one line of JSON, appended in one write. A line that a crash
cut off is ignored. When a run has ended with nothing left to do, the texts of the answers are dropped; run, request
and cost stay.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from cinnabar.engine.models.remote.exchange import ServerAnswer
from cinnabar.engine.models.remote.ledger import Tokens, money


class Journal:
    """The journal in a file, created with its first line; with the path None it stays in memory."""

    def __init__(self, path: Path | None, run_id: str) -> None:
        self._path, self._run = path, run_id
        self._descriptor = -1
        self._answers: dict[str, ServerAnswer] = {}
        for line in _lines(path):
            if isinstance(line.get("answer"), str) and {"tokens", "finish", "refusal"} <= line.keys():
                tokens = None if line["tokens"] is None else Tokens(*line["tokens"])
                self._answers[line["key"]] = ServerAnswer(line["answer"], line["finish"], line["refusal"], tokens)
            elif "forgotten" in line:
                self._answers.pop(line["key"], None)

    def find(self, key: str) -> ServerAnswer | None:
        """Returns the answer to this request; None if there is none."""
        return self._answers.get(key)

    def keep_answer(self, key: str, answer: ServerAnswer, cost: Decimal) -> None:
        """Keeps an answer that was charged."""
        self._answers[key] = answer
        tokens = answer.tokens and [answer.tokens.input, answer.tokens.cached, answer.tokens.output]
        self._write(
            {
                "run": self._run,
                "key": key,
                "tokens": tokens,
                "cost": None if tokens is None else money(cost),
                "answer": answer.text,
                "finish": answer.finish,
                "refusal": answer.refusal,
            }
        )

    def note_doubt(self, key: str, most: Decimal) -> None:
        """Notes a request without a whole answer."""
        self._write({"run": self._run, "key": key, "unanswered": True, "cost_at_most": money(most)})

    def forget(self, keys: Iterable[str]) -> None:
        """Removes these answers, so that `find` no longer returns them."""
        for key in keys:
            self._answers.pop(key, None)
            self._write({"run": self._run, "key": key, "forgotten": True})

    def close(self, settled: bool) -> None:
        """Closes the file; if all is `settled`, drops the texts of the answers in one step."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        if settled and self._path is not None and self._path.exists() and _has_texts(self._path):
            kept = [{k: v for k, v in line.items() if k not in _TEXTS} for line in _lines(self._path)]
            temporary = self._path.with_suffix(".part")
            temporary.write_bytes(b"".join(map(_encode, kept)))
            temporary.replace(self._path)
            self._answers.clear()

    def _write(self, line: dict[str, Any]) -> None:
        if self._path is None:
            return
        if self._descriptor < 0:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            size = os.fstat(self._descriptor).st_size
            if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
                os.write(self._descriptor, b"\n")  # keeps a line that a crash cut off apart from the next
        os.write(self._descriptor, _encode(line))


_TEXTS = ("answer", "finish", "refusal")


def ask_key(body: dict[str, Any], ask: int) -> str:
    """Returns the key of a request's body at this ask: 0 for the first, 1 for the second, …"""
    return hashlib.sha256(json.dumps([body, ask], sort_keys=True).encode()).hexdigest()


def _has_texts(path: Path) -> bool:
    return b'"answer"' in path.read_bytes()


def _encode(line: dict[str, Any]) -> bytes:
    return json.dumps(line).encode() + b"\n"


def _lines(path: Path | None) -> list[dict[str, Any]]:
    lines = []
    if path is not None and path.exists():
        for text in path.read_bytes().split(b"\n"):
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and isinstance(line.get("key"), str):
                lines.append(line)
    return lines
