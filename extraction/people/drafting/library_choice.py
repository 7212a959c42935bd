"""The schema of the library that documents look like, by the probabilities with which `--route` chooses for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.reading.routing.router import Router
from cinnabar.extraction.reading.routing.routing import Routing
from cinnabar.schemas import load_schema
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.wording import counted

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
        return f"{counted(self.documents, 'document')} {verb} like {named} (mean probability {self.probability:.2f})"


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
