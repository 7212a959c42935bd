"""Parsing in processes of its own: a hostile file ends its worker, never the run."""

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
from pathlib import Path, PurePath
from types import TracebackType
from typing import IO, TypeVar

import orjson

from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.dispatch import PARSE, PARSE_CAREFULLY
from cinnabar.extraction.ingest.message import Message, Sent
from cinnabar.extraction.ingest.wire import HEADER, MAGIC, BadFrame, lengths, unpack
from cinnabar.schemas.errors import DocumentError, RunError

MAX_FILE = 200 << 20
# Documents that may be under way or waiting for their turn, for each worker.
LOOK_AHEAD = 4
_START_LIMIT = 60.0
# Times that a worker is started before the run fails.
_STARTS = 5

# After these a worker is of no further use, or not to be trusted with another document.
_FATAL = ("worker_died", "timeout", "memory")

_Outcome = Document | DocumentError
# What is parsed: a file, a mail that lies in none, or bytes that were read elsewhere.
_Content = Path | Message | Sent
_SomeContent = TypeVar("_SomeContent", bound=_Content)


class _Died(Exception):
    """The worker ended, or wrote something that is no frame."""


class _TimedOut(Exception):
    """The worker did not answer in time."""


class _Worker:
    """One process that parses one file at a time."""

    def __init__(self, command: list[str], time_limit: float) -> None:
        self.time_limit = time_limit
        # A thread pool of the linear algebra library would take the address space that the parsers need.
        env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
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
            greeting = self._read(len(MAGIC), time.monotonic() + _START_LIMIT)
        except (_Died, _TimedOut) as error:
            self.stop()
            advice = f"try `{' '.join(command)}`"
            raise RunError(f"a parser's process does not start: {error or 'no answer'}; {advice}") from error
        if greeting != MAGIC:
            self.stop()
            raise RunError(f"a parser's process began with {greeting!r}, expected {MAGIC!r}")

    def ask(self, path: PurePath, data: bytes | None) -> _Outcome:
        """The document in the file at `path`, or in `data` by that name.

        Raises _Died and _TimedOut; the worker is then of no further use.
        """
        # The path goes as hex: any bytes that the file system allows, on one line.
        asked: dict[str, str | int] = {"path": os.fsencode(path).hex()}
        if data is not None:
            asked["size"] = len(data)
        try:
            for piece in (orjson.dumps(asked) + b"\n", data or b""):
                view = memoryview(piece)
                while view:
                    view = view[self._stdin.write(view) :]
        except (BrokenPipeError, OSError) as error:
            raise _Died(self._fate()) from error
        deadline = time.monotonic() + self.time_limit
        try:
            sizes = lengths(self._read(HEADER.size, deadline))
            sections = [self._read(size, deadline) for size in sizes]
            found = unpack(str(path), *sections)
        except BadFrame as error:
            raise _Died(f"the worker's answer is not sound: {error}") from error
        self.served += 1
        return found

    def stop(self) -> None:
        """End the process, now."""
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    def interrupt(self) -> None:
        """End the process from another thread; the one that uses the worker sees it die and calls `stop`."""
        self._process.kill()

    def _read(self, count: int, deadline: float) -> bytes:
        # Grown as the bytes come, so that a false length allocates nothing.
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
    """The name that something is parsed by: its ending says what it is."""
    if isinstance(item, (Path, Sent)):
        return item if isinstance(item, Path) else item.path
    return PurePath(f"{item.path}.eml")


class ParserPool:
    """Warm worker processes that turn files into documents, each bounded in time and memory.

    workers: processes. time_limit: seconds of wall clock for a document, enforced from outside by a kill.
    memory_limit: bytes of address space of a worker. restart_after: documents after which a worker is
    replaced. max_bytes: the largest file that is read. parser: `module:function` that a worker imports,
    `(data: bytes, path: str) -> Document`; careful_parser: the same, for the second try.

    A context manager: leaving it ends the workers, also those in the middle of a document.
    """

    def __init__(
        self,
        workers: int,
        time_limit: float = 30.0,
        memory_limit: int = 1 << 30,
        restart_after: int = 1000,
        *,
        max_bytes: int = MAX_FILE,
        parser: str = PARSE,
        careful_parser: str | None = None,
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
        limits = [str(time_limit), str(memory_limit), str(max_bytes)]
        self._command = [sys.executable, "-P", "-m", module, parser, *limits]
        careful = careful_parser or (PARSE_CAREFULLY if parser == PARSE else parser)
        self._careful_command = [sys.executable, "-P", "-m", module, careful, *limits]
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
        """End all workers. What was asked for and has not come yet does not come."""
        with self._lock:
            self._closed = True
            for worker in self._alive:
                worker.interrupt()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in list(self._alive):
            self._end(worker)

    def parse_many(self, items: Iterable[_SomeContent]) -> Iterator[tuple[_SomeContent, _Outcome]]:
        """One outcome for each file and mail, in their order.

        At most LOOK_AHEAD documents for each worker are under way or waiting for their turn, so memory does
        not grow with their number. The workers go on while the caller is busy with an outcome.
        """
        waiting: deque[tuple[_SomeContent, Future[_Outcome]]] = deque()
        try:
            for item in items:
                waiting.append((item, self._threads.submit(self._parse, item)))
                if len(waiting) >= LOOK_AHEAD * self.workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()

    def _parse(self, item: _Content) -> _Outcome:
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
            worker = worker or self._start(self._command)
            found = self._ask(worker, path, data)
            if isinstance(found, Document) or found.code not in _FATAL:
                if worker.served >= self._restart_after:
                    self._end(worker)
                    worker = None
                return found
            self._end(worker)
            worker = None
            # A worker may die of what an earlier document left behind, so a fresh one tries again. A mail
            # gets its second try after a hang, too: what hung lies in an attachment.
            if found.code != "worker_died" and path.suffix.lower() != ".eml":
                return found
            careful = self._start(self._careful_command)
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

    def _start(self, command: list[str]) -> _Worker:
        with self._lock:
            if self._closed:
                raise RuntimeError("the parser pool is closed; use it inside its `with` block")
            worker = self._started(command)
            self._alive.add(worker)
            return worker

    def _started(self, command: list[str]) -> _Worker:
        # What ends one worker as it starts, the kernel short of memory or a hand, need not end the next.
        for _ in range(_STARTS - 1):
            with suppress(RunError):
                return _Worker(command, self.time_limit)
        return _Worker(command, self.time_limit)

    def _end(self, worker: _Worker) -> None:
        with self._lock:
            self._alive.discard(worker)
        worker.stop()
