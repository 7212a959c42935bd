"""The runs of one command that writes several schemas: a run for each, and one outcome for each input among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cinnabar.errors import DocumentError, RunError
from cinnabar.extraction.run.stored_run import Run, Summary
from cinnabar.extraction.store.records import Outcome
from cinnabar.extraction.store.store import ROUTING, Store
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource

# What is told of each of the runs.
_COUNTS = ("schema", "run_id", "written", "quarantined", "skipped")


class RunGroup:
    """Runs that have begun, one for each schema. An outcome goes to the run of its `schema`, by default the first.

    `finish` checks that each of the `inputs` has exactly one outcome in all. `arguments` hold the fingerprint of the
    routing: a later group with the same one takes the documents of this group for done.
    """

    def __init__(
        self,
        store: Store,
        schemas: Sequence[tuple[SchemaSource, CompiledSchema]],
        engine_fingerprint: str,
        arguments: Mapping[str, Any],
        *,
        inputs: Collection[str],
        retry_quarantined: bool = False,
    ) -> None:
        placed, self._elsewhere = store.routed_documents(str(arguments[ROUTING]))
        self._placed = {source.name: placed.get(source.fingerprint, set()) for source, _ in schemas}
        self._inputs = set(inputs)
        self._accounted: dict[str, str] = {}
        self._runs = {
            source.name: Run(
                store,
                source,
                compiled,
                engine_fingerprint,
                arguments,
                retry_quarantined=retry_quarantined,
            )
            for source, compiled in schemas
        }
        self._first = next(iter(self._runs))

    @property
    def id(self) -> str:
        """Returns the id of the first run."""
        return self._runs[self._first].id

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of all runs, that of the first schema first."""
        return tuple(run.id for run in self._runs.values())

    def done(self, digest: str, path: str | None = None) -> bool:
        """Returns True if this routing sent the document to a schema that has it, or to none."""
        return digest in self._elsewhere or any(
            digest in self._placed[name] and run.done(digest, path) for name, run in self._runs.items()
        )

    def is_refused(self, digest: str) -> bool:
        """Returns True if a person said that this document is of none of these schemas."""
        return all(run.is_refused(digest) for run in self._runs.values())

    def known_problem(self, path: str, problem: DocumentError) -> bool:
        """Returns True if the path is in quarantine with this problem, in the run that gets such outcomes."""
        return self._runs[self._first].known_problem(path, problem)

    def find_finished(self, digests: Collection[str]) -> dict[str, frozenset[str]]:
        """Returns, for each schema, those of these documents that an earlier run finished under it."""
        return {name: frozenset(filter(run.done, digests)) for name, run in self._runs.items()}

    def commit_batch(self, batch: Sequence[Outcome]) -> list[Outcome]:
        """Commits these outcomes, each in the run of its schema; a second commit changes nothing.

        Returns the new ones as they are stored. Raises RunError if the disk fails; then the outcomes of a schema count
        all or none.
        """
        own: dict[str, list[Outcome]] = {}
        for outcome in batch:
            name = self._accounted.get(outcome.path, outcome.schema or self._first)
            own.setdefault(name, []).append(outcome)
        stored: list[Outcome] = []
        for name, outcomes in own.items():
            stored += self._runs[name].commit_batch(outcomes)
            self._accounted |= {outcome.path: name for outcome in outcomes}
        return stored

    def finish(self, usage: Mapping[str, Any] | None = None) -> Summary:
        """Ends the runs and returns their counts together; `usage` is stored with the first.

        Raises RunError if an input has no outcome.
        """
        without = sorted(self._inputs - self._accounted.keys())
        if without:
            raise RunError(
                f"run {self.id}: {len(without)} inputs have no outcome ({without[0]} …); run the same command again"
            )
        parts = tuple(
            run.finish(usage if name == self._first else None) for name, run in self._runs.items()
        )
        reasons = sum((Counter(part.reasons) for part in parts), Counter[str]())
        skips = sum((Counter(part.skips) for part in parts), Counter[str]())
        return Summary(
            run_id=self.id,
            schema=", ".join(self._runs),
            inputs=sum(part.inputs for part in parts),
            written=sum(part.written for part in parts),
            quarantined=sum(part.quarantined for part in parts),
            skipped=sum(part.skipped for part in parts),
            seconds=max(part.seconds for part in parts),
            reasons=dict(reasons.most_common()),
            skips=dict(skips.most_common()),
            routed=[{name: getattr(part, name) for name in _COUNTS} for part in parts],
        )
