"""The batches of a run: they are read ahead, and grow while a driver fills them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, overload

from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.filling.batch_reader import BatchReader
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.records import Outcome

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch, OpenedInput


class Batches(Sequence[Sequence[Input]]):
    """The inputs that are left to a run, in batches that may be worked on in any order and repeatedly.

    When all are done, the long documents among them follow as batches of their own, the shortest first, then those that
    take long to parse, then the other names of files that could not be read. A context manager.
    """

    def __init__(self, inputs: Sequence[Input], assignment: Assignment, parsers: ParserSettings, out: Path) -> None:
        options = assignment.options
        # Inputs that are read only if the same bytes under another name cannot be, and the digests of such.
        self._instead = [one for one in inputs if one.instead_of]
        self._unread: set[str] = set()
        first = [one for one in inputs if not one.instead_of]
        size = max(options.batch, *(source.least_batch for source in assignment.sources))
        self._batches = [first[start : start + size] for start in range(0, len(first), size)]
        self._reader = BatchReader(self._batches, options.workers, options.max_tokens, parsers, PageStore(out / PAGES))
        # The numbers of the first batches that are not done, and the long or late documents of the others with their
        # tokens.
        self._undone = set(range(len(self._batches)))
        self._long: list[tuple[int, Input]] = []

    def __enter__(self) -> Self:
        self._reader.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._reader.__exit__(*error)

    def __len__(self) -> int:
        return len(self._batches)

    @overload
    def __getitem__(self, at: int) -> Sequence[Input]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Sequence[Input]]: ...
    def __getitem__(self, at: int | slice) -> Sequence[Input] | Sequence[Sequence[Input]]:
        return self._batches[at]

    @property
    def inputs(self) -> int:
        """Returns the number of inputs in all batches so far."""
        return sum(map(len, self._batches))

    @property
    def seconds(self) -> float:
        """Returns the seconds in which documents were parsed."""
        return self._reader.seconds

    @property
    def pool(self) -> ParserPool:
        """Returns the parser processes; the first call starts them."""
        return self._reader.pool

    def begin(self, number: int) -> None:
        """Starts parsing a batch, if it has not started."""
        self._reader.begin(number)

    def read(self, number: int) -> list[OpenedInput | None]:
        """Returns the parsed inputs of a batch, None for late ones, and starts parsing the next batch."""
        return self._reader.read(number)

    def parse(self, inputs: Sequence[Input]) -> list[OpenedInput]:
        """Returns these inputs parsed, and waits for all of them."""
        return self._reader.parse(inputs)

    def set_aside_late(self, read: Sequence[OpenedInput | None], batch: Batch) -> Batch:
        """Returns the filled batch of the documents that were read, with the late ones set aside too."""
        there = [at for at, one in enumerate(read) if one is not None]
        late = dict.fromkeys((at for at, one in enumerate(read) if one is None), sys.maxsize)
        batch = replace(batch, set_aside={there[at]: tokens for at, tokens in batch.set_aside.items()} | late)
        self._reader.keep([one for at in batch.set_aside if (one := read[at]) is not None])
        return batch

    def put_off(self, number: int, batch: Batch) -> None:
        """Adds what a filled batch set aside behind all batches, each document alone, once all others are done."""
        self._unread |= {one.digest for one in batch.outcomes if one.code in UNREADABLE}
        if number not in self._undone:
            return
        self._long += [(tokens, self._batches[number][at]) for at, tokens in batch.set_aside.items()]
        self._undone.remove(number)
        if not self._undone:
            self._batches += [[item] for _, item in sorted(self._long, key=lambda one: one[0])]
            # A long one is read only now; a duplicate of it is found at the commit.
            unread = self._unread.union(item.digest for _, item in self._long)
            self._batches += [[one] for one in self._instead if one.digest in unread]
            self._instead = [one for one in self._instead if one.digest not in unread]

    def duplicates(self) -> list[Outcome]:
        """Returns the outcomes of inputs that nobody has to read, because their bytes were read under another name."""
        return [
            Outcome(one.path, "skipped", "duplicate", digest=one.digest, duplicate_of=one.instead_of)
            for one in self._instead
        ]
