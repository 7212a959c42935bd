"""A figure of the report, and the settings under which all of them are taken."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the report: what was measured, what is wanted, what was found; `kept` is None if nothing is wanted."""

    what: str
    wanted: str
    got: str
    kept: bool | None = None

    def row(self) -> tuple[str, str, str, str]:
        """Returns the line's cells."""
        return self.what, self.wanted, self.got, {True: "kept", False: "**not kept**", None: ""}[self.kept]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a report measures with.

    model: the folder of the small trained model. suites: the folder of schema suites, which may be missing. scale: the
    share of the usual number of documents, schemas and repetitions. seed: of the generated pages and random weights.
    """

    model: Path
    suites: Path
    scale: float = 1.0
    seed: int = 1122

    def some(self, count: int) -> int:
        """Returns the scaled number, at least 1."""
        return max(1, math.ceil(count * self.scale))


#: Takes the figures of one subject.
Measure = Callable[[Settings], Iterator[Figure]]


def percent(share: float) -> str:
    """Returns a share as a percentage."""
    return f"{100 * share:.1f}%"


def mean(values: Sequence[float]) -> float:
    """Returns the mean, 0 of nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def clock() -> float:
    """Returns seconds: of the processor with one thread, which other programs disturb less; else of the wall."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()
