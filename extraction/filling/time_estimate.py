"""Tells how long a run takes: at first by what its models usually take, then by what its first documents took."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cinnabar.engine.models.language.memory import BYTES
from cinnabar.extraction.filling.model_sources import LanguageSource, ModelSource, Source, on_gpu

if TYPE_CHECKING:
    from cinnabar.extraction.plan.run_options import RunOptions

#: Seconds of a core that the reader takes for a document, and a language model for each thousand million weights, where
#: a core makes so many thousand million steps of a product a second (`core_speed`).
READER_SECONDS, LANGUAGE_SECONDS, CORE_SPEED = 0.4, 9.5, 113.0
#: A run that takes less is told nothing of.
SHORT = 20.0
#: From so many documents on they tell what the others take, ever when there are twice as many, and this factor apart.
_FIRST, _APART = 3, 1.25


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """The seconds that a document takes, and how many documents there are; 0 if nobody knows."""

    seconds: float
    documents: int = 0

    @property
    def is_long(self) -> bool:
        """Whether people are told of it."""
        return self.seconds * self.documents >= SHORT

    @property
    def each(self) -> str:
        """The seconds of a document in words."""
        return _spoken(self.seconds, short=True)

    def __str__(self) -> str:
        each = f"about {self.each} a document"
        return f"{each}, {_spoken(self.seconds * self.documents)} in all" if self.documents > 1 else each


def usable_cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def core_speed() -> float:
    """Returns how fast one core multiplies here: thousand millions of steps a second, the best of eight products.

    Matrices so small are multiplied by one thread, and other work disturbs the best of them little: it takes 4 ms.
    """
    # Cold start: most runs begin before it is needed.
    import numpy as np

    one, best = np.ones((100, 64, 64), np.float32), math.inf
    for _ in range(8):
        begun = time.perf_counter()
        np.matmul(one, one[0])
        best = min(best, time.perf_counter() - begun)
    return 2 * 100 * 64**3 / best / 1e9


def usual_seconds(sources: Sequence[Source], options: RunOptions, times: float = 1.0) -> float | None:
    """Returns the seconds that a document takes with these models on all cores here; None where nobody knows.

    The second of two models is asked so often about a document (`Escalation.times`).
    """
    # A list has the threads of nested regions, too.
    threads = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    cores: float
    cores, seconds = (int(threads) if threads.isdecimal() else 0) or usable_cores(), 0.0
    cores *= core_speed() / CORE_SPEED
    for at, source in enumerate(sources):
        if isinstance(source, ModelSource):
            seconds += READER_SECONDS / cores
        elif not isinstance(source, LanguageSource) or on_gpu(source.device):  # type: ignore[arg-type]
            return None
        else:
            own = LANGUAGE_SECONDS * source.memory / BYTES[source.precision] / 1e9 / cores * (times if at else 1)
            seconds += min(own, options.seconds_each or own)
    return seconds


class Pace:
    """Tells a run's time before its first document, and again where the documents that are done show another one.

    tell: receives estimates.
    """

    def __init__(self, tell: Callable[[TimeEstimate], object]) -> None:
        self._tell = tell
        self._documents, self._done, self._next = 0, 0.0, float(_FIRST)
        self._told: float | None = None
        # The moment of the first news, before which models are loaded, and the documents that were done then.
        self._first: tuple[float, float] | None = None

    def expect(self, seconds: float) -> None:
        """Takes in what a document takes, which the caller tells."""
        self._told = seconds

    def begin(self, documents: int, seconds: float | None) -> None:
        """Tells what the run takes if each of its documents takes so long and nothing better is known; once."""
        begun, self._documents = bool(self._documents), documents
        if not begun and self._told is None and seconds is not None:
            self._say(seconds)

    def advance(self, documents: int) -> None:
        """Counts documents that are done."""
        self._done += documents
        self.within(0.0)

    def within(self, documents: float) -> None:
        """Takes in how much is done of documents that are not counted yet; tells the time anew if it is another one."""
        now, all_done = time.monotonic(), self._done + documents
        begun, before = self._first = self._first or (now, all_done)
        done = all_done - before
        if done < self._next:
            return
        self._next, seconds = 2 * done, (now - begun) / done
        if self._told is None or not 1 / _APART < seconds / self._told < _APART:
            self._say(seconds)

    def _say(self, seconds: float) -> None:
        self._told = seconds
        if (estimate := TimeEstimate(seconds, self._documents)).is_long:
            self._tell(estimate)


def _spoken(seconds: float, short: bool = False) -> str:
    """Returns a time in words: seconds, minutes, hours or days, with two digits."""
    for size, unit in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{float(f'{seconds:.2g}'):g} {'s' if short else 'seconds'}"
