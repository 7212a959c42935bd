"""The schema of the library that documents look like, by the probabilities with which `--route` chooses for each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from cinnabar.extraction.documents.content.codes import problem_message
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import examine, gather, parse_locations
from cinnabar.extraction.reading.routing.router import Router
from cinnabar.extraction.reading.routing.routing import Routing
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import DocumentError, UsageError
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.wording import with_noun

#: The mean probability from which on a schema is offered. Four of the five kinds of data/samples have .52 to .95, the
#: receipts .36; of eight folders of other kinds that route to a schema now and then none had more than .36.
LEAST_MEAN = 0.5
# The keywords that say what a record is, before its properties.
_HEAD = ("$schema", "title", "description", "type")


@dataclass(frozen=True, slots=True)
class LibraryChoice:
    """The schema that the documents look most like, its mean probability, and their number."""

    nearest: str
    probability: float
    documents: int

    @property
    def schema(self) -> str | None:
        """The schema that is offered, None if they look like none."""
        return self.nearest if self.probability >= LEAST_MEAN else None

    def __str__(self) -> str:
        named = f"`{self.nearest}`" if self.schema else f"no schema of the library, most like `{self.nearest}`"
        verb = "looks" if self.documents == 1 else "look"
        return f"{with_noun(self.documents, 'document')} {verb} like {named} (mean probability {self.probability:.2f})"


def choose_library_schema(documents: Sequence[Document]) -> LibraryChoice:
    """Returns the choice for these documents, of which there is at least one."""
    router = Router(Routing(tuple(load_schema(name) for name in LIBRARY)))
    routes = [router.route(document) for document in documents]
    means = {name: fmean(route.probabilities[name] for route in routes) for name in LIBRARY}
    nearest = max(means, key=means.__getitem__)
    return LibraryChoice(nearest, means[nearest], len(documents))


def library_schema(name: str) -> dict[str, Any]:
    """Returns a schema of the library for people to edit; its title is its name, so that its view keeps that name."""
    schema = load_schema(name).schema
    assert isinstance(schema, dict)
    schema = schema | {"title": name}
    return dict(sorted(schema.items(), key=lambda item: _place(item[0])))


def _place(keyword: str) -> int:
    """The place of a keyword in a schema that people edit."""
    return _HEAD.index(keyword) if keyword in _HEAD else len(_HEAD) + (keyword == "$defs")


#: The most documents that are looked at; more of them change little.
MOST_DOCUMENTS = 20


def parsed_documents(paths: Sequence[str]) -> tuple[list[Document], list[tuple[str, str]]]:
    """The documents at these paths, and the path and reason of each that cannot be read.

    Raises UsageError if none can be read.
    """
    locations = parse_locations(paths)
    documents: list[Document] = []
    problems: list[tuple[str, str]] = []
    with ExitStack() as connections:
        items = [examine(item, locations) for item in gather(locations, None, connections)[:MOST_DOCUMENTS]]
        pool = connections.enter_context(ParserPool(1))
        readable = pool.parse_many([item.content for item in items if item.problem is None])
        for item in items:
            outcome = next(readable)[1] if item.problem is None else item.problem
            if isinstance(outcome, DocumentError):
                problems.append((item.path, f"{outcome.code}: {problem_message(outcome)}"))
            elif outcome.text.strip():
                documents.append(outcome)
    if not documents:
        why = "".join(f"; {path}: {reason}" for path, reason in problems[:3])
        raise UsageError(f"{', '.join(paths)[:200]}: expected documents with text, got none{why}")
    return documents, problems
