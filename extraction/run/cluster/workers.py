"""The actors on the machines of a cluster: a parser for each machine, and the engines.

They do no work in their constructors, because Ray reports an error there as a death.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.settings import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.ocr.page_store import CarriedPages, PackedPages
from cinnabar.extraction.run.cluster.packing import Shipment, sent_of
from cinnabar.extraction.run.work.batch_filling import fill_batch

if TYPE_CHECKING:
    from cinnabar.extraction.reading.model_sources import RunPlace
    from cinnabar.extraction.reading.pipeline import Batch, Job
    from cinnabar.extraction.run.work.assignment import Assignment
    from cinnabar.extraction.run.work.refilling import Known

# An opened input: its path, its digest, and its document or the error. Not `pipeline.Read`, which imports torch:
# parsers do not need it.
_Parsed = tuple[str, str, Document | DocumentError]


class Parsing:
    """Parses the bytes of documents in processes that are bounded in time and memory."""

    def __init__(self, processes: int, max_tokens: int | None = None, settings: ParserSettings = DEFAULT) -> None:
        # The parsers of hostile bytes must not know the token.
        os.environ.pop("RAY_AUTH_TOKEN", None)
        self._pages = CarriedPages()
        self._pool = ParserPool(processes, max_tokens=max_tokens, settings=settings, pages=self._pages)

    def start(self) -> None:
        """Does nothing; its return shows that the process is ready."""

    def parse(self, batch: Sequence[Shipment], pages: PackedPages) -> tuple[PackedPages, list[_Parsed]]:
        """Returns the pages that OCR read here, and all inputs of the batch; `pages` need not be read again.

        The coordinator fetches and keeps the pages; the documents go straight to an engine.
        """
        self._pages.carry(pages)
        results = iter(self._pool.parse_many(sent_of(batch)))
        parsed: list[_Parsed] = []
        for letter in batch:
            content = letter.content
            got = content if isinstance(content, DocumentError) else next(results)[1]
            parsed.append((letter.path, letter.digest, got))
        return self._pages.taken(), parsed


class Filling:
    """An engine that fills batches in a process of its own, of a cluster or of one machine."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._job: Job | None = None

    def start(self, packed: bytes, agreed: str, place: RunPlace | None = None) -> None:
        """Loads the model. Raises UsageError or ModelError if this machine would read or route documents differently.

        `place` is the run's output, for the engines on its own machine.
        """
        # Cold start: Torch takes a second. The engine must set variables before (engine/__init__.py).
        import cinnabar.engine  # noqa: F401, I001
        import torch

        torch.set_num_threads(self._threads)
        assignment: Assignment = pickle.loads(packed)
        if assignment.shared_name != agreed:
            # The part in front names models and options, the rest the choice of schemas.
            does = "chooses their schemas" if assignment.fingerprint == agreed.partition(" ")[0] else "reads documents"
            raise UsageError(
                f"{socket.gethostname()}: expected the version of Cinnabar that began the run, got one that"
                f" {does} differently; install the same version on all machines"
            )
        self._job = assignment.job(place)
        for part in assignment.parts:
            _ = part.compiled_schema.form

    def fill(self, parsed: Sequence[_Parsed], known: Known | None = None) -> Batch:
        """Returns the outcomes of a batch; `known` holds the stored records in a backfill."""
        # Cold start: Torch takes a second.
        from cinnabar.extraction.reading.pipeline import Read

        assert self._job is not None, "call start() before fill()"
        return fill_batch([Read(*one) for one in parsed], known, self._job)
