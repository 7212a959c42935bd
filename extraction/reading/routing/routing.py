"""The schemas that a run chooses from for each document, checked before any document is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cinnabar.extraction.reading.routing.examples import LabelledVectors, load_examples
from cinnabar.extraction.reading.routing.kinds import check_described
from cinnabar.extraction.reading.routing.likeness import routing_fit
from cinnabar.extraction.store.names import identifier
from cinnabar.extraction.store.store import ROUTING
from cinnabar.schemas import SchemaSource
from cinnabar.schemas.errors import UsageError


@dataclass(frozen=True, slots=True)
class Routing:
    """The schemas of a run, of which each document gets the one that fits, or none.

    `least` is the probability of the best schema below which a document goes to none; with None it goes to none if it
    is probably of another kind than all of them. `examples` are the vectors of labelled documents. `done` has, by the
    name of a schema, the digests of documents that need no model even if they go there. Raises UsageError if schemas
    cannot be told apart.
    """

    sources: tuple[SchemaSource, ...]
    least: float | None = None
    examples: LabelledVectors = field(default_factory=LabelledVectors)
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
        schemas = sorted(source.fingerprint for source in self.sources)
        parts = [routing_fit().fingerprint, schemas, self.least, self.examples.fingerprint(schemas)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def routing_of(
    sources: Sequence[SchemaSource], route: bool, related: float | None, model: str
) -> Routing | None:
    """Returns the routing that the options of a command ask for, None if they ask for none.

    Raises UsageError if several schemas come without `route`, one comes with it, or two cannot be told apart.
    """
    if not sources:
        raise UsageError("--schema: expected at least one schema, got none")
    if len(sources) > 1 and not route:
        alone = "" if related is None else "; --related alone compares documents with one schema"
        raise UsageError(f"--schema: expected one schema, got {len(sources)}{alone}; --route gives each document one")
    if len(sources) == 1 and route:
        raise UsageError(
            f"--route: expected several schemas to choose from, got only {sources[0].name!r}; give --schema several"
            " times, or with one schema --related P, which skips documents of another kind (0.5 is a fair P)"
        )
    if not route and related is None:
        return None
    return Routing(tuple(sources), related, load_examples(Path(model)) if model != "default" else LabelledVectors())


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
