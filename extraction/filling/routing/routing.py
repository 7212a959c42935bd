"""The schemas that a run chooses from for each document, their jobs, and the choice for one document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.documents.packets.part import KIND
from cinnabar.extraction.filling.routing.examples import Vectors, load_examples
from cinnabar.extraction.filling.routing.likeness import check_described, routing_fit
from cinnabar.extraction.plan.outcomes import OTHER_KIND
from cinnabar.extraction.store.names import identifier
from cinnabar.extraction.store.records import DocumentInfo, Outcome
from cinnabar.extraction.store.store import ROUTING
from cinnabar.schemas import SchemaSource

if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Job, OpenedInput


@dataclass(frozen=True, slots=True)
class Routing:
    """The schemas of a run, of which each document gets the one that fits, or none.

    `least` is the probability of the best schema below which a document goes to none; with None it goes to none if it
    is probably of another kind than all of them. `examples` are the vectors of labelled documents by the fingerprint of
    their schema. `done` has, by the name of a schema, the digests of documents that need no model even if they go
    there. Raises UsageError if schemas cannot be told apart.
    """

    sources: tuple[SchemaSource, ...]
    least: float | None = None
    examples: Mapping[str, Vectors] = field(default_factory=dict)
    done: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.least is not None and not 0 <= self.least <= 1:
            raise UsageError(f"--related: expected 0 to 1, got {self.least}")
        check_names(self.sources)
        for source in self.sources:
            check_described(source)

    @property
    def names(self) -> list[str]:
        """Returns the names of the schemas."""
        return [source.name for source in self.sources]

    @property
    def about(self) -> dict[str, Any]:
        """Returns the arguments that are stored with the runs."""
        return {ROUTING: self.fingerprint, "schemas": self.names, "related": self.least}

    @property
    def fingerprint(self) -> str:
        """Returns the name of the choice: the schemas, the least probability, the examples and the rules."""
        schemas, examples = sorted(source.fingerprint for source in self.sources), hashlib.sha256()
        for schema in sorted(self.examples.keys() & {*schemas}):
            examples.update(schema.encode() + self.examples[schema].astype("float16").tobytes())
        parts = [routing_fit().fingerprint, schemas, self.least, examples.hexdigest()[:16]]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def routing_of(sources: Sequence[SchemaSource], related: float | None, model: str) -> Routing | None:
    """Returns the routing of several schemas, or of one with a least probability; None for one alone.

    Raises UsageError if two schemas cannot be told apart.
    """
    if not sources:
        raise UsageError("--schema: expected at least one schema, got none")
    if len(sources) == 1 and related is None:
        return None
    return Routing(tuple(sources), related, load_examples(Path(model)) if model != "default" else {})


def check_names(sources: Sequence[SchemaSource]) -> None:
    """Raises UsageError if two schemas have one name, which is that of their table of records."""
    seen: dict[str, SchemaSource] = {}
    for source in sources:
        table = identifier(source.name).casefold()
        if table in seen:
            raise UsageError(
                f"--schema: expected schemas with different names, got {seen[table].name!r} and {source.name!r}, whose"
                " records would share a table; give one of them another title (/title)"
            )
        seen[table] = source


@dataclass(frozen=True, slots=True)
class Route:
    """The schema that a document goes to, None for no schema; `probabilities` by the names of the schemas.

    The rest to one is the probability that the document is of another kind than all of them.
    """

    schema: str | None
    probabilities: Mapping[str, float]

    @property
    def nearest(self) -> str:
        """Returns the schema with the highest probability, even if no schema fits the document."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def none(self) -> float:
        """Returns the probability that the document is of no schema's kind."""
        return max(0.0, 1.0 - sum(self.probabilities.values()))

    def __str__(self) -> str:
        ranked = sorted(self.probabilities.items(), key=lambda one: -one[1])
        shown = [f"{name} {chance:.2f}" for name, chance in ranked[:5]]
        return f"{', '.join(shown)}{' …' if len(ranked) > 5 else ''}, another kind {self.none:.2f}"


@dataclass(frozen=True, slots=True)
class RoutedJobs:
    """A job for each schema by its name. `done` has the digests of the documents that a schema needs no model for."""

    choose: Callable[[Document], Route]
    jobs: Mapping[str, Job]
    done: Mapping[str, frozenset[str]]

    def place(self, read: OpenedInput) -> str | Outcome:
        """Returns the name of the schema that an input goes to, or the outcome of one that no model has to read.

        An unreadable input goes to quarantine under the first schema. A document of no kind is skipped under the schema
        that fits it best.
        """
        document = read.found
        if isinstance(document, DocumentError):
            return Outcome(read.path, "quarantined", document.code, problem_message(document), digest=read.digest)
        try:
            if (said := document.facts.get(KIND)) is None:
                route = self.choose(document)
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
