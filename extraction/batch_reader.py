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


class BatchReader:
    """Parses batches of inputs in `workers` processes, which start at the first use. A context manager."""

    def __init__(self, batches: Sequence[Sequence[Input]], workers: int) -> None:
        self._batches, self._workers = batches, workers
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
            self._pool = ParserPool(self._workers)
        return self._pool

    def read(self, number: int) -> list[Read]:
        """Returns the parsed inputs of a batch and starts parsing the next batch; a second call parses them again."""
        reading = self._reading.pop(number, None) or self._begin(number)
        if number + 1 < len(self._batches) and number + 1 not in self._reading:
            self._reading[number + 1] = self._begin(number + 1)
        return reading.result()

    def parse(self, items: Sequence[Input]) -> list[Read]:
        """Returns these inputs parsed."""
        from cinnabar.extraction.pipeline import Read

        found = self.pool.parse_many([item.content for item in items])
        return [Read(item.path, item.digest, read) for item, (_, read) in zip(items, found, strict=True)]

    def _begin(self, number: int) -> Future[list[Read]]:
        _ = self.pool  # the pool's processes must start in this thread, not in the reader's
        return self._ahead.submit(self.parse, self._batches[number])
