"""The server's log has no text of a document."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from cinnabar.apps.server.settings import WithoutTexts


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


def test_an_exception_that_is_the_message_is_told_so_too() -> None:
    record = logging.LogRecord("any", logging.ERROR, "", 1, ValueError("CANARY"), (), None)
    assert WithoutTexts("%(message)s").format(record) == "ValueError at unknown"


def test_what_python_prints_itself_goes_to_the_log_without_its_text() -> None:
    code = (
        "import threading, gc\n"
        "from cinnabar.apps.server.settings import start_log\n"
        "start_log()\n"
        "def fail(): raise ValueError('CANARY')\n"
        "thread = threading.Thread(target=fail, name='own'); thread.start(); thread.join()\n"
        "class Ends:\n"
        "    def __del__(self): fail()\n"
        "Ends(); gc.collect()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "the thread own ended: ValueError at" in done.stderr and "nobody can take: ValueError at" in done.stderr
    assert "CANARY" not in done.stderr + done.stdout


def test_only_the_first_line_of_a_message_is_kept() -> None:
    assert line("Task exception was never retrieved\nfuture: <Task exception=CANARY>") == (
        "Task exception was never retrieved"
    )
