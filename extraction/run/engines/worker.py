"""An engine process: it fills the batches that its parent sends, with one thread of torch.

    python -P -m cinnabar.extraction.run.engines.worker

Each request and each answer is a pickle; only the run and its own engines talk to each other. The first request holds
the parent's import path and the assignment, which is loaded with the first batch, and has no answer. The process ends
with its parent's pipe.
"""

from __future__ import annotations

import pickle
import sys

from cinnabar.errors import RunError
from cinnabar.extraction.documents.processes.serving import MAGIC, ParentPipes, parent_pipes


def fill_requests(pipes: ParentPipes) -> None:
    """Answers until the parent closes its pipe. An answer is a batch, or the error that ended it."""
    requests = pipes.asked()
    path, packed, agreed = pickle.loads(next(requests))
    # Modules of a user's schema may lie in folders that only the parent knows.
    sys.path[:] = path
    pipes.send(MAGIC)
    engine = None
    for request in requests:
        try:
            if engine is None:
                # Cold start: the parent waits for what was sent first.
                from cinnabar.extraction.run.cluster.workers import Filling

                begun = Filling(threads=1)
                begun.start(packed, agreed)
                engine = begun  # one that could not load its model loads it with the next batch
            answer = pickle.dumps(engine.fill(pickle.loads(request)), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            answer = _failure(error)
        pipes.answer(answer)


def _failure(error: Exception) -> bytes:
    """Returns an error as an answer: the error itself, or what it says if it cannot be sent."""
    try:
        pickle.loads(data := pickle.dumps(error))
    except Exception:
        return pickle.dumps(RunError(f"{type(error).__name__}: {error}"))
    return data


if __name__ == "__main__":
    fill_requests(parent_pipes())
