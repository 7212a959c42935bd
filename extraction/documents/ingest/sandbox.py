"""Parses files in processes of their own: a hostile file ends its worker, never the run."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, TypeVar

import orjson

from cinnabar.closing import Closing
from cinnabar.engine.child_process import python_command
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Fact, moment
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.extraction.documents.content.limits import MAX_FILE, PARSER_DOCUMENTS, PARSER_MEMORY, PARSER_SECONDS
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.dispatch import PARSE
from cinnabar.extraction.documents.ingest.page_drawing import DRAW
from cinnabar.extraction.documents.ocr.page_store import PageKeeper
from cinnabar.extraction.documents.ocr.pool import OcrPool
from cinnabar.extraction.documents.processes.frames import HEADER, BadFrame, lengths, unpack
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess, WorkerTimedOut

# Documents for each worker that are in progress or wait for their turn.
LOOK_AHEAD = 4
# Files of these suffixes hold no others.
_PLAIN = (".txt", ".md", ".csv", ".tsv", ".ics", ".html", ".htm")
# After these outcomes a worker is dead or not trusted with another document.
_FATAL = ("worker_died", "timeout", "memory")

_Outcome = Document | DocumentError
_SomeContent = TypeVar("_SomeContent", bound=Path | Content)


class _Parser(WorkerProcess):
    """One process that parses one file at a time."""

    def __init__(self, command: list[str], settings: ParserSettings, time_limit: float) -> None:
        super().__init__(command, orjson.dumps(asdict(settings)) + b"\n", time_limit, "parser")

    def ask(self, path: PurePath, data: bytes | None, own: Mapping[str, Any]) -> _Outcome:
        """Returns the document in the file at `path`, or in `data` under that name; `own` are settings for it alone.

        Raises WorkerDied or WorkerTimedOut; the worker cannot be used afterwards.
        """
        # The path goes as hex: it may hold any bytes, and must stay on one line.
        asked: dict[str, Any] = {"path": os.fsencode(path).hex(), "own": own}
        if data is not None:
            asked["size"] = len(data)
        self.send(orjson.dumps(asked) + b"\n", data or b"")
        deadline = self.deadline()
        try:
            sizes = lengths(self.receive(HEADER.size, deadline))
            sections = [self.receive(size, deadline) for size in sizes]
            outcome = unpack(str(path), *sections)
        except BadFrame as error:
            raise WorkerDied(f"the worker's answer is malformed: {error}") from error
        self.served += 1
        return outcome


def file_facts(item: Path | Content, size: int) -> dict[str, Fact]:
    """Returns the facts that the file system knows; a mail without a file of its own has only a size."""
    facts = {"file.size": Fact(size)}
    content = content_of(item)
    modified = content.modified
    if modified is not None:
        # A name may hold bytes that are no text.
        facts["file.name"] = Fact(os.fsencode(content.name.name).decode("utf-8", "replace"))
        with suppress(ValueError, OverflowError, OSError):
            facts["file.modified"] = Fact(moment(datetime.fromtimestamp(modified, UTC)))
    return facts


class ParserPool(Closing):
    """Warm worker processes that turn files into documents, each bounded in time and memory.

    workers: processes. time_limit: seconds of wall clock for a document, enforced from outside by a kill. memory_limit:
    bytes of address space of a worker. restart_after: documents after which a worker is replaced. max_bytes: the
    largest file that is read. max_tokens: documents of more words are refused, None refuses none. parser:
    `module:function` that a worker imports, a `worker.Parser`. The second try of a file is a careful one. pages: keeps
    the pages that OCR read. As many processes more read pictures, after the first one came.

    A context manager: its exit ends the workers, also those in the middle of a document.
    """

    def __init__(
        self,
        workers: int,
        time_limit: float = PARSER_SECONDS,
        memory_limit: int = PARSER_MEMORY,
        restart_after: int = PARSER_DOCUMENTS,
        *,
        max_bytes: int = MAX_FILE,
        max_tokens: int | None = None,
        settings: ParserSettings = DEFAULT,
        parser: str = PARSE,
        pages: PageKeeper | None = None,
    ) -> None:
        if workers < 1 or time_limit <= 0 or memory_limit < 1 << 28 or restart_after < 1:
            raise ValueError(
                f"expected at least 1 worker, a time limit above 0, at least {1 << 28} bytes of memory and "
                f"a restart after at least 1 document, got {workers}, {time_limit}, {memory_limit}, "
                f"{restart_after}"
            )
        self.workers, self.time_limit, self._restart_after = workers, time_limit, restart_after
        module = "cinnabar.extraction.documents.processes.worker"
        limits = [str(time_limit), str(memory_limit), str(max_bytes), str(max_tokens or 0)]
        self._command = python_command("-m", module, parser, *limits)
        self._settings = replace(settings, seconds=time_limit)
        self._careful = replace(self._settings, careful=True)
        self._pool = WorkerPool[_Parser](workers, "parser")
        self._ocr = OcrPool(workers, settings, pages)
        self._limits = (time_limit, memory_limit, restart_after, max_bytes)
        self._drawers = threading.Lock()
        self._drawing: ParserPool | None = None

    def close(self) -> None:
        """Ends all workers; outstanding requests get no answer."""
        # A parser's thread waits for the pages of its document.
        self._ocr.close()
        if self._drawing is not None:
            self._drawing.close()
        self._pool.close()

    def parse_many(self, items: Iterable[_SomeContent]) -> Iterator[tuple[_SomeContent, _Outcome]]:
        """Yields one outcome for each file and mail, in their order.

        At most LOOK_AHEAD documents for each worker are in progress or waiting, so memory does not grow with their
        number. The workers go on while the caller handles an outcome.
        """
        waiting: deque[tuple[_SomeContent, Future[_Outcome]]] = deque()
        try:
            for item in items:
                waiting.append((item, self.submit(item)))
                if len(waiting) >= LOOK_AHEAD * self.workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()

    def submit(self, item: Path | Content) -> Future[_Outcome]:
        """Begins to parse a file or mail as soon as a worker is free."""
        return self._pool.submit(self._parse, item)

    def drawn(self, item: Path | Content, page: int = 0) -> _Outcome:
        """Returns a document whose pictures are its pages, for a person to look at (`page_pictures`).

        Of a PDF those from this page on, as many as a moment allows; 0 draws the first pages. One process more draws
        them, under the same limits; it starts with the first call.
        """
        with self._drawers:
            if self._drawing is None:
                time_limit, memory_limit, restart_after, max_bytes = self._limits
                self._drawing = ParserPool(
                    1,
                    time_limit,
                    memory_limit,
                    restart_after,
                    max_bytes=max_bytes,
                    settings=replace(self._settings, ocr="never"),
                    parser=DRAW,
                )
        content = content_of(item)
        own = {**content.settings, "drawn_from": page or content.first_page}
        return content.own_document(self._drawing._parse_item(content, own))

    def _parse(self, item: Path | Content) -> _Outcome:
        content = content_of(item)
        outcome = self._parse_item(content, content.settings)
        if isinstance(outcome, Document):
            # The pages that OCR reads are kept for the packet, before its parts are known.
            outcome = self._ocr.fill(outcome)
        outcome = content.own_document(outcome)
        if isinstance(outcome, Document):
            return replace(outcome, facts={**outcome.facts, **file_facts(content, outcome.size)})
        return outcome

    def _parse_item(self, content: Content, own: Mapping[str, Any]) -> _Outcome:
        path = content.name
        try:
            data = content.parser_data()
        except DocumentError as problem:
            return problem
        worker = self._pool.take()
        try:
            worker = worker or self._pool.start(self._made(self._settings))
            outcome = self._ask(worker, path, data, own)
            if isinstance(outcome, Document) or outcome.code not in _FATAL:
                if worker.served >= self._restart_after:
                    self._pool.end(worker)
                    worker = None
                return outcome
            self._pool.end(worker)
            worker = None
            # An earlier document may have damaged the worker, so a fresh one tries again. After a timeout too, because
            # a page or a file within the file may cause it.
            if outcome.code != "worker_died" and path.suffix.lower() in _PLAIN:
                return outcome
            careful = self._pool.start(self._made(self._careful))
            again = self._ask(careful, path, data, own)
            self._pool.end(careful)
            return again
        finally:
            self._pool.give(worker)

    def _made(self, settings: ParserSettings) -> Callable[[], _Parser]:
        return lambda: _Parser(self._command, settings, self.time_limit)

    @staticmethod
    def _ask(worker: _Parser, path: PurePath, data: bytes | None, own: Mapping[str, Any]) -> _Outcome:
        try:
            return worker.ask(path, data, own)
        except WorkerTimedOut:
            return DocumentError("timeout", f"no answer within {worker.time_limit:g} s")
        except WorkerDied as error:
            return DocumentError("worker_died", str(error))
