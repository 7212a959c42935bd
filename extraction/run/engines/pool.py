"""The engine processes of a run on one machine: each fills batches on a core of its own."""

from __future__ import annotations

# Torch takes a second to import, and the run's own process does not need it beside its engines.
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.processes.process import WorkerDied, WorkerPool, WorkerProcess
from cinnabar.extraction.reading.model_sources import ModelByName, ModelSource, RemoteSource, RunPlace
from cinnabar.extraction.run.engines.worker import LENGTH, frame
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.run.work.retries import WHOLE_ATTEMPTS
from cinnabar.extraction.store.records import DocumentInfo, Outcome

if TYPE_CHECKING:
    from cinnabar.extraction.reading.pipeline import Batch, Read
    from cinnabar.extraction.run.work.refilling import Known

#: The code of a document whose engine died each time.
ENGINE_DIED = "engine_died"
# The variables with the secrets of mailboxes, documents and stores, which no engine opens.
_SECRETS = frozenset((
    "CINNABAR_IMAP_PASSWORD", "CINNABAR_IMAP_PASSWORD_FILE", "CINNABAR_OAUTH_CLIENT_SECRET", "CINNABAR_PASSWORDS",
    "CINNABAR_SFTP_PASSWORD", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_TOKEN", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET",
    "GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_BEARER_TOKEN", "MSGRAPHFS_CLIENT_SECRET",
))  # fmt: skip
# The limit for an answer in seconds. `--max-seconds` bounds each document, and a batch may have many.
_PATIENCE = 10.0 * 86_400
_COMMAND = [sys.executable, "-P", "-m", "cinnabar.extraction.run.engines.worker"]


class _Engine(WorkerProcess):
    """One engine process."""

    def __init__(self, first: bytes, more: Mapping[str, str]) -> None:
        super().__init__(_COMMAND, first, _PATIENCE, "engine", more)

    def fill(self, read: Sequence[Read], known: Known | None) -> Batch:
        """Returns the outcomes of a batch. Raises WorkerDied, or the error that ended the batch."""
        self.send(frame(([(one.path, one.digest, one.found) for one in read], known)))
        deadline = self.deadline()
        (size,) = LENGTH.unpack(self.receive(LENGTH.size, deadline))
        answer: Any = pickle.loads(self.receive(size, deadline))
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]


class EnginePool:
    """Fills batches in `count` processes, which start with the first batches.

    If an engine dies, its batch goes to a fresh one; if that dies too, each document goes alone, and one whose engine
    dies again is quarantined. `place` is the run's output. A context manager: its exit ends the processes.
    """

    def __init__(self, count: int, assignment: Assignment, place: RunPlace) -> None:
        self._pool = WorkerPool[_Engine](count, "engine")
        # Engines open no documents, so they need no passwords.
        sent = replace(assignment, options=assignment.options.with_passwords(()))
        self._first = frame((list(sys.path), pickle.dumps(sent), assignment.shared_name, place))
        # A class of the user is the user's own program and may ask the environment; a JSON Schema asks nothing.
        classes = any(part.source.model is not None for part in assignment.parts)
        self._more = {name: value for name, value in os.environ.items() if classes and name not in _SECRETS}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def submit(self, read: Sequence[Read], known: Known | None) -> Future[Batch]:
        """Begins to fill a batch as soon as an engine is free."""
        return self._pool.submit(self._fill, read, known)

    def _fill(self, read: Sequence[Read], known: Known | None) -> Batch:
        cause = ""
        for _ in range(WHOLE_ATTEMPTS):
            try:
                return self._ask(read, known)
            except WorkerDied as error:
                cause = str(error)
        if len(read) == 1:
            return _lost(read[0], cause)
        # Cold start: Torch takes a second.
        from cinnabar.extraction.reading.pipeline import in_order

        # Each document alone, so that one that kills its engine takes no other with it.
        alone = [((at,), self._alone(one, _record(known, at))) for at, one in enumerate(read)]
        return in_order(len(read), {}, alone, 0.0)

    def _alone(self, one: Read, known: Known | None) -> Batch:
        try:
            return self._ask([one], known)
        except WorkerDied as error:
            return _lost(one, str(error))

    def _ask(self, read: Sequence[Read], known: Known | None) -> Batch:
        engine = self._pool.take()
        try:
            engine = engine or self._pool.start(lambda: _Engine(self._first, self._more))
            return engine.fill(read, known)
        except WorkerDied:
            if engine is not None:
                self._pool.end(engine)
            engine = None
            raise
        finally:
            self._pool.give(engine)


def _record(known: Known | None, at: int) -> Known | None:
    return None if known is None else replace(known, records=[known.records[at]])


def _lost(one: Read, cause: str) -> Batch:
    # Cold start: Torch takes a second.
    from cinnabar.extraction.reading.pipeline import Batch

    detail = f"each engine that filled it died ({cause}); more memory or a lower --context may help"
    info = DocumentInfo.of(one.found) if isinstance(one.found, Document) else None
    return Batch([Outcome(one.path, "quarantined", ENGINE_DIED, detail, one.digest, info)])


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
    return _processors() if plain and not _on_gpu(assignment) else 1


def _processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_gpu(assignment: Assignment) -> bool:
    load = getattr(assignment.model, "load", None)
    if not isinstance(load, ModelByName) or load.device == "cpu":
        return False
    # Cold start: Torch takes a second.
    import torch

    return torch.cuda.is_available()
