"""The side of a process that handles hostile bytes: its pipes to the parent, and the limits on itself."""

from __future__ import annotations

import ctypes
import logging
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from cinnabar.extraction.documents.content.limits import PARSER_OPEN_FILES

#: What a process writes once it is ready, and what each frame of a document begins with (`frames`).
MAGIC = b"CNBR"
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class ParentPipes:
    """The pipes to the parent: requests come in, and answers go out to a descriptor."""

    requests: BinaryIO
    answers: int

    def send(self, *pieces: bytes) -> None:
        """Writes these pieces to the parent, one after the other."""
        write_whole(self.answers, *pieces)

    def asked(self) -> Iterator[bytes]:
        """Yields the requests of `WorkerProcess.ask_bytes` until standard input ends; `answer` follows each."""
        while len(head := self.requests.read(8)) == 8:
            size = int.from_bytes(head, "little")
            if len(data := self.requests.read(size)) == size:
                yield data

    def answer(self, data: bytes) -> None:
        """Answers such a request."""
        self.send(len(data).to_bytes(8, "little"), data)


def write_whole(descriptor: int, *pieces: bytes) -> None:
    """Writes these pieces to a pipe, one after the other."""
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]


def read_whole(descriptor: int, count: int, deadline: float) -> bytes:
    """Returns the next bytes of a pipe. Raises EOFError if it ends before, TimeoutError after a monotonic time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    # The buffer grows with the received bytes, so that a false length allocates nothing.
    pieces: list[bytes] = []
    while count:
        if not poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
            raise TimeoutError
        piece = os.read(descriptor, min(count, 1 << 20))
        if not piece:
            raise EOFError
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def parent_pipes() -> ParentPipes:
    """Takes the pipes to the parent over from standard input and output, and silences the process."""
    # The terminal's interrupt goes to the whole group, but the parent decides when the workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    pipes = ParentPipes(os.fdopen(os.dup(0), "rb"), os.dup(1))
    # Native code that prints must not write into the answers. Errors stay visible if a person starts the process; the
    # parent starts it without a place for them.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    return pipes


def answer_json_requests(answer: Callable[[bytes], Any], seconds: float, memory: int) -> None:
    """Answers texts with JSON values until standard input ends.

    seconds: of processor time, for each request. memory: bytes of address space.
    """
    pipes = parent_pipes()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    pipes.send(MAGIC)
    for text in pipes.asked():
        allow_processor_time(seconds)
        pipes.answer(orjson.dumps(answer(text), default=str))


def limit(memory: int) -> None:
    """Limits the process: address space, open files, no core dumps, no bytes written to any file."""
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, PARSER_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def allow_processor_time(seconds: float) -> None:
    """Limits processor time, so that the system ends this process if its parent dies while a document loops."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + 2
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def end_with(parent: int) -> None:
    """Has the system end this process with its parent, where it can; its processor time is limited everywhere.

    A child calls it first: a copy, or a program between fork and exec.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(0)
