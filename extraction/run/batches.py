"""The batches of a run: they are read ahead, and grow while a driver fills them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.filling.batch_reader import BatchReader
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.store.records import Outcome

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch, OpenedInput


class Batches(BatchReader, Sequence[Sequence[Input]]):
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
        self._lists = [first[start : start + size] for start in range(0, len(first), size)]
        super().__init__(self._lists, options.workers, options.max_tokens, parsers, PageStore(out / PAGES))
        # The numbers of the first batches that are not done, and the long or late documents of the others with their
        # tokens.
        self._undone = set(range(len(self._lists)))
        self._long: list[tuple[int, Input]] = []

    def __len__(self) -> int:
        return len(self._lists)

    @overload
    def __getitem__(self, at: int) -> Sequence[Input]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Sequence[Input]]: ...
    def __getitem__(self, at: int | slice) -> Sequence[Input] | Sequence[Sequence[Input]]:
        return self._lists[at]

    def set_aside_late(self, read: Sequence[OpenedInput | None], batch: Batch) -> Batch:
        """Returns the filled batch of the documents that were read, with the late ones set aside too."""
        there = [at for at, one in enumerate(read) if one is not None]
        late = dict.fromkeys((at for at, one in enumerate(read) if one is None), sys.maxsize)
        batch = replace(batch, set_aside={there[at]: tokens for at, tokens in batch.set_aside.items()} | late)
        self.keep([one for at in batch.set_aside if (one := read[at]) is not None])
        return batch

    def put_off(self, number: int, batch: Batch) -> None:
        """Adds what a filled batch set aside behind all batches, each document alone, once all others are done."""
        self._unread |= {one.digest for one in batch.outcomes if one.code in UNREADABLE}
        if number not in self._undone:
            return
        self._long += [(tokens, self._lists[number][at]) for at, tokens in batch.set_aside.items()]
        self._undone.remove(number)
        if not self._undone:
            self._lists += [[item] for _, item in sorted(self._long, key=lambda one: one[0])]
            # A long one is read only now; a duplicate of it is found at the commit.
            unread = self._unread.union(item.digest for _, item in self._long)
            self._lists += [[one] for one in self._instead if one.digest in unread]
            self._instead = [one for one in self._instead if one.digest not in unread]

    def duplicates(self) -> list[Outcome]:
        """Returns the outcomes of inputs that nobody has to read, because their bytes were read under another name."""
        return [
            Outcome(one.path, "skipped", "duplicate", digest=one.digest, duplicate_of=one.instead_of)
            for one in self._instead
        ]
