"""What runs on the machines of a cluster: a parser for each machine, and the engines.

They are Ray's actors. Neither begins in its constructor: what is wrong there would come back as a death.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinnabar.extraction.cluster.sending import Letter
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.message import Sent
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.schemas.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from cinnabar.extraction.assignment import Assignment
    from cinnabar.extraction.backfill.refilling import Known
    from cinnabar.extraction.pipeline import Batch, Job
    from cinnabar.extraction.sources import Place

# An input that was opened: its path, its digest, and its document or why there is none. Not `pipeline.Read`,
# which comes with torch: who parses has no use for that.
_Parsed = tuple[str, str, Document | DocumentError]


class Parsing:
    """Turns the bytes of documents into documents, in processes that are bounded in time and memory."""

    def __init__(self, processes: int) -> None:
        # Nothing that hostile bytes meet has to know it.
        os.environ.pop("RAY_AUTH_TOKEN", None)
        self._pool = ParserPool(processes)

    def start(self) -> None:
        """Nothing; it says that the process is there."""

    def parse(self, batch: Sequence[Letter]) -> tuple[int, list[_Parsed]]:
        """How many documents were parsed, and all inputs of the batch.

        Who waits asks for the number alone: the documents go to an engine without passing there.
        """
        sound = [letter.content for letter in batch if isinstance(letter.content, Sent)]
        found = iter(self._pool.parse_many(sound))
        parsed: list[_Parsed] = []
        for letter in batch:
            content = letter.content
            got = content if isinstance(content, DocumentError) else next(found)[1]
            parsed.append((letter.path, letter.digest, got))
        return len(sound), parsed


class Filling:
    """An engine that fills batches, as the one machine of a run without a cluster does."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._job: Job | None = None

    def start(self, outfit: bytes, fingerprint: str, place: Place | None = None) -> None:
        """Load the model. Raises UsageError and ModelError where this machine would read otherwise.

        `place` is where the run writes, for the engines on its own machine.
        """
        # The engine has a word to say before torch is loaded (engine/__init__.py).
        import cinnabar.engine  # noqa: F401, I001
        import torch

        torch.set_num_threads(self._threads)
        assignment: Assignment = pickle.loads(outfit)
        if assignment.fingerprint != fingerprint:
            raise UsageError(
                f"{socket.gethostname()}: expected the version of Cinnabar that began the run, got one that"
                " reads documents otherwise; install the same one on all machines"
            )
        self._job = assignment.job(place)
        _ = assignment.compiled.form

    def fill(self, parsed: Sequence[_Parsed], known: Known | None = None) -> Batch:
        """The outcomes of a batch; in a backfill with what is known of its documents."""
        from cinnabar.extraction.backfill.refilling import refill_batch
        from cinnabar.extraction.pipeline import Read, run_batch

        assert self._job is not None, "an engine is started before it is asked"
        read = [Read(*one) for one in parsed]
        return run_batch(read, self._job) if known is None else refill_batch(read, known, self._job)
