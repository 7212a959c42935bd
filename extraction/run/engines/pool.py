"""The engine processes of a run on one machine: each fills batches on a core of its own."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

# Torch takes a second to import, and the run's own process does not need it beside its engines.
from cinnabar.closing import Closing
from cinnabar.engine.child_process import python_command
from cinnabar.errors import NoEngine, RunError, UsageError
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess
from cinnabar.extraction.filling.model_sources import ModelByName, ModelSource, RemoteSource
from cinnabar.extraction.filling.time_estimate import usable_cores
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.batch.retries import WHOLE_ATTEMPTS, join_alone, lose_document

if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch, OpenedInput

# Makes all attempts of a batch that may raise errors.
_Attempts = Callable[[Callable[[], "Batch"]], "Batch"]
# The variables with the secrets of mailboxes, documents and stores, which no engine opens.
_SECRETS = frozenset((
    "CINNABAR_IMAP_PASSWORD", "CINNABAR_IMAP_PASSWORD_FILE", "CINNABAR_OAUTH_CLIENT_SECRET", "CINNABAR_PASSWORDS",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN", "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CLIENT_SECRET", "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_BEARER_TOKEN",
))  # fmt: skip
# The limit for an answer in seconds. `max_seconds` bounds each document, and a batch may have many.
_PATIENCE = 10.0 * 86_400
_COMMAND = python_command("-m", "cinnabar.extraction.run.engines.worker")


class _Engine(WorkerProcess):
    """One engine process."""

    def __init__(self, first: bytes, more: Mapping[str, str]) -> None:
        super().__init__(_COMMAND, first, _PATIENCE, "engine", more)

    def fill(self, read: Sequence[OpenedInput]) -> Batch:
        """Returns the outcomes of a batch. Raises WorkerDied, or the error that ended the batch."""
        asked = pickle.dumps([(one.path, one.digest, one.found, one.known) for one in read], pickle.HIGHEST_PROTOCOL)
        answer: Any = pickle.loads(self.ask_bytes(asked, sys.maxsize))
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]


class EnginePool(Closing):
    """Fills batches in `count` processes, which start with the first batches; one that dies is replaced.

    A context manager: its exit ends the processes.
    """

    def __init__(self, count: int, assignment: Assignment) -> None:
        self._pool = WorkerPool[_Engine](count, "engine")
        first = pickle.dumps((list(sys.path), pickle.dumps(assignment), assignment.shared_name))
        self._first = len(first).to_bytes(8, "little") + first
        # A class of the user is the user's own program and may ask the environment; a JSON Schema asks nothing.
        classes = any(part.source.model is not None for part in assignment.parts)
        self._more = {name: value for name, value in os.environ.items() if classes and name not in _SECRETS}

    def close(self) -> None:
        """Ends the processes."""
        self._pool.close()

    def submit(self, read: Sequence[OpenedInput], attempts: _Attempts) -> Future[Batch]:
        """Begins to fill a batch as soon as an engine is free; `attempts` repeats what raises an error."""
        # Prefect's loggers find their run in the context.
        return self._pool.submit(copy_context().run, self._fill, read, attempts)

    def _fill(self, read: Sequence[OpenedInput], attempts: _Attempts) -> Batch:
        """Fills a batch, and does as `retries` says if engines die."""
        for _ in range(WHOLE_ATTEMPTS):
            with suppress(WorkerDied):
                return attempts(lambda: self._ask(read))
        return join_alone([self._fill_alone(one, attempts) for one in read])

    def _fill_alone(self, one: OpenedInput, attempts: _Attempts) -> Batch:
        try:
            return attempts(lambda: self._ask([one]))
        except WorkerDied as error:
            return lose_document(one.path, one.digest, one.found, str(error))

    def _ask(self, read: Sequence[OpenedInput]) -> Batch:
        engine = self._pool.take()
        try:
            engine = engine or self._start()
            return engine.fill(read)
        except WorkerDied:
            if engine is not None:
                self._pool.end(engine)
            engine = None
            raise
        finally:
            self._pool.give(engine)

    def _start(self) -> _Engine:
        try:
            return self._pool.start(lambda: _Engine(self._first, self._more))
        except (RunError, RuntimeError) as error:  # RuntimeError: the run has ended meanwhile
            raise NoEngine(str(error)) from error


def engines_of(assignment: Assignment) -> int:
    """Returns the number of engines that `--engines` asks for; 1 is the run's own process.

    `auto` is one for each processor that this process may use, and one if a GPU, a server or a language model fills.
    Raises UsageError if several engines would share a model behind a server.
    """
    asked = assignment.options.engines
    remote = any(isinstance(source, RemoteSource) for source in assignment.sources)
    if asked != "auto":
        if remote and int(asked) > 1:
            raise UsageError(
                f"--engines {asked}: expected 1 or auto with a model behind a server: its pace, budget and journal"
                " belong to one process"
            )
        return int(asked)
    plain = all(isinstance(source, ModelSource) for source in assignment.sources)
    return usable_cores() if plain and not _on_gpu(assignment) else 1


def _on_gpu(assignment: Assignment) -> bool:
    load = getattr(assignment.model, "load", None)
    if not isinstance(load, ModelByName) or load.device == "cpu":
        return False
    # Cold start: Torch takes a second.
    import torch

    return torch.cuda.is_available()
