"""Parses files in processes of their own: a hostile file ends its worker, never the run."""

from __future__ import annotations

import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from types import TracebackType
from typing import IO, TypeVar

import orjson

from cinnabar.extraction.documents import Document, Fact
from cinnabar.extraction.ingest.archives.unpacker import ArchiveMember
from cinnabar.extraction.ingest.dispatch import PARSE
from cinnabar.extraction.ingest.message import Message, Sent
from cinnabar.extraction.ingest.settings import DEFAULT, ParserSettings
from cinnabar.extraction.ingest.wire import HEADER, MAGIC, BadFrame, lengths, unpack
from cinnabar.extraction.moments import moment
from cinnabar.schemas.errors import DocumentError, RunError

MAX_FILE = 200 << 20
# Documents for each worker that are in progress or wait for their turn.
LOOK_AHEAD = 4
_START_LIMIT = 60.0
# Times that a worker is started before the run fails.
_STARTS = 5

# After these outcomes a worker is dead or not trusted with another document.
# Files of these suffixes hold no others.
_PLAIN = (".txt", ".md", ".csv", ".tsv", ".ics", ".html", ".htm")
_FATAL = ("worker_died", "timeout", "memory")

_Outcome = Document | DocumentError
# A file, a mail without a file, or bytes from another machine.
_Content = Path | Message | Sent
_SomeContent = TypeVar("_SomeContent", bound=_Content)


class _Died(Exception):
    """The worker ended, or wrote something that is not a frame."""


class _TimedOut(Exception):
    """The worker did not answer in time."""


class _Worker:
    """One process that parses one file at a time."""

    def __init__(self, command: list[str], settings: ParserSettings, time_limit: float) -> None:
        self.time_limit = time_limit
        # A thread pool of the linear algebra library would take the address space that the parsers need.
        env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        env.pop("CINNABAR_PASSWORDS", None)  # a worker has its settings from its standard input
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env=env)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        self._stdin: IO[bytes] = stdin
        self._stdout: IO[bytes] = stdout
        self._poll = select.poll()
        self._poll.register(stdout, select.POLLIN)
        self.served = 0
        try:
            self._send(orjson.dumps(settings.sent()) + b"\n")
            greeting = self._read(len(MAGIC), time.monotonic() + _START_LIMIT)
        except (_Died, _TimedOut) as error:
            self.stop()
            advice = f"try `{' '.join(command)}`"
            raise RunError(f"the parser process does not start: {error or 'no answer'}; {advice}") from error
        if greeting != MAGIC:
            self.stop()
            raise RunError(f"the parser process began with {greeting!r}, expected {MAGIC!r}")

    def ask(self, path: PurePath, data: bytes | None) -> _Outcome:
        """Returns the document in the file at `path`, or in `data` under that name.

        Raises _Died or _TimedOut; the worker cannot be used afterwards.
        """
        # The path goes as hex: it may hold any bytes, and must stay on one line.
        asked: dict[str, str | int] = {"path": os.fsencode(path).hex()}
        if data is not None:
            asked["size"] = len(data)
        for piece in (orjson.dumps(asked) + b"\n", data or b""):
            self._send(piece)
        deadline = time.monotonic() + self.time_limit
        try:
            sizes = lengths(self._read(HEADER.size, deadline))
            sections = [self._read(size, deadline) for size in sizes]
            found = unpack(str(path), *sections)
        except BadFrame as error:
            raise _Died(f"the worker's answer is malformed: {error}") from error
        self.served += 1
        return found

    def stop(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    def interrupt(self) -> None:
        """Ends the process from another thread; the thread that uses the worker sees it die and calls `stop`."""
        self._process.kill()

    def _send(self, piece: bytes) -> None:
        view = memoryview(piece)
        try:
            while view:
                view = view[self._stdin.write(view) :]
        except (BrokenPipeError, OSError) as error:
            raise _Died(self._fate()) from error

    def _read(self, count: int, deadline: float) -> bytes:
        # The buffer grows with the received bytes, so that a false length allocates nothing.
        pieces: list[bytes] = []
        descriptor = self._stdout.fileno()
        while count:
            left = deadline - time.monotonic()
            if not self._poll.poll(max(left, 0.0) * 1000):
                raise _TimedOut
            piece = os.read(descriptor, min(count, 1 << 20))
            if not piece:
                raise _Died(self._fate())
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def _fate(self) -> str:
        try:
            status = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        return f"ended by signal {-status}" if status < 0 else f"ended with status {status}"


def name_of(item: _Content) -> PurePath:
    """Returns the name that an input is parsed under; its suffix decides the parser."""
    if isinstance(item, (Path, Sent)):
        return item if isinstance(item, Path) else item.path
    return PurePath(item.path if isinstance(item, ArchiveMember) else f"{item.path}.eml")


def modified_at(item: _Content) -> float | None:
    """Returns the time of a file's last change in seconds since 1970, None for a mail without a file.

    The time of a file in an archive is that of the archive.
    """
    if isinstance(item, Sent):
        return item.modified
    file = item.file if isinstance(item, ArchiveMember) else item
    with suppress(OSError):
        return file.stat().st_mtime if isinstance(file, Path) else None
    return None


def file_facts(item: _Content, size: int) -> dict[str, Fact]:
    """Returns the facts that the file system knows; a mail without a file of its own has only a size."""
    found = {"file.size": Fact(size)}
    modified = modified_at(item)
    if modified is not None:
        # A name may hold bytes that are no text.
        found["file.name"] = Fact(os.fsencode(name_of(item).name).decode("utf-8", "replace"))
        with suppress(ValueError, OverflowError, OSError):
            found["file.modified"] = Fact(moment(datetime.fromtimestamp(modified, UTC)))
    return found


class ParserPool:
    """Warm worker processes that turn files into documents, each bounded in time and memory.

    workers: processes. time_limit: seconds of wall clock for a document, enforced from outside by a kill. memory_limit:
    bytes of address space of a worker. restart_after: documents after which a worker is replaced. max_bytes: the
    largest file that is read. max_tokens: documents of more words are refused, None refuses none. parser:
    `module:function` that a worker imports, a `worker.Parser`. The second try of a file is a careful one.

    A context manager: its exit ends the workers, also those in the middle of a document.
    """

    def __init__(
        self,
        workers: int,
        time_limit: float = 30.0,
        memory_limit: int = 1 << 30,
        restart_after: int = 1000,
        *,
        max_bytes: int = MAX_FILE,
        max_tokens: int | None = None,
        settings: ParserSettings = DEFAULT,
        parser: str = PARSE,
    ) -> None:
        if workers < 1 or time_limit <= 0 or memory_limit < 1 << 28 or restart_after < 1:
            raise ValueError(
                f"expected at least 1 worker, a time limit above 0, at least {1 << 28} bytes of memory and "
                f"a restart after at least 1 document, got {workers}, {time_limit}, {memory_limit}, "
                f"{restart_after}"
            )
        self.workers, self.time_limit, self._restart_after = workers, time_limit, restart_after
        # -P keeps the working folder out of the import path: a folder of documents may hold an `email.py`.
        module = "cinnabar.extraction.ingest.worker"
        limits = [str(time_limit), str(memory_limit), str(max_bytes), str(max_tokens or 0)]
        self._command = [sys.executable, "-P", "-m", module, parser, *limits]
        self._settings, self._careful = settings, replace(settings, careful=True)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="parser")
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        for _ in range(workers):
            self._idle.put(None)
        self._alive: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> ParserPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all workers; outstanding requests get no answer."""
        with self._lock:
            self._closed = True
            for worker in self._alive:
                worker.interrupt()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in list(self._alive):
            self._end(worker)

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

    def submit(self, item: _Content) -> Future[_Outcome]:
        """Begins to parse a file or mail as soon as a worker is free."""
        return self._threads.submit(self._parse, item)

    def _parse(self, item: _Content) -> _Outcome:
        found = self._parsed(item)
        if isinstance(found, Document):
            return replace(found, facts={**found.facts, **file_facts(item, found.size)})
        return found

    def _parsed(self, item: _Content) -> _Outcome:
        path, data = name_of(item), None
        try:
            if isinstance(item, Sent):
                data = item.data
            elif not isinstance(item, Path):
                data = item.read()
        except DocumentError as problem:
            return problem
        worker = self._idle.get()
        try:
            worker = worker or self._start(self._settings)
            found = self._ask(worker, path, data)
            if isinstance(found, Document) or found.code not in _FATAL:
                if worker.served >= self._restart_after:
                    self._end(worker)
                    worker = None
                return found
            self._end(worker)
            worker = None
            # An earlier document may have damaged the worker, so a fresh one tries again. After a timeout too, because
            # a file within the file may cause it; a PDF by itself is slow each time.
            if found.code != "worker_died" and path.suffix.lower() in (".pdf", *_PLAIN):
                return found
            careful = self._start(self._careful)
            again = self._ask(careful, path, data)
            self._end(careful)
            return again
        finally:
            self._idle.put(worker)

    @staticmethod
    def _ask(worker: _Worker, path: PurePath, data: bytes | None) -> _Outcome:
        try:
            return worker.ask(path, data)
        except _TimedOut:
            return DocumentError("timeout", f"no answer within {worker.time_limit:g} s")
        except _Died as error:
            return DocumentError("worker_died", str(error))

    def _start(self, settings: ParserSettings) -> _Worker:
        with self._lock:
            if self._closed:
                raise RuntimeError("the parser pool is closed; use it inside its `with` block")
            worker = self._started(settings)
            self._alive.add(worker)
            return worker

    def _started(self, settings: ParserSettings) -> _Worker:
        # A worker may fail to start for a passing reason, such as a shortage of memory, so the next may succeed.
        for _ in range(_STARTS - 1):
            with suppress(RunError):
                return _Worker(self._command, settings, self.time_limit)
        return _Worker(self._command, settings, self.time_limit)

    def _end(self, worker: _Worker) -> None:
        with self._lock:
            self._alive.discard(worker)
        worker.stop()
