"""The jobs of a run with several schemas, and the choice of one for each document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cinnabar.extraction.documents.content.codes import problem_message
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.packets.part import KIND
from cinnabar.extraction.reading.routing.route import Route
from cinnabar.extraction.store.records import DocumentInfo, Outcome
from cinnabar.extraction.store.tables import OTHER_KIND
from cinnabar.schemas.errors import DocumentError

if TYPE_CHECKING:
    from cinnabar.extraction.reading.pipeline import Job, Read


class Chooser(Protocol):
    """What chooses a schema for each document of a run, as `Router` does."""

    def route(self, document: Document) -> Route:
        """Returns the schema that the document goes to, if any, with the probabilities."""
        ...


@dataclass(frozen=True, slots=True)
class RoutedJobs:
    """A job for each schema by its name. `done` has the digests of the documents that a schema needs no model for."""

    router: Chooser
    jobs: Mapping[str, Job]
    done: Mapping[str, frozenset[str]]

    def place(self, read: Read) -> str | Outcome:
        """Returns the name of the schema that an input goes to, or the outcome of one that no model has to read.

        An unreadable input goes to quarantine under the first schema. A document of no kind is skipped under the schema
        that fits it best.
        """
        document = read.found
        if isinstance(document, DocumentError):
            return Outcome(read.path, "quarantined", document.code, problem_message(document), digest=read.digest)
        try:
            if (said := document.facts.get(KIND)) is None:
                route = self.router.route(document)
            else:
                named = str(said.value)
                route = Route(named if named in self.jobs else None, {name: float(name == named) for name in self.jobs})
        except Exception as error:
            detail = f"the choice of a schema failed: {type(error).__name__}: {error}"[:2000]
            info = DocumentInfo.of(document)
            return Outcome(read.path, "quarantined", "internal_error", detail, document.digest, info)
        if route.schema is None:
            return Outcome(read.path, "skipped", OTHER_KIND, str(route), document.digest, schema=route.nearest)
        if document.digest in self.done.get(route.schema, ()):
            return Outcome(read.path, "skipped", "done", digest=document.digest, schema=route.schema)
        return route.schema
