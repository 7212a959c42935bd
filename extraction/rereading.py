"""The batches of a backfill, read again: each document beside its record, the next batch ahead of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.outstanding import Item
from cinnabar.extraction.storage.stored import Stored, stored
from cinnabar.schemas.changes import Changes

# Torch takes seconds to import, which a backfill that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.pipeline import Read
    from cinnabar.extraction.refilling import Known

#: Records that are fetched from the store at a time.
FETCH = 512


class Rereader:
    """Parses batches of items in `workers` processes, which start when they are first needed.

    `changes` says for each version of the schema what has changed since; leaves less sure than `below` are to
    be asked, too.
    A context manager.
    """

    def __init__(
        self,
        out: Path,
        batches: Sequence[Sequence[Item]],
        changes: Mapping[str, Changes],
        workers: int,
        below: float = 0.0,
    ) -> None:
        self._out, self._batches, self._changes, self._workers = out, batches, changes, workers
        self._below = below
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._pool: ParserPool | None = None
        self._reading: dict[int, Future[tuple[list[Read], Known]]] = {}
        self._fetched: dict[str, Stored] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()
        self._ahead.shutdown()

    def read(self, number: int) -> tuple[list[Read], Known]:
        """The documents of a batch and what is known of them; a second call parses them again. The next batch
        is begun."""
        reading = self._reading.pop(number, None) or self._begin(number)
        if number + 1 < len(self._batches) and number + 1 not in self._reading:
            self._reading[number + 1] = self._begin(number + 1)
        return reading.result()

    def _begin(self, number: int) -> Future[tuple[list[Read], Known]]:
        return self._ahead.submit(lambda: (self._parsed(self._batches[number]), self.known(number)))

    def parse(self, items: Sequence[Item]) -> tuple[list[Read], Known]:
        """These documents, as `read` has them."""
        return self._parsed(items), self._records(items)

    def known(self, number: int) -> Known:
        """What is stored of a batch's documents, fetched with that of the batches that follow."""
        end = number + 1 + FETCH // len(self._batches[number])
        coming = [item for batch in self._batches[number + 1 : end] for item in batch]
        return self._records(self._batches[number], coming)

    def _parsed(self, items: Sequence[Item]) -> list[Read]:
        from cinnabar.extraction.pipeline import Read

        if self._pool is None:
            self._pool = ParserPool(self._workers)
        parsed = self._pool.parse_many([item.content for item in items])
        found = zip(items, parsed, strict=True)
        return [Read(item.name, item.found.document, document) for item, (_, document) in found]

    def _records(self, items: Sequence[Item], coming: Sequence[Item] = ()) -> Known:
        from cinnabar.extraction.refilling import Known

        if any(item.found.document not in self._fetched for item in items):
            self._fetched = stored(self._out, [item.found for item in [*items, *coming]])
        found = [item.found for item in items]
        records = [(self._fetched[one.document], self._changes[one.schema_fingerprint]) for one in found]
        return Known(records, self._below)
