"""The server's log has no text of a document."""

from __future__ import annotations

import logging
import sys

import pytest

from cinnabar.flows.server.logs import WithoutTexts


def line(message: str, *arguments: object, error: BaseException | None = None) -> str:
    raised = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("any", logging.ERROR, "", 1, message, arguments, raised)
    return WithoutTexts("%(message)s").format(record)


def test_an_exception_is_told_by_its_type_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        raise ValueError("CANARY")
    except ValueError as error:
        assert line("failed", error=error).startswith("failed: ValueError at ")
        assert "test_logs.py:" in line("failed", error=error)
        assert line("a pass failed: %s (%d)", error, 3).startswith("a pass failed: ValueError at ")
        assert "CANARY" not in line("failed", error=error) + line("failed: %s", error)
        monkeypatch.setenv("CINNABAR_DEBUG", "1")
        assert "CANARY" in line("failed", error=error)
    assert sys.exc_info() == (None, None, None)


def test_only_the_first_line_of_a_message_is_kept() -> None:
    assert line("Task exception was never retrieved\nfuture: <Task exception=CANARY>") == (
        "Task exception was never retrieved"
    )
