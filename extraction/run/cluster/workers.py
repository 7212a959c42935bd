"""The work of a cluster's machines: documents, model and schema are packed for them, and actors parse and fill there.

A machine may have nothing of a run. Actors do no work in their constructors, because Ray reports an error there as a
death.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.models.identity import CarriedModel, pack_model, unpack_model
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.settings import DEFAULT as DEFAULT_PRECISION
from cinnabar.engine.settings import Precision
from cinnabar.errors import DocumentError, ModelError, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import CarriedPages, PackedPages
from cinnabar.extraction.filling.model_sources import LanguageSource, ModelByName, ModelSource

if TYPE_CHECKING:
    from cinnabar.engine.model import Model
    from cinnabar.extraction.filling.pipeline import Batch, Job
    from cinnabar.extraction.filling.refilling import Known
    from cinnabar.extraction.run.batch.assignment import Assignment


@dataclass(frozen=True, slots=True)
class Shipment:
    """An input in transit: its path, the SHA-256 of its bytes, the bytes or the error of reading them, and in a
    backfill what is known of it."""

    path: str
    digest: str
    content: Content | DocumentError
    known: Known | None = None


def shipments_of(batch: Sequence[Input], known: Sequence[Known | None]) -> list[Shipment]:
    """Returns the inputs of a batch with their bytes, and with what is known of each.

    Raises RunError if a mailbox does not answer.
    """
    return [Shipment(item.path, item.digest, _content(item), own) for item, own in zip(batch, known, strict=True)]


def _content(item: Input) -> Content | DocumentError:
    try:
        return content_of(item.content).load_bytes()
    except DocumentError as problem:
        return problem


def shipment_bytes(batch: Sequence[Shipment], pages: PackedPages) -> int:
    """Returns the bytes of the documents, and of their pages that OCR read."""
    kept = sum(len(page) for named in pages.values() for page in named.values())
    return kept + sum(len(one.read()) for one in readable_inputs(batch))


def readable_inputs(batch: Sequence[Shipment]) -> list[Content]:
    """Returns the inputs of a batch that could be read."""
    return [letter.content for letter in batch if not isinstance(letter.content, DocumentError)]


@dataclass(frozen=True, slots=True)
class SentModelSource:
    """Loads a model that was sent as bytes, on this device, with the rules and the precision of the run."""

    model: CarriedModel
    device: str
    config: PriorConfig = DEFAULT_PRIORS
    precision: Precision = DEFAULT_PRECISION

    def __call__(self) -> Model:
        # Cold start: Torch takes a second.
        from cinnabar.engine.models.reader.loading import load_model

        with tempfile.TemporaryDirectory(prefix="cinnabar-") as place:
            try:
                return load_model(
                    unpack_model(self.model, Path(place)), self.device, self.config, self.precision
                )
            except ModelError as error:
                raise ModelError(f"{socket.gethostname()}: {error}") from error


def model_needs(assignment: Assignment) -> tuple[str, int]:
    """Returns the device that a run's models are to have, and the bytes of the weights of its language models."""
    memory = sum(source.memory for source in assignment.sources if isinstance(source, LanguageSource))
    for source in assignment.sources:
        if isinstance(source, LanguageSource):
            return source.device, memory
        if isinstance(source, ModelSource) and isinstance(source.load, ModelByName):
            return source.load.device, memory
    return "auto", memory


def packed_assignment(assignment: Assignment, cloudpickle: Any) -> bytes:
    """Returns the assignment as bytes that any machine with Cinnabar can read.

    The bytes include the model's folder and the modules of a user's Pydantic classes. Other modules that these modules
    import must be installed on the machine. A language model goes by its path, because its weights may be larger than
    what a cluster carries: the machine must have the folder.
    """
    model = assignment.model
    if isinstance(model, ModelSource):
        load = model.load
        if isinstance(load, ModelByName):
            model = replace(
                model, load=SentModelSource(pack_model(load.name), load.device, load.config, load.precision)
            )
    sent = replace(assignment, model=model)
    own = {part.source.model.__module__ for part in assignment.parts if part.source.model is not None}
    modules = [sys.modules[name] for name in sorted(own) if not name.startswith("cinnabar.")]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(sent))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


# An opened input: its path, digest, document or error, and what is known of it. Not `pipeline.OpenedInput`, which
# imports torch: parsers do not need it.
_Parsed = tuple[str, str, Document | DocumentError, "Known | None"]


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
        results = iter(self._pool.parse_many(readable_inputs(batch)))
        parsed: list[_Parsed] = []
        for letter in batch:
            content = letter.content
            got = content if isinstance(content, DocumentError) else next(results)[1]
            parsed.append((letter.path, letter.digest, got, letter.known))
        return self._pages.taken(), parsed


class Filling:
    """An engine that fills batches in a process of its own, of a cluster or of one machine."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._job: Job | None = None

    def start(self, packed: bytes, agreed: str) -> None:
        """Loads the model. Raises UsageError or ModelError if this machine would read documents differently."""
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
        self._job = assignment.job()
        for part in assignment.parts:
            _ = part.compiled_schema.form

    def fill(self, parsed: Sequence[_Parsed]) -> Batch:
        """Returns the outcomes of a batch."""
        # Cold start: Torch takes a second.
        from cinnabar.extraction.filling.pipeline import OpenedInput, run_batch

        assert self._job is not None, "call start() before fill()"
        return run_batch([OpenedInput(*one) for one in parsed], self._job, set_aside=True)
