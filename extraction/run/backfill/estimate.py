"""Estimates a backfill before it begins, from some of its documents, which are filled but not stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cinnabar.extraction.run.backfill.outstanding import Item

# The most and the fewest documents that are read and filled, without storing anything, and of how many one is taken: an
# estimate must not cost as much as the work.
_MOST, _LEAST, _ONE_OF = 20, 6, 5
# Seconds after which no further documents are tried.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What it took to read and to fill some documents: the tokens of their texts, and seconds."""

    tokens: int
    parse: float
    fill: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The estimated `tokens`, and the least and the most `seconds`, from a sample of so many documents.

    `start` are the seconds that the measuring itself took to start the parsers and the model, for all documents.
    """

    tokens: int = 0
    seconds: tuple[float, float] = (0.0, 0.0)
    start: float = 0.0
    sampled: int = 0


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """The work of a backfill: `documents` to fill, their `tokens`, and the least and most `seconds` on this machine.

    `start` are the seconds to start parsers and model, which the estimate has spent. `asked` are the places to fill in
    each and `dropped` the places to remove, `done` the number of documents that are done already, `lost` of those that
    are gone or have changed, `elsewhere` of those that a later run sent to another schema or to none. The estimate is
    from `sampled` documents.
    """

    documents: int
    tokens: int
    seconds: tuple[float, float]
    start: float
    asked: tuple[str, ...]
    dropped: tuple[str, ...]
    done: int
    lost: int
    sampled: int
    elsewhere: int = 0


def sample(items: Sequence[Item]) -> list[list[Item]]:
    """Returns up to three groups of a sample of these items, each spread over all lengths; the first is for the start.

    Of few items the same ones make two groups.
    """
    known = [item.found.characters for item in items if item.found.characters]
    typical = sum(known) // max(1, len(known))  # of a document that was never stored
    order = sorted(items, key=lambda item: item.found.characters or typical)
    count = min(len(order), max(_LEAST, min(_MOST, len(order) // _ONE_OF)))
    chosen = [order[(2 * at + 1) * len(order) // (2 * count)] for at in range(count)]
    return [chosen[0::3], chosen[1::3], chosen[2::3]] if count >= 3 else [chosen, chosen]


def measure(items: Sequence[Item], fill: Callable[[Sequence[Item]], Cost]) -> Measured:
    """Returns the estimate of filling these items; `fill` fills some without storing anything.

    Parsers, model and the questions of a form start with the first documents, which says nothing of the others: that
    start, scaled to all documents, once made estimates 9 to 19 times too high. Parsing and filling overlap in a run,
    between wholly (the least seconds) and not at all (the most).
    """
    if not items:
        return Measured()
    groups = sample(items)
    begun = time.perf_counter()
    first = fill(groups[0])
    tried = [(len(groups[0]), first.tokens)]
    rates: list[tuple[float, float]] = []
    for group in groups[1:]:
        if rates and time.perf_counter() - begun > _PATIENCE:
            break
        cost = fill(group)
        tried.append((len(group), cost.tokens))
        rates.append((max(cost.parse, cost.fill) / len(group), (cost.parse + cost.fill) / len(group)))
    least, most = min(rate for rate, _ in rates), max(rate for _, rate in rates)
    documents, tokens = (sum(column) for column in zip(*tried, strict=True))
    start = first.parse + first.fill - least * len(groups[0])
    return Measured(
        tokens=round(tokens * len(items) / documents),
        seconds=(round(least * len(items), 1), round(most * len(items), 1)),
        start=round(max(0.0, start), 1),
        sampled=min(documents, len(items)),
    )
