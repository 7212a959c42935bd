"""The batches of a backfill, read again: each document beside its record, the next batch ahead of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.outstanding import Item, vanished
from cinnabar.extraction.storage.records import Outcome
from cinnabar.extraction.storage.stored import Stored, stored
from cinnabar.schemas.changes import Changes
from cinnabar.schemas.errors import DocumentError

# Torch takes seconds to import, which a backfill that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.refilling import Old

#: Records that are fetched from the store at a time.
FETCH = 512
#: What a parser says of a document that is not there.
_ABSENT = ("unreadable", "not_a_file")


class Rereader:
    """Parses batches of items in `workers` processes, which start when they are first needed.

    `changes` says for each version of the schema what has changed since.
    A context manager.
    """

    def __init__(
        self, out: Path, batches: Sequence[Sequence[Item]], changes: Mapping[str, Changes], workers: int
    ) -> None:
        self._out, self._batches, self._changes, self._workers = out, batches, changes, workers
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._pool: ParserPool | None = None
        self._reading: dict[int, Future[tuple[list[Old], list[Outcome]]]] = {}
        self._fetched: dict[str, Stored] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()
        self._ahead.shutdown()

    def read(self, number: int) -> tuple[list[Old], list[Outcome]]:
        """The documents of a batch with their records, and outcomes for those that are gone or changed just
        now; a second call parses them again. The next batch is begun."""
        reading = self._reading.pop(number, None) or self._begin(number)
        if number + 1 < len(self._batches) and number + 1 not in self._reading:
            self._reading[number + 1] = self._begin(number + 1)
        return reading.result()

    def _begin(self, number: int) -> Future[tuple[list[Old], list[Outcome]]]:
        # Records are fetched with those of the batches that follow.
        end = number + 1 + FETCH // len(self._batches[number])
        coming = [item for batch in self._batches[number + 1 : end] for item in batch]
        return self._ahead.submit(self.parse, self._batches[number], coming)

    def parse(self, items: Sequence[Item], coming: Sequence[Item] = ()) -> tuple[list[Old], list[Outcome]]:
        """These documents, as `read` has them; records are fetched with those of the `coming` ones."""
        from cinnabar.extraction.refilling import Old

        if self._pool is None:
            self._pool = ParserPool(self._workers)
        if any(item.found.document not in self._fetched for item in items):
            self._fetched = stored(self._out, [item.found for item in [*items, *coming]])
        olds, lost = list[Any](), list[Outcome]()
        parsed = self._pool.parse_many([item.content for item in items])
        for item, (_, found) in zip(items, parsed, strict=True):
            digest = item.found.document
            if isinstance(found, DocumentError) and found.code in _ABSENT:
                lost.append(vanished(item, found.detail))
            elif getattr(found, "digest", digest) != digest:
                lost.append(vanished(item))
            else:
                since = self._changes[item.found.schema_fingerprint]
                olds.append(Old(item.name, digest, found, self._fetched[digest], since))
        return olds, lost
