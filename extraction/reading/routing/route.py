"""The choice for one document: a schema or none, and how probable each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
