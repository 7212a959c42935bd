"""Chooses the schema that fits a document, or none, with calibrated probabilities.

Measures the choice among schemas on labelled sets: where the documents of each set go, and without their schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.routing.likeness import (
    PageVectors,
    example_features,
    kind_of,
    log_odds,
    probabilities,
    routing_fit,
)
from cinnabar.extraction.filling.routing.routing import Route, Routing
from cinnabar.extraction.filling.routing.vectors import common, kinds_of, page_vectors
from cinnabar.extraction.plan.outcomes import OTHER_KIND


class Router:
    """Compares documents with the kinds of a routing's schemas."""

    def __init__(self, routing: Routing) -> None:
        self._names, self._least = routing.names, routing.least
        self._kinds, self._common = kinds_of([kind_of(source) for source in routing.sources]), common()
        self._alike = self._kinds.heading @ self._common.heading.T
        examples = routing.examples.vectors
        self._examples = [examples.get(source.fingerprint) for source in routing.sources]

    def route(self, document: Document) -> Route:
        """Returns the most probable schema, or none if the document rather is of another kind than all of them."""
        return self.route_page(page_vectors(document.text))

    def route_page(self, page: PageVectors) -> Route:
        """Returns the same for the vectors of a document's beginning."""
        fitted = routing_fit()
        logits = log_odds(self._kinds.likeness(page), self._common.likeness(page), self._alike, page.words, fitted)
        for row, vectors in enumerate(self._examples):
            if vectors is not None:
                features = np.array([logits[row], *example_features(page, vectors)], np.float32)
                logits[row] = features @ fitted.examples + fitted.examples_bias
        chances = probabilities(logits)
        best = int(chances.argmax())
        belongs = chances.sum() >= 0.5 if self._least is None else chances[best] >= self._least
        schema = self._names[best] if belongs else None
        return Route(schema, dict(zip(self._names, map(float, chances), strict=True)))

    def without(self, name: str) -> Self:
        """Returns a router of the other schemas."""
        kept = [row for row, other in enumerate(self._names) if other != name]
        router = copy(self)
        router._names = [self._names[row] for row in kept]
        router._kinds = self._kinds.select(kept)
        router._alike = self._alike[kept]
        router._examples = [self._examples[row] for row in kept]
        return router


@dataclass(slots=True)
class SetRoutes:
    """The choices for the documents of a set: `went` counts them by schema or `other_kind`.

    `refused` counts the documents that went nowhere when their own schema was not offered; it stays 0 if no other
    schema was there to offer. `elsewhere` has the choices that were wrong, by file. `unreadable` documents count as
    wrong.
    """

    schema: str
    went: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    unreadable: int = 0
    elsewhere: dict[str, Route] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Returns the number of documents, unreadable ones among them."""
        return sum(self.went.values()) + self.unreadable

    @property
    def right(self) -> int:
        """Returns the number of documents that went to the schema of their set."""
        return self.went[self.schema]

    def figures(self, several: bool) -> dict[str, Any]:
        """Returns the counts for a report; `refused` only if `several` schemas were offered."""
        return {
            "schema": self.schema,
            "documents": self.documents,
            "right": round(self.right / self.documents, 4),
            "refused": round(self.refused / self.documents, 4) if several else None,
            "went": dict(self.went.most_common()),
            "unreadable": self.unreadable,
            "elsewhere": {name: str(route) for name, route in self.elsewhere.items()},
        }


def confusion(
    routing: Routing,
    sets: Mapping[str, Iterable[tuple[str, Document | DocumentError]]],
    done: Callable[[int], None] = lambda _: None,
) -> dict[str, SetRoutes]:
    """Returns the choices for the documents of each set, by its name; `done` is called with each number of documents.

    sets: as many as the routing has schemas, in their order, each with its documents by file.
    """
    router, routes = Router(routing), dict[str, SetRoutes]()
    for source, (name, documents) in zip(routing.sources, sets.items(), strict=True):
        of_set = routes[name] = SetRoutes(source.name)
        others = router.without(source.name) if len(routing.sources) > 1 else None
        for file, document in documents:
            done(1)
            if isinstance(document, DocumentError):
                of_set.unreadable += 1
                continue
            page = page_vectors(document.text)
            route = router.route_page(page)
            of_set.went[route.schema or OTHER_KIND] += 1
            if route.schema != source.name:
                of_set.elsewhere[file] = route
            of_set.refused += others is not None and others.route_page(page).schema is None
    return routes
