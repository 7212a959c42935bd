"""The seconds that the stages of an engine take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def time_stage(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Adds the seconds of the block to this stage's."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        timings[stage] = timings.get(stage, 0.0) + time.perf_counter() - begin
