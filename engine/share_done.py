"""The share of the work at hand that a model has done, for whoever waits for it; models tell it between two passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[float], object] | None] = ContextVar("_listener", default=None)
# The part [begin, end) of the listener's work that is at hand.
_part: ContextVar[tuple[float, float]] = ContextVar("_part", default=(0.0, 1.0))


@contextmanager
def told_to(listener: Callable[[float], object]) -> Iterator[None]:
    """Has a listener receive the shares, 0 to 1, of the work in this block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(begin: float, end: float) -> Iterator[None]:
    """Says that the work in this block is the part [begin, end) of the work around it."""
    first, last = _part.get()
    token = _part.set((first + (last - first) * begin, first + (last - first) * end))
    try:
        yield
    finally:
        _part.reset(token)


def tell_share(share: float) -> None:
    """Tells which share of the work at hand is done; it may be less than before, if something is asked again."""
    listener = _listener.get()
    if listener is not None:
        first, last = _part.get()
        listener(first + (last - first) * share)
