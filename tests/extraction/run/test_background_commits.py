"""Commits in the background: in order, one in flight, and a failure ends the run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from cinnabar.errors import RunError
from cinnabar.extraction.run.stored_run import commit_behind

SECONDS = 10


def test_the_caller_goes_on_while_a_batch_is_committed() -> None:
    may_end, seen = threading.Event(), list[str]()

    def commit(batch: str) -> None:
        assert may_end.wait(SECONDS)
        seen.append(f"commit {batch}")

    def filled() -> Iterator[str]:
        yield "a"
        seen.append("fill b")
        may_end.set()
        yield "b"

    commit_behind(filled(), commit)
    assert seen == ["fill b", "commit a", "commit b"]


def test_a_commit_has_the_context_of_the_caller() -> None:
    threads, told = [threading.get_ident()], ContextVar("told", default="")
    told.set("by the caller")

    def commit(_: str) -> None:
        threads.append(threading.get_ident())
        assert told.get() == "by the caller"

    commit_behind("a", commit)
    assert len(set(threads)) == 2


@pytest.mark.parametrize("batches", ["a", "ab"])
def test_a_failed_commit_ends_the_run_and_no_later_batch_is_committed(batches: str) -> None:
    begun: list[str] = []

    def commit(batch: str) -> None:
        begun.append(batch)
        raise RunError("the disk is full")

    with pytest.raises(RunError, match="disk is full"):
        commit_behind(batches, commit)
    assert begun == ["a"]


def test_an_error_of_the_caller_lets_the_commit_in_flight_end() -> None:
    begun, may_end, seen = threading.Event(), threading.Event(), list[str]()

    def commit(batch: str) -> None:
        begun.set()
        assert may_end.wait(SECONDS)
        seen.append(batch)

    def filled() -> Iterator[str]:
        yield "a"
        assert begun.wait(SECONDS)
        threading.Timer(0.1, may_end.set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        commit_behind(filled(), commit)
    assert seen == ["a"]
