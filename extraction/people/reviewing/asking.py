"""Asks the language model of a folder for one document; what it finds is shown to a person and stored nowhere."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.models.language.named_models import named_model
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.people.reviewing.states import leaves_json
from cinnabar.extraction.people.steps import options_of
from cinnabar.extraction.reading.model_sources import model_source
from cinnabar.extraction.reading.planned_models import SMALLEST, largest_model
from cinnabar.extraction.run.work.assignment import Assignment
from cinnabar.extraction.store.folders import began_with
from cinnabar.extraction.store.stored_schemas import source_of
from cinnabar.schemas.errors import UsageError

# Torch takes seconds to import; most reviews ask no model.
if TYPE_CHECKING:
    from cinnabar.extraction.reading.pipeline import Job


class Asking:
    """The language model that the folder began with, or the largest fetched one. Threads may share it.

    It stays loaded after its first question, for the schema and the options of the last one.
    """

    def __init__(self, out: Path) -> None:
        self._out, self._lock = out, threading.Lock()
        self._model = ""
        self._kept: tuple[tuple[str, str, str], Job] | None = None

    def proposals(self, row: Mapping[str, Any], document: Document, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the model's name, its record as JSON text, and the leaves of what it found; takes seconds.

        `row` is the document's in the list, `arguments` are those of the run that read it. Raises UsageError if no
        model is fetched, or if it gives no record.
        """
        with self._lock:
            job = self._job(row["schema_name"], row["schema_fingerprint"], arguments)
            # Cold start: Torch takes a second.
            from cinnabar.extraction.reading.pipeline import Read, run_batch

            (outcome,) = run_batch([Read(row["path"], row["document"], document)], job).outcomes
        if outcome.record is None:
            raise UsageError(f"{self._model} gave no record: {outcome.code} {outcome.detail}".strip())
        leaves = [leaf for leaf in leaves_json(outcome.record) if not leaf["missing"]]
        return {"model": self._model, "record": outcome.record.text, "leaves": leaves}

    def _job(self, schema: str, fingerprint: str, arguments: Mapping[str, Any]) -> Job:
        key = schema, fingerprint, str(arguments)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # before the next one takes its memory
            self._model = self._model or _fetched_model(self._out)
            source = source_of(self._out, schema, fingerprint)
            self._kept = key, Assignment(source, model_source(self._model), options_of(arguments)).with_examples().job()
        return self._kept[1]


def _fetched_model(out: Path) -> str:
    """Returns the name of the model to ask. Raises UsageError if none is fetched that is calibrated and has room."""
    began = began_with(out)
    name = began if began is not None and named_model(began) is not None else largest_model()
    if name is None:
        raise UsageError(
            "No fetched language model fits the free memory:"
            f" `cinnabar model fetch {SMALLEST}` brings the smallest one."
        )
    return name
