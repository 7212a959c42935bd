"""The counts of a walk: rooms by the first call of each function, calls upwards, and how deep a reader follows."""

from __future__ import annotations

from typing import Any

import pytest
from bench import walks
from bench.walks import Walk, walk_of

#: Functions by the file that they stand in; `low.py` is a room below `high.py`.
HIGH = "def begin():\n    leave()\n    again()\n    leave()\n\n\ndef again():\n    pass\n"
LOW = "def leave():\n    again()\n    deep()\n\n\ndef deep():\n    [too_deep() for _ in range(2)]\n\n\n"
LOW += "def too_deep():\n    pass\n"


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for file, text in (("high.py", HIGH), ("low.py", LOW)):
        exec(compile(text, file, "exec"), names)
    monkeypatch.setattr(walks, "DEPTH", 2)
    monkeypatch.setattr(walks, "_rooms", lambda: {"high.py": "high", "low.py": "low"})
    monkeypatch.setattr(walks, "_floors", lambda: {"high": 1, "low": 0})
    return names


def test_a_walk_counts_a_function_where_it_is_called_first(functions: dict[str, Any]) -> None:
    # begin; leave; again, which is a climb; deep.
    assert walk_of(functions["begin"]) == Walk(4, 2, 1)


def test_a_walk_follows_the_calls_of_what_is_called_and_no_further(functions: dict[str, Any]) -> None:
    assert walk_of(functions["deep"]) == Walk(1, 0, 0)
    with walks.traced() as trace:
        functions["begin"]()
    assert [code.co_name for code in trace.rooms] == ["begin", "leave", "again", "deep"]
