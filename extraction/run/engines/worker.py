"""An engine process: it fills the batches that its parent sends, with one thread of torch.

    python -P -m cinnabar.extraction.run.engines.worker

Each request and each answer is a length and a pickle; only the run and its own engines talk to each other. The first
request holds the parent's import path and the assignment, which is loaded with the first batch. The process ends with
its parent's pipe.
"""

from __future__ import annotations

import pickle
import struct
import sys
from typing import Any

from cinnabar.errors import RunError
from cinnabar.extraction.documents.processes.serving import MAGIC, ParentPipes, parent_pipes

#: The length of a pickle.
LENGTH = struct.Struct("<Q")


def frame(value: Any) -> bytes:
    """Returns a pickle behind its length."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def fill_requests(pipes: ParentPipes) -> None:
    """Answers until the parent closes its pipe. An answer is a batch, or the error that ended it."""
    path, packed, agreed = _request(pipes)
    # Modules of a user's schema may lie in folders that only the parent knows.
    sys.path[:] = path
    pipes.send(MAGIC)
    engine = None
    while (asked := _request(pipes)) is not None:
        try:
            if engine is None:
                # Cold start: the parent waits for what was sent first.
                from cinnabar.extraction.run.cluster.workers import Filling

                begun = Filling(threads=1)
                begun.start(packed, agreed)
                engine = begun  # one that could not load its model loads it with the next batch
            answer = frame(engine.fill(asked))
        except Exception as error:
            answer = _failure(error)
        pipes.send(answer)


def _request(pipes: ParentPipes) -> Any:
    head = pipes.requests.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    data = pipes.requests.read(size)
    return pickle.loads(data) if len(data) == size else None


def _failure(error: Exception) -> bytes:
    """Returns an error as an answer: the error itself, or what it says if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return frame(RunError(f"{type(error).__name__}: {error}"))
    return frame(error)


if __name__ == "__main__":
    fill_requests(parent_pipes())
