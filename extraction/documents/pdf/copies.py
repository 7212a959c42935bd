"""Copies of this process that read hostile pages: one that dies or hangs loses a page, never the file."""

from __future__ import annotations

import os
import select
import signal
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType

from cinnabar.extraction.documents.processes.serving import end_with

_SIZE = struct.Struct("<q")
# The size that says that a number is done.
_DONE = -1
_MAX_ANSWER = 256 << 20

#: Yields the answers for a number, the best one last.
Work = Callable[[int], Iterator[bytes]]


def copied_answers(work: Work, count: int, seconds: float, until: float) -> Iterator[tuple[list[bytes], bool]]:
    """Yields, for each number below `count`, the answers that a copy of this process gave, and whether it gave all.

    A copy that dies, or takes more than `seconds` for a number, is replaced by one that goes on with the next number.
    The answers end early at `until`, a monotonic time.
    """
    number = 0
    while number < count and time.monotonic() < until:
        with _Copy(work, number, count) as copy:
            whole = True
            while whole and number < count and time.monotonic() < until:
                answers: list[bytes] = []
                whole = copy.receive(answers, min(time.monotonic() + seconds, until))
                yield answers, whole
                number += 1


class _Copy:
    """A copy of this process that works on the numbers from `first` to `count`; a context manager that ends it."""

    def __init__(self, work: Work, first: int, count: int) -> None:
        self._reader, writer = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            # Nothing of the parent may run on in the copy, whatever happens.
            try:
                os.close(self._reader)
                end_with(parent)
                _serve(writer, work, first, count)
            finally:
                os._exit(0)
        os.close(writer)
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)

    def __enter__(self) -> _Copy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._reader)

    def receive(self, answers: list[bytes], deadline: float) -> bool:
        """Appends the answers for the next number; returns False if the copy died or was late."""
        while (head := self._bytes(_SIZE.size, deadline)) is not None:
            (size,) = _SIZE.unpack(head)
            if size == _DONE:
                return True
            if not 0 <= size <= _MAX_ANSWER or (answer := self._bytes(size, deadline)) is None:
                return False
            answers.append(answer)
        return False

    def _bytes(self, count: int, deadline: float) -> bytes | None:
        pieces: list[bytes] = []
        while count:
            if not self._poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
                return None
            piece = os.read(self._reader, min(count, 1 << 20))
            if not piece:
                return None
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


def _serve(writer: int, work: Work, first: int, count: int) -> None:
    for number in range(first, count):
        for answer in work(number):
            _send(writer, _SIZE.pack(len(answer)) + answer)
        _send(writer, _SIZE.pack(_DONE))


def _send(writer: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view) :]
