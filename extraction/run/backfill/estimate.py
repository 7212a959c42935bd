"""Estimates a backfill before it begins, from some of its documents, which are filled but not stored.

Splits a backfill's chosen records into items to fill and outcomes of those done or lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cinnabar.extraction.documents.content.inputs import Content
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.run.backfill.document_lookup import ELSEWHERE, DocumentLookup
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import Done, is_done
from cinnabar.extraction.store.stored_records import CHANGED, GONE, LatestRecord

# The most and the fewest documents that are read and filled, without storing anything, and of how many one is taken: an
# estimate must not cost as much as the work.
_MOST, _LEAST, _ONE_OF = 20, 6, 5
# Seconds after which no further documents are tried.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of reading and filling some documents: the tokens of their texts, and seconds."""

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


_KEPT = f"the record of the version before stays; {ELSEWHERE}"


@dataclass(frozen=True, slots=True)
class Item:
    """A document to fill: its name in the run, its file or mail, and its record."""

    name: str
    content: Path | Content
    found: LatestRecord

    @property
    def input(self) -> Input:
        """Returns the document as an input of the run."""
        return Input(self.name, self.content, self.found.document)


@dataclass(frozen=True, slots=True)
class Outstanding:
    """The chosen records: their `names` in the run, outcomes of those `done` or `lost`, and `items` to fill."""

    names: list[str]
    done: list[Outcome] = field(default_factory=list)
    lost: list[Outcome] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)

    @classmethod
    def of(cls, chosen: Sequence[LatestRecord], done: Done, document_lookup: DocumentLookup) -> Self:
        """Splits the chosen records; `done` holds the digests of finished documents."""
        # An older content gets a name of its own if its path was read again since.
        self = cls([f.paths[0] if f.current else f"{f.paths[0]}@{f.document[:16]}" for f in chosen])
        for name, record in zip(self.names, chosen, strict=True):
            if is_done(done, record.document, name):
                self.done.append(Outcome(name, "skipped", "done", digest=record.document))
            elif (content := document_lookup.find(record.paths, record.document, record.size)) is not None:
                self.items.append(Item(name, content, record))
            else:
                self.lost.append(_lost(name, record, document_lookup))
        return self


def _lost(name: str, record: LatestRecord, document_lookup: DocumentLookup) -> Outcome:
    changed = any(document_lookup.file_at(path) for path in record.paths)
    code = CHANGED if changed else GONE
    path = record.paths[0]
    reason = f"{path} holds other bytes than those of the record" if changed else document_lookup.explain_missing(path)
    return Outcome(name, "skipped", code, f"{reason}; {_KEPT}", digest=record.document)
