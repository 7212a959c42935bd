"""Estimates a backfill before it begins, from a few documents that are filled but not stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cinnabar.extraction.backfill.outstanding import Item

# Documents that are read and filled, without storing anything, to estimate the time of all.
_SAMPLE = 4


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """The work of a backfill: `documents` to fill, their `tokens`, and `seconds` on this machine.

    `asked` are the places to fill in each and `dropped` the places to remove, `done` the number of documents that are
    done already, `lost` of those that are gone or have changed, `elsewhere` of those that a later run sent to another
    schema or to none. The estimate is from `sampled` documents.
    """

    documents: int
    tokens: int
    seconds: float
    asked: tuple[str, ...]
    dropped: tuple[str, ...]
    done: int
    lost: int
    sampled: int
    elsewhere: int = 0


def measure(items: Sequence[Item], fill: Callable[[Sequence[Item]], int]) -> tuple[int, float, int]:
    """Returns the tokens and seconds to fill these items, and the sample's size; `fill` returns the tokens of some."""
    if not items:
        return 0, 0.0, 0
    known = [item.found.characters for item in items if item.found.characters]
    typical = max(1, sum(known) // max(1, len(known)))  # of a document that was never stored

    def size(item: Item) -> int:
        return item.found.characters or typical

    order = sorted(items, key=size)
    count = min(_SAMPLE, len(order))
    sample = [order[(2 * at + 1) * len(order) // (2 * count)] for at in range(count)]
    fill(sample[:1])  # warms up the model and the parsers
    # The first document's encoding is cached now, so its time says nothing about the others.
    sample = sample[1:] or sample
    begin = time.perf_counter()
    tokens = fill(sample)
    took = time.perf_counter() - begin
    share = sum(map(size, items)) / sum(map(size, sample))
    return round(tokens * share), round(took * max(share, 1.0), 1), len(sample)
