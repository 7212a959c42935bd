"""Chooses the schema that fits a document, or none, with calibrated probabilities."""

from __future__ import annotations

import numpy as np

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


class Router:
    """Compares documents with the kinds of a routing's schemas."""

    def __init__(self, routing: Routing) -> None:
        self._names, self._least = routing.names, routing.least
        self._kinds, self._common = kinds_of([kind_of(source) for source in routing.sources]), common()
        self._alike = self._kinds.heading @ self._common.heading.T
        self._examples = [routing.examples.get(source.fingerprint) for source in routing.sources]

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
