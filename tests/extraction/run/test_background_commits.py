"""Commits in the background: in order, one in flight, and a failure ends the run."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from cinnabar.errors import RunError
from cinnabar.extraction.run.stored_run import BackgroundCommits

SECONDS = 10


def test_the_caller_goes_on_while_a_batch_is_committed() -> None:
    may_end, seen = threading.Event(), list[str]()

    def commit(batch: str) -> None:
        assert may_end.wait(SECONDS)
        seen.append(f"commit {batch}")

    with BackgroundCommits(commit) as commits:
        commits.add("a")
        seen.append("fill b")
        may_end.set()
        commits.add("b")
    assert seen == ["fill b", "commit a", "commit b"]


def test_a_commit_has_the_context_of_the_caller() -> None:
    threads, told = [threading.get_ident()], ContextVar("told", default="")
    told.set("by the caller")

    def commit(_: str) -> None:
        threads.append(threading.get_ident())
        assert told.get() == "by the caller"

    with BackgroundCommits(commit) as commits:
        commits.add("a")
    assert len(set(threads)) == 2


def test_a_failed_commit_ends_the_run_and_no_later_batch_is_committed() -> None:
    begun: list[str] = []

    def commit(batch: str) -> None:
        begun.append(batch)
        raise RunError("the disk is full")

    with (
        pytest.raises(RunError, match="disk is full"),
        BackgroundCommits(commit) as commits,
    ):
        commits.add("a")
        commits.add("b")
    assert begun == ["a"]


def test_the_failure_of_the_last_commit_is_raised_at_the_end() -> None:
    def commit(_: str) -> None:
        raise RunError("the disk is full")

    with pytest.raises(RunError, match="disk is full"), BackgroundCommits(commit) as commits:
        commits.add("a")


def test_an_error_of_the_caller_lets_the_commit_in_flight_end() -> None:
    begun, may_end, seen = threading.Event(), threading.Event(), list[str]()

    def commit(batch: str) -> None:
        begun.set()
        assert may_end.wait(SECONDS)
        seen.append(batch)

    with pytest.raises(KeyboardInterrupt), BackgroundCommits(commit) as commits:
        commits.add("a")
        assert begun.wait(SECONDS)
        threading.Timer(0.1, may_end.set).start()
        raise KeyboardInterrupt
    assert seen == ["a"]
