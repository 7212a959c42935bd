"""What a backfill takes, told before it begins, from a few documents that are filled and not stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cinnabar.extraction.backfill.outstanding import Item

# Documents that are read and filled, without storing anything, to tell how long all of them take.
_SAMPLE = 4


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """What a backfill takes: `documents` to fill, their `tokens`, and `seconds` on this machine.

    `asked` are the places that are filled in each, `done` the documents that are done already, `lost` those
    that are gone or have changed. `sampled` documents were read to tell tokens and seconds.
    """

    documents: int
    tokens: int
    seconds: float
    asked: tuple[str, ...]
    dropped: tuple[str, ...]
    done: int
    lost: int
    sampled: int


def measure(items: Sequence[Item], fill: Callable[[Sequence[Item]], int]) -> tuple[int, float, int]:
    """Tokens and seconds that filling these takes, and how many were tried; `fill` gives tokens of some."""
    if not items:
        return 0, 0.0, 0
    order = sorted(items, key=lambda item: item.found.characters)
    count = min(_SAMPLE, len(order))
    sample = [order[(2 * at + 1) * len(order) // (2 * count)] for at in range(count)]
    fill(sample[:1])  # so that the model and the parsers are warm
    # The first one's encoding is kept now, which tells nothing of the others.
    sample = sample[1:] or sample
    begin = time.perf_counter()
    tokens = fill(sample)
    took = time.perf_counter() - begin
    characters = max(1, sum(item.found.characters for item in sample))
    share = sum(item.found.characters for item in items) / characters
    return round(tokens * share), round(took * max(share, 1.0), 1), len(sample)
