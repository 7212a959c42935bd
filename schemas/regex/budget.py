"""The budget of work for the patterns of one schema; a hundred patterns, each within its caps, took minutes.

Remainders of a `multipleOf` count like a pattern. Work is counted, never timed, so a schema is compiled or refused on
every machine alike. The work of a pattern is remembered with it, and each schema is charged for it once, even if
another schema had the pattern compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cinnabar.schemas.errors import TooMuchWork

# Threads of machines and moves of tables: some five seconds, and as much again for the last pattern.
MAX_SPENT = 4_000_000


class Work:
    """The work that the patterns of one schema have taken."""

    def __init__(self) -> None:
        self.spent = 0
        self.patterns: set[str] = set()


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def one_schema() -> Iterator[None]:
    """Counts the work within as that of one schema."""
    before = _current.set(Work())
    try:
        yield
    finally:
        _current.reset(before)


def go_on_with(pattern: str) -> None:
    """Raises TooMuchWork if no work is left for one more pattern."""
    done = _current.get()
    if done is not None and pattern not in done.patterns and done.spent > MAX_SPENT:
        raise TooMuchWork(len(done.patterns))


def charge(pattern: str, work: int) -> None:
    """Charges the work of a pattern to the current schema, once."""
    done = _current.get()
    if done is not None and pattern not in done.patterns:
        done.patterns.add(pattern)
        done.spent += work
