"""How much work the patterns of one schema may take in all: a hundred, each within its caps, took minutes.

Remainders of a `multipleOf` count like a pattern.

Work is counted, never timed, so that a schema is compiled or refused on every machine alike. What a pattern
has taken is remembered with it, and a schema is charged for it once, whoever had it made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cinnabar.schemas.errors import TooMuchWork

# Threads of machines and moves of tables: some five seconds, and as much for the last pattern.
MAX_SPENT = 4_000_000


class Work:
    """The work that the patterns of one schema have taken."""

    def __init__(self) -> None:
        self.spent = 0
        self.patterns: set[str] = set()


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def one_schema() -> Iterator[None]:
    """Count the work within as that of one schema."""
    before = _current.set(Work())
    try:
        yield
    finally:
        _current.reset(before)


def go_on_with(pattern: str) -> None:
    """Raise TooMuchWork where no work is left for one more pattern."""
    done = _current.get()
    if done is not None and pattern not in done.patterns and done.spent > MAX_SPENT:
        raise TooMuchWork(len(done.patterns))


def charge(pattern: str, work: int) -> None:
    """Note the work that a pattern takes."""
    done = _current.get()
    if done is not None and pattern not in done.patterns:
        done.patterns.add(pattern)
        done.spent += work
