"""Processes that handle hostile bytes: each is asked over pipes, has a time limit, and is killed from outside."""

from __future__ import annotations

import math
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, Generic, ParamSpec, TypeVar

import orjson

from cinnabar.engine.child_process import child_environment
from cinnabar.errors import RunError
from cinnabar.extraction.documents.content.limits import MAX_STARTS, START_SECONDS
from cinnabar.extraction.documents.processes.serving import MAGIC, read_whole, write_whole

#: The seconds for which the first process of a pool is the only one: the start of another costs as much time.
FIRST_ALONE = 0.2


class WorkerDied(Exception):
    """The process ended, or wrote something that it should not."""


class WorkerTimedOut(Exception):
    """The process did not answer in time."""


class WorkerProcess:
    """One process that answers one request at a time.

    command: begins it. first: bytes that it gets before it greets with `MAGIC`. named: its name in messages.
    time_limit: seconds for an answer. more: variables of its environment beside those of `child_environment`.
    `served` counts the answers.
    """

    def __init__(
        self, command: list[str], first: bytes, time_limit: float, named: str, more: Mapping[str, str] | None = None
    ) -> None:
        self.time_limit = time_limit
        # A thread pool of the linear algebra library would take the address space that the process needs.
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        env = child_environment(more) | single
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env=env)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        self._stdin: IO[bytes] = stdin
        self._stdout: IO[bytes] = stdout
        self.served = 0
        try:
            self.send(first)
            greeting = self.receive(len(MAGIC), time.monotonic() + START_SECONDS)
        except (WorkerDied, WorkerTimedOut) as error:
            self.stop()
            advice = f"try `{' '.join(command)}`"
            raise RunError(f"the {named} process does not start: {error or 'no answer'}; {advice}") from error
        if greeting != MAGIC:
            self.stop()
            raise RunError(f"the {named} process began with {greeting!r}, expected {MAGIC!r}")

    def stop(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    def interrupt(self) -> None:
        """Ends the process from another thread; the thread that uses it sees it die and calls `stop`."""
        self._process.kill()

    def deadline(self) -> float:
        """Returns the monotonic time when the answer to a request of now must be there."""
        return time.monotonic() + self.time_limit

    def send(self, *pieces: bytes) -> None:
        """Writes to the process. Raises WorkerDied; it cannot be used afterwards."""
        try:
            write_whole(self._stdin.fileno(), *pieces)
        except (BrokenPipeError, OSError) as error:
            raise WorkerDied(self._fate()) from error

    def receive(self, count: int, deadline: float) -> bytes:
        """Returns the next bytes. Raises WorkerDied or WorkerTimedOut; it cannot be used afterwards."""
        try:
            return read_whole(self._stdout.fileno(), count, deadline)
        except TimeoutError:
            raise WorkerTimedOut from None
        except EOFError:
            raise WorkerDied(self._fate()) from None

    def ask_bytes(self, data: bytes, most: int) -> bytes:
        """Returns the answer, of at most so many bytes; both go behind their lengths of 8 bytes, little-endian.

        Raises WorkerDied or WorkerTimedOut; it cannot be used afterwards.
        """
        self.send(len(data).to_bytes(8, "little"), data)
        deadline = self.deadline()
        size = int.from_bytes(self.receive(8, deadline), "little")
        if size > most:
            raise WorkerDied(f"an answer of {size} bytes")
        return self.receive(size, deadline)

    def _fate(self) -> str:
        try:
            status = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        return f"ended by signal {-status}" if status < 0 else f"ended with status {status}"


W = TypeVar("W", bound=WorkerProcess)
P = ParamSpec("P")
R = TypeVar("R")


class WorkerPool(Generic[W]):
    """Places for warm processes, and a thread for each place, which asks them.

    named: of the threads. The first process starts with the first request.
    """

    def __init__(self, places: int, named: str) -> None:
        self._named = named
        self._threads = ThreadPoolExecutor(places, thread_name_prefix=named)
        self._free = places
        # The warm process that was used last comes first.
        self._warm: list[W] = []
        self._changed = threading.Condition()
        self._begins, self._ready = False, -math.inf
        self._alive: set[W] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._begun: weakref.WeakSet[Future[Any]] = weakref.WeakSet()

    def submit(self, work: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> Future[R]:
        """Begins work in one of the pool's threads as soon as one is free."""
        begun = self._threads.submit(work, *arguments, **named)
        self._begun.add(begun)
        return begun

    def take(self) -> W | None:
        """Returns the warm process of a free place, None if there is none; `give` frees the place again.

        While the first process starts, and a moment longer, others wait for it: it is soon done with small requests.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._free)
            self._free -= 1
            while not self._warm and (patience := self._patience()) > 0:
                self._changed.wait(patience)
            if self._warm:
                return self._warm.pop()
            self._begins = self._ready < 0
            return None

    def _patience(self) -> float:
        return START_SECONDS if self._begins else self._ready + FIRST_ALONE - time.monotonic()

    def give(self, worker: W | None) -> None:
        """Frees a place, with a process that stays warm or none."""
        with self._changed:
            self._free += 1
            self._warm += [] if worker is None else [worker]
            self._begins = self._begins and worker is not None
            self._changed.notify_all()

    def start(self, make: Callable[[], W]) -> W:
        """Returns a new process. Raises RunError if it does not start, RuntimeError if the pool is closed."""
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the {self._named} pool is closed; use it inside its `with` block")
            worker = self._start_patiently(make)
            self._alive.add(worker)
        with self._changed:
            self._ready = time.monotonic() if self._begins else self._ready
            self._begins = False
            self._changed.notify_all()
        return worker

    def ask_json(self, make: Callable[[], W], text: bytes, most: int) -> Any:
        """Returns the JSON value that a warm process or a new one answers to a text; the caller's thread waits.

        Raises WorkerDied or WorkerTimedOut after that process has been ended, and the errors of `start`.
        """
        worker = self.take()
        try:
            worker = worker or self.start(make)
            return orjson.loads(worker.ask_bytes(text, most))
        except (WorkerDied, WorkerTimedOut):
            if worker is not None:
                self.end(worker)
                worker = None
            raise
        finally:
            self.give(worker)

    def end(self, worker: W) -> None:
        """Ends a process, which gets no further request."""
        with self._lock:
            self._alive.discard(worker)
        worker.stop()

    def close(self) -> None:
        """Ends all processes; outstanding requests get no answer."""
        with self._lock:
            self._closed = True
            for worker in self._alive:
                worker.interrupt()
        self._threads.shutdown(wait=True, cancel_futures=True)
        # The shutdown cancels what has not begun, but does not wake threads that wait for it.
        for future in list(self._begun):
            if future.cancelled():
                with suppress(RuntimeError):
                    future.set_running_or_notify_cancel()
        for worker in list(self._alive):
            self.end(worker)

    @staticmethod
    def _start_patiently(make: Callable[[], W]) -> W:
        # A process may fail to start for a passing reason, such as a shortage of memory, so the next may succeed.
        for _ in range(MAX_STARTS - 1):
            with suppress(RunError):
                return make()
        return make()
