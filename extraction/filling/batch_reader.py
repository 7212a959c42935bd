"""Parses the batches of a run, the next one while the current one is filled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from cinnabar.closing import Closing
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PageStore

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import OpenedInput


#: A document is late if all others of its batch are parsed and none has arrived for so many seconds. Most late
#: documents at a time, because each takes memory.
LATE_AFTER, MOST_LATE = 5.0, 16
# Most characters of the long documents that are kept parsed until their turn; a character takes about 8 bytes.
_KEPT = 20_000_000

_Found = Document | DocumentError


class BatchReader(Closing):
    """Parses batches of inputs in `workers` processes, which start at the first use.

    Batches may be added meanwhile. Documents of more than `max_tokens` words are refused. `seconds` counts those in
    which it was parsing. A context manager.
    """

    def __init__(
        self,
        batches: Sequence[Sequence[Input]],
        workers: int,
        max_tokens: int | None = None,
        settings: ParserSettings = DEFAULT,
        pages: PageStore | None = None,
    ) -> None:
        self._batches, self._workers, self._max_tokens, self._settings = batches, workers, max_tokens, settings
        self._pages = pages
        self.seconds = 0.0
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._pool: ParserPool | None = None
        self._reading: dict[int, Future[list[OpenedInput | None]]] = {}
        # By path: late documents, and long documents that wait for their turn.
        self._late: dict[str, Future[_Found]] = {}
        self._kept: dict[str, OpenedInput] = {}

    def close(self) -> None:
        """Ends the parser processes."""
        if self._pool is not None:
            self._pool.close()
        self._ahead.shutdown()

    @property
    def pool(self) -> ParserPool:
        """Returns the pool of parser processes; the first call starts it."""
        if self._pool is None:
            self._pool = ParserPool(
                self._workers, max_tokens=self._max_tokens, settings=self._settings, pages=self._pages
            )
        return self._pool

    def begin(self, number: int) -> None:
        """Starts parsing a batch, if it has not started."""
        if number not in self._reading:
            _ = self.pool  # the pool's processes must start in this thread, not in the reader's
            self._reading[number] = self._ahead.submit(self._parse, self._batches[number])

    def read(self, number: int) -> list[OpenedInput | None]:
        """Returns the parsed inputs of a batch and starts parsing the next batch; a second call parses them again.

        None stands for a late document, which other documents of the batch do not wait for.
        """
        self.begin(number)
        if number + 1 < len(self._batches):
            self.begin(number + 1)
        return self._reading.pop(number).result()

    def keep(self, reads: Sequence[OpenedInput]) -> None:
        """Keeps parsed documents for later batches, as far as there is room; the others will be parsed again."""
        for one in reads:
            if sum(map(_length, self._kept.values())) + _length(one) <= _KEPT:
                self._kept[one.path] = one

    def parse(self, items: Sequence[Input]) -> list[OpenedInput]:
        """Returns these inputs parsed, and waits for all of them."""
        return [one for one in self._parse(items, patient=True) if one is not None]

    def _parse(self, items: Sequence[Input], patient: bool = False) -> list[OpenedInput | None]:
        if len(items) == 1 and (kept := self._kept.pop(items[0].path, None)) is not None:
            return [kept]
        started = time.perf_counter()
        coming: dict[str, Future[_Found]] = {}
        for item in items:
            begun = self._late.pop(item.path, None)
            coming[item.path] = self.pool.submit(item.content) if begun is None else begun
        late = set() if patient else self._overdue(coming)
        self._late |= {path: coming[path] for path in late}
        # Cold start: it imports torch, so it comes last; the first documents are parsed meanwhile.
        from cinnabar.extraction.filling.pipeline import OpenedInput

        parsed = [
            None if item.path in late else OpenedInput(item.path, item.digest, coming[item.path].result())
            for item in items
        ]
        self.seconds += time.perf_counter() - started
        return parsed

    def _overdue(self, coming: dict[str, Future[_Found]]) -> set[str]:
        """Waits for the documents, and returns the late ones."""
        left = set(coming.values())
        while left:
            done, left = wait(left, timeout=LATE_AFTER, return_when=FIRST_COMPLETED)
            late = not done and len(left) < len(coming) and all(one.running() for one in left)
            if late and len(self._late) + len(left) <= MOST_LATE:
                return {path for path, one in coming.items() if one in left}
        return set()


def _length(read: OpenedInput) -> int:
    return 0 if isinstance(read.found, Exception) else len(read.found.text)
