"""Packs documents, model and schema for the machines of a cluster, which may have none of them."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.models.identity import CarriedModel, pack_model, unpack_model
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.settings import DEFAULT, Precision
from cinnabar.errors import DocumentError, ModelError
from cinnabar.extraction.documents.content.inputs import Content, content_of
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.ocr.page_store import PackedPages
from cinnabar.extraction.reading.model_sources import LanguageSource, ModelByName, ModelSource
from cinnabar.extraction.run.work.assignment import Assignment

if TYPE_CHECKING:
    from cinnabar.engine.model import Model


@dataclass(frozen=True, slots=True)
class Shipment:
    """An input in transit: its path, the SHA-256 of its bytes, and the bytes or the error of reading them."""

    path: str
    digest: str
    content: Content | DocumentError


def letters(batch: Sequence[Input]) -> list[Shipment]:
    """Returns the inputs of a batch with their bytes. Raises RunError if a mailbox does not answer."""
    return [Shipment(item.path, item.digest, _content(item)) for item in batch]


def _content(item: Input) -> Content | DocumentError:
    try:
        return content_of(item.content).with_bytes()
    except DocumentError as problem:
        return problem


def size_of(batch: Sequence[Shipment], pages: PackedPages) -> int:
    """Returns the bytes of the documents, and of their pages that OCR read."""
    kept = sum(len(page) for named in pages.values() for page in named.values())
    return kept + sum(len(one.read()) for one in sent_of(batch))


def sent_of(batch: Sequence[Shipment]) -> list[Content]:
    """Returns the inputs of a batch that could be read."""
    return [letter.content for letter in batch if not isinstance(letter.content, DocumentError)]


@dataclass(frozen=True, slots=True)
class Unpacking:
    """Loads a model that was sent as bytes, on this device, with the rules and the precision of the run."""

    model: CarriedModel
    device: str
    config: PriorConfig = DEFAULT_PRIORS
    precision: Precision = DEFAULT

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


def needs(assignment: Assignment) -> tuple[str, int]:
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
            model = replace(model, load=Unpacking(pack_model(load.name), load.device, load.config, load.precision))
    # Engines open no documents, so they need no passwords.
    sent = replace(assignment, model=model, options=assignment.options.with_passwords(()))
    own = {part.source.model.__module__ for part in assignment.parts if part.source.model is not None}
    modules = [sys.modules[name] for name in sorted(own) if not name.startswith("cinnabar.")]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(sent))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
