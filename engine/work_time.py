"""A model's time: how long it may work on a request, how long its stages took, and the share of the work that is done.

Models look at limits between two passes. Work counts in seconds of the thread on its processor: waiting for other
programs does not, so that a busy machine quarantines no document. An answer that somebody waits for is due by the clock
on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from cinnabar.errors import EngineFailure

_T = TypeVar("_T")
#: The code of a request whose model worked longer than the limit.
TOO_SLOW = "too_slow"
#: The code of a request that nobody waits for any more.
GIVEN_UP = "cancelled"

_seconds: ContextVar[float | None] = ContextVar("_seconds", default=None)
_end: ContextVar[float | None] = ContextVar("_end", default=None)
# The seconds, and the moment of `time.monotonic` when they are over.
_within: ContextVar[tuple[float, float] | None] = ContextVar("_within", default=None)
_abandoned: ContextVar[Callable[[], bool] | None] = ContextVar("_abandoned", default=None)


@contextmanager
def _held(variable: ContextVar[_T], value: _T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def limit_batches(seconds: float | None) -> AbstractContextManager[None]:
    """Limits each batch of requests in this block to so many seconds; None sets no limit."""
    return _held(_seconds, seconds)


def abandon_when(abandoned: Callable[[], bool]) -> AbstractContextManager[None]:
    """Ends the batches of requests in this block as soon as this returns True."""
    return _held(_abandoned, abandoned)


def answer_within(seconds: float | None) -> AbstractContextManager[None]:
    """Has the requests in this block answered with what a model has when so many seconds are over; None for any."""
    return _held(_within, None if seconds is None else (seconds, time.monotonic() + seconds))


def seconds_to_answer() -> float | None:
    """Returns the seconds of `answer_within`, None without a bound."""
    within = _within.get()
    return None if within is None else within[0]


def answer_by() -> float | None:
    """Returns the moment of `time.monotonic` when the seconds of `answer_within` are over, None without a bound."""
    within = _within.get()
    return None if within is None else within[1]


def start_clock() -> AbstractContextManager[None]:
    """Starts the clock of one batch of requests."""
    return _held(_end, deadline())


def deadline() -> float | None:
    """Returns the second of this thread at which a request that begins now is too slow, None without a limit."""
    seconds = _seconds.get()
    return None if seconds is None else time.thread_time() + seconds


def check_time() -> None:
    """Raises EngineFailure: TOO_SLOW if the batch at work has used up its seconds, GIVEN_UP if nobody waits for it."""
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned():
        raise EngineFailure(GIVEN_UP)
    check(_end.get())


def check(end: float | None) -> None:
    """Raises EngineFailure with the code TOO_SLOW if this second of the thread has passed."""
    if end is not None and time.thread_time() > end:
        raise EngineFailure(TOO_SLOW)


@contextmanager
def time_stage(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Adds the seconds of the block to this stage's."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        timings[stage] = timings.get(stage, 0.0) + time.perf_counter() - begin


_listener: ContextVar[Callable[[float], object] | None] = ContextVar("_listener", default=None)
# The part [begin, end) of the listener's work that is at hand.
_part: ContextVar[tuple[float, float]] = ContextVar("_part", default=(0.0, 1.0))


def report_to(listener: Callable[[float], object]) -> AbstractContextManager[None]:
    """Has a listener receive the shares, 0 to 1, of the work in this block."""
    return _held(_listener, listener)


def progress_part(begin: float, end: float) -> AbstractContextManager[None]:
    """Says that the work in this block is the part [begin, end) of the work around it."""
    first, last = _part.get()
    return _held(_part, (first + (last - first) * begin, first + (last - first) * end))


def report_share(share: float) -> None:
    """Reports which share of the work at hand is done; it may be less than before, if something is asked again."""
    listener = _listener.get()
    if listener is not None:
        first, last = _part.get()
        listener(first + (last - first) * share)
