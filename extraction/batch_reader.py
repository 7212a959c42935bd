"""Parses the batches of a run, the next one while the current one is filled."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.inputs import Input

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.pipeline import Read


# Most characters of the documents that are kept for a batch of their own, with 8 bytes for each character.
_KEPT = 20_000_000


class BatchReader:
    """Parses batches of inputs in `workers` processes, which start at the first use.

    Batches may be added meanwhile. Documents of more than `max_tokens` words are refused. A context manager.
    """

    def __init__(
        self, batches: Sequence[Sequence[Input]], workers: int, max_tokens: int | None = None
    ) -> None:
        self._batches, self._workers, self._max_tokens = batches, workers, max_tokens
        self._kept: dict[str, Read] = {}
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._pool: ParserPool | None = None
        self._reading: dict[int, Future[list[Read]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()
        self._ahead.shutdown()

    @property
    def pool(self) -> ParserPool:
        """Returns the pool of parser processes; the first call starts it."""
        if self._pool is None:
            self._pool = ParserPool(self._workers, max_tokens=self._max_tokens)
        return self._pool

    def read(self, number: int) -> list[Read]:
        """Returns the parsed inputs of a batch and starts parsing the next batch; a second call parses them again."""
        reading = self._reading.pop(number, None) or self._begin(number)
        if number + 1 < len(self._batches) and number + 1 not in self._reading:
            self._reading[number + 1] = self._begin(number + 1)
        return reading.result()

    def keep(self, reads: Sequence[Read]) -> None:
        """Keeps parsed documents for later batches, as far as there is room; the others will be parsed again."""
        for one in reads:
            if sum(map(_length, self._kept.values())) + _length(one) <= _KEPT:
                self._kept[one.path] = one

    def parse(self, items: Sequence[Input]) -> list[Read]:
        """Returns these inputs parsed."""
        from cinnabar.extraction.pipeline import Read

        if len(items) == 1 and (kept := self._kept.pop(items[0].path, None)) is not None:
            return [kept]
        found = self.pool.parse_many([item.content for item in items])
        return [Read(item.path, item.digest, read) for item, (_, read) in zip(items, found, strict=True)]

    def _begin(self, number: int) -> Future[list[Read]]:
        _ = self.pool  # the pool's processes must start in this thread, not in the reader's
        return self._ahead.submit(self.parse, self._batches[number])


def _length(read: Read) -> int:
    return 0 if isinstance(read.found, Exception) else len(read.found.text)
